"""Nodes, and the resources of their pods: the tables `Non-terminated Pods` and `Allocated resources`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kubescript.guest.kubectl.describe import subject, texts
from kubescript.guest.kubectl.describe.subject import Read, Subject
from kubescript.guest.kubectl.describe.text_writer import Writer
from kubescript.guest.kubectl.describe.texts import Object
from kubescript.guest.kubectl.rows import cells
from kubescript.guest.sdk import client
from kubescript.guest.sdk.values import quantity, quantity_number
from kubescript.kube import quantities
from kubescript.wire import messages

__all__ = ["reads", "write"]

# As in kubectl, pods that have ended are left out: they need no resources.
_RUNNING: Final = "spec.nodeName={},status.phase!=Succeeded,status.phase!=Failed"
_CONDITION_HEAD: Final = ("Type", "Status", "LastHeartbeatTime", "LastTransitionTime", "Reason", "Message")
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


def reads(k8s: client.K8s, name: str, namespace: str) -> dict[str, Read]:
    """Returns the calls that read the node's pods and its lease."""
    core = k8s.coreV1()
    leases = k8s.coordinationV1()
    selector = _RUNNING.format(name)
    # kubectl also lists ResourceSlices, which fails on every cluster before 1.34.
    return {
        "pods": lambda: core.list_pod_for_all_namespaces(field_selector=selector),
        "lease": lambda: leases.read_namespaced_lease(name, "kube-node-lease"),
    }


def write(about: Subject, out: Writer) -> None:
    """Writes a node."""
    metadata = about.metadata
    spec = about.spec
    status = about.status
    out.field("Name", metadata.get("name"))
    out.field("Roles", texts.join(cells.node_roles(about.object)))
    out.labels_and_annotations(metadata)
    out.field("CreationTimestamp", texts.time(metadata.get("creationTimestamp")))
    _write_taints(out, spec)
    out.field("Unschedulable", bool(spec.get("unschedulable")))
    _write_lease(out, about.beside.get("lease"))
    _write_conditions(out, status)
    _write_addresses(out, status)
    _write_resources(out, "Capacity", status.get("capacity"))
    _write_resources(out, "Allocatable", status.get("allocatable"))
    _write_system(out, spec, status)
    pods = about.beside.get("pods")
    if isinstance(pods, list):
        _write_needs(out, status, pods)
    else:
        note = subject.describe_failure(about.beside["pods"])
        out.field("Pods", note)


def _write_taints(out: Writer, spec: Object) -> None:
    """Writes which pods the node repels."""
    taints = map(_taint, spec.get("taints") or ())
    out.several("Taints", sorted(taints, key=_by_effect))


def _taint(found: Object) -> str:
    """Returns a taint such as `gpu=true:NoSchedule`."""
    text = f"{found.get('key', '')}"
    if found.get("value"):
        text += f"={found['value']}"
    if found.get("effect"):
        text += f":{found['effect']}"
    return text


def _by_effect(taint: str) -> tuple[str, str]:
    """Returns the sort key of a taint: as in kubectl, its effect comes before its key."""
    key, _, effect = taint.rpartition(":")
    return effect, key


def _write_lease(out: Writer, lease: Object | Exception | None) -> None:
    """Writes the lease that the kubelet renews to show that the node is up."""
    if not isinstance(lease, dict):
        why = subject.reason(lease) if isinstance(lease, Exception) else ""
        out.field("Lease", f"Failed to get lease: {why}")
        return
    spec = lease.get("spec") or {}
    holder = texts.text(spec.get("holderIdentity"), "<unset>")
    out.title("Lease")
    out.field("HolderIdentity", holder, 1)
    _write_lease_time(out, "AcquireTime", spec.get("acquireTime"))
    _write_lease_time(out, "RenewTime", spec.get("renewTime"))


def _write_lease_time(out: Writer, title: str, stamp: str | None) -> None:
    """Writes a time of the lease."""
    moment = texts.time(stamp) if stamp else "<unset>"
    out.field(title, moment, 1)


def _write_conditions(out: Writer, status: Object) -> None:
    """Writes the node's problems, and whether it is ready."""
    conditions = status.get("conditions")
    if not conditions:
        return
    rows = [texts.condition_cells(each, "lastHeartbeatTime") for each in conditions]
    out.title("Conditions")
    out.table(_CONDITION_HEAD, rows)


