"""One script over 50,000 real pods, about 470 MB of JSON: time linear from 5,000, memory bounded by what it keeps.

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
    """The rows of this benchmark."""
    with clusters.bulk() as kubeconfig:
        sizes = []
        for count in (SMALL, LARGE):
            clusters.fill(kubeconfig, count)
            sizes.append(_measured(kubeconfig, count))
        yield from _rows(*sizes)


def _measured(kubeconfig: Path, count: int) -> _Size:
    path = clusters.BULK
    scripts = [SUM, ROWS]
    expected = str(sum(bulk_pods.restarts(index) for index in range(count)))
    # A cluster that was filled before holds more: it is asked for a part, whose sum is not known.
    if clusters.count(kubeconfig, clusters.BULK) > count:
        path += f"?limit={count}"
        scripts = [script.replace("'bulk'", f"'bulk', limit={count}") for script in scripts]
        expected = ""
    sum_script, rows_script = scripts
    size = _Size(count)
    with servers.kubescript(kubeconfig, "--log-level", "info") as subject, bare.connected(kubeconfig) as connection:
        for _ in range(ROUNDS):
            size.get.append(connection.get(path)[0])
            before = processor.of_tree(subject.pid)
            answer = subject.call("evaluate_script", {"script": sum_script, "timeout": TIMEOUT_MS})
            _check(stdio.text(answer), expected)
            size.script.append(answer.seconds)
            size.processor.append(processor.of_tree(subject.pid) - before)
        answer = subject.call("evaluate_script", {"script": rows_script, "timeout": TIMEOUT_MS})
        _check(stdio.text(answer), f"[{count},{count}]")
        *numbers, size.keeping_rows = _peaks(subject)
        size.keeping_a_number = max(numbers)
    return size


def _rows(small: _Size, large: _Size) -> Iterator[report.Row | str]:
    ratio = large.pods / small.pods
    times = f"{ratio:g} × {small.pods:,}"
    script = report.median(large.script)
    get = report.median(large.get)
    # What each would be if it grew as the list does.
    linear_script = report.median(small.script) * ratio
    linear_get = report.median(small.get) * ratio
    linear_used = report.median(small.processor) * ratio
    what = f"script over {large.pods:,} pods"
    yield report.Row(what, "s", script, linear_script, times, "at_most", LINEAR)
    yield report.Row(what, "s", script, get, "bare GET", "at_most", 1.5)
    used = report.median(large.processor)
    yield report.Row("processor time, all processes", "s", used, linear_used, times, "at_most", LINEAR)
    yield report.Row("for comparison: the bare GET", "s", get, linear_get, times)
    numbers = (large.keeping_a_number, small.keeping_a_number)
    yield report.Row("memory, keeping a sum", "MiB", *numbers, f"{small.pods:,} pods", "at_most", FLAT)
    rows = (large.keeping_rows, small.keeping_rows)
    yield report.Row("memory, keeping two fields", "MiB", *rows, f"{small.pods:,} pods")


def _peaks(subject: stdio.Server) -> list[float]:
    """The peak memory of each script's worker, in MiB."""
    found = []
    for line in subject.said().splitlines():
        if "script finished" in line:
            found.append(float(json.loads(line)["peak_mib"]))
    return found


def _check(answer: str, expected: str) -> None:
    """A wrong answer has no speed."""
    # Notes may follow the first line.
    first, _, _ = answer.partition("\n")
    if expected and first.strip() != expected:
        raise RuntimeError(f"expected {expected}, got {first[:300]}")
