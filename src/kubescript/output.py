"""From a script's outcome to the text an MCP client gets: prints, then the result, then what is missing.

A result is cut to valid structure, never in the middle of a value: a reader must be able to trust what is there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import orjson

from kubescript import types

__all__ = ["render"]

_NOTE_ROOM: Final = 512
"""Bytes kept free for notes, whatever the script printed."""
_WORTH_CUTTING: Final = 16
"""Bytes below which a part is left out rather than cut."""
_NO_RESULT: Final = "(no result: {hint})"


def render(outcome: types.Outcome, limits: types.Limits, notes: Sequence[str] = ()) -> types.Answer:
    """The answer for `outcome`, at most `limits.output_bytes` long. `notes` name what the result lacks, one phrase
    each."""
    fault = outcome.fault
    whole = limits.output_bytes - _NOTE_ROOM
    body = _cut_text(_fault_text(fault), whole)[0] if fault is not None else ""
    room = max(0, whole - len(body.encode()))
    printed, cut = _cut_text(outcome.printed.rstrip("\n"), room if outcome.result is None else room // 2)
    cut += outcome.dropped_bytes
    missing = [f"prints cut by {cut} bytes; print less, or return a summary"] if cut else []
    if fault is None and outcome.result is not None:
        body, note = _result_text(outcome.result, room - len(printed.encode()))
        missing += [note] if note else []
    elif fault is None and not printed:
        body = _cut_text(_NO_RESULT.format(hint=outcome.hint or "end the script with the value you want"), whole)[0]
    parts = [part for part in (printed, body, _note_line([*missing, *notes])) if part]
    return types.Answer("\n".join(parts), fault is not None, fault.code if fault is not None else "", outcome.usage)


def _note_line(notes: Sequence[str]) -> str:
    """One line in brackets, cut to the room that is kept for it; empty when there is nothing to say."""
    if not notes:
        return ""
    return "[" + _cut_text("; ".join(notes), _NOTE_ROOM - 16)[0] + "]"


def _fault_text(fault: types.Fault) -> str:
    kind = fault.type or f"error {fault.code}"
    return fault.message if fault.message.startswith(kind) else f"{kind}: {fault.message}"


def _result_text(result: bytes, room: int) -> tuple[str, str]:
    """The result as text and, when it was cut, how much is missing and how to narrow."""
    if result.startswith(b'"'):
        text, cut = _cut_text(_load(result), room)
        return text, f"result cut by {cut} bytes; return less or slice it" if cut else ""
    if len(result) <= room:
        return result.decode(), ""
    return _cut_structure(_load(result), room)


def _load(result: bytes) -> Any:
    try:
        return orjson.loads(result)
    except orjson.JSONDecodeError:  # integers beyond 64 bits
        return json.loads(result)


def _cut_text(text: str, room: int) -> tuple[str, int]:
    data = text.encode("utf-8", "replace")
    if len(data) <= room:
        return text, 0
    kept = data[:room].decode("utf-8", "ignore")
    kept = kept[: kept.rfind("\n") + 1] or kept  # whole lines where there are lines
    return kept, len(data) - len(kept.encode())


def _cut_structure(value: Any, room: int) -> tuple[str, str]:
    """The value cut to `room` bytes of valid JSON, and a note of how much is missing."""
    text = _shrunk(value, room)
    if isinstance(value, list):
        return text, f"result cut: {len(json.loads(text))} of {len(value)} items; filter, aggregate or slice"
    missing = len(_dump(value).encode()) - len(text.encode())
    return text, f"result cut by {missing} bytes; return fewer fields, or slice the long ones"


def _shrunk(value: Any, room: int) -> str:
    """JSON text of `value` in at most `room` bytes: whole where it fits, otherwise with the ends of long parts
    missing."""
    text = _dump(value)
    if len(text.encode()) <= room:
        return text
    if isinstance(value, list):
        return "[" + ",".join(_shrunk_items(value, room - 2)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(_shrunk_pairs(value, room - 2)) + "}"
    return _dump(_cut_text(value, max(0, room // 2 - 4))[0] + "…") if isinstance(value, str) else "null"


def _shrunk_items(items: list[Any], room: int) -> list[str]:
    """The leading items that fit; the first that does not is cut inside when it would otherwise be alone."""
    kept: list[str] = []
    for item in items:
        text = _dump(item)
        if len(text.encode()) + 1 > room:
            if not kept and room > _WORTH_CUTTING:
                kept.append(_shrunk(item, room - 1))
            break
        kept.append(text)
        room -= len(text.encode()) + 1
    return kept


def _shrunk_pairs(pairs: dict[str, Any], room: int) -> list[str]:
    """The small values whole; the large ones share what room is left."""
    sizes = {key: len(_dump(key).encode()) + len(_dump(item).encode()) + 2 for key, item in pairs.items()}
    small = {key for key, size in sizes.items() if size <= room // max(1, len(pairs))}
    left = room - sum(sizes[key] for key in small)
    share = left // max(1, len(pairs) - len(small))
    parts = []
    for key, item in pairs.items():
        space = sizes[key] if key in small else share - len(_dump(key).encode()) - 2
        if space > _WORTH_CUTTING or key in small:
            parts.append(f"{_dump(key)}:{_shrunk(item, space)}")
    return parts


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
