"""B2: `1+1` over stdio, against a tool that does nothing in a bare server of the same SDK.

What is left over the baseline is the price of a fresh, locked-down process per script. Blocks of calls alternate
between the two servers, so that one's work after its answer (a new spare worker) never falls into the other's calls.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks import report, servers, stdio

__all__ = ["run"]

BLOCKS = 12
CALLS = 25
"""Of one block; the first of each is not counted."""
THINK = 0.02
"""Seconds between two calls of a client that reads an answer before it asks again; any model takes longer."""
SETTLE = 0.1

_ARGUMENTS = {"script": "1+1"}


def run() -> Iterator[report.Row | str]:
    """The rows of B2."""
    with servers.no_cluster() as kubeconfig, servers.kubescript(kubeconfig) as subject, servers.empty() as baseline:
        # Warm, and right: a wrong answer has no speed.
        for server, tool in ((subject, "evaluate_script"), (baseline, "empty")):
            for _ in range(CALLS):
                answer = server.call(tool, _ARGUMENTS)
                assert stdio.text(answer) == "2"
        yield _compare("1+1, p50, 20 ms apart", THINK, subject, baseline)
        yield _compare("1+1, p50, back to back", 0.0, subject, baseline)


def _compare(what: str, pause: float, subject: stdio.Server, baseline: stdio.Server) -> report.Row:
    ours: list[float] = []
    theirs: list[float] = []
    # In turns: what else the machine does then disturbs both.
    for _ in range(BLOCKS):
        ours += _block(subject, "evaluate_script", pause)
        theirs += _block(baseline, "empty", pause)
    mine = report.median(ours)
    least = report.median(theirs)
    return report.Row("b2", what, "ms", mine, least, "empty SDK tool", "at_most", 2.0)


def _block(server: stdio.Server, tool: str, pause: float) -> list[float]:
    time.sleep(SETTLE)
    times = []
    for _ in range(CALLS):
        answer = server.call(tool, _ARGUMENTS)
        times.append(answer.seconds * 1000)
        time.sleep(pause)
    # The first after a pause pays for it.
    return times[1:]
