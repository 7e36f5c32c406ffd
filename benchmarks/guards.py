"""What the guards cost: a million item reads in a script against the same lines in plain Python, in this process.

Both run as a script would: names at the top are global. Attribute reads and method calls go through a guard each; items
are read natively, stores through one. The loop itself is in both.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from typing import Any

from benchmarks import report
from kubescript_sandbox.language import compiler
from kubescript_sandbox.library import builtins, stdlib

__all__ = ["run"]

READS = 1_000_000
ROUNDS = 5
GOAL = 4

SCRIPTS = {
    "item reads": "d = {'a': 1}\ns = 0\nfor i in range(N):\n    s += d['a']\nr = s",
    "item reads of a list": "d = [1, 2, 3]\ns = 0\nfor i in range(N):\n    s += d[0]\nr = s",
    "item reads in a function": "def f(d):\n    s = 0\n    for i in range(N):\n        s += d['a']\n    return s\nr = f({'a': 1})",
    "item writes (d[k] += 1)": "d = {'a': 0}\nfor i in range(N):\n    d['a'] += 1\nr = d['a']",
    "attribute reads": "class A:\n    x = 1\na = A()\ns = 0\nfor i in range(N):\n    s += a.x\nr = s",
    "method calls": "d = {'a': 1}\ns = 0\nfor i in range(N):\n    s += d.get('a')\nr = s",
}


def run() -> Iterator[report.Row]:
    """A row for each kind of access; the goal is for items."""
    stdlib.warm()
    for name, text in SCRIPTS.items():
        source = text.replace("N", str(READS))
        ours, theirs = _measure(source)
        what = f"{READS:,} {name}"
        row = report.Row(what, "ms", ours, theirs, "plain Python")
        if name.startswith("item reads"):
            row = dataclasses.replace(row, kind="at_most", goal=GOAL)
        yield row


def _measure(source: str) -> tuple[float, float]:
    """Medians in turns, in milliseconds."""
    program = compiler.compile_script(f"{source}\nr")
    plain = compile(source, "plain", "exec")
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(ROUNDS):
        scope: dict[str, Any] = {}
        begin = time.perf_counter()
        exec(plain, scope)
        theirs.append((time.perf_counter() - begin) * 1000)
        # Made before the clock starts: a worker has them when its script comes.
        guarded = builtins.build_globals(print_=print, extra={}, importable={})
        begin = time.perf_counter()
        answer = compiler.run(program, guarded)
        ours.append((time.perf_counter() - begin) * 1000)
        if answer != scope["r"] or answer != READS:
            raise RuntimeError(f"the script answered {answer}")
    return report.median(ours), report.median(theirs)
