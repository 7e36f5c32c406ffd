"""A plan's steps for display: each field's old and new value, long ones by lines."""

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
"""Most characters of a value that is shown whole beside its path."""
_CONTEXT: Final = 3
"""Unchanged lines that are shown around a changed one."""
_MOST_STEPS: Final = 20_000_000
"""Most steps of difflib for one plan, which take a second or two. Attack: values are chosen so that comparing them
would take minutes. Beyond the limit, all old lines are shown, then all new ones."""
_MAX_NESTING: Final = 64
_MASK: Final = masking.OPENING.decode()
_EQUAL: Final = " "
_USUAL: Final = frozenset({"kind", "apiVersion"})
"""Options in the body of every deletion."""
_ACTIONS: Final = {"create": "Create", "update": "Replace", "patch": "Change", "delete": "Delete"}
_decode_string: Final = msgspec.json.Decoder(str).decode


class Comparisons:
    """A comparison of one plan's values, within a total time limit."""

    def __init__(self) -> None:
        self._steps = _MOST_STEPS

    def lines(self, old: list[str], new: list[str]) -> Iterator[model.Line]:
        """Yields the common and the differing lines of two texts."""
        start = _common(old, new)
        end = _common(old[start:][::-1], new[start:][::-1])
        olds, news = old[start : len(old) - end], new[start : len(new) - end]
        steps = _most_steps(olds, news)
        if steps > self._steps:
            yield from _lines(model.REMOVED, old)
            yield from _lines(model.ADDED, new)
            return
        self._steps -= steps
        yield from _skip(old[:start], from_start=True)
        matcher = difflib.SequenceMatcher(None, olds, news, autojunk=False)
        for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
            if tag == "equal":
                yield from _skip(olds[old_from:old_to])
            else:
                yield from _lines(model.REMOVED, olds[old_from:old_to])
                yield from _lines(model.ADDED, news[new_from:new_to])
        yield from _skip(old[len(old) - end :], to_end=True)


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
    return model.Change(
        number=number,
        action="Evict" if step.subresource == "eviction" else _ACTIONS.get(step.verb, "Send"),
        target=_target(step, imitated),
        turn=turn,
        request=characters.show(_request(step)),
        rows=tuple(_row(row, comparisons) for row in step.rows if not row.by_server),
        server_rows=tuple(_row(row, comparisons) for row in step.rows if row.by_server),
        dependents=tuple(map(characters.show, step.dependents)),
        warnings=tuple(map(characters.show, step.warnings)),
        findings=tuple(findings),
        state=application.state,
        outcome=characters.show(_outcome(application)),
    )


def _request(step: plan.Step) -> str:
    """Returns a request as one line; for a removal, with its options, which are not in any row."""
    request = step.request
    query = "&".join(f"{key}={value}" for key, value in request.query)
    line = f"{request.method} {request.path}{'?' * bool(query)}{query}"
    if not step.removes or not request.body:
        return line
    # Attack: a deletion leaves a Deployment's pods running, or kills them in the middle of their work.
    body = json.loads(request.body)
    options = body.get("deleteOptions") or {} if step.subresource == "eviction" else body
    told = {key: value for key, value in options.items() if key not in _USUAL}
    return f"{line} {json.dumps(told)}" if told else line


def _target(step: plan.Step, imitated: Mapping[str, str]) -> characters.Shown:
    """Returns a step's target, with remarks on its names."""
    remarks = [
        remark
        for text in (step.namespace, step.name, step.resource, step.group)
        for remark in characters.name(text, imitated).remarks
    ]
    return characters.Shown(characters.show(step.target).pieces, tuple(dict.fromkeys(remarks)))


def _outcome(application: record.Application) -> str:
    status = f"HTTP {application.status}" if application.status else ""
    audit = f"audit id {application.audit_id}" if application.audit_id else ""
    return ", ".join(filter(None, (application.text, status, audit)))


def _row(row: inspection.Row, comparisons: Comparisons) -> model.Row:
    old, new = _show(row.old), _show(row.new)
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
    return model.REMOVED if row.new is None else model.CHANGED


def _show(value: str | None) -> characters.Shown | None:
    return None if value is None else characters.show(value)


def _badges(row: inspection.Row, old: characters.Shown | None, new: characters.Shown | None) -> Iterator[str]:
    masks = [value for value in (row.old, row.new) if value is not None and _MASK in value]
    if row.masked and len(masks) == 2:
        yield "redacted; differs"
    elif row.masked:
        yield "redacted"
    elif masks:
        yield "not redacted: a text that looks like it"
    if row.old is not None and row.new is not None and characters.skeleton(row.old) == characters.skeleton(row.new):
        yield "old and new look alike"
    remarks = [remark for value in (old, new) if value is not None for remark in value.remarks]
    yield from dict.fromkeys(remarks)


def _is_long(value: str | None) -> bool:
    return value is not None and (len(value) > _SHORT or "\\n" in value)


def _value_lines(old: str | None, new: str | None) -> tuple[list[str], list[str]]:
    """Returns two values as lines: text by its own lines, an object or a list by fields."""
    olds, news = _split(old), _split(new)
    # Attack: a write changes a list into a text with the same lines.
    is_same_kind = old is None or new is None or _is_text(old) == _is_text(new)
    if is_same_kind and olds != news:
        return olds, news
    return ([] if old is None else [old]), ([] if new is None else [new])


def _split(value: str | None) -> list[str]:
    if value is None:
        return []
    return _text_lines(value) if _is_text(value) else _field_lines(value)


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
    """Returns an upper bound on difflib's steps: in the worst case it looks at all equal pairs for each line."""
    counts = Counter(new)
    pairs = sum(counts[line] for line in old)
    return (len(old) + pairs) * min(len(old), len(new))


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    """Returns how many lines at the beginning are equal."""
    for at, (before, after) in enumerate(zip(old, new, strict=False)):
        if before != after:
            return at
    return min(len(old), len(new))


def _lines(sign: str, lines: Iterable[str]) -> Iterator[model.Line]:
    for line in lines:
        yield model.Line(sign, characters.show(line))


def _skip(lines: Sequence[str], *, from_start: bool = False, to_end: bool = False) -> Iterator[model.Line]:
    """Yields the unchanged lines next to a change, and the number of others."""
    first = 0 if from_start else _CONTEXT
    last = 0 if to_end else _CONTEXT
    left_out = len(lines) - first - last
    if left_out <= 1:
        yield from _lines(_EQUAL, lines)
        return
    yield from _lines(_EQUAL, lines[:first])
    yield model.Line("", characters.show(f"{left_out:,} lines that stay"))
    yield from _lines(_EQUAL, lines[len(lines) - last :] if last else [])
