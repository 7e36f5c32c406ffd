"""A whole cluster's state on one page: nodes, pods, workloads, warnings and API groups. Used by cluster_info.py.

Each section is based on one list. The lists are read in parallel; a section whose list cannot be read reports the
reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kubescript.guest.kubectl.rows import health
from kubescript.guest.sdk import client
from kubescript.guest.sdk.objects import table
from kubescript.guest.sdk.values import ages, exceptions
from kubescript.wire import messages

__all__ = ["is_as_wanted", "sections"]

Object = Mapping[str, Any]
Row = tuple[Any, ...]
"""The cells of a row."""
Lines = Callable[[Iterable[Object]], list[str]]
"""Returns the lines of a section: its title, then its rows."""

# To fit a whole cluster on one page: how many rows a section may have, and how many pod states a row counts.
_MOST_ROWS: Final = 30
_MOST_STATES: Final = 8
_WARNINGS: Final = "type=Warning"


def sections(k8s: client.K8s) -> Iterator[str]:
    """Yields the lines of all sections."""
    found = k8s.parallel(_reads(k8s))
    for what, write_lines in _SECTIONS.items():
        yield from _section(what, found[what], write_lines)


def _reads(k8s: client.K8s) -> dict[str, Callable[..., Any]]:
    """Returns the call of each section."""
    core = k8s.coreV1()
    apps = k8s.appsV1()
    return {
        "nodes": core.list_node,
        "pods": core.list_pod_for_all_namespaces,
        "deployments": apps.list_deployment_for_all_namespaces,
        "statefulsets": apps.list_stateful_set_for_all_namespaces,
        "daemonsets": apps.list_daemon_set_for_all_namespaces,
        "jobs": k8s.batchV1().list_job_for_all_namespaces,
        "events": lambda: core.list_event_for_all_namespaces(field_selector=_WARNINGS),
        "apiservices": k8s.apiregistrationV1().list_api_service,
    }


def _section(what: str, answer: Any, write_lines: Lines) -> Iterator[str]:
    """Yields one section's lines: its title, then its rows."""
    try:
        if isinstance(answer, Exception):
            raise answer
        title, *rest = write_lines(answer)
    except exceptions.ApiException as error:  # also for a list that breaks off, or one served with metadata only
        yield messages.text("info_unread", what=what, reason=error.message)
        return
    yield f"{what}: {title}"
    yield from rest


def _limit(lines: Sequence[str]) -> list[str]:
    """Returns the first lines, and one that counts the others."""
    shown = list(lines[:_MOST_ROWS])
    more = len(lines) - len(shown)
    if more:
        shown.append(messages.text("info_more", count=more))
    return shown


# --- nodes and pods ---------------------------------------------------------------------------------------------------


def _nodes(nodes: Iterable[Object]) -> list[str]:
    """Returns how many nodes are ready, their versions, and the problems of each."""
    found = list(nodes)
    ready = sum(map(health.is_ready, found))
    versions = Counter(map(_kubelet_version, found))
    title = messages.text("dump_ready", ready=ready, all=len(found), versions=_write_counts(versions))
    troubles = health.node_troubles(found)
    return [title, *_limit(troubles)]


def _kubelet_version(node: Object) -> str:
    info = node["status"]["nodeInfo"]
    version: str = info["kubeletVersion"]
    return version


def _pods(pods: Iterable[Object]) -> list[str]:
    """Returns the states of each namespace's pods."""
    by_namespace: dict[str, Counter[str]] = {}
    total = 0
    for pod in pods:
        total += 1
        namespace = pod["metadata"]["namespace"]
        states = by_namespace.setdefault(namespace, Counter())
        states[health.pod_state(pod)] += 1
    rows = []
    for namespace, states in sorted(by_namespace.items()):
        rows.append((namespace, states.total(), _write_counts(states)))
    return [str(total), *_write_rows(rows)]


def _write_counts(counts: Counter[str]) -> str:
    """Returns the most frequent values with their counts, such as `Running 8, Pending 1`."""
    words = [f"{name or '?'} {count}" for name, count in counts.most_common(_MOST_STATES)]
    more = len(counts) - len(words)
    if more:
        words.append(messages.text("info_more", count=more))
    return ", ".join(words)


def _write_rows(rows: Sequence[Row]) -> list[str]:
    """Returns rows as lines with aligned columns."""
    if not rows:
        return []
    text = table.table(rows, header=False)
    return _limit(text.split("\n"))


# --- workloads --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Count:
    """Functions that read how many pods a workload wants, and how many of them are ready."""

    wanted: Callable[[Object], int]
    there: Callable[[Object], int]


def _replicas(workload: Object) -> int:
    replicas = workload["spec"].get("replicas")
    # The API server's default is 1.
    if replicas is None:
        return 1
    return int(replicas)


