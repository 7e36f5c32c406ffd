"""alerts: the alerts of Alertmanager, with what silences them, or else those of Prometheus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubescript.guest.kubectl.rows import cells
from kubescript.guest.observability import rows, sources
from kubescript.guest.sdk import client
from kubescript.guest.sdk.objects import alerts as objects
from kubescript.guest.sdk.objects import labelled
from kubescript.wire import messages

__all__ = ["alerts"]

_TITLES: Final = ("alert", "severity", "state", "since", "labels", "summary")


def alerts(
    k8s: client.K8s,
    state: str | None = None,
    severity: str | None = None,
    namespace: str | None = None,
    limit: int = 50,
    *,
    source: str | None = None,
    namespaced: Sequence[str] = (),
) -> str:
    """Returns the alerts in this state, of this severity and namespace, the newest first. `namespaced` are the sources
    that show one namespace at a time."""
    # Only Prometheus knows of alerts that are pending.
    kinds = ("prometheus", "alertmanager") if state == "pending" else ("alertmanager", "prometheus")
    asked = sources.find(k8s, source, *kinds)
    options = {"namespace": namespace} if asked._name in namespaced else {}
    with sources.telling():
        answer = asked.alerts(**options)
    all_alerts = [objects.read(each) for each in answer]
    found = [each for each in all_alerts if _is_wanted(each, state, severity, namespace)]
    if not found:
        return messages.text("alerts_none", total=len(all_alerts), source=asked._name)
    found.sort(key=lambda alert: alert.since, reverse=True)
    return _write(found, limit)


def _is_wanted(alert: objects.Alert, state: str | None, severity: str | None, namespace: str | None) -> bool:
    wanted = {"severity": severity, "namespace": namespace}
    is_labelled = all(value in {None, alert.labels.get(name)} for name, value in wanted.items())
    return is_labelled and state in {None, alert.state}


def _write(found: Sequence[objects.Alert], limit: int) -> str:
    """Returns a row for each of the first alerts."""
    labels = [each.labels for each in found]
    same = {name: value for name, value in labelled.find_shared(labels).items() if name not in objects.OWN_LABELS}
    body = []
    for each in found[:limit]:
        names = [name for name in objects.order_labels(each.labels) if name not in same]
        shown = " ".join(f"{name}={each.labels[name]}" for name in names)
        own = (each.labels.get(name) for name in objects.OWN_LABELS)
        body.append([*own, each.state, cells.since(each.since), shown, each.summary])
    return rows.cut(rows.write(_TITLES, body, same), "alerts_cut", len(found) - limit)
