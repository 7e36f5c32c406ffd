"""The faults of a script that the host or its worker finds. What a worker says is cut to size: it may be hostile."""

from __future__ import annotations

from typing import Final

import msgspec

from kubescript_sandbox import runs
from kubescript_sandbox.host import script_lines
from kubescript_sandbox.wire import protocol

__all__ = ["find_unsendable", "quote", "shorten_hint"]

_MAX_NAME: Final = 200
_MAX_HINT: Final = 2_000
_MAX_SCRIPT: Final = protocol.CAPS[protocol.FrameType.START] - 64 * protocol.KIB


def find_unsendable(script: str) -> runs.Fault | None:
    """Returns why the script cannot be put in a frame; None when it can. The worker checks the exact limit."""
    try:
        size = len(msgspec.json.encode(script))
    except UnicodeEncodeError as error:
        message = f"character {error.start} of the script is half of a surrogate pair, which is not text"
        return runs.Fault("script.syntax", message)
    if size > _MAX_SCRIPT:
        return runs.Fault("script.refused", "the script is larger than 256 KiB: keep data out of it")
    return None


def quote(told: protocol.Failure, script: str, room: int) -> runs.Fault:
    """Returns the failure as the worker reports it, cut to size."""
    return runs.Fault(
        told.code,
        _shorten(told.message, room),
        _shorten(told.type, _MAX_NAME),
        told=True,
        by_worker=told.by_worker,
        hint=shorten_hint(told.hint),
        lines=script_lines.quote(told, script),
    )


def shorten_hint(hint: str) -> str:
    """Returns a worker's hint, cut to size."""
    return _shorten(hint, _MAX_HINT)


def _shorten(text: str, room: int) -> str:
    """Returns at most `room` bytes of the text."""
    data = text[:room].encode("utf-8", "replace")
    return data[:room].decode("utf-8", "ignore")
