"""A plan's steps for display: each field's old and new value, with long values line by line."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from kubescript.changes import plan
from kubescript.changes.store import record
from kubescript.changes.view import characters, model
from kubescript.wire import inspection
from kubescript_masking.wire import masking

__all__ = ["Comparisons", "change"]

_SHORT: Final = 160
"""The maximum length in characters of a value that is shown whole beside its path."""
_CONTEXT: Final = 3
"""How many unchanged lines are shown before and after a changed one."""
# This many steps take a second or two. Attack: values are chosen so that comparing them would take minutes.
_MOST_STEPS: Final = 20_000_000
"""The maximum number of difflib's steps for one plan. Beyond this limit, all old lines are shown, and then all new
ones."""
_MAX_NESTING: Final = 64
_MASK: Final = masking.OPENING.decode()
_EQUAL: Final = " "
_USUAL: Final = frozenset({"kind", "apiVersion"})
"""The fields that the body of every deletion has."""
_ACTIONS: Final = {"create": "Create", "update": "Replace", "patch": "Change", "delete": "Delete"}
_decode_string: Final = msgspec.json.Decoder(str).decode


class Comparisons:
    """Compares one plan's values, within a limit on the total time."""

    def __init__(self) -> None:
        self._steps = _MOST_STEPS

    def lines(self, old: list[str], new: list[str]) -> Iterator[model.Line]:
        """Yields the common and the differing lines of two values."""
        start = _common(old, new)
        end = _common(old[start:][::-1], new[start:][::-1])
        # Only the part between the common beginning and end is given to difflib, whose steps are limited.
        olds = old[start : len(old) - end]
        news = new[start : len(new) - end]
        steps = _most_steps(olds, news)
        if steps > self._steps:
            yield from _lines(model.REMOVED, old)
            yield from _lines(model.ADDED, new)
            return
        self._steps -= steps
        yield from _skip(old[:start], from_start=True)
        yield from _compare(olds, news)
        yield from _skip(old[len(old) - end :], to_end=True)


def _compare(old: list[str], new: list[str]) -> Iterator[model.Line]:
    # The heuristic `autojunk` would ignore lines that are frequent, such as a closing brace.
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if tag == "equal":
            yield from _skip(old[old_from:old_to])
        else:
            yield from _lines(model.REMOVED, old[old_from:old_to])
            yield from _lines(model.ADDED, new[new_from:new_to])


def change(
    number: int,
    step: plan.Step,
    turn: str,
    findings: Sequence[model.Finding],
    application: record.Application,
    imitated: Mapping[str, str],
    comparisons: Comparisons,
) -> model.Change:
    """Returns one step for display."""
    action = _ACTIONS.get(step.verb, "Send")
    if step.subresource == "eviction":
        action = "Evict"
    # Fields that the API server adds are shown separately.
    own = [row for row in step.rows if not row.by_server]
    server = [row for row in step.rows if row.by_server]
    return model.Change(
        number=number,
        action=action,
        target=_target(step, imitated),
        turn=turn,
        request=characters.show(_request(step)),
        rows=tuple(_row(row, comparisons) for row in own),
        server_rows=tuple(_row(row, comparisons) for row in server),
        effects=tuple(map(characters.show, step.effects)),
        warnings=tuple(map(characters.show, step.warnings)),
        findings=tuple(findings),
        state=application.state,
        outcome=characters.show(_outcome(application)),
    )


def _request(step: plan.Step) -> str:
    """Returns a request as one line; for a removal, with its options, which are not in any row."""
    request = step.request
    line = f"{request.method} {request.path}"
    query = "&".join(f"{key}={value}" for key, value in request.query)
    if query:
        line += f"?{query}"
    if not step.removes or not request.body:
        return line
    # Attack: a deletion leaves a Deployment's pods running, or kills them in the middle of their work.
    options = json.loads(request.body)
    if step.subresource == "eviction":
        options = options.get("deleteOptions") or {}
    told = {key: value for key, value in options.items() if key not in _USUAL}
    if told:
        line += f" {json.dumps(told)}"
    return line


def _target(step: plan.Step, imitated: Mapping[str, str]) -> characters.Shown:
    """Returns a step's target, with remarks on its names."""
    remarks: list[str] = []
    for text in (step.namespace, step.name, step.resource, step.group):
        remarks += characters.name(text, imitated).remarks
    target = characters.show(step.target)
    unique = dict.fromkeys(remarks)
    return characters.Shown(target.pieces, tuple(unique))