def _write_addresses(out: Writer, status: Object) -> None:
    """Writes the addresses at which the node is reached."""
    out.title("Addresses")
    for each in status.get("addresses") or ():
        kind = each.get("type", "")
        out.field(kind, each.get("address"), 1)


def _write_resources(out: Writer, title: str, amounts: Object | None) -> None:
    """Writes amounts of resources under a title."""
    if not amounts:
        return
    out.title(title)
    for name, amount in sorted(amounts.items()):
        out.field(name, amount, 1)


def _write_system(out: Writer, spec: Object, status: Object) -> None:
    """Writes the node's software and its share of the cluster's network."""
    info = status.get("nodeInfo") or {}
    out.title("System Info")
    out.fields(info, _INFO, 1)
    out.optional_field("PodCIDR", spec.get("podCIDR"))
    ranges = spec.get("podCIDRs")
    if ranges:
        out.field("PodCIDRs", texts.join(ranges))
    out.optional_field("ProviderID", spec.get("providerID"))


# --- what the pods need -----------------------------------------------------------------------------------------------

# A note says how many more pods there are; the totals below the table are those of all pods.
MAX_PODS: Final = 50
_MILLI: Final = 0.001
_PODS: Final = (
    *("Namespace", "Name", "", "CPU Requests", "CPU Limits", "Memory Requests", "Memory Limits"),
    "Age",
)
_HUGE: Final = "hugepages-"
_STANDARD: Final = ("cpu", "memory", "ephemeral-storage")


def _write_needs(out: Writer, status: Object, pods: Sequence[Object]) -> None:
    """Writes the tables of pods and resources."""
    available = _amounts(status.get("allocatable") or status.get("capacity"))
    out.field("Non-terminated Pods", f"({len(pods)} in total)")
    needs = [_pod_needs(pod) for pod in pods]
    rows = [_pod_row(pod, own, available) for pod, own in zip(pods, needs, strict=True)]
    out.table(_PODS, rows[:MAX_PODS])
    more = len(pods) - MAX_PODS
    if more > 0:
        note = messages.text("describe_more_pods", count=more)
        out.row(note, level=1)
    all_requests = _sum([requests for requests, _ in needs])
    all_limits = _sum([limits for _, limits in needs])
    _write_totals(out, (all_requests, all_limits), available)


def _pod_needs(pod: Object) -> _Needs:
    requests = _pod_amounts(pod, "requests")
    limits = _pod_amounts(pod, "limits")
    return requests, limits


def _pod_amounts(pod: Object, kind: str) -> _Amounts:
    """Returns the most that a pod needs at any time; `kind` is requests or limits."""
    spec = pod.get("spec") or {}
    containers = spec.get("containers") or ()
    total = _sum([_container_amounts(each, kind) for each in containers])
    sidecars: _Amounts = {}
    starting: _Amounts = {}
    for container in spec.get("initContainers") or ():
        own = _container_amounts(container, kind)
        # A sidecar keeps running beside all later containers. Other init containers run one after the other, each
        # beside the sidecars that come before it.
        if container.get("restartPolicy") == "Always":
            _add(total, own)
            _add(sidecars, own)
            own = sidecars
        else:
            _add(own, sidecars)
        _raise_to(starting, own)
    _raise_to(total, starting)
    # Resources set for the whole pod replace those of its containers.
    total |= _container_amounts(spec, kind)
    _add(total, _overhead(spec, kind, total))
    return total


def _overhead(spec: Object, kind: str, total: _Amounts) -> _Amounts:
    """Returns what the pod's sandbox needs. It adds no limit to a resource that has none."""
    overhead = _amounts(spec.get("overhead"))
    if kind == "requests":
        return overhead
    return {name: amount for name, amount in overhead.items() if total.get(name, _ZERO).number}


def _container_amounts(container: Object, kind: str) -> _Amounts:
    """Returns the requests or limits of a container, or those of a whole pod."""
    resources = container.get("resources") or {}
    amounts = resources.get(kind)
    return _amounts(amounts)


def _pod_row(pod: Object, needs: _Needs, available: _Amounts) -> tuple[str, ...]:
    """Returns the cells of a pod, in the order of `_PODS`."""
    metadata = pod.get("metadata") or {}
    namespace, name = texts.values(metadata, "namespace", "name")
    age = texts.since(metadata.get("creationTimestamp"))
    cpu = _shares(needs, "cpu", available)
    memory = _shares(needs, "memory", available)
    return namespace, name, "", *cpu, *memory, age


