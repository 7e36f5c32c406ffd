"""The alerts of Alertmanager and Prometheus, read in the same way: for `print`, `table` and the tool `alerts`.
Rules have a short text, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast

import msgspec

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
    if "activeAt" in alert or "status" not in alert:
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
    """Returns a line about the JSON of an alert, a rule or a group of rules; for other data an empty text. As JSON, an
    alert has 300 tokens and a group of twelve rules 3,000."""
    return " ".join(_describe(plain).split())  # a line feed in a label could look like a further alert


def _describe(plain: dict[str, Any]) -> str:
    if _is_alert(plain, dict):
        return _describe_alert(read(plain))
    if "lastEvaluation" not in plain:
        return ""
    if "query" in plain:
        return f"<rule {_describe_state(plain)}: {plain['query']}>"
    rules = plain.get("rules")
    if isinstance(rules, list) and all(isinstance(rule, dict) for rule in rules):
        return f"<rules {plain.get('name')}: {', '.join(map(_describe_state, rules))}>"
    return ""


def _describe_state(rule: dict[str, Any]) -> str:
    """Returns the name of a rule, with its state if it alerts, and its error if it has one: `Slow firing`."""
    error = f"({rule['lastError']})" if rule.get("lastError") else ""
    return " ".join(str(each) for each in (rule.get("name"), rule.get("state"), error) if each)


def _describe_alert(alert: Alert) -> str:
    """Returns `<alert Slow{namespace="shop"} firing since 2026-11-27T20:53:00Z: the summary>`."""
    labels = dict(alert.labels)
    name = labels.pop("alertname", "")
    others = ", ".join(map(_show_label, labels.items()))
    shown = f"{name}{{{others}}}"
    summary = f": {alert.summary}" if alert.summary else ""
    return f"<alert {shown} {alert.state} since {alert.since}{summary}>"


def _show_label(label: tuple[str, str]) -> str:
    name, value = label
    quoted = msgspec.json.encode(value).decode()
    return f"{name}={quoted}"


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
