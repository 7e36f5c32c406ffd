"""The text an MCP client gets for a script's outcome: its prints, then the result, then what is missing.

The evaluator calls `render` once for each script. Every text passes `Style.text` whole, before anything is cut: half a
secret matches no pattern.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from kubescript import types
from kubescript.output import fencing, notes, sanitizing, styles, truncation
from kubescript_sandbox import runs

__all__ = ["render"]

_NOTE_BYTES: Final = 768
"""Bytes reserved for notes, however much the script printed."""
_SMALL_NOTE_BYTES: Final = 512
"""Bytes reserved for notes in a small answer."""
_SMALL_ANSWER: Final = 8 * 1024
"""The size of an answer in bytes below which its notes get less room."""
_TOOL: Final = "tool."
"""The prefix of error codes of classic tools; the sentence's name follows."""
_NO_RESULT: Final = "(no result: {hint})"
_PLAIN: Final = styles.Style()


@dataclass(frozen=True, slots=True)
class _MainPart:
    """The part that follows the prints."""

    text: str = ""
    note: str = ""
    as_json: bool = False
    ours: bool = False
    """Whether the server or the script wrote all of it."""
    told: str = ""
    """Text outside the marks beside text that is not ours: our denial, our hint, lines of the script."""


def render(
    outcome: runs.Outcome,
    limits: runs.Limits,
    missed: Sequence[notes.Note] = (),
    *,
    own: fencing.Own | None = None,
    style: styles.Style = _PLAIN,
) -> types.Answer:
    """Returns the answer for `outcome`, at most `limits.output_bytes` long.

    `missed` lists what the result lacks, one phrase each. `own` recognizes text that did not come from the cluster; it
    is None for a script that has read nothing from the cluster.
    """
    own = own if style.mark else None
    notes_room = _NOTE_BYTES if limits.output_bytes >= _SMALL_ANSWER else _SMALL_NOTE_BYTES
    room = limits.output_bytes - notes_room - fencing.FENCE_BYTES
    fault = None
    prints_room = room
    if outcome.fault is not None:
        fault = _fault_part(outcome.fault, room, style, own)
        prints_room -= _size(fault.text) + _size(fault.told)
    printed, printed_note = _prints(outcome, limits, prints_room, style)
    main = fault
    if main is None:
        main = _main_part(outcome, limits, room - _size(printed), style, own, alone=not printed)
    plain, foreign = notes.arrange(missed, own, style.text)
    foreign_line = _note_line(foreign, notes_room // 2)
    content, marked = _content(printed, main, foreign_line, own)
    ours = list(filter(None, (printed_note, main.note, _note_hidden(outcome), *plain)))
    note_line = _note_line(ours, notes_room - 16 - _size(foreign_line))
    structured = None
    if style.structured and fault is None:
        structured = _build_data(printed, main, [*ours, *foreign])
    return types.Answer(
        _join(content, note_line),
        is_error=fault is not None,
        code=outcome.fault.code if outcome.fault is not None else "",
        usage=outcome.usage,
        cut=bool(printed_note or main.note),
        untrusted=marked,
        structured=structured,
    )


def _join(*parts: str) -> str:
    """Joins the non-empty parts, each on separate lines."""
    return "\n".join(part for part in parts if part)


def _content(printed: str, main: _MainPart, foreign: str, own: fencing.Own | None) -> tuple[str, bool]:
    """Returns prints, main part and the notes that quote the cluster, with cluster text fenced, and whether there was
    any."""
    whole = _join(printed, main.text)
    if own is None:
        return whole, False
    is_own_main = main.ours or own.wrote(main.text, as_json=main.as_json)
    if own.wrote(printed) and is_own_main and not foreign:
        return whole, False
    inside, outside = whole, main.told
    # An error in our own words stays outside the fence around the prints.
    if main.ours:
        inside, outside = printed, main.text
    fenced = fencing.fence(_join(inside, foreign))
    return _join(fenced, outside), True


def _prints(outcome: runs.Outcome, limits: runs.Limits, room: int, style: styles.Style) -> tuple[str, str]:
    """Returns the prints, and a note of how much of them is missing."""
    text = style.text(outcome.printed).rstrip("\n")
    if outcome.result is not None:
        room //= 2  # the result gets the other half
    # The text is cut only once it is masked: half a secret matches no pattern.
    cut = truncation.cut_text(text, max(0, room), limits.output_lines)
    dropped = cut.bytes + outcome.dropped_bytes
    if not dropped:
        return cut.text, ""
    missing = f"{dropped} bytes"
    if cut.lines:
        missing += f" and {cut.lines} lines"
    return cut.text, f"prints cut by {missing}; print less, or return a summary"


def _main_part(
    outcome: runs.Outcome,
    limits: runs.Limits,
    room: int,
    style: styles.Style,
    own: fencing.Own | None,
    *,
    alone: bool,
) -> _MainPart:
    """Returns the result, or a hint where there is neither a result nor prints."""
    if outcome.result is not None:
        return _result(outcome.result, room, limits.output_lines, style)
    if not alone:
        return _MainPart()
    hint = outcome.hint if own is None or own.is_sentence(outcome.hint) else ""
    hint = hint or "end the script with the value you want"
    text = style.text(_NO_RESULT.format(hint=hint))
    cut = truncation.cut_text(text, room, limits.output_lines)
    return _MainPart(cut.text, ours=True)


def _fault_part(fault: runs.Fault, room: int, style: styles.Style, own: fencing.Own | None) -> _MainPart:
    """Returns the text of a fault: the exception's type, or the code of our own error, and the message; then what to
    write instead, and lines of the script."""
    kind = fault.type or f"error {fault.code}"
    message = fault.message
    if not message.startswith(kind):
        message = f"{kind}: {message}"
    message = style.text(message)
    hint = style.text(fault.hint)
    lines = style.text(fault.lines)
    is_own_hint = own is None or own.is_sentence(fault.hint)
    is_own_message = _is_own_message(own, fault, kind)
    if is_own_hint and is_own_message:
        whole = _cut(message + hint + lines, room)
        return _MainPart(whole, ours=True)
    if is_own_message:
        # The hint is a command with the script's or the cluster's values, or a name from the cluster.
        told = _cut(message + lines, room // 2)
        return _MainPart(_cut(hint.lstrip(";: "), room - _size(told)), told=told)
    # Attack: a pod writes any text that is not word for word one of our sentences.
    inside = message
    outside = []
    if own is not None:
        outside.append(style.text(own.denial_in(fault.message)))
    if is_own_hint:
        outside.append(hint.lstrip(";: "))
    else:
        inside += hint
    advice = "; ".join(filter(None, outside)) + lines
    told = _cut(advice.strip(), room // 2)
    inside = _cut(inside, room - _size(told))
    return _MainPart(inside, told=told)


def _is_own_message(own: fencing.Own | None, fault: runs.Fault, kind: str) -> bool:
    """Says whether nothing in a fault's type and message came from the cluster."""
    if own is None:
        return True
    if fault.foreign:
        return own.wrote(fault.message)
    # A worker may have been taken over, and write in the server's name; the host's own faults need no comparison.
    if not fault.told:
        return True
    if not own.knows(fault.type):
        return False
    message = fault.message.removeprefix(kind).removeprefix(": ")
    if fault.code.startswith(_TOOL):
        sentence = fault.code.removeprefix(_TOOL)
        return own.is_tool_sentence(sentence, message)
    return own.is_sentence(message, by_worker=fault.by_worker)


def _cut(text: str, room: int) -> str:
    # A fault is cut only by bytes: it cannot have more lines than characters.
    return truncation.cut_text(text, room, len(text) + 1).text


def _note_hidden(outcome: runs.Outcome) -> str:
    """Returns a note that counts the hidden characters removed from prints and result."""
    result = outcome.result or b""
    # In a result that is one text, characters are escaped.
    is_text = result.startswith(b'"')
    text = str(truncation.load(result)) if is_text else result.decode("utf-8", "replace")
    in_prints = sanitizing.count_hidden(outcome.printed)
    count = in_prints + sanitizing.count_hidden(text)
    return f"hidden characters removed: {count}" if count else ""


def _note_line(texts: Sequence[str], room: int) -> str:
    """Returns the notes on one line in brackets, cut to `room` bytes; empty without notes."""
    if not texts:
        return ""
    shown = [text.replace("\n", " ") for text in texts]
    left = room - 2 * len(shown)
    shortest_first = sorted(range(len(shown)), key=lambda at: _size(shown[at]))
    for number, at in enumerate(shortest_first):
        # Each note gets an equal share of the room that the shorter ones have left.
        remaining = len(shown) - number
        share = left // remaining
        if _size(shown[at]) > share:
            cut = truncation.cut_text(shown[at], share - 4, 1)
            shown[at] = f"{cut.text} …"
        left -= _size(shown[at])
    line = "; ".join(shown)
    return f"[{line}]"


def _result(result: bytes, room: int, lines: int, style: styles.Style) -> _MainPart:
    """Returns the result as text and, when it was cut, a note of how much is missing and how to narrow the result."""
    if result.startswith(b'"'):
        text = style.text(str(truncation.load(result)))
        return _text_result(text, room, lines)
    text = style.json(result.decode())
    is_short = _size(text) <= room and text.count("\\n") < lines
    if is_short:
        return _MainPart(text, as_json=True)
    value, missing = truncation.cut_lines(truncation.load(text), lines)
    text = truncation.dump(value)
    if _size(text) > room:
        return _shrink(value, text, room)
    note = ""
    if missing:
        note = f"texts cut to {lines} lines, {missing} missing; return less of them or slice them"
    return _MainPart(text, note, as_json=True)


def _text_result(text: str, room: int, lines: int) -> _MainPart:
    """Returns a result that is one text, cut to fit, and a note that names ways to narrow it."""
    cut = truncation.cut_text(text, room, lines)
    if not cut.bytes:
        return _MainPart(text)
    if not cut.lines:
        return _MainPart(cut.text, f"result cut by {cut.bytes} bytes; return less or slice it")
    missing = f"{cut.lines} lines ({cut.bytes} bytes) missing"
    narrower = f"filter, tail_lines=, or .splitlines()[{cut.kept}:]"
    note = f"result cut after {cut.kept} lines, {missing}; {narrower}"
    return _MainPart(cut.text, note)


def _shrink(value: Any, text: str, room: int) -> _MainPart:
    """Returns the value cut to `room` bytes of valid JSON, and a note of how much is missing."""
    shrunk = truncation.shrink(value, room)
    if isinstance(value, list):
        kept = len(json.loads(shrunk))
        note = f"result cut: {kept} of {len(value)} items; filter, aggregate or slice"
    else:
        missing = _size(text) - _size(shrunk)
        note = f"result cut by {missing} bytes; return fewer fields, or slice the long ones"
    return _MainPart(shrunk, note, as_json=True)


def _build_data(printed: str, main: _MainPart, missing: Sequence[str]) -> dict[str, Any]:
    """Returns the answer as data, cut like the text."""
    result: Any = None
    if main.as_json:
        result = truncation.load(main.text)
    elif not main.ours:
        result = main.text or None
    data = {"result": result}
    if printed:
        data["printed"] = printed
    if missing:
        data["missing"] = list(missing)
    return data


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
