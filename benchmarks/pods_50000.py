"""B6: one script over 50,000 real pods, about 470 MB of JSON: time linear from 5,000, memory bounded by what it keeps.

The API server holds all of them: loading takes minutes, and this benchmark runs only when it is named. The scripts loop
over the list; one keeps a number, the other a row for each pod. Peak memory is the worker's own, from the log of the
server; the limits are the defaults.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import bare, clusters, processor, report, servers, stdio
from tests.kit.controlplane import bulk as bulk_pods

__all__ = ["run"]

SMALL, LARGE = 5_000, int(os.environ.get("KUBESCRIPT_TEST_PODS", "50000"))
ROUNDS = 3
TIMEOUT_MS = 120_000
LINEAR = 1.3
"""How much longer than proportional a larger list may take."""
FLAT = 1.5
"""How much more memory it may take to keep a number."""
SUM = "sum(s.restart_count for p in k8s.coreV1().list_namespaced_pod('bulk') for s in p.status.container_statuses)"
ROWS = (
    "rows = [(p.metadata.name, p.status.pod_ip) for p in k8s.coreV1().list_namespaced_pod('bulk')]\n"
    "[len(rows), len(set(rows))]"
)


@dataclass
class _Size:
    """What was measured at one size."""

    pods: int
    get: list[float] = field(default_factory=list)
    script: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    keeping_a_number: float = 0.0
    """MiB."""
    keeping_rows: float = 0.0


def run() -> Iterator[report.Row | str]:
    """The rows of B6."""
    with clusters.bulk() as kubeconfig:
        sizes = []
        for count in (SMALL, LARGE):
            clusters.fill(kubeconfig, count)
            sizes.append(_measured(kubeconfig, count))
        yield from _rows(*sizes)


def _measured(kubeconfig: Path, count: int) -> _Size:
    limit = f"?limit={count}" if clusters.count(kubeconfig, clusters.BULK) > count else ""
    sum_script, rows_script = (
        each.replace("'bulk'", f"'bulk', limit={count}") if limit else each for each in (SUM, ROWS)
    )
    size = _Size(count)
    expected = sum(bulk_pods.restarts(index) for index in range(count))
    with servers.kubescript(kubeconfig, "--log-level", "info") as subject, bare.connected(kubeconfig) as connection:
        for _ in range(ROUNDS):
            size.get.append(connection.get(clusters.BULK + limit)[0])
            before = processor.of_tree(subject.pid)
            answer = subject.call("evaluate_script", {"script": sum_script, "timeout": TIMEOUT_MS})
            _check(stdio.text(answer).split("\n")[0], str(expected) if not limit else "")
            size.script.append(answer.seconds)
            size.processor.append(processor.of_tree(subject.pid) - before)
        answer = subject.call("evaluate_script", {"script": rows_script, "timeout": TIMEOUT_MS})
        _check(stdio.text(answer).split("\n")[0], f"[{count},{count}]")
        peaks = _peaks(subject)
        size.keeping_a_number, size.keeping_rows = max(peaks[:-1]), peaks[-1]
    return size


def _rows(small: _Size, large: _Size) -> Iterator[report.Row | str]:
    ratio = large.pods / small.pods
    script, before = report.median(large.script), report.median(small.script)
    what = f"script over {large.pods:,} pods"
    yield report.Row("b6", what, "s", script, before * ratio, f"{ratio:g} × {small.pods:,}", "at_most", LINEAR)
    yield report.Row("b6", what, "s", script, report.median(large.get), "bare GET", "at_most", 1.5)
    used, used_before = report.median(large.processor), report.median(small.processor)
    name = f"{ratio:g} × {small.pods:,}"
    yield report.Row("b6", "processor time, all processes", "s", used, used_before * ratio, name, "at_most", LINEAR)
    get = (report.median(large.get), report.median(small.get) * ratio)
    yield report.Row("b6", "for comparison: the bare GET", "s", *get, f"{ratio:g} × {small.pods:,}")
    numbers = (large.keeping_a_number, small.keeping_a_number)
    yield report.Row("b6", "memory, keeping a sum", "MiB", *numbers, f"{small.pods:,} pods", "at_most", FLAT)
    rows = (large.keeping_rows, small.keeping_rows)
    yield report.Row("b6", "memory, keeping two fields", "MiB", *rows, f"{small.pods:,} pods")


def _peaks(subject: stdio.Server) -> list[float]:
    """The peak memory of each script's worker, in MiB."""
    found = []
    for line in subject.said().splitlines():
        if "script finished" in line:
            found.append(float(json.loads(line)["peak_mib"]))
    return found


def _check(answer: str, expected: str) -> None:
    """A wrong answer has no speed."""
    # Of a part of the list the sum is not known.
    if expected and answer.strip() != expected:
        raise RuntimeError(f"expected {expected}, got {answer[:300]}")
