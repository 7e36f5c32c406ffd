"""Quotes the lines of a script that led to its failure. The worker, which may have been taken over, sends line numbers
and function names; the lines come from the host's own copy.
"""

from __future__ import annotations

import re
from typing import Final

from kubescript_sandbox.wire import protocol

__all__ = ["quote"]

_WIDTH: Final = 120
"""The maximum number of characters in a line."""
_FUNCTION: Final = re.compile(r"[^\W\d]\w{0,99}|<(?:lambda|(?:list|set|dict)comp|genexpr)>")
# Attack: a worker sends a number of 4,300 digits.
_MOST: Final = 1_000_000
"""The highest number of outer calls that is reported."""


def quote(failure: protocol.Failure, script: str) -> str:
    """Returns the text that follows a failure's message: ` (line 3)`, or the innermost lines, each on its own."""
    lines = script.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    known = [frame for frame in failure.frames if 0 < frame.line <= len(lines)]
    if failure.brief and known:
        return f" (line {known[-1].line})"
    shown = []
    if failure.outer > 0:
        count = min(failure.outer, _MOST)
        shown.append(f"\u2026 {count} outer calls")
    for frame in known:
        text = lines[frame.line - 1].strip()
        shown.append(_line(frame, text, script))
    return "".join(f"\n  {each}" for each in shown)


def _line(frame: protocol.Frame, text: str, script: str) -> str:
    """Returns one line of the script, with its number and its function."""
    shown = text
    if len(text) > _WIDTH:
        shown = text[:_WIDTH] + "\u2026"
    # Attack: a worker reports a function name that is an instruction from a pod.
    function = frame.function
    # First its form, which bounds its length.
    is_name = _FUNCTION.fullmatch(function) is not None
    is_known = is_name and (function.startswith("<") or function in script)
    where = f" in {function}" if is_known else ""
    return f"line {frame.line}{where}: `{shown}`"
