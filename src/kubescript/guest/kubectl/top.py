"""kubectl_top_nodes, kubectl_top_pods and kubectl_top_containers: metrics-server's figures, printed as in kubectl."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kubescript.guest.kubectl.rows.cells import line
from kubescript.guest.sdk import client
from kubescript.guest.sdk.objects import table
from kubescript.guest.sdk.values import exceptions, quantity
from kubescript.guest.tool_errors import ToolError
from kubescript.wire import messages

__all__ = ["kubectl_top_containers", "kubectl_top_nodes", "kubectl_top_pods"]

# If there are more rows, those with the highest usage are shown, with a line about the others.
_MOST_ROWS: Final = 50
# metrics-server measures CPU in billionths of a core.
_NANOS: Final = 10**9
_MIB: Final = 1024 * 1024
_SORTS: Final = ("cpu", "memory")
_UNKNOWN: Final = "<unknown>"
# The API server's statuses when metrics-server is not installed, and when it is not running.
_UNSERVED: Final = frozenset({404, 503})
_NODE_TITLES: Final = ("NAME", "CPU(cores)", "CPU(%)", "MEMORY(bytes)", "MEMORY(%)")
_TITLES: Final = ("NAME", "CPU(cores)", "MEMORY(bytes)")

Object = Mapping[str, Any]
Room = tuple[int, int]
"""What a node has for pods: CPU in billionths of a core, and memory in bytes."""


class _Usage(NamedTuple):
    """The usage of one node, pod or container."""

    namespace: str
    pod: str
    name: str
    cpu: int
    """Billionths of a core, as in metrics-server's answers."""
    memory: int
    """Memory in bytes."""

    @property
    def cells(self) -> tuple[str, str]:
        """CPU and memory in kubectl's units: thousandths of a core are rounded up, mebibytes are rounded down."""
        mebibytes = self.memory // _MIB
        return f"{_thousandths(self.cpu)}m", f"{mebibytes}Mi"


def kubectl_top_nodes(k8s: client.K8s, sort_by: str | None = None) -> str:
    """Returns the nodes' CPU and memory usage, also as a percentage of what they have for pods."""
    _check_sort(sort_by)
    core = k8s.coreV1()
    metrics = k8s.metricsV1beta1()
    measured, nodes = k8s.parallel([metrics.list_node_metrics, core.list_node])
    used = [_node_usage(each) for each in _read(measured)]
    notes: list[str] = []
    rooms: dict[str, Room] = {}
    # A caller who may not read nodes gets the usage without percentages.
    if isinstance(nodes, exceptions.ApiException):
        notes.append(messages.text("top_no_percent", reason=line(nodes.message)))
    else:
        rooms = {node["metadata"]["name"]: _room(node) for node in nodes}
    if not used:
        return messages.text("top_nothing", what="nodes", where=k8s.name)
    rows = [_node_row(each, rooms.get(each.name)) for each in _select_rows(used, sort_by)]
    # As in kubectl, a node without metrics is listed too: it may be down.
    unmeasured = sorted(rooms.keys() - {each.name for each in used})
    places = _MOST_ROWS - len(rows)
    rows += [(name, _UNKNOWN, _UNKNOWN, _UNKNOWN, _UNKNOWN) for name in unmeasured[:places]]
    if len(unmeasured) > places:
        notes.append(messages.text("top_unmeasured", count=len(unmeasured) - places))
    text = table.table(rows, _NODE_TITLES, width=0)
    remainder = _write_remainder(used, sort_by, "nodes", "top_cut")
    return _join_lines(text, remainder, *notes)


