"""kubectl_top_nodes, kubectl_top_pods and kubectl_top_containers: metrics-server's figures, printed as in kubectl."""

from __future__ import annotations

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

_MOST_ROWS: Final = 50
_NANOS: Final = 10**9
_MIB: Final = 1024 * 1024
_SORTS: Final = ("cpu", "memory")
_UNKNOWN: Final = "<unknown>"
_UNSERVED: Final = frozenset({404, 503})
"""The API server's statuses when metrics-server is not installed, and when it is not running."""
_NODE_TITLES: Final = ("NAME", "CPU(cores)", "CPU(%)", "MEMORY(bytes)", "MEMORY(%)")
_TITLES: Final = ("NAME", "CPU(cores)", "MEMORY(bytes)")


class _Usage(NamedTuple):
    """The usage of one node, pod or container."""

    namespace: str
    pod: str
    name: str
    cpu: int
    """Billionths of a core, as in metrics-server's answers."""
    memory: int
    """Bytes."""

    @property
    def cells(self) -> tuple[str, str]:
        """CPU and memory in kubectl's units: thousandths of a core are rounded up, mebibytes are rounded down."""
        return f"{_thousandths(self.cpu)}m", f"{self.memory // _MIB}Mi"


def kubectl_top_nodes(k8s: client.K8s, sort_by: str | None = None) -> str:
    """Returns the nodes' CPU and memory usage, also as a percentage of what they have for pods."""
    _check_sort(sort_by)
    core, metrics = k8s.coreV1(), k8s.metricsV1beta1()
    measured, nodes = k8s.parallel([metrics.list_node_metrics, core.list_node])
    used = [_of_node(each) for each in _read(measured)]
    notes: list[str] = []
    room: dict[str, tuple[int, int]] = {}
    if isinstance(nodes, exceptions.ApiException):
        notes.append(messages.text("top_no_percent", reason=line(nodes.message)))
    else:
        room = {each["metadata"]["name"]: _amounts(each["status"].get("allocatable")) for each in nodes}
    if not used:
        return messages.text("top_nothing", what="nodes", where=k8s.name)
    shown = _select_rows(used, sort_by)
    rows: list[tuple[str, ...]] = [(each.name, *_node_cells(each, room.get(each.name))) for each in shown]
    unmeasured = sorted(room.keys() - {each.name for each in used})
    places = _MOST_ROWS - len(rows)
    rows += [(name, *[_UNKNOWN] * 4) for name in unmeasured[:places]]
    if len(unmeasured) > places:
        notes.append(messages.text("top_unmeasured", count=len(unmeasured) - places))
    text = table.table(rows, _NODE_TITLES, width=0)
    return "\n".join(filter(None, [text, _write_remainder(used, sort_by, "nodes", "top_cut"), *notes]))


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
    pods = [_of_containers(each) for each in _pod_metrics(k8s, where)]
    if not containers:
        return _write_table(k8s, [_sum(each) for each in pods if each], sort_by, where, "pods")
    # As in kubectl, the pods are sorted by their totals, and the containers within each pod.
    pods = [_sort(each, sort_by) for each in pods if each]
    pods.sort(key=lambda each: _key(sort_by)(_sum(each)))
    found = [each for pod in pods for each in pod]
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
    """Returns the CPU and memory usage of containers, if their and their pods' names contain these texts."""
    _check_sort(sort_by)
    where = "" if all_namespaces else namespace
    measured = [each for pod in _pod_metrics(k8s, where) for each in _of_containers(pod)]
    found = [each for each in _of_pod(measured, pod_name or "") if (container_name or "") in each.name]
    if measured and not found:
        return messages.text("top_no_match", count=len(measured), where=where or k8s.name)
    return _write_table(k8s, found, sort_by, where, "containers")


def _of_pod(measured: list[_Usage], name: str) -> list[_Usage]:
    """Returns the containers of the pod with this name, or else those of pods whose names contain it."""
    exact = [each for each in measured if each.pod == name]
    return exact or [each for each in measured if name in each.pod]


