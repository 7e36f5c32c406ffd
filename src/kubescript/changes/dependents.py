"""The objects that a plan's deletions affect, found by one of kubescript's scripts in the sandbox.

The script's answer is hostile, since it contains names from the cluster. It must be a list of lines for each deletion;
anything else is ignored.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from kubescript.broker import operation
from kubescript.changes import plan, scripts
from kubescript_sandbox import runs

__all__ = ["Run", "find"]

Run = Callable[[str, operation.Operation], tuple[runs.Outcome, Callable[[str], str]]]
"""A function that runs one of kubescript's scripts; returns its outcome, and the function that makes strings of the
result fit for display."""

_MAX_LINES: Final = 30
"""The maximum number of lines for one deletion."""
_MAX_LINE: Final = 400
_UNKNOWN: Final = "what depends on it could not be found out"


def find(
    run: Run, operation: operation.Operation, context: str, steps: Sequence[plan.Step]
) -> Sequence[tuple[str, ...]]:
    """Returns the effects of each step's deletion on other objects, one line each; no effects for other steps."""
    removed = [step for step in steps if step.removes]
    if not removed:
        return [()] * len(steps)
    cluster = scripts.cluster(context)
    targets = scripts.targets(removed)
    script = f"{cluster}.tools.plan_dependents(targets={targets!r})"
    outcome, clean = run(script, operation.aside())
    lines = iter(_read(outcome, len(removed), clean))
    return [next(lines) if step.removes else () for step in steps]


def _read(outcome: runs.Outcome, count: int, clean: Callable[[str], str]) -> list[tuple[str, ...]]:
    """Returns the lines for each deletion, each made fit for display by `clean`."""
    found: list[list[str]] = []
    # The script's result contains names from the cluster, so it is hostile.
    with contextlib.suppress(msgspec.MsgspecError):
        found = msgspec.json.decode(outcome.result or b"", type=list[list[str]])
    if outcome.fault is not None or len(found) != count:
        return [(_UNKNOWN,)] * count
    return [tuple(map(clean, _cut(lines))) for lines in found]


def _cut(lines: list[str]) -> Iterator[str]:
    """Yields as many lines as a person can read, and the number of the others."""
    for line in lines[:_MAX_LINES]:
        if len(line) > _MAX_LINE:
            yield line[:_MAX_LINE] + " …"
        else:
            yield line
    more = len(lines) - _MAX_LINES
    if more > 0:
        yield f"… and {more} more"
