"""From a script's outcome to the text an MCP client gets: prints, then the result, then what is missing.

Every text passes `Style.text` on its way out, whole, before anything is cut: half a secret matches no pattern.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from kubescript import types
from kubescript.output import fencing, sanitizing, truncation

__all__ = ["Mask", "Style", "render"]

Mask = Callable[[str], str]
"""Masks what is secret in one text."""

_NOTE_BYTES: Final = 768
_SMALL_NOTE_BYTES: Final = 512
_SMALL_ANSWER: Final = 8 * 1024
"""Bytes of an answer below which its notes get less room."""
"""Bytes kept free for notes, whatever the script printed."""
_NO_RESULT: Final = "(no result: {hint})"
_SCRIPT_ERRORS: Final = frozenset(
    {"AttributeError", "ImportError", "ModuleNotFoundError", "NameError", "SyntaxError", "TypeError"}
)
"""Exceptions whose text is about the script: our hints are instructions, and no workload picks the type."""
_MAYBE_INVISIBLE: Final = re.compile(r"\\[ubfr]|[^\t\n\x20-\x7e]")
"""Without these JSON text holds nothing invisible and no escape for it."""


@dataclass(frozen=True, slots=True)
class Style:
    """How answers are written; one for a server."""

    mask: Mask | None = None
    mark: bool = True
    """Whether prose of the cluster is fenced."""
    structured: bool = False
    """Whether the result is given as data as well."""

    def text(self, text: str) -> str:
        """What every text passes before it leaves: cleaned first, since a hidden character in a secret hides it."""
        text = sanitizing.clean(text)
        return self.mask(text) if self.mask is not None else text

    def json(self, text: str) -> str:
        """The same for JSON text. It is masked as a whole, for a key says what its value is; should that break it, text
        by text."""
        if _MAYBE_INVISIBLE.search(text):
            text = truncation.dump(sanitizing.change_texts(_load(text), sanitizing.clean))
        if self.mask is None or (masked := self.mask(text)) == text:
            return text
        try:
            return truncation.dump(_load(masked))
        except ValueError:
            return truncation.dump(sanitizing.change_texts(_load(text), self.mask))


@dataclass(frozen=True, slots=True)
class _MainPart:
    """What follows the prints."""

    text: str = ""
    note: str = ""
    as_json: bool = False
    ours: bool = False
    """Whether no workload can have written it."""


def render(
    outcome: types.Outcome,
    limits: types.Limits,
    notes: Sequence[str] = (),
    *,
    source: fencing.Source = "nothing",
    style: Style = Style(),
    ours: Sequence[str] = (),
) -> types.Answer:
    """The answer for `outcome`, at most `limits.output_bytes` long. `notes` name what the result lacks, one phrase
    each; `source` is the least trustworthy thing the script has read. Texts in `ours` are the server's own words: they
    make no answer prose of the cluster."""
    notes_room = _NOTE_BYTES if limits.output_bytes >= _SMALL_ANSWER else _SMALL_NOTE_BYTES
    room = limits.output_bytes - notes_room - fencing.FENCE_BYTES
    fault = _fault_body(outcome.fault, room, style) if outcome.fault is not None else None
    printed, note = _prints(outcome, limits, room - _size(fault.text) if fault else room, style)
    body = fault or _body(outcome, limits, room - _size(printed), style, alone=not printed)
    missing = [note, body.note, _hidden_note(outcome), *map(style.text, notes)]
    ours = tuple(map(style.text, ours))
    content, marked = _content(printed, body, source if style.mark else "nothing", ours)
    text = "\n".join(filter(None, (content, _note_line([note for note in missing if note], notes_room - 16))))
    return types.Answer(
        text,
        is_error=fault is not None,
        code=outcome.fault.code if outcome.fault is not None else "",
        usage=outcome.usage,
        cut=bool(note or body.note),
        untrusted=marked,
        structured=_structured(printed, body, missing) if style.structured and fault is None else None,
    )


def _content(printed: str, body: _MainPart, source: fencing.Source, ours: Sequence[str]) -> tuple[str, bool]:
    """Prints and body, prose of the cluster fenced; and whether any was."""
    theirs = "\n".join(filter(None, (printed, "" if body.ours else body.text)))
    marked = fencing.is_prose(_without(printed, ours), source) or (
        not body.ours and fencing.is_prose(_without(body.text, ours), source, as_json=body.as_json)
    )
    parts = (fencing.fence(theirs) if marked else theirs, body.text if body.ours else "")
    return "\n".join(filter(None, parts)), marked


def _without(text: str, ours: Sequence[str]) -> str:
    """What is left for others to have written. The ends are joined: a cut must not make two short phrases of one."""
    for own in ours:
        text = text.replace(own, "")
    return text


def _prints(outcome: types.Outcome, limits: types.Limits, room: int, style: Style) -> tuple[str, str]:
    """What was printed, and how much of it is missing."""
    text = style.text(outcome.printed).rstrip("\n")
    cut = truncation.cut_text(text, max(0, room if outcome.result is None else room // 2), limits.output_lines)
    dropped = cut.bytes + outcome.dropped_bytes
    lines = f" and {cut.lines} lines" if cut.lines else ""
    return cut.text, f"prints cut by {dropped} bytes{lines}; print less, or return a summary" if dropped else ""


def _body(outcome: types.Outcome, limits: types.Limits, room: int, style: Style, *, alone: bool) -> _MainPart:
    if outcome.result is not None:
        return _result(outcome.result, room, limits.output_lines, style)
    if not alone:
        return _MainPart()
    hint = style.text(_NO_RESULT.format(hint=outcome.hint or "end the script with the value you want"))
    return _MainPart(truncation.cut_text(hint, room, limits.output_lines).text, ours=True)


def _fault_body(fault: types.Fault, room: int, style: Style) -> _MainPart:
    kind = fault.type or f"error {fault.code}"
    text = style.text(fault.message if fault.message.startswith(kind) else f"{kind}: {fault.message}")
    ours = not fault.type or fault.type in _SCRIPT_ERRORS
    return _MainPart(truncation.cut_text(text, room, len(text) + 1).text, ours=ours)


def _hidden_note(outcome: types.Outcome) -> str:
    """A word on letters that somebody hid in what the script returns."""
    result = outcome.result or b""
    own = str(_load(result)) if result.startswith(b'"') else result.decode("utf-8", "replace")
    count = sanitizing.count_hidden(outcome.printed) + sanitizing.count_hidden(own)
    return f"hidden characters removed: {count}" if count else ""


def _note_line(notes: Sequence[str], room: int) -> str:
    """One line in brackets, in the room that is kept for it. Empty when nothing is missing."""
    if not notes:
        return ""
    shown = [note.replace("\n", " ") for note in notes]
    left = room - 2 * len(shown)
    for number, at in enumerate(sorted(range(len(shown)), key=lambda at: _size(shown[at]))):
        share = left // (len(shown) - number)  # what the short ones leave, the long ones have
        if _size(shown[at]) > share:
            shown[at] = truncation.cut_text(shown[at], share - 4, 1).text + " …"
        left -= _size(shown[at])
    return "[" + "; ".join(shown) + "]"


def _result(result: bytes, room: int, lines: int, style: Style) -> _MainPart:
    """The result as text and, when it was cut, how much is missing and how to narrow."""
    if result.startswith(b'"'):
        return _text_result(style.text(str(_load(result))), room, lines)
    text = style.json(result.decode())
    if _size(text) <= room and text.count("\\n") < lines:
        return _MainPart(text, as_json=True)
    value, missing = truncation.cut_lines(_load(text), lines)
    note = f"texts cut to {lines} lines, {missing} missing; return less of them or slice them" if missing else ""
    text = truncation.dump(value)
    return _MainPart(text, note, as_json=True) if _size(text) <= room else _shrunk(value, text, room)


def _text_result(text: str, room: int, lines: int) -> _MainPart:
    cut = truncation.cut_text(text, room, lines)
    if not cut.bytes:
        return _MainPart(text)
    if not cut.lines:
        return _MainPart(cut.text, f"result cut by {cut.bytes} bytes; return less or slice it")
    more = f"{cut.lines} lines ({cut.bytes} bytes) missing"
    return _MainPart(
        cut.text, f"result cut after {cut.kept} lines, {more}; filter, tail_lines=, or .splitlines()[{cut.kept}:]"
    )


def _shrunk(value: Any, text: str, room: int) -> _MainPart:
    """The value cut to `room` bytes of valid JSON, and a note of how much is missing."""
    shrunk = truncation.shrink(value, room)
    if isinstance(value, list):
        kept = len(json.loads(shrunk))
        note = f"result cut: {kept} of {len(value)} items; filter, aggregate or slice"
    else:
        note = f"result cut by {_size(text) - _size(shrunk)} bytes; return fewer fields, or slice the long ones"
    return _MainPart(shrunk, note, as_json=True)


def _structured(printed: str, body: _MainPart, notes: Sequence[str]) -> dict[str, Any]:
    """The answer as data, cut as the text is."""
    result = None if body.ours else _load(body.text) if body.as_json else body.text or None
    extra = {"printed": printed, "missing": [note for note in notes if note]}
    return {"result": result} | {key: value for key, value in extra.items() if value}


def _load(result: bytes | str) -> Any:
    try:
        return orjson.loads(result)
    except orjson.JSONDecodeError:  # integers beyond 64 bits, halves of surrogate pairs, 1e400
        return json.loads(result, parse_float=_finite, parse_constant=str)


def _finite(digits: str) -> float | str:
    """A number that no float holds stays its text: Infinity is no JSON."""
    number = float(digits)
    return number if math.isfinite(number) else digits


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