def _check_sort(sort_by: str | None) -> None:
    if sort_by not in (None, *_SORTS):
        raise ToolError("invalid_choice", name="sortBy", known=", ".join(_SORTS), value=sort_by)


# --- reading ----------------------------------------------------------------------------------------------------------


def _pod_metrics(k8s: client.K8s, namespace: str) -> Iterator[Mapping[str, Any]]:
    metrics = k8s.metricsV1beta1()
    try:
        if namespace:
            found = metrics.list_namespaced_pod_metrics(namespace)
        else:
            found = metrics.list_pod_metrics_for_all_namespaces()
    except exceptions.ApiException as error:
        found = error
    return _read(found)


def _read(answer: Any) -> Iterator[Mapping[str, Any]]:
    """Returns the objects of a list of metrics. Raises ToolError if the cluster has no metrics."""
    if not isinstance(answer, exceptions.ApiException):
        return iter(answer)
    if answer.code == "cluster.not_captured":
        raise ToolError("top_not_captured", details=answer.message)
    if not answer.code and answer.status in _UNSERVED:
        raise ToolError("prerequisite_metrics")
    raise answer


def _of_node(metrics: Mapping[str, Any]) -> _Usage:
    return _Usage("", "", metrics["metadata"]["name"], *_amounts(metrics["usage"]))


def _of_containers(metrics: Mapping[str, Any]) -> list[_Usage]:
    """Returns the usage of a pod's containers."""
    metadata = metrics["metadata"]
    namespace, pod = metadata["namespace"], metadata["name"]
    return [_Usage(namespace, pod, each["name"], *_amounts(each["usage"])) for each in metrics["containers"]]


def _amounts(given: Mapping[str, Any] | None) -> tuple[int, int]:
    """Returns billionths of a core, and bytes."""
    amounts = given or {}
    cpu, memory = quantity.quantity(amounts.get("cpu")), quantity.quantity(amounts.get("memory"))
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
    shown = found[:_MOST_ROWS] if is_sorted and sort_by else _select_rows(found, sort_by)
    columns: list[tuple[str, Callable[[_Usage], str]]] = []
    if not where:
        columns.append(("NAMESPACE", lambda each: each.namespace))
    if what == "containers":
        columns.append(("POD", lambda each: each.pod))
    titles = [title for title, _ in columns]
    rows = [(*[read(each) for _, read in columns], each.name, *each.cells) for each in shown]
    text = table.table(rows, [*titles, *_TITLES], width=0)
    return "\n".join(filter(None, [text, _write_remainder(found, sort_by, what, f"top_cut_{what}")]))


def _select_rows(found: list[_Usage], sort_by: str | None) -> list[_Usage]:
    """Returns the rows in kubectl's order. If there are too many, returns those with the highest usage."""
    if len(found) > _MOST_ROWS:
        sort_by = sort_by or _SORTS[0]
    return _sort(found, sort_by)[:_MOST_ROWS]


def _sort(found: Iterable[_Usage], sort_by: str | None) -> list[_Usage]:
    return sorted(found, key=_key(sort_by))


def _key(sort_by: str | None) -> Callable[[_Usage], tuple[Any, ...]]:
    """Returns the sort key: highest usage first, then names."""
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
    cpu, memory = _Usage("", "", "", sum(each.cpu for each in found), sum(each.memory for each in found)).cells
    sort = sort_by or _SORTS[0]
    return messages.text(message, shown=_MOST_ROWS, all=len(found), what=what, sort=sort, cpu=cpu, memory=memory)


def _node_cells(used: _Usage, room: tuple[int, int] | None) -> tuple[str, str, str, str]:
    cpu, memory = used.cells
    if room is None:
        return cpu, "", memory, ""
    cpu_share = _percent(_thousandths(used.cpu), _thousandths(room[0]))
    return cpu, cpu_share, memory, _percent(used.memory, room[1])


def _percent(part: int, whole: int) -> str:
    return f"{part * 100 // whole if whole else 0}%"


def _thousandths(cpu: int) -> int:
    return -(-cpu // 1_000_000)
