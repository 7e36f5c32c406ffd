"""`1+1` over stdio, against a tool that does nothing in a bare server of the same SDK.

What is left over the baseline is the price of a fresh, locked-down process per script. Blocks of calls alternate
between the two servers, so that one's work after its answer (a new spare worker) never falls into the other's calls.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks import processor, report, servers, stdio

__all__ = ["run", "run_short"]

BLOCKS = 12
CALLS = 25
"""Of one block; the first of each is not counted."""
SHORT = 3
"""The short form has a third of the blocks and turns."""
THINK = 0.02
"""Seconds between two calls of a client that reads an answer before it asks again; any model takes longer."""
SETTLE = 0.1
TURNS = 15
"""In which processor time is counted, of a block of calls each."""
LIGHTER = 8
"""So many times as many calls of the empty tool, which takes less."""

_ARGUMENTS = {"script": "1+1"}


def run() -> Iterator[report.Row | str]:
    """The rows of this benchmark."""
    yield from _rows(BLOCKS, TURNS)


def run_short() -> Iterator[report.Row | str]:
    """The same rows from fewer calls."""
    yield from _rows(BLOCKS // SHORT, TURNS // SHORT)


def _rows(blocks: int, turns: int) -> Iterator[report.Row | str]:
    with servers.no_cluster() as kubeconfig, servers.kubescript(kubeconfig) as subject, servers.empty() as baseline:
        # Warm, and right: a wrong answer has no speed.
        for server, tool in ((subject, "evaluate_script"), (baseline, "empty")):
            for _ in range(CALLS):
                answer = server.call(tool, _ARGUMENTS)
                assert stdio.text(answer) == "2"
        ours, theirs = _compare(blocks, THINK, subject, baseline)
        yield report.Row("1+1, p50, 20 ms apart", "ms", ours, theirs, "empty SDK tool", "at_most", 1.6)
        ours, theirs = _compare(blocks, 0.0, subject, baseline)
        yield report.Row("1+1, p50, back to back", "ms", ours, theirs, "empty SDK tool", "at_most", 6)
        yield from _costs(turns, subject, baseline)


def _costs(turns: int, subject: stdio.Server, baseline: stdio.Server) -> Iterator[report.Row]:
    script = processor.Load(subject, "evaluate_script", _ARGUMENTS, CALLS)
    empty = processor.Load(baseline, "empty", _ARGUMENTS, CALLS * LIGHTER)
    ours, theirs = processor.compare(turns, script, empty)
    what, name = "1+1, processor time", "empty SDK tool"
    yield report.Row(what, "ms", ours.milliseconds, theirs.milliseconds, name, "value_at_most", 4)
    yield report.Row("1+1, page faults", "", ours.faults, None, "", "value_at_most", 400)


def _compare(blocks: int, pause: float, subject: stdio.Server, baseline: stdio.Server) -> tuple[float, float]:
    """Medians of both, in milliseconds."""
    ours: list[float] = []
    theirs: list[float] = []
    # In turns: what else the machine does then disturbs both.
    for _ in range(blocks):
        ours += _block(subject, "evaluate_script", pause)
        theirs += _block(baseline, "empty", pause)
    return report.median(ours), report.median(theirs)


def _block(server: stdio.Server, tool: str, pause: float) -> list[float]:
    time.sleep(SETTLE)
    times = []
    for _ in range(CALLS):
        answer = server.call(tool, _ARGUMENTS)
        times.append(answer.seconds * 1000)
        time.sleep(pause)
    # The first after a pause pays for it.
    return times[1:]
