"""HorizontalPodAutoscalers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubescript.guest.kubectl.describe import subject, text_writer, texts

__all__ = ["write"]


def write(about: subject.Subject, out: text_writer.Writer) -> None:
    """Writes a HorizontalPodAutoscaler."""
    metadata, spec, status = (about.object.get(key) or {} for key in ("metadata", "spec", "status"))
    target = spec.get("scaleTargetRef") or {}
    out.field("Name", metadata.get("name"))
    out.field("Namespace", metadata.get("namespace"))
    out.labels("Labels", metadata.get("labels"))
    out.annotations("Annotations", metadata.get("annotations"))
    out.field("CreationTimestamp", texts.time(metadata.get("creationTimestamp")))
    out.field("Reference", f"{target.get('kind', '')}/{target.get('name', '')}")
    out.field("Metrics", "( current / target )")
    for title, current, wanted in _metrics(spec.get("metrics") or [], status.get("currentMetrics") or []):
        out.field(title, f"{current} / {wanted}", 1)
    out.field("Min replicas", texts.text(spec.get("minReplicas"), "<unset>"))
    out.field("Max replicas", spec.get("maxReplicas", 0))
    _behavior(out, spec.get("behavior"))
    counts = f"{status.get('currentReplicas', 0)} current / {status.get('desiredReplicas', 0)} desired"
    out.field(f"{target.get('kind', '')} pods", counts)
    if conditions := status.get("conditions"):
        out.title("Conditions")
        names = ("type", "status", "reason", "message")
        rows = [tuple(texts.text(each.get(name)) for name in names) for each in conditions]
        out.table(("Type", "Status", "Reason", "Message"), rows)


def _metrics(wanted: list[texts.Object], found: list[texts.Object]) -> Iterator[tuple[str, str, str]]:
    """Yields each metric's title, value and target."""
    for position, metric in enumerate(wanted):
        kind = texts.text(metric.get("type"))
        key = kind[:1].lower() + kind[1:]
        if not isinstance(metric.get(key), dict):
            yield f'<unknown metric type "{kind}">', "<unknown>", "<unknown>"
            continue
        own = found[position].get(key) if position < len(found) else None
        yield _metric(kind, metric[key], (own or {}).get("current") or {})


def _metric(kind: str, metric: texts.Object, current: texts.Object) -> tuple[str, str, str]:
    target, name = metric.get("target") or {}, (metric.get("metric") or {}).get("name", "")
    average = target.get("averageValue") is not None
    key = "averageValue" if average or kind == "Pods" else "value"
    if kind == "External":
        title = f'"{name}" (target {"average value" if average else "value"})'
    elif kind == "Pods":
        title = f'"{name}" on pods'
    elif kind == "Object":
        described: dict[str, Any] = metric.get("describedObject") or {}
        of = f"{described.get('kind', '')}/{described.get('name', '')}"
        title = f'"{name}" on {of} (target {"average value" if average else "value"})'
    else:
        return _resource(kind, metric, current)
    return title, texts.text(current.get(key), "<unknown>"), texts.text(target.get(key))


def _resource(kind: str, metric: texts.Object, current: texts.Object) -> tuple[str, str, str]:
    target = metric.get("target") or {}
    of = f' of container "{metric.get("container", "")}"' if kind == "ContainerResource" else ""
    title = f"resource {metric.get('name', '')}{of} on pods"
    average = texts.text(current.get("averageValue"), "<unknown>")
    if target.get("averageValue") is not None:
        return title, average, texts.text(target["averageValue"])
    share, wanted = current.get("averageUtilization"), target.get("averageUtilization")
    now = "<unknown>" if share is None else f"{share}% ({average})"
    return f"{title}  (as a percentage of request)", now, "<auto>" if wanted is None else f"{wanted}%"


def _behavior(out: text_writer.Writer, found: texts.Object | None) -> None:
    if not found:
        return
    out.title("Behavior")
    for title, key in (("Scale Up", "scaleUp"), ("Scale Down", "scaleDown")):
        rules = found.get(key)
        if rules is None:
            continue
        out.title(title, 1)
        if rules.get("stabilizationWindowSeconds") is not None:
            out.row(f"Stabilization Window: {rules['stabilizationWindowSeconds']} seconds", level=2)
        if rules.get("policies"):
            out.row(f"Select Policy: {rules.get('selectPolicy') or 'Max'}", level=2)
            out.row("Policies:", level=2)
        for each in rules.get("policies") or ():
            period = f"Period: {each.get('periodSeconds', 0)} seconds"
            out.row(f"- Type: {each.get('type', '')}", f"Value: {each.get('value', 0)}", period, level=3)
