"""What the pods of a node ask for: the tables `Non-terminated Pods` and `Allocated resources`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubescript.guest.kubectl.describe import amounts, values, writer
from kubescript.wire import messages

__all__ = ["write"]

MAX_PODS: Final = 50
_MILLI: Final = 0.001
_PODS: Final = (
    *("Namespace", "Name", "", "CPU Requests", "CPU Limits", "Memory Requests", "Memory Limits"),
    "Age",
)
_HUGE: Final = "hugepages-"
_STANDARD: Final = ("cpu", "memory", "ephemeral-storage")


def write(out: writer.Writer, node: values.Object, pods: Sequence[values.Object]) -> None:
    """Writes both tables."""
    status = node.get("status") or {}
    available = amounts.amounts(status.get("allocatable") or status.get("capacity"))
    out.field("Non-terminated Pods", f"({len(pods)} in total)")
    requests = [_of_pod(pod, "requests") for pod in pods]
    limits = [_of_pod(pod, "limits") for pod in pods]
    rows = []
    for pod, requested, limited in zip(pods, requests, limits, strict=True):
        rows.append(_row(pod, requested, limited, available))
    out.table(_PODS, rows[:MAX_PODS])
    if len(pods) > MAX_PODS:
        out.row(messages.text("describe_more_pods", count=len(pods) - MAX_PODS), level=1)
    _write_totals(out, _sum(requests), _sum(limits), available)


def _of_pod(pod: values.Object, kind: str) -> amounts.Amounts:
    """Returns what a pod asks for at most at any time: `kind` is requests or limits."""
    spec = pod.get("spec") or {}
    total: amounts.Amounts = {}
    for container in spec.get("containers") or ():
        amounts.add(total, _of_container(container, kind))
    sidecars: amounts.Amounts = {}
    starting: amounts.Amounts = {}
    for container in spec.get("initContainers") or ():
        own = _of_container(container, kind)
        if container.get("restartPolicy") == "Always":
            amounts.add(total, own)
            amounts.add(sidecars, own)
            own = sidecars
        else:
            amounts.add(own, sidecars)
        amounts.most(starting, own)
    amounts.most(total, starting)
    total |= amounts.amounts((spec.get("resources") or {}).get(kind))
    overhead = amounts.amounts(spec.get("overhead"))
    if kind == "limits":
        overhead = {name: each for name, each in overhead.items() if total.get(name, amounts.ZERO).number}
    amounts.add(total, overhead)
    return total


def _of_container(container: values.Object, kind: str) -> amounts.Amounts:
    return amounts.amounts((container.get("resources") or {}).get(kind))


def _sum(found: Sequence[amounts.Amounts]) -> amounts.Amounts:
    total: amounts.Amounts = {}
    for each in found:
        amounts.add(total, each)
    return total


def _row(
    pod: values.Object, requests: amounts.Amounts, limits: amounts.Amounts, available: amounts.Amounts
) -> tuple[str, ...]:
    metadata = pod.get("metadata") or {}
    cells = []
    for resource, unit in (("cpu", _MILLI), ("memory", 1)):
        cells += [_share(each, resource, available, unit) for each in (requests, limits)]
    age = values.since(metadata.get("creationTimestamp"))
    return values.text(metadata.get("namespace")), values.text(metadata.get("name")), "", *cells, age


def _share(found: amounts.Amounts, resource: str, available: amounts.Amounts, unit: float) -> str:
    amount, whole = found.get(resource, amounts.ZERO), available.get(resource, amounts.ZERO)
    return f"{amount} ({amounts.percent(amount, whole, unit)}%)"


def _write_totals(
    out: writer.Writer, requests: amounts.Amounts, limits: amounts.Amounts, available: amounts.Amounts
) -> None:
    out.title("Allocated resources")
    out.row("(Total limits may be over 100 percent, i.e., overcommitted.)", level=1)
    huge = sorted(name for name in available if name.startswith(_HUGE))
    others = sorted(name for name in available if name not in {*_STANDARD, *huge, "pods"})
    rows = []
    for name in (*_STANDARD, *huge):
        unit = _MILLI if name == "cpu" else 1
        rows.append((name, *(_share(each, name, available, unit) for each in (requests, limits))))
    counts = [(name, *(str(each.get(name, amounts.ZERO)) for each in (requests, limits))) for name in others]
    out.table(("Resource", "Requests", "Limits"), [*rows, *counts])
