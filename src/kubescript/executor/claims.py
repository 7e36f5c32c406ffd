"""What goes into a worker and what it claims at its end, checked before anybody reads it.

A hostile worker may claim anything: a fault in the host's name, a result that crashes whoever renders it.
"""

from __future__ import annotations

import itertools
import re
from typing import Final

import msgspec

from kubescript import types
from kubescript.wire import protocol

__all__ = ["checked", "cut", "unsendable"]

_WORKERS_CODE: Final = re.compile(r"(script|limit)\.[a-z_]{1,40}")
"""The branches of faults a worker may report; all others are the host's own words."""
_MAX_NESTING: Final = 250
"""Levels in a result; an honest worker stops at 200 (worker.sdk.serialize), and what renders it here recurses."""
_JSON_TEXT: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
_STEPS: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NOT_BRACKETS: Final = bytes(set(range(256)) - _STEPS.keys())
_MAX_SCRIPT: Final = protocol.CAPS[protocol.FrameType.START] - 64 * protocol.KIB
_LONG_NUMBER: Final = re.compile(rb"[0-9]{4300}")
"""Python refuses to read a longer integer (sys.get_int_max_str_digits)."""


def unsendable(script: str) -> types.Fault | None:
    """Why the script cannot be put in a frame; None when it can. The worker knows the exact limit."""
    try:
        size = len(msgspec.json.encode(script))
    except UnicodeEncodeError as error:
        message = f"character {error.start} of the script is half a surrogate pair, which is no text"
        return types.Fault("script.syntax", message)
    if size > _MAX_SCRIPT:
        return types.Fault("script.refused", "the script is larger than 256 KiB: keep data out of it")
    return None


def checked(done: protocol.Done) -> protocol.Done:
    """Raises ProtocolError for an end no honest worker sends: a fault in the host's name, data no reader takes."""
    if done.fault is not None and not _WORKERS_CODE.fullmatch(done.fault.code):
        raise protocol.ProtocolError("a fault that is not the script's")
    result = bytes(done.result)
    if result.count(b"[") + result.count(b"{") > _MAX_NESTING and _nesting(result) > _MAX_NESTING:
        raise protocol.ProtocolError("a result nested too deeply")
    if _LONG_NUMBER.search(result):  # or digits in a text: only a whole decode tells
        try:
            msgspec.json.decode(result)
        except msgspec.MsgspecError:
            raise protocol.ProtocolError("a result that is no data") from None
    return done


def _nesting(text: bytes) -> int:
    """Levels of lists and objects in valid JSON, without building a value."""
    brackets = _JSON_TEXT.sub(b"", text).translate(None, _NOT_BRACKETS)
    return max(itertools.accumulate(map(_STEPS.__getitem__, brackets)), default=0)


def cut(text: str, room: int) -> str:
    """At most `room` bytes of it."""
    return text[:room].encode("utf-8", "replace")[:room].decode("utf-8", "ignore")
