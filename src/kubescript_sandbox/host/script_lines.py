"""Quotes the lines of a script that led to its failure. The worker, which may have been taken over, sends line numbers
and function names; the lines come from the host's own copy.
"""

from __future__ import annotations

import re
from typing import Final

from kubescript_sandbox.wire import protocol

__all__ = ["quote"]

_WIDTH: Final = 120
"""Most characters of a line."""
_FUNCTION: Final = re.compile(r"[^\W\d]\w{0,99}|<(?:lambda|(?:list|set|dict)comp|genexpr)>")
_MOST: Final = 1_000_000
"""Calls that are counted. Attack: a worker sends a number of 4,300 digits."""


def quote(failure: protocol.Failure, script: str) -> str:
    """Returns the text behind a failure's message: ` (line 3)`, or the innermost lines, each on its own."""
    lines = script.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    known = [frame for frame in failure.frames if 0 < frame.line <= len(lines)]
    if failure.brief and known:
        return f" (line {known[-1].line})"
    shown = [f"\u2026 {min(failure.outer, _MOST)} outer calls"] if failure.outer > 0 else []
    shown += [_line(frame, lines[frame.line - 1].strip(), script) for frame in known]
    return "".join(f"\n  {each}" for each in shown)


def _line(frame: protocol.Frame, text: str, script: str) -> str:
    # Attack: a worker reports a function name that is an instruction from a pod.
    is_known = _FUNCTION.fullmatch(frame.function) and (frame.function in script or frame.function.startswith("<"))
    where = f" in {frame.function}" if is_known else ""
    shown = text if len(text) <= _WIDTH else text[:_WIDTH] + "\u2026"
    return f"line {frame.line}{where}: `{shown}`"
