"""Nodes, and the resources of their pods: the tables `Non-terminated Pods` and `Allocated resources`."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kubescript.guest.kubectl.describe import subject, text_writer, texts
from kubescript.guest.kubectl.rows import cells
from kubescript.guest.sdk import client
from kubescript.guest.sdk.values import exact, quantity
from kubescript.kube import quantities
from kubescript.wire import messages

__all__ = ["reads", "write"]

_RUNNING: Final = "spec.nodeName={},status.phase!=Succeeded,status.phase!=Failed"
_HEAD: Final = ("Type", "Status", "LastHeartbeatTime", "LastTransitionTime", "Reason", "Message")
_INFO: Final = {
    "Machine ID": "machineID",
    "System UUID": "systemUUID",
    "Boot ID": "bootID",
    "Kernel Version": "kernelVersion",
    "OS Image": "osImage",
    "Operating System": "operatingSystem",
    "Architecture": "architecture",
    "Container Runtime Version": "containerRuntimeVersion",
    "Kubelet Version": "kubeletVersion",
}


def reads(k8s: client.K8s, name: str, namespace: str) -> dict[str, subject.Read]:
    """Returns the calls that read the node's pods and its lease."""
    # kubectl also lists ResourceSlices, which fails on every cluster before 1.34.
    pods = functools.partial(k8s.coreV1().list_pod_for_all_namespaces, field_selector=_RUNNING.format(name))
    lease = functools.partial(k8s.coordinationV1().read_namespaced_lease, name, "kube-node-lease")
    return {"pods": pods, "lease": lease}


def write(about: subject.Subject, out: text_writer.Writer) -> None:
    """Writes a node."""
    node = about.object
    metadata, spec, status = (node.get(key) or {} for key in ("metadata", "spec", "status"))
    out.field("Name", metadata.get("name"))
    out.field("Roles", texts.join(cells.node_roles(node)))
    out.labels("Labels", metadata.get("labels"))
    out.annotations("Annotations", metadata.get("annotations"))
    out.field("CreationTimestamp", texts.time(metadata.get("creationTimestamp")))
    out.several("Taints", sorted(map(_taint, spec.get("taints") or ()), key=_by_effect))
    out.field("Unschedulable", bool(spec.get("unschedulable")))
    _lease(out, about.beside.get("lease"))
    _status(out, status)
    _system(out, spec, status)
    if isinstance(about.beside.get("pods"), list):
        _write_needs(out, node, about.get_list("pods"))
    else:
        out.field("Pods", messages.text("describe_not_read", reason=subject.reason(about.beside["pods"])))


def _taint(found: texts.Object) -> str:
    value = f"={found['value']}" if found.get("value") else ""
    effect = f":{found['effect']}" if found.get("effect") else ""
    return f"{found.get('key', '')}{value}{effect}"


def _by_effect(taint: str) -> tuple[str, str]:
    key, _, effect = taint.rpartition(":")
    return effect, key


def _lease(out: text_writer.Writer, lease: texts.Object | Exception | None) -> None:
    if not isinstance(lease, dict):
        why = subject.reason(lease) if isinstance(lease, Exception) else ""
        out.field("Lease", f"Failed to get lease: {why}")
        return
    spec = lease.get("spec") or {}
    out.title("Lease")
    out.field("HolderIdentity", texts.text(spec.get("holderIdentity"), "<unset>"), 1)
    for name in ("AcquireTime", "RenewTime"):
        stamp = spec.get(name[0].lower() + name[1:])
        out.field(name, texts.time(stamp) if stamp else "<unset>", 1)


def _status(out: text_writer.Writer, status: texts.Object) -> None:
    if conditions := status.get("conditions"):
        out.title("Conditions")
        rules = ("----", "------", "-----------------", "------------------", "------", "-------")
        out.table(_HEAD, map(_condition, conditions), rules)
    out.title("Addresses")
    for each in status.get("addresses") or ():
        out.field(each.get("type", ""), each.get("address"), 1)
    for title in ("Capacity", "Allocatable"):
        if found := status.get(title.lower()):
            out.title(title)
            for name, amount in sorted(found.items()):
                out.field(name, amount, 1)


def _condition(found: texts.Object) -> tuple[str, ...]:
    stamps = (f"{texts.time(found.get(key))} " for key in ("lastHeartbeatTime", "lastTransitionTime"))
    states = (f"{texts.text(found.get(key))} " for key in ("type", "status"))
    return *states, *stamps, f"{texts.text(found.get('reason'))} ", texts.text(found.get("message"))


def _system(out: text_writer.Writer, spec: texts.Object, status: texts.Object) -> None:
    info = status.get("nodeInfo") or {}
    out.title("System Info")
    for name, key in _INFO.items():
        out.field(name, info.get(key), 1)
    out.optional_field("PodCIDR", spec.get("podCIDR"))
    if spec.get("podCIDRs"):
        out.field("PodCIDRs", texts.join(spec["podCIDRs"]))
    out.optional_field("ProviderID", spec.get("providerID"))


MAX_PODS: Final = 50
_MILLI: Final = 0.001
_PODS: Final = (
    *("Namespace", "Name", "", "CPU Requests", "CPU Limits", "Memory Requests", "Memory Limits"),
    "Age",
)
_HUGE: Final = "hugepages-"
_STANDARD: Final = ("cpu", "memory", "ephemeral-storage")


