"""The first second: how long `kubescript run` of `1+1` takes, `demo` to its first answer, the first `initialize`
and the first call after it; and the memory of all processes after twenty calls.

Each round starts every program once, so that a machine which others use slows all of them. `KUBESCRIPT_TEST_BASELINE`
names the `kubescript` program of another installation, such as an older commit's, which is then measured beside this
one. Processor time, of a program and all its processes, depends least on what else the machine does.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import clusters, memory, report, servers

__all__ = ["run"]

ROUNDS = int(os.environ.get("KUBESCRIPT_TEST_ROUNDS", "9"))
CALLS = 20
IDLE_AFTER = 3.0
"""Seconds until everything that warms up has."""
GOAL_MIB = 110
_IMPORTS = "import anyio, mcp_types; from mcp.server import lowlevel, stdio; print(2)"
"""What a server of the SDK cannot start without."""
_SUM = {"script": "1+1"}
_LIST = {"script": "len(k8s.coreV1().list_pod_for_all_namespaces())"}


@dataclass
class _Times:
    """What was measured of one installation, in milliseconds, one entry for each round."""

    program: Path
    run: list[float] = field(default_factory=list)
    run_processor: list[float] = field(default_factory=list)
    demo: list[float] = field(default_factory=list)
    initialize: list[float] = field(default_factory=list)
    first_call: list[float] = field(default_factory=list)

    def measure(self, kubeconfig: Path, script: Path) -> None:
        """Start everything once."""
        program = str(self.program)
        wall, processor = _command([program, "run", str(script), "--kubeconfig", str(kubeconfig)])
        self.run.append(wall)
        self.run_processor.append(processor)
        self.demo.append(_first_output([program, "demo"]))
        with servers.kubescript(kubeconfig, program=self.program) as server:
            self.initialize.append(server.start_seconds * 1000)
            answer = server.call("evaluate_script", _SUM)
            self.first_call.append(answer.seconds * 1000)


def run() -> Iterator[report.Row | str]:
    """The rows of this benchmark."""
    # Another installation, such as the last release, is measured beside ours where one is named.
    ours = _Times(servers.PROGRAM)
    named = os.environ.get("KUBESCRIPT_TEST_BASELINE")
    other = _Times(Path(named)) if named else None
    bare: list[float] = []
    importing: list[float] = []
    with servers.no_cluster() as kubeconfig:
        script = kubeconfig.with_suffix(".py")
        script.write_text(_SUM["script"])
        for _ in range(ROUNDS + 1):  # the first finds its files out of the page cache
            for each in filter(None, (ours, other)):
                each.measure(kubeconfig, script)
            with servers.empty() as server:
                bare.append(server.start_seconds * 1000)
            wall, _ = _command([sys.executable, "-c", _IMPORTS])
            importing.append(wall)
        script.unlink()
    yield from _rows(ours, other)
    yield from _beside_the_sdk(ours, bare, importing)
    with clusters.broken() as kubeconfig:
        yield from _memory(ours, other, kubeconfig)


def _rows(ours: _Times, other: _Times | None) -> Iterator[report.Row]:
    name = "" if other is None else "the other installation"

    def row(what: str, values: str, kind: report.Kind = "", goal: float = 0.0) -> report.Row:
        subject = _middle(ours, values)
        baseline = None if other is None else _middle(other, values)
        return report.Row(what, "ms", subject, baseline, name, kind, goal)

    yield row("`run` of 1+1", "run", "at_most", 0.25)
    yield row("`run` of 1+1, processor time", "run_processor")
    yield row("`demo` to its first answer", "demo", "value_at_most", 1000)
    yield row("first call after `initialize`", "first_call", "value_at_most", 300)
    yield row("start to `initialize`", "initialize")


def _beside_the_sdk(ours: _Times, bare: list[float], importing: list[float]) -> Iterator[report.Row]:
    ran = _middle(ours, "run")
    least = report.median(importing[1:])
    yield report.Row("`run` of 1+1", "ms", ran, least, "importing the SDK's server", "at_most", 0.45)
    started = _middle(ours, "initialize")
    least = report.median(bare[1:])
    yield report.Row("start to `initialize`", "ms", started, least, "bare SDK server", "at_most", 1.0)


def _middle(times: _Times, values: str) -> float:
    """The median, without the first, which finds its files out of the page cache."""
    found: list[float] = getattr(times, values)
    _, *later = found
    return report.median(later)


def _memory(ours: _Times, other: _Times | None, kubeconfig: Path) -> Iterator[report.Row | str]:
    used = _after_calls(ours.program, kubeconfig)
    before = None
    name = ""
    if other is not None:
        before = _after_calls(other.program, kubeconfig).pss
        name = "the other installation"
    what = f"PSS after {CALLS} live calls"
    yield report.Row(what, "MiB", used.pss, before, name, "value_at_most", GOAL_MIB)
    if not used.whole:
        yield "not every process could be read; run as root for exact figures of memory"


def _after_calls(program: Path, kubeconfig: Path) -> memory.Memory:
    """Memory of a server that has worked, at rest."""
    with servers.kubescript(kubeconfig, program=program) as server:
        for _ in range(CALLS):
            server.call("evaluate_script", _LIST)
        time.sleep(IDLE_AFTER)
        return memory.of_tree(server.pid)


def _command(command: list[str]) -> tuple[float, float]:
    """Milliseconds on the wall, and of processor time with all processes that the command has started."""
    before = _children_ms()
    started = time.perf_counter()
    done = subprocess.run(command, check=False, capture_output=True)
    wall = (time.perf_counter() - started) * 1000
    if done.stdout.strip() != b"2":
        raise RuntimeError(f"wrong answer: {done.stdout[-300:]!r} {done.stderr[-300:]!r}")
    return wall, _children_ms() - before


def _children_ms() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime
    return seconds * 1000


def _first_output(command: list[str]) -> float:
    """Milliseconds until the command has printed something; it is then awaited."""
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0) as process:
        assert process.stdout is not None
        first = process.stdout.read(1)
        wall = (time.perf_counter() - started) * 1000
        process.stdout.read()
    # What failed was fast for nothing.
    if not first or process.returncode:
        raise RuntimeError(f"{command} printed nothing, or failed with {process.returncode}")
    return wall