def _outcome(application: record.Application) -> str:
    """Returns a step's result as one line."""
    parts = []
    if application.text:
        parts.append(application.text)
    if application.status:
        parts.append(f"HTTP {application.status}")
    if application.audit_id:
        parts.append(f"audit id {application.audit_id}")
    return ", ".join(parts)


def _row(row: inspection.Row, comparisons: Comparisons) -> model.Row:
    old = _show(row.old)
    new = _show(row.new)
    lines: tuple[model.Line, ...] = ()
    if _is_long(row.old) or _is_long(row.new):
        olds, news = _value_lines(row.old, row.new)
        lines = tuple(comparisons.lines(olds, news))
    path = characters.name(row.path, {})
    badges = tuple(_badges(row, old, new))
    return model.Row(_sign(row), path, old, new, lines, badges)


def _sign(row: inspection.Row) -> str:
    if row.old is None:
        return model.ADDED
    if row.new is None:
        return model.REMOVED
    return model.CHANGED


def _show(value: str | None) -> characters.Shown | None:
    if value is None:
        return None
    return characters.show(value)


def _badges(row: inspection.Row, old: characters.Shown | None, new: characters.Shown | None) -> Iterator[str]:
    values = [value for value in (row.old, row.new) if value is not None]
    masks = sum(_MASK in value for value in values)
    if row.masked and masks == 2:
        yield "redacted; differs"
    elif row.masked:
        yield "redacted"
    elif masks:
        # A string of the object may imitate a mask.
        yield "not redacted: a text that looks like it"
    if len(values) == 2 and characters.skeleton(values[0]) == characters.skeleton(values[1]):
        yield "old and new look alike"
    remarks: list[str] = []
    for shown in (old, new):
        if shown is not None:
            remarks += shown.remarks
    yield from dict.fromkeys(remarks)


def _is_long(value: str | None) -> bool:
    """Says whether a value is shown line by line rather than beside its path."""
    if value is None:
        return False
    return len(value) > _SHORT or "\\n" in value


def _value_lines(old: str | None, new: str | None) -> tuple[list[str], list[str]]:
    """Returns two values as lines: a text by its own lines, an object or a list by its fields."""
    olds, news = _split(old), _split(new)
    is_same_kind = old is None or new is None or _is_text(old) == _is_text(new)
    if is_same_kind and olds != news:
        return olds, news
    # Attack: a write changes a list into a string with the same lines. In this case both are shown as they are.
    olds = [] if old is None else [old]
    news = [] if new is None else [new]
    return olds, news


def _split(value: str | None) -> list[str]:
    if value is None:
        return []
    if _is_text(value):
        return _text_lines(value)
    return _field_lines(value)


def _is_text(value: str) -> bool:
    return value.startswith('"')


def _text_lines(value: str) -> list[str]:
    try:
        return _decode_string(value).split("\n")
    except msgspec.DecodeError:
        return [value]


def _field_lines(value: str) -> list[str]:
    # Attack: a value has a thousand levels, each of which indents its whole content.
    if value.count("[") + value.count("{") > _MAX_NESTING:
        return [value]
    try:
        return msgspec.json.format(value, indent=2).split("\n")
    except msgspec.DecodeError:
        return [value]


def _most_steps(old: Sequence[str], new: Sequence[str]) -> int:
    """Returns an upper bound on difflib's steps."""
    counts = Counter(new)
    # In the worst case, difflib looks at all equal pairs for each line.
    pairs = sum(counts[line] for line in old)
    fewer = min(len(old), len(new))
    return (len(old) + pairs) * fewer


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    """Returns how many lines at the beginning are equal."""
    count = 0
    for before, after in zip(old, new, strict=False):
        if before != after:
            break
        count += 1
    return count


def _lines(sign: str, lines: Iterable[str]) -> Iterator[model.Line]:
    for line in lines:
        yield model.Line(sign, characters.show(line))


def _skip(lines: Sequence[str], *, from_start: bool = False, to_end: bool = False) -> Iterator[model.Line]:
    """Yields the unchanged lines next to a change, and the number of the others."""
    first = 0 if from_start else _CONTEXT
    last = 0 if to_end else _CONTEXT
    left_out = len(lines) - first - last
    # Replacing a single line with a note saves nothing.
    if left_out <= 1:
        yield from _lines(_EQUAL, lines)
        return
    yield from _lines(_EQUAL, lines[:first])
    yield model.Line("", characters.show(f"{left_out:,} lines that stay"))
    yield from _lines(_EQUAL, lines[first + left_out :])
