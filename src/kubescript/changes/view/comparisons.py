"""Two long values, compared line by line."""

from __future__ import annotations

import difflib
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from kubescript.changes.view import characters, model

__all__ = ["Comparisons"]

_SHORT: Final = 160
"""The maximum length in characters of a value that is shown whole beside its path."""
_CONTEXT: Final = 3
"""How many unchanged lines are shown before and after a changed one."""
# This many steps take a second or two. Attack: values are chosen so that comparing them would take minutes.
_MOST_STEPS: Final = 20_000_000
"""The maximum number of difflib's steps for one plan. Beyond this limit, all old lines are shown, and then all new
ones."""
_MAX_NESTING: Final = 64
_MOST_EMPTY: Final = 3
"""The maximum number of empty lines in a row that are shown one by one."""
_EQUAL: Final = " "
_decode_string: Final = msgspec.json.Decoder(str).decode


class Comparisons:
    """Compares one plan's values, within a limit on the total time."""

    def __init__(self) -> None:
        self._steps = _MOST_STEPS

    def lines(self, old: str | None, new: str | None) -> tuple[model.Line, ...]:
        """Returns the common and the differing lines of a field's old and new value, in JSON; no lines if both are
        short."""
        if not _is_long(old) and not _is_long(new):
            return ()
        olds, news = _value_lines(old, new)
        return tuple(self._compare(olds, news))

    def _compare(self, old: list[str], new: list[str]) -> Iterator[model.Line]:
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
    # Attack: 500 empty lines push the last one out of view.
    for is_empty, group in itertools.groupby(lines, _is_empty):
        run = list(group)
        if is_empty and len(run) > _MOST_EMPTY:
            yield model.Line(sign, _count_empty(run))
            continue
        for line in run:
            yield model.Line(sign, characters.show(line))


def _is_empty(line: str) -> bool:
    return not line.strip(" ")


def _count_empty(lines: Sequence[str]) -> characters.Shown:
    blanks = sum(map(len, lines))
    text = f"⟨{len(lines):,} empty lines⟩"
    if blanks:
        text = f"⟨{len(lines):,} empty lines, {blanks:,} blanks⟩"
    return characters.Shown(((text, True),))


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
