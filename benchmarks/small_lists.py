"""50 small lists in a row over stdio, one call each, against the bare GET and the peer; fifty in one script; and what all of
them leave in memory.

The peer's Kubernetes client throttles itself once its burst is used up, so its calls wait; the row counts what its user
waits.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import bare, clusters, memory, processor, report, servers, stdio

__all__ = ["run", "run_short"]

CALLS = 50
ROUNDS = 3
"""Of ours; the peer, which may need 10 s for one, has one."""
SHORT_ROUNDS = 2
NAMESPACE = "monitoring"
"""About 20 pods."""
PATH = f"/api/v1/namespaces/{NAMESPACE}/pods"
IDLE_AFTER = 3.0
"""Seconds until everything that warms up has."""
LIGHTER = 8
"""The empty tool's processor time is counted over so many times as many calls: it takes less."""

SCRIPT = f"[(p.metadata.name, p.status.phase) for p in k8s.coreV1().list_namespaced_pod({NAMESPACE!r})]"
INSIDE = f"""\
for _ in range({CALLS}):
    pods = k8s.coreV1().list_namespaced_pod({NAMESPACE!r})
len(pods)
"""


@dataclass
class _Times:
    """What was measured, in milliseconds."""

    ours: list[float] = field(default_factory=list)
    inside: list[float] = field(default_factory=list)
    gets: list[float] = field(default_factory=list)


def run() -> Iterator[report.Row | str]:
    """The rows of this benchmark."""
    with clusters.broken() as kubeconfig:
        times, costs = _measure(kubeconfig, ROUNDS)
        theirs, note = _peer(kubeconfig)
    yield from _rows(times)
    yield from costs
    if note:
        yield note
    peer = report.median(theirs) if theirs else None
    yield report.Row(f"small list, p50 of {CALLS} calls", "ms", report.median(times.ours), peer, "peer")
    whole = sum(times.ours) / ROUNDS
    yield report.Row(f"{CALLS} calls in all", "ms", whole, sum(theirs) or None, "peer")


def run_short() -> Iterator[report.Row | str]:
    """The same rows from fewer calls, without the peer."""
    with clusters.broken() as kubeconfig:
        times, costs = _measure(kubeconfig, SHORT_ROUNDS)
    yield from _rows(times)
    yield from costs


def _measure(kubeconfig: Path, rounds: int) -> tuple[_Times, list[report.Row]]:
    times = _Times()
    arguments = {"script": SCRIPT}
    with (
        servers.kubescript(kubeconfig) as subject,
        servers.empty() as empty,
        bare.connected(kubeconfig) as connection,
    ):
        _in_a_row(subject, "evaluate_script", arguments)  # warm: the first call loads credentials
        for _ in range(rounds):
            times.gets += [connection.get(PATH)[0] * 1000 for _ in range(CALLS)]
            times.ours += _in_a_row(subject, "evaluate_script", arguments)
            answer = subject.call("evaluate_script", {"script": INSIDE})
            times.inside.append(answer.seconds * 1000 / CALLS)
        costs = _costs(subject, empty, rounds)
    return times, costs


def _costs(subject: stdio.Server, empty: stdio.Server, rounds: int) -> list[report.Row]:
    script = processor.Load(subject, "evaluate_script", {"script": SCRIPT}, CALLS)
    light = processor.Load(empty, "empty", {}, CALLS * LIGHTER)
    ours, theirs = processor.compare(rounds, script, light)
    what, name = "small list, processor time", "empty SDK tool"
    time.sleep(IDLE_AFTER)
    after = memory.of_tree(subject.pid).pss
    least = memory.of_tree(empty.pid).pss
    return [
        report.Row(what, "ms", ours.milliseconds, theirs.milliseconds, name, "value_at_most", 8),
        report.Row("small list, page faults", "", ours.faults),
        report.Row("PSS after all of them", "MiB", after, least, "bare SDK server"),
    ]


def _rows(times: _Times) -> Iterator[report.Row]:
    what, name = f"small list, p50 of {CALLS} calls", "bare GET"
    middle = report.median(times.ours)
    least = report.median(times.gets)
    yield report.Row(what, "ms", middle, least, name, "at_most", 3)
    within = report.median(times.inside)
    yield report.Row(f"small list, {CALLS} in one script, each", "ms", within, least, name)


def _peer(kubeconfig: Path) -> tuple[list[float], str]:
    """The peer's times; without it a note that says why."""
    try:
        with servers.peer(kubeconfig) as peer:
            peer.call("namespaces_list", {})
            return _in_a_row(peer, "pods_list_in_namespace", {"namespace": NAMESPACE}), ""
    except report.Unavailable as error:
        return [], f"without the peer: {error}"


def _in_a_row(server: stdio.Server, tool: str, arguments: dict[str, str]) -> list[float]:
    times = []
    for _ in range(CALLS):
        answer = server.call(tool, arguments)
        times.append(answer.seconds * 1000)
    return times
