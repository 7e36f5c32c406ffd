"""B4: from process start to the first `initialize` answer, against a bare server of the same SDK; and the memory of all
processes.

Starts alternate. Memory is read when the spare worker is warm and nothing runs: of a server that was just started, and
of one that has answered calls from a live cluster, which loads the Kubernetes client.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import clusters, memory, report, servers

__all__ = ["run"]

STARTS = 12
IDLE_AFTER = 3.0
"""Seconds until everything that warms up has."""
GOAL_MIB = 120
CALLS = 20

_SCRIPT = {"script": "len(k8s.coreV1().list_pod_for_all_namespaces())"}


def run() -> Iterator[report.Row | str]:
    """The rows of B4."""
    with servers.no_cluster() as kubeconfig:
        yield _start(kubeconfig)
        with servers.kubescript(kubeconfig) as subject, servers.empty() as baseline:
            time.sleep(IDLE_AFTER)
            ours = memory.of_tree(subject.pid)
            theirs = memory.of_tree(baseline.pid)
            yield from _idle("after start", ours, theirs)
    # A call starts what a server at rest has not: maskers, and a connection.
    with clusters.broken() as kubeconfig, servers.kubescript(kubeconfig) as subject:
        for _ in range(CALLS):
            subject.call("evaluate_script", _SCRIPT)
        time.sleep(IDLE_AFTER)
        ours = memory.of_tree(subject.pid)
        yield from _idle(f"after {CALLS} live calls", ours, None)


def _start(kubeconfig: Path) -> report.Row:
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(STARTS):
        with servers.kubescript(kubeconfig) as server:
            ours.append(server.start_seconds * 1000)
        with servers.empty() as server:
            theirs.append(server.start_seconds * 1000)
    # the first of each found its files out of the page cache
    middle = report.median(ours[1:])
    baseline = report.median(theirs[1:])
    return report.Row("b4", "start to initialize", "ms", middle, baseline, "bare SDK server", "at_most", 1.15)


def _idle(when: str, ours: memory.Memory, theirs: memory.Memory | None) -> Iterator[report.Row | str]:
    pss, rss = (theirs.pss, theirs.rss) if theirs is not None else (None, None)
    what = f"idle, {ours.processes} processes, {when}"
    yield report.Row("b4", f"PSS {what}", "MiB", ours.pss, pss, "bare SDK server", "value_at_most", GOAL_MIB)
    yield report.Row("b4", f"RSS {what}", "MiB", ours.rss, rss, "bare SDK server")
    if not ours.whole:
        yield "b4: not every process could be read; their resident memory counts as PSS (run as root for exact figures)"