def _write_needs(out: text_writer.Writer, node: texts.Object, pods: Sequence[texts.Object]) -> None:
    """Writes the tables of pods and resources."""
    status = node.get("status") or {}
    available = _amounts(status.get("allocatable") or status.get("capacity"))
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


def _of_pod(pod: texts.Object, kind: str) -> _Amounts:
    """Returns the most that a pod needs at any time; `kind` is requests or limits."""
    spec = pod.get("spec") or {}
    total: _Amounts = {}
    for container in spec.get("containers") or ():
        _add(total, _of_container(container, kind))
    sidecars: _Amounts = {}
    starting: _Amounts = {}
    for container in spec.get("initContainers") or ():
        own = _of_container(container, kind)
        if container.get("restartPolicy") == "Always":
            _add(total, own)
            _add(sidecars, own)
            own = sidecars
        else:
            _add(own, sidecars)
        _most(starting, own)
    _most(total, starting)
    total |= _amounts((spec.get("resources") or {}).get(kind))
    overhead = _amounts(spec.get("overhead"))
    if kind == "limits":
        overhead = {name: each for name, each in overhead.items() if total.get(name, _ZERO).number}
    _add(total, overhead)
    return total


def _of_container(container: texts.Object, kind: str) -> _Amounts:
    return _amounts((container.get("resources") or {}).get(kind))


def _sum(found: Sequence[_Amounts]) -> _Amounts:
    total: _Amounts = {}
    for each in found:
        _add(total, each)
    return total


def _row(pod: texts.Object, requests: _Amounts, limits: _Amounts, available: _Amounts) -> tuple[str, ...]:
    metadata = pod.get("metadata") or {}
    cells = []
    for resource, unit in (("cpu", _MILLI), ("memory", 1)):
        cells += [_share(each, resource, available, unit) for each in (requests, limits)]
    age = texts.since(metadata.get("creationTimestamp"))
    return texts.text(metadata.get("namespace")), texts.text(metadata.get("name")), "", *cells, age


def _share(found: _Amounts, resource: str, available: _Amounts, unit: float) -> str:
    amount, whole = found.get(resource, _ZERO), available.get(resource, _ZERO)
    return f"{amount} ({_percent(amount, whole, unit)}%)"


def _write_totals(out: text_writer.Writer, requests: _Amounts, limits: _Amounts, available: _Amounts) -> None:
    out.title("Allocated resources")
    out.row("(Total limits may be over 100 percent, i.e., overcommitted.)", level=1)
    huge = sorted(name for name in available if name.startswith(_HUGE))
    others = sorted(name for name in available if name not in {*_STANDARD, *huge, "pods"})
    rows = []
    for name in (*_STANDARD, *huge):
        unit = _MILLI if name == "cpu" else 1
        rows.append((name, *(_share(each, name, available, unit) for each in (requests, limits))))
    counts = [(name, *(str(each.get(name, _ZERO)) for each in (requests, limits))) for name in others]
    out.table(("Resource", "Requests", "Limits"), [*rows, *counts])


_NANO: Final = 10**9


class Amount(NamedTuple):
    """A quantity, and whether it is written in powers of 1024."""

    number: exact.Quantity
    binary: bool

    def __str__(self) -> str:
        whole = self.number.is_integer()
        if self.binary and whole and abs(self.number) >= 1024:
            return _write_amount(int(self.number), 1024, quantities.BINARY)
        return _write_amount(math.ceil(self.number * _NANO), 1000, quantities.DECIMAL)


_Amounts = dict[str, Amount]
"""Amounts by resource."""
_ZERO: Final = Amount(quantity.quantity(0), False)


def _write_amount(count: int, base: int, suffixes: tuple[str, ...]) -> str:
    """Returns a count of the smallest unit in the largest unit that gives a whole number."""
    if count == 0:
        return "0"
    unit = 0
    while count % base == 0 and unit < len(suffixes) - 1:
        count //= base
        unit += 1
    return f"{count}{suffixes[unit]}"


def _amounts(found: Mapping[str, str] | None) -> _Amounts:
    """Returns the amounts of a map such as `requests`."""
    return {name: Amount(quantity.quantity(text), str(text).endswith("i")) for name, text in (found or {}).items()}


def _add(total: _Amounts, more: _Amounts) -> None:
    """Adds amounts to a total."""
    for name, amount in more.items():
        own = total.get(name, _ZERO)
        binary = own.binary if own.number else amount.binary
        total[name] = Amount(quantity.quantity(own.number + amount.number), binary)


def _most(total: _Amounts, other: _Amounts) -> None:
    """Raises each amount of a total to the other amount if that is larger."""
    for name, amount in other.items():
        if name not in total or amount.number > total[name].number:
            total[name] = amount


def _percent(part: Amount, whole: Amount, unit: float = 1) -> int:
    """Returns the percentage of a whole. Both are counted in `unit` and rounded up, as in kubectl."""
    of = math.ceil(whole.number / quantity.quantity(unit))
    return int(math.ceil(part.number / quantity.quantity(unit)) / of * 100) if of else 0
