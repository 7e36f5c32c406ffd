"""HorizontalPodAutoscalers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubescript.guest.kubectl.describe import texts
from kubescript.guest.kubectl.describe.subject import Subject
from kubescript.guest.kubectl.describe.text_writer import Writer
from kubescript.guest.kubectl.describe.texts import Object

__all__ = ["write"]

_CONDITION_HEAD: Final = ("Type", "Status", "Reason", "Message")
_UNKNOWN: Final = "<unknown>"
_RULES: Final = {"Scale Up": "scaleUp", "Scale Down": "scaleDown"}

Metric = tuple[str, str, str]
"""A metric's title, value and target."""


def write(about: Subject, out: Writer) -> None:
    """Writes a HorizontalPodAutoscaler."""
    metadata = about.metadata
    spec = about.spec
    target = spec.get("scaleTargetRef") or {}
    kind = target.get("kind", "")
    out.names(metadata)
    out.labels_and_annotations(metadata)
    out.field("CreationTimestamp", texts.time(metadata.get("creationTimestamp")))
    out.field("Reference", f"{kind}/{target.get('name', '')}")
    _write_metrics(about, out)
    out.field("Min replicas", texts.text(spec.get("minReplicas"), "<unset>"))
    out.field("Max replicas", spec.get("maxReplicas", 0))
    _write_behavior(out, spec.get("behavior"))
    _write_status(out, kind, about.status)


def _write_status(out: Writer, kind: str, status: Object) -> None:
    """Writes the numbers of pods and the conditions."""
    current = status.get("currentReplicas", 0)
    desired = status.get("desiredReplicas", 0)
    out.field(f"{kind} pods", f"{current} current / {desired} desired")
    conditions = status.get("conditions")
    if conditions:
        rows = [texts.values(each, "type", "status", "reason", "message") for each in conditions]
        out.title("Conditions")
        out.table(_CONDITION_HEAD, rows)


# --- metrics ----------------------------------------------------------------------------------------------------------


def _write_metrics(about: Subject, out: Writer) -> None:
    """Writes a line for each metric."""
    out.field("Metrics", "( current / target )")
    wanted = about.spec.get("metrics") or []
    found = about.status.get("currentMetrics") or []
    for title, current, target in _metrics(wanted, found):
        out.field(title, f"{current} / {target}", 1)


def _metrics(wanted: list[Object], found: list[Object]) -> Iterator[Metric]:
    """Yields each metric of the spec with its current value."""
    for position, metric in enumerate(wanted):
        kind = texts.text(metric.get("type"))
        # The type ContainerResource has its details in the field containerResource.
        key = kind[:1].lower() + kind[1:]
        details = metric.get(key)
        if not isinstance(details, dict):
            yield f'<unknown metric type "{kind}">', _UNKNOWN, _UNKNOWN
            continue
        # The controller reports metrics in the order of the spec.
        own = None
        if position < len(found):
            own = found[position].get(key)
        current = (own or {}).get("current") or {}
        yield _describe_metric(kind, details, current)


def _describe_metric(kind: str, metric: Object, current: Object) -> Metric:
    """Describes a metric. Metrics of resources have different fields from metrics of other kinds."""
    if kind not in {"External", "Pods", "Object"}:
        return _describe_resource(kind, metric, current)
    target = metric.get("target") or {}
    is_average = target.get("averageValue") is not None
    key = "value"
    if is_average or kind == "Pods":
        key = "averageValue"
    title = _metric_title(kind, metric, is_average=is_average)
    return title, texts.text(current.get(key), _UNKNOWN), texts.text(target.get(key))


def _metric_title(kind: str, metric: Object, *, is_average: bool) -> str:
    """Returns a string such as `"requests" on pods`."""
    identifier = metric.get("metric") or {}
    name = identifier.get("name", "")
    if kind == "Pods":
        return f'"{name}" on pods'
    target = "average value" if is_average else "value"
    if kind == "External":
        return f'"{name}" (target {target})'
    described = metric.get("describedObject") or {}
    of = f"{described.get('kind', '')}/{described.get('name', '')}"
    return f'"{name}" on {of} (target {target})'


def _describe_resource(kind: str, metric: Object, current: Object) -> Metric:
    """Describes the usage of a resource such as cpu, by pods or by one of their containers."""
    target = metric.get("target") or {}
    title = _resource_title(kind, metric)
    average = texts.text(current.get("averageValue"), _UNKNOWN)
    average_target = target.get("averageValue")
    if average_target is not None:
        return title, average, texts.text(average_target)
    share = current.get("averageUtilization")
    now = _UNKNOWN
    if share is not None:
        now = f"{share}% ({average})"
    wanted = target.get("averageUtilization")
    wanted_text = "<auto>" if wanted is None else f"{wanted}%"
    return f"{title}  (as a percentage of request)", now, wanted_text


def _resource_title(kind: str, metric: Object) -> str:
    """Returns a string such as `resource cpu on pods`."""
    of = ""
    if kind == "ContainerResource":
        of = f' of container "{metric.get("container", "")}"'
    return f"resource {metric.get('name', '')}{of} on pods"


# --- behavior ---------------------------------------------------------------------------------------------------------


def _write_behavior(out: Writer, behavior: Object | None) -> None:
    """Writes how fast the autoscaler may scale."""
    if not behavior:
        return
    out.title("Behavior")
    for title, key in _RULES.items():
        rules = behavior.get(key)
        if rules is not None:
            out.title(title, 1)
            _write_scaling_rules(out, rules)


def _write_scaling_rules(out: Writer, rules: Object) -> None:
    """Writes how fast the autoscaler may scale in one direction."""
    window = rules.get("stabilizationWindowSeconds")
    if window is not None:
        out.row(f"Stabilization Window: {window} seconds", level=2)
    policies = rules.get("policies")
    if not policies:
        return
    out.row(f"Select Policy: {rules.get('selectPolicy') or 'Max'}", level=2)
    out.row("Policies:", level=2)
    for policy in policies:
        kind = f"- Type: {policy.get('type', '')}"
        value = f"Value: {policy.get('value', 0)}"
        period = f"Period: {policy.get('periodSeconds', 0)} seconds"
        out.row(kind, value, period, level=3)
