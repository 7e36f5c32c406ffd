"""The alerts of Alertmanager and Prometheus, read in the same way. `table` and the tool `alerts` show them with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from kubescript.guest.sdk.objects import views

__all__ = ["OWN_LABELS", "Alert", "is_alert", "order_labels", "read"]

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
    """Says whether a row has the labels, the state and the time of an alert. A rule has no such time."""
    if not isinstance(row, views.View) or not isinstance(row.get("labels"), views.View):
        return False
    if "activeAt" in row:
        return isinstance(row.get("state"), str)
    status = row.get("status")
    return "startsAt" in row and isinstance(status, views.View) and "state" in status


def order_labels(labels: Mapping[str, str]) -> list[str]:
    """Returns the names of an alert's labels besides its own name and severity; those that name objects first."""
    first = [name for name in _OBJECTS if name in labels]
    return [*first, *(name for name in labels if name not in (*_OBJECTS, *OWN_LABELS))]


def _summarize(alert: Any) -> str:
    annotations = alert.get("annotations") or {}
    return annotations.get("summary") or annotations.get("description") or annotations.get("message") or ""