def kubectl_top_pods(
    k8s: client.K8s,
    namespace: str = "default",
    *,
    all_namespaces: bool = False,
    sort_by: str | None = None,
    containers: bool = False,
) -> str:
    """Returns the CPU and memory usage of pods, or of each of their containers."""
    _check_sort(sort_by)
    where = "" if all_namespaces else namespace
    measured = [_container_usages(each) for each in _read_pod_metrics(k8s, where)]
    pods = [each for each in measured if each]
    if not containers:
        totals = [_sum(each) for each in pods]
        return _write_table(k8s, totals, sort_by, where, "pods")
    # As in kubectl, the pods are sorted by their totals, and the containers within each pod.
    key = _sort_key(sort_by)
    pods = [_sort(each, sort_by) for each in pods]
    pods.sort(key=lambda pod: key(_sum(pod)))
    found = list(itertools.chain.from_iterable(pods))
    return _write_table(k8s, found, sort_by, where, "containers", is_sorted=True)


def kubectl_top_containers(
    k8s: client.K8s,
    namespace: str = "default",
    *,
    all_namespaces: bool = False,
    sort_by: str | None = None,
    pod_name: str | None = None,
    container_name: str | None = None,
) -> str:
    """Returns the CPU and memory usage of the containers whose names, and whose pods' names, contain these strings."""
    _check_sort(sort_by)
    where = "" if all_namespaces else namespace
    pods = map(_container_usages, _read_pod_metrics(k8s, where))
    measured = list(itertools.chain.from_iterable(pods))
    part = container_name or ""
    candidates = _select_pod(measured, pod_name or "")
    found = [each for each in candidates if part in each.name]
    if measured and not found:
        return messages.text("top_no_match", count=len(measured), where=where or k8s.name)
    return _write_table(k8s, found, sort_by, where, "containers")


def _select_pod(measured: list[_Usage], name: str) -> list[_Usage]:
    """Returns the containers of the pod with this name, or else those of pods whose names contain it."""
    exact = [each for each in measured if each.pod == name]
    if exact:
        return exact
    return [each for each in measured if name in each.pod]


def _check_sort(sort_by: str | None) -> None:
    """Raises ToolError for an unknown order. Not all of the tools' schemas list the orders."""
    if sort_by is None or sort_by in _SORTS:
        return
    known = ", ".join(_SORTS)
    raise ToolError("invalid_choice", name="sortBy", known=known, value=sort_by)


# --- reading ----------------------------------------------------------------------------------------------------------


def _read_pod_metrics(k8s: client.K8s, namespace: str) -> Iterator[Object]:
    metrics = k8s.metricsV1beta1()
    try:
        if namespace:
            found = metrics.list_namespaced_pod_metrics(namespace)
        else:
            found = metrics.list_pod_metrics_for_all_namespaces()
    except exceptions.ApiException as error:
        found = error
    return _read(found)


def _read(answer: Any) -> Iterator[Object]:
    """Returns the objects of a list of metrics. Raises ToolError if the cluster has no metrics."""
    if not isinstance(answer, exceptions.ApiException):
        return iter(answer)
    if answer.code == "cluster.not_captured":
        raise ToolError("top_not_captured", details=answer.message)
    if not answer.code and answer.status in _UNSERVED:
        raise ToolError("prerequisite_metrics")
    raise answer


def _node_usage(metrics: Object) -> _Usage:
    """Returns the usage of a node."""
    name = metrics["metadata"]["name"]
    cpu, memory = _amounts(metrics["usage"])
    return _Usage("", "", name, cpu, memory)


def _container_usages(metrics: Object) -> list[_Usage]:
    """Returns the usage of a pod's containers."""
    metadata = metrics["metadata"]
    namespace = metadata["namespace"]
    pod = metadata["name"]
    usages = []
    for each in metrics["containers"]:
        name = each["name"]
        cpu, memory = _amounts(each["usage"])
        usage = _Usage(namespace, pod, name, cpu, memory)
        usages.append(usage)
    return usages


def _room(node: Object) -> Room:
    """Returns what a node has for pods."""
    allocatable = node["status"].get("allocatable")
    return _amounts(allocatable)


def _amounts(given: Object | None) -> tuple[int, int]:
    """Returns billionths of a core, and bytes."""
    amounts = given or {}
    cpu = quantity.quantity(amounts.get("cpu"))
    memory = quantity.quantity(amounts.get("memory"))
    return math.ceil(cpu * _NANOS), math.ceil(memory)


