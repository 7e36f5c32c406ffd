"""The alerts of Alertmanager and Prometheus, read in the same way: for `print`, `table` and the tool `alerts`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast

from kubescript.guest.sdk.objects import base_view

__all__ = ["OWN_LABELS", "Alert", "describe", "is_alert", "order_labels", "read"]

_OBJECTS: Final = (
    "namespace", "deployment", "statefulset", "daemonset", "job_name", "cronjob", "horizontalpodautoscaler",
    "persistentvolumeclaim", "pod", "container", "service", "node",
)  # fmt: skip
"""The labels that name objects of the cluster; they are shown before all others."""
OWN_LABELS: Final = ("alertname", "severity")
"""The labels that have columns of their own."""


class Alert(NamedTuple):
    """One alert, of either source."""

    labels: Mapping[str, str]
    state: str
    since: str
    summary: str


def read(alert: Any) -> Alert:
    """Returns an alert of Alertmanager or Prometheus."""
    if "status" not in alert:
        return Alert(alert["labels"], alert["state"], alert.get("activeAt", ""), _summarize(alert))
    status = alert["status"]
    state = "firing"
    if status["state"] == "suppressed":
        state = "silenced" if status.get("silencedBy") else "inhibited"
    return Alert(alert["labels"], state, alert.get("startsAt", ""), _summarize(alert))


def is_alert(row: Any) -> bool:
    """Says whether a row is JSON of a source with the labels, the state and the time of an alert. A rule has no such
    time."""
    return isinstance(row, base_view.BaseView) and _is_alert(row, base_view.BaseView)


def describe(plain: dict[str, Any]) -> str:
    """Returns `<alert Slow{namespace="shop"} firing since 2026-11-27T20:53:00Z: the summary>` for the JSON of an alert,
    which is five times as long; for other data an empty text."""
    if not _is_alert(plain, dict):
        return ""
    alert = read(plain)
    labels = ", ".join(f'{name}="{value}"' for name, value in alert.labels.items() if name != "alertname")
    summary = f": {alert.summary}" if alert.summary else ""
    return f"<alert {alert.labels.get('alertname', '')}{{{labels}}} {alert.state} since {alert.since}{summary}>"


def _is_alert(row: Any, kind: type) -> bool:
    if not isinstance(row.get("labels"), kind):
        return False
    if "activeAt" in row:
        return isinstance(row.get("state"), str)
    status = row.get("status")
    return "startsAt" in row and isinstance(status, kind) and "state" in cast("Mapping[str, Any]", status)


def order_labels(labels: Mapping[str, str]) -> list[str]:
    """Returns the names of an alert's labels besides its own name and severity; those that name objects first."""
    first = [name for name in _OBJECTS if name in labels]
    return [*first, *(name for name in labels if name not in (*_OBJECTS, *OWN_LABELS))]


def _summarize(alert: Any) -> str:
    annotations = alert.get("annotations")
    if not isinstance(annotations, Mapping):
        return ""
    return annotations.get("summary") or annotations.get("description") or annotations.get("message") or ""