def _status(field: str) -> Callable[[Object], int]:
    """Returns a function that reads a field of a workload's status; 0 if it is absent."""
    return lambda workload: workload["status"].get(field) or 0


_WORKLOADS: Final[Mapping[str, _Count]] = {
    "deployments": _Count(_replicas, _status("readyReplicas")),
    "statefulsets": _Count(_replicas, _status("readyReplicas")),
    "daemonsets": _Count(_status("desiredNumberScheduled"), _status("numberReady")),
}
"""Maps the names of resources to their counts."""


def is_as_wanted(what: str, workload: Object) -> bool:
    """Says whether a workload has as many ready pods as it wants. `what` is its resource, such as deployments."""
    count = _WORKLOADS[what]
    return count.there(workload) >= count.wanted(workload)


def _workloads(what: str) -> Lines:
    """Returns the function that writes the lines of a kind of workload."""
    count = _WORKLOADS[what]

    def write_lines(workloads: Iterable[Object]) -> list[str]:
        total = 0
        rows = []
        for each in workloads:
            total += 1
            wanted = count.wanted(each)
            there = count.there(each)
            if there < wanted:
                rows.append((_full_name(each), f"{there}/{wanted}"))
        title = messages.text("dump_workloads", bad=len(rows), all=total)
        return [title, *_write_rows(sorted(rows))]

    return write_lines


def _jobs(jobs: Iterable[Object]) -> list[str]:
    """Returns which jobs have failed, and why."""
    total = 0
    rows = []
    for job in jobs:
        total += 1
        failed = _find_condition(job, "Failed", "True")
        if failed:
            reason = failed.get("reason") or "Failed"
            rows.append((_full_name(job), reason))
    title = messages.text("dump_workloads", bad=len(rows), all=total)
    return [title, *_write_rows(sorted(rows))]


def _full_name(found: Object) -> str:
    """Returns an object's namespace and name, such as `shop/web`."""
    metadata = found["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}"


def _find_condition(found: Object, kind: str, status: str) -> Object | None:
    """Returns the condition of this type if it has this status."""
    for each in found["status"].get("conditions") or ():
        if each["type"] == kind and each["status"] == status:
            return each  # type: ignore[no-any-return]
    return None


# --- events and API groups --------------------------------------------------------------------------------------------


_WarningKey = tuple[str, str, str]
"""Namespace, kind and reason."""


@dataclass(slots=True)
class _Warning:
    """The warnings with one reason about one kind in one namespace."""

    count: int = 0
    last: str = ""
    message: str = ""


def _events(events: Iterable[Object]) -> list[str]:
    """Returns the warnings in groups, the newest first."""
    groups: dict[_WarningKey, _Warning] = {}
    for event in events:
        group = groups.setdefault(_warning_key(event), _Warning())
        _add_event(group, event)
    total = 0
    rows = []
    for key, group in sorted(groups.items(), key=lambda item: item[1].last, reverse=True):
        total += group.count
        age = _age(group.last)
        rows.append((*key, f"x{group.count}", age, group.message))
    title = messages.text("dump_events", count=total)
    return [title, *_write_rows(rows)]


def _warning_key(event: Object) -> _WarningKey:
    """Returns what the events of one group have in common."""
    about = event["involvedObject"]
    namespace = about.get("namespace") or "-"
    kind = about.get("kind") or "-"
    reason = event.get("reason") or "-"
    return namespace, kind, reason


def _add_event(group: _Warning, event: Object) -> None:
    """Adds an event to its group. The message of the newest is shown."""
    series = event.get("series") or {}
    # The API server merges equal events and counts them.
    group.count += series.get("count") or event.get("count") or 1
    # RFC 3339 texts in UTC sort chronologically, to the second.
    last = series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime") or ""
    if last >= group.last:
        group.last = last
        group.message = event.get("message") or ""


def _age(moment: str) -> str:
    """Returns the time since a moment; a dash if it is unknown."""
    if not moment:
        return "-"
    return str(ages.age(moment))


def _groups(services: Iterable[Object]) -> list[str]:
    """Returns which API groups are not available, such as that of a metrics-server that is down."""
    total = 0
    missing = []
    for service in services:
        total += 1
        gone = _find_condition(service, "Available", "False")
        if gone:
            reason = gone.get("reason") or ""
            name = service["metadata"]["name"]
            missing.append(f"{name} {reason}".strip())
    title = messages.text("dump_groups", bad=len(missing), all=total)
    return [title, *_limit(missing)]


_SECTIONS: Final[Mapping[str, Lines]] = {
    "nodes": _nodes,
    "pods": _pods,
    **{what: _workloads(what) for what in _WORKLOADS},
    "jobs": _jobs,
    "events": _events,
    "apiservices": _groups,
}
"""The sections in their order: what is listed, and the function that writes its lines."""