def _shares(needs: _Needs, resource: str, available: _Amounts) -> list[str]:
    """Returns requests and limits of a resource, such as `100m (5%)`."""
    # As in kubectl, CPU is counted in thousandths of a core, and everything else in whole units.
    unit = _MILLI if resource == "cpu" else 1
    whole = available.get(resource, _ZERO)
    shares = []
    for amounts in needs:
        amount = amounts.get(resource, _ZERO)
        percent = _percent(amount, whole, unit)
        shares.append(f"{amount} ({percent}%)")
    return shares


def _write_totals(out: Writer, needs: _Needs, available: _Amounts) -> None:
    """Writes the table of all resources. Those that are not standard have no percentages, as in kubectl."""
    out.title("Allocated resources")
    out.row("(Total limits may be over 100 percent, i.e., overcommitted.)", level=1)
    huge = sorted(name for name in available if name.startswith(_HUGE))
    standard = [*_STANDARD, *huge]
    rows = [(name, *_shares(needs, name, available)) for name in standard]
    for name in sorted(available.keys() - {*standard, "pods"}):
        amounts = [str(each.get(name, _ZERO)) for each in needs]
        rows.append((name, *amounts))
    out.table(("Resource", "Requests", "Limits"), rows)


# --- amounts ----------------------------------------------------------------------------------------------------------

# How many of the smallest unit that a quantity can be written in make up one.
_NANO: Final = 10**9


class Amount(NamedTuple):
    """A quantity, and whether it is written in powers of 1024."""

    number: quantity_number.Quantity
    binary: bool

    def __str__(self) -> str:
        """Returns the amount as Kubernetes writes it, such as `500m` or `2Gi`."""
        is_whole = self.number.is_integer()
        # As in Kubernetes, less than 1024 is written in decimal form.
        if self.binary and is_whole and abs(self.number) >= 1024:
            return _write_amount(int(self.number), 1024, quantities.BINARY)
        nanos = math.ceil(self.number * _NANO)
        return _write_amount(nanos, 1000, quantities.DECIMAL)


_Amounts = dict[str, Amount]
"""Amounts by resource."""
_Needs = tuple[_Amounts, _Amounts]
"""Requests and limits of one pod, or of several pods together."""
_ZERO: Final = Amount(quantity.quantity(0), False)


def _write_amount(count: int, base: int, suffixes: tuple[str, ...]) -> str:
    """Returns a count of the smallest unit in the largest unit that gives a whole number."""
    if count == 0:
        return "0"
    unit = 0
    last = len(suffixes) - 1
    while count % base == 0 and unit < last:
        count //= base
        unit += 1
    suffix = suffixes[unit]
    return f"{count}{suffix}"


def _amounts(found: Mapping[str, str] | None) -> _Amounts:
    """Returns the amounts of a map such as `requests`."""
    amounts = {}
    for name, text in (found or {}).items():
        is_binary = str(text).endswith("i")
        amounts[name] = Amount(quantity.quantity(text), is_binary)
    return amounts


def _sum(found: Sequence[_Amounts]) -> _Amounts:
    """Returns the total of the amounts of several containers or pods."""
    total: _Amounts = {}
    for each in found:
        _add(total, each)
    return total


def _add(total: _Amounts, more: _Amounts) -> None:
    """Adds amounts to a total."""
    for name, amount in more.items():
        own = total.get(name, _ZERO)
        # A sum is written in the form of its first addend that is not zero, as in Kubernetes.
        binary = own.binary if own.number else amount.binary
        number = quantity.quantity(own.number + amount.number)
        total[name] = Amount(number, binary)


def _raise_to(total: _Amounts, other: _Amounts) -> None:
    """Raises each amount of a total to the other amount if that is larger."""
    for name, amount in other.items():
        if name not in total or amount.number > total[name].number:
            total[name] = amount


def _percent(part: Amount, whole: Amount, unit: float) -> int:
    """Returns a part as a percentage of a whole. Both are counted in `unit` and rounded up, as in kubectl."""
    size = quantity.quantity(unit)
    all_units = math.ceil(whole.number / size)
    if not all_units:
        return 0
    units = math.ceil(part.number / size)
    return int(units / all_units * 100)
