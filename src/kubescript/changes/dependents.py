"""What the deletions of a plan take with them, as a script of ours finds it out in the sandbox.

The script's answer is as hostile as any: it holds names from the cluster. It is a list of lines for each deletion, and
nothing else is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from kubescript.broker import operation
from kubescript.changes import plan, scripts
from kubescript_sandbox import runs

__all__ = ["Run", "find"]

Run = Callable[[str, operation.Operation], tuple[runs.Outcome, Callable[[str], str]]]
"""Runs a script of ours; returns its outcome, and what makes a text of it fit to be shown."""

_MAX_LINES: Final = 30
"""Lines for one deletion."""
_MAX_LINE: Final = 400
_UNKNOWN: Final = "what depends on it could not be found out"


def find(
    run: Run, operation: operation.Operation, context: str, steps: Sequence[plan.Step]
) -> Sequence[tuple[str, ...]]:
    """Returns for each step in a cluster what a deletion takes with it, one line each."""
    removed = [step for step in steps if step.removes]
    if not removed:
        return [()] * len(steps)
    script = f"{scripts.cluster(context)}.tools.plan_dependents(targets={scripts.targets(removed)!r})"
    outcome, clean = run(script, operation.aside())
    lines = iter(_read(outcome, len(removed), clean))
    return [next(lines) if step.removes else () for step in steps]


def _read(outcome: runs.Outcome, count: int, clean: Callable[[str], str]) -> list[tuple[str, ...]]:
    """Returns the lines for each deletion, each made fit to be shown by `clean`."""
    try:
        found = msgspec.json.decode(outcome.result or b"", type=list[list[str]])
    except msgspec.MsgspecError:
        found = []
    if outcome.fault is not None or len(found) != count:
        return [(_UNKNOWN,)] * count
    return [tuple(clean(line) for line in _cut(lines)) for lines in found]


def _cut(lines: list[str]) -> Iterator[str]:
    for line in lines[:_MAX_LINES]:
        yield line if len(line) <= _MAX_LINE else line[:_MAX_LINE] + " …"
    if len(lines) > _MAX_LINES:
        yield f"… and {len(lines) - _MAX_LINES} more"
