"""The time from process start to the first `initialize` answer, and the memory of all processes, against a bare server of
the same SDK.

Starts alternate. Memory is read when the spare worker is warm and nothing runs: of a server that was just started, and
of one that has answered calls from a live cluster, which loads the Kubernetes client.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from pathlib import Path

from benchmarks import clusters, memory, report, servers

__all__ = ["run", "run_short"]

STARTS = 12
SHORT_STARTS = 4
IDLE_AFTER = 3.0
"""Seconds until everything that warms up has."""
GOAL_MIB = 110
CALLS = 20

_SCRIPT = {"script": "len(k8s.coreV1().list_pod_for_all_namespaces())"}


def run() -> Iterator[report.Row | str]:
    """The rows of this benchmark."""
    theirs = yield from _at_rest(STARTS)
    # A call starts what a server at rest has not: maskers, and a connection.
    with clusters.broken() as kubeconfig, servers.kubescript(kubeconfig) as subject:
        for _ in range(CALLS):
            subject.call("evaluate_script", _SCRIPT)
        time.sleep(IDLE_AFTER)
        ours = memory.of_tree(subject.pid)
    yield from _idle(f"after {CALLS} live calls", ours, theirs)


def run_short() -> Iterator[report.Row | str]:
    """The rows without a cluster, from fewer starts; small_lists measures the memory after calls, too."""
    yield from _at_rest(SHORT_STARTS)


def _at_rest(starts: int) -> Generator[report.Row | str, None, memory.Memory]:
    """Yields the rows before a call; returns the bare server's memory."""
    with servers.no_cluster() as kubeconfig:
        yield _start(kubeconfig, starts)
        with servers.kubescript(kubeconfig) as subject, servers.empty() as baseline:
            time.sleep(IDLE_AFTER)
            ours = memory.of_tree(subject.pid)
            theirs = memory.of_tree(baseline.pid)
    yield from _idle("after start", ours, theirs)
    return theirs


def _start(kubeconfig: Path, starts: int) -> report.Row:
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(starts):
        with servers.kubescript(kubeconfig) as server:
            ours.append(server.start_seconds * 1000)
        with servers.empty() as server:
            theirs.append(server.start_seconds * 1000)
    # the first of each found its files out of the page cache
    middle = report.median(ours[1:])
    baseline = report.median(theirs[1:])
    return report.Row("start to initialize", "ms", middle, baseline, "bare SDK server", "at_most", 1.15)


def _idle(when: str, ours: memory.Memory, theirs: memory.Memory) -> Iterator[report.Row | str]:
    name = "bare SDK server"
    yield report.Row(f"PSS idle, {when}", "MiB", ours.pss, theirs.pss, name, "value_at_most", GOAL_MIB)
    yield report.Row(f"RSS idle, {when}", "MiB", ours.rss, theirs.rss, name)
    yield f"{ours.processes} processes {when}"
    if not ours.whole:
        yield "not every process could be read; their resident memory counts as PSS (run as root for exact figures)"
