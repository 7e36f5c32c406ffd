"""A whole cluster's state on one page: nodes, pods, workloads, warnings and API groups. Used by cluster_info.py.

Each section is based on one list. The lists are read in parallel; a section whose list cannot be read reports the
reason.
"""

from __future__ import annotations

import functools
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

_MOST_ROWS: Final = 30
"""How many rows a section may have."""
_MOST_STATES: Final = 8
"""How many pod states a row counts."""
_WARNINGS: Final = "type=Warning"


def sections(k8s: client.K8s) -> Iterator[str]:
    """Yields the lines of all sections."""
    found = k8s.parallel(_reads(k8s))
    yield from _section("nodes", found["nodes"], _nodes)
    yield from _section("pods", found["pods"], _pods)
    for what, count in _WORKLOADS.items():
        yield from _section(what, found[what], functools.partial(_workloads, count))
    yield from _section("jobs", found["jobs"], _jobs)
    yield from _section("events", found["events"], _events)
    yield from _section("apiservices", found["apiservices"], _groups)


def _reads(k8s: client.K8s) -> dict[str, Callable[..., Any]]:
    core, apps = k8s.coreV1(), k8s.appsV1()
    return {
        "nodes": core.list_node,
        "pods": core.list_pod_for_all_namespaces,
        "deployments": apps.list_deployment_for_all_namespaces,
        "statefulsets": apps.list_stateful_set_for_all_namespaces,
        "daemonsets": apps.list_daemon_set_for_all_namespaces,
        "jobs": k8s.batchV1().list_job_for_all_namespaces,
        "events": functools.partial(core.list_event_for_all_namespaces, field_selector=_WARNINGS),
        "apiservices": k8s.apiregistrationV1().list_api_service,
    }


def _section(what: str, answer: Any, lines: Callable[[Iterable[Object]], Iterable[str]]) -> Iterator[str]:
    """Yields one section's lines: its title, then its rows."""
    try:
        if isinstance(answer, Exception):
            raise answer
        title, *rest = lines(answer)
    except exceptions.ApiException as error:  # also for a list that breaks off, or one served with metadata only
        yield messages.text("info_unread", what=what, reason=error.message)
        return
    yield f"{what}: {title}"
    yield from rest


def _limit(lines: Sequence[str]) -> list[str]:
    more = len(lines) - _MOST_ROWS
    return [*lines[:_MOST_ROWS], messages.text("info_more", count=more)] if more > 0 else list(lines)


# --- nodes and pods ---------------------------------------------------------------------------------------------------


def _nodes(nodes: Iterable[Object]) -> list[str]:
    found = list(nodes)
    ready = sum(map(health.is_ready, found))
    versions = Counter(each["status"]["nodeInfo"]["kubeletVersion"] for each in found)
    title = messages.text("dump_ready", ready=ready, all=len(found), versions=_write_counts(versions))
    return [title, *_limit(health.node_troubles(found))]


def _pods(pods: Iterable[Object]) -> list[str]:
    by_namespace: dict[str, Counter[str]] = {}
    for pod in pods:
        states = by_namespace.setdefault(pod["metadata"]["namespace"], Counter())
        states[health.pod_state(pod)] += 1
    rows = [(name, states.total(), _write_counts(states)) for name, states in sorted(by_namespace.items())]
    total = sum(states.total() for states in by_namespace.values())
    return [str(total), *_rows(rows)]


def _write_counts(counts: Counter[str]) -> str:
    shown = [f"{name or '?'} {count}" for name, count in counts.most_common(_MOST_STATES)]
    more = len(counts) - len(shown)
    return ", ".join([*shown, messages.text("info_more", count=more)] if more > 0 else shown)


def _rows(rows: Sequence[tuple[Any, ...]]) -> list[str]:
    return _limit(table.table(rows, header=False).split("\n")) if rows else []


# --- workloads --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Count:
    """Functions that read a workload's wanted and ready numbers of pods."""

    wanted: Callable[[Object], int]
    there: Callable[[Object], int]


def _replicas(workload: Object) -> int:
    # The API server's default is 1.
    replicas = workload["spec"].get("replicas")
    return 1 if replicas is None else int(replicas)


def _status(field: str) -> Callable[[Object], int]:
    return lambda workload: workload["status"].get(field) or 0


_WORKLOADS: Final[Mapping[str, _Count]] = {
    "deployments": _Count(_replicas, _status("readyReplicas")),
    "statefulsets": _Count(_replicas, _status("readyReplicas")),
    "daemonsets": _Count(_status("desiredNumberScheduled"), _status("numberReady")),
}
"""Resource names → counts."""


def is_as_wanted(what: str, workload: Object) -> bool:
    """Says whether a workload has as many ready pods as it wants. `what` is its resource, such as deployments."""
    count = _WORKLOADS[what]
    return count.there(workload) >= count.wanted(workload)


def _workloads(count: _Count, objects: Iterable[Object]) -> list[str]:
    total = 0
    rows = []
    for each in objects:
        total += 1
        wanted, there = count.wanted(each), count.there(each)
        if there < wanted:
            metadata = each["metadata"]
            rows.append((f"{metadata['namespace']}/{metadata['name']}", f"{there}/{wanted}"))
    return [messages.text("dump_workloads", bad=len(rows), all=total), *_rows(sorted(rows))]


def _jobs(jobs: Iterable[Object]) -> list[str]:
    total = 0
    rows = []
    for each in jobs:
        total += 1
        if failed := _condition(each, "Failed", "True"):
            metadata = each["metadata"]
            rows.append((f"{metadata['namespace']}/{metadata['name']}", failed.get("reason") or "Failed"))
    return [messages.text("dump_workloads", bad=len(rows), all=total), *_rows(sorted(rows))]


def _condition(found: Object, kind: str, status: str) -> Object | None:
    """Returns the condition of this type if it has this status."""
    for each in found["status"].get("conditions") or ():
        if each["type"] == kind and each["status"] == status:
            return each  # type: ignore[no-any-return]
    return None


# --- events and API groups --------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Warning:
    """The warnings with one reason about one kind in one namespace."""

    count: int = 0
    last: str = ""
    message: str = ""


def _events(events: Iterable[Object]) -> list[str]:
    groups: dict[tuple[str, str, str], _Warning] = {}
    for event in events:
        about = event["involvedObject"]
        key = (about.get("namespace") or "-", about.get("kind") or "-", event.get("reason") or "-")
        _count(event, groups.setdefault(key, _Warning()))
    newest = sorted(groups.items(), key=lambda item: item[1].last, reverse=True)
    rows = [(*key, f"x{each.count}", _age(each.last), each.message) for key, each in newest]
    total = sum(each.count for each in groups.values())
    return [messages.text("dump_events", count=total), *_rows(rows)]


def _count(event: Object, group: _Warning) -> None:
    """Adds an event to its group."""
    series = event.get("series") or {}
    group.count += series.get("count") or event.get("count") or 1
    last = series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime") or ""
    if last >= group.last:
        group.last = last
        group.message = event.get("message") or ""


def _age(moment: str) -> str:
    return str(ages.age(moment)) if moment else "-"


def _groups(services: Iterable[Object]) -> list[str]:
    total = 0
    missing = []
    for each in services:
        total += 1
        if gone := _condition(each, "Available", "False"):
            missing.append(f"{each['metadata']['name']} {gone.get('reason') or ''}".strip())
    return [messages.text("dump_groups", bad=len(missing), all=total), *_limit(missing)]