def _sum(containers: Sequence[_Usage]) -> _Usage:
    """Returns the total usage of a pod."""
    first = containers[0]
    cpu = sum(each.cpu for each in containers)
    memory = sum(each.memory for each in containers)
    return _Usage(first.namespace, first.pod, first.pod, cpu, memory)


# --- printing ---------------------------------------------------------------------------------------------------------


def _write_table(
    k8s: client.K8s, found: list[_Usage], sort_by: str | None, where: str, what: str, *, is_sorted: bool = False
) -> str:
    """Returns the table of pods or containers, at most fifty rows, with a line about those left out."""
    if not found:
        return messages.text("top_nothing", what=what, where=where or k8s.name)
    shown = found[:_MOST_ROWS]
    if not (is_sorted and sort_by):
        shown = _select_rows(found, sort_by)
    titles = list(_TITLES)
    rows = [[each.name, *each.cells] for each in shown]
    if what == "containers":
        _prepend(titles, rows, "POD", [each.pod for each in shown])
    if not where:
        _prepend(titles, rows, "NAMESPACE", [each.namespace for each in shown])
    text = table.table(rows, titles, width=0)
    remainder = _write_remainder(found, sort_by, what, f"top_cut_{what}")
    return _join_lines(text, remainder)


def _prepend(titles: list[str], rows: list[list[str]], title: str, cells: Iterable[str]) -> None:
    """Adds a first column to a table."""
    titles.insert(0, title)
    for row, cell in zip(rows, cells, strict=True):
        row.insert(0, cell)


def _join_lines(*lines: str) -> str:
    """Returns the lines that are not empty."""
    return "\n".join(filter(None, lines))


def _select_rows(found: list[_Usage], sort_by: str | None) -> list[_Usage]:
    """Returns the rows in kubectl's order. If there are too many, returns those with the highest usage."""
    if len(found) > _MOST_ROWS:
        sort_by = sort_by or _SORTS[0]
    ordered = _sort(found, sort_by)
    return ordered[:_MOST_ROWS]


def _sort(found: Iterable[_Usage], sort_by: str | None) -> list[_Usage]:
    """Returns the rows in order: by highest usage, then by name."""
    return sorted(found, key=_sort_key(sort_by))


def _sort_key(sort_by: str | None) -> Callable[[_Usage], tuple[Any, ...]]:
    """Returns the sort key: by highest usage, then by name."""
    # As in kubectl, CPU is compared in thousandths of a core, as it is printed.
    if sort_by == "cpu":
        return lambda each: (-_thousandths(each.cpu), each[:3])
    if sort_by == "memory":
        return lambda each: (-each.memory, each[:3])
    return lambda each: each[:3]


def _write_remainder(found: Sequence[_Usage], sort_by: str | None, what: str, message: str) -> str:
    """Returns the line under a shortened table: how many rows there are, their total usage, and how to narrow the
    list."""
    if len(found) <= _MOST_ROWS:
        return ""
    cpu, memory = _sum(found).cells
    sort = sort_by or _SORTS[0]
    return messages.text(message, shown=_MOST_ROWS, all=len(found), what=what, sort=sort, cpu=cpu, memory=memory)


def _node_row(used: _Usage, room: Room | None) -> tuple[str, ...]:
    """Returns a node's cells; without percentages if it is not known how much the node has for pods."""
    cpu, memory = used.cells
    if room is None:
        return used.name, cpu, "", memory, ""
    all_cpu, all_memory = room
    cpu_share = _percent(_thousandths(used.cpu), _thousandths(all_cpu))
    memory_share = _percent(used.memory, all_memory)
    return used.name, cpu, cpu_share, memory, memory_share


def _percent(part: int, whole: int) -> str:
    """Returns a percentage, rounded down."""
    if not whole:
        return "0%"
    share = part * 100 // whole
    return f"{share}%"


def _thousandths(cpu: int) -> int:
    """Returns billionths of a core in thousandths, rounded up."""
    return -(-cpu // 1_000_000)
