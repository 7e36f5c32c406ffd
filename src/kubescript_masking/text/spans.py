"""Places in a text that are to be masked: how they are joined, widened to whole values, and replaced."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from kubescript_masking.text import linear, placeholders

__all__ = ["Span", "apart", "apply", "clear_of_masks", "merge", "whole"]

_BOUND: Final = 64
"""How many bytes of a value every rule reads."""
_FAR: Final = 8_000
"""The length of a span from which on its rule may have stopped early."""
_RUN: Final = linear.build(rb"(?:[A-Za-z0-9+/_=-]|[.~][A-Za-z0-9])*")
_MORE: Final = 3
"""The maximum number of bytes of a UTF-8 character after its first."""
_LETTERS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_=.~-"
_WORD: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+_-")
_BARE: Final = linear.build(rb"[^\s\"'`]*")
_QUOTES: Final = {mark: linear.build(rb"[^\r\n" + mark + rb"]*") for mark in (b'"', b"'", b"`")}


@dataclass(frozen=True, slots=True)
class Span:
    """One secret: its place and its kind."""

    start: int
    end: int
    kind: str
    replacement: bytes | None = None
    """The text to write there; None: the value's placeholder."""
    begins_before: bool = False
    """Whether the rule, which reads backwards, stopped before it found the beginning."""


def merge(found: Iterable[Span]) -> list[Span]:
    """Returns the spans in order; overlapping ones become one, so that no part of either is left over."""
    result: list[Span] = []
    reached = 0
    for span in sorted(found, key=lambda one: (one.start, -one.end)):
        if not result or span.start >= reached:
            result.append(span)
            reached = span.end
        elif span.end > reached:
            result[-1] = replace(result[-1], end=span.end, replacement=None)
            reached = span.end
    return result


def whole(text: bytes, found: Iterable[Span]) -> list[Span]:
    """Returns the spans in order, each extended to the end of its value."""
    # A rule reads a bounded piece of a value, but the rest is just as secret.
    result: list[Span] = []
    reach: dict[linear.Pattern, tuple[int, int]] = {}
    low = 0
    for each in merge(found):
        span = _cover_characters(text, each)
        if span.begins_before and low < span.start:  # read once, since the span before bounds it
            before = text[low : span.start].rstrip(_LETTERS)
            span = replace(span, start=low + len(before))
        if span.replacement is None:
            end = _find_end(text, span, reach)
            span = replace(span, end=end)
        result.append(span)
        low = span.end
    return merge(result)


def _cover_characters(text: bytes, span: Span) -> Span:
    """Returns the span extended to whole UTF-8 characters; rules count bytes."""
    # Half a character once made the decoding of a masked text fail, and the script's record said `calls: 0`.
    start, end = span.start, span.end
    first = max(0, start - _MORE)
    last = min(len(text), end + _MORE)
    while start > first and _is_inner(text[start]):
        start -= 1
    while end < last and _is_inner(text[end]):
        end += 1
    if start == span.start and end == span.end:
        return span
    return replace(span, start=start, end=end, replacement=None)


def _is_inner(code: int) -> bool:
    """Says whether a byte continues a UTF-8 character."""
    return code & 0xC0 == 0x80


def _find_end(text: bytes, span: Span, reach: dict[linear.Pattern, tuple[int, int]]) -> int:
    """Returns where a span's value ends. `reach` holds the last match, so that a run with a thousand spans is read
    once."""
    size = span.end - span.start
    if size < _BOUND or not span.end < len(text):
        return span.end
    if size >= _FAR:
        before = text[span.start - 1 : span.start]
        rest = _QUOTES.get(before, _BARE)
    elif _WORD.issuperset(text[span.end - 1 : span.end + 1]):
        rest = _RUN
    else:
        return span.end
    start, end = reach.get(rest, (0, -1))
    if not start <= span.end <= end:
        match = rest.match(text, span.end)
        end = match.end() if match is not None else span.end
        reach[rest] = span.end, end
    return end


def clear_of_masks(text: bytes, found: Iterable[Span]) -> Iterator[Span]:
    """Yields the spans except those already masked; one that overlaps a placeholder is extended to the placeholder's
    end."""
    # Attack: an attacker writes thousands of placeholders beside thousands of secrets, to have each compared with all
    # others.
    masks = [mask.span() for mask in placeholders.PLACEHOLDER.finditer(text)]
    starts = [start for start, _ in masks]
    ends = [end for _, end in masks]
    for span in found:
        first = bisect.bisect_right(ends, span.start)
        last = bisect.bisect_left(starts, span.end) - 1
        if first > last:
            yield span
            continue
        end = max(span.end, ends[last])
        begins_within = starts[first] < span.start  # the span begins with a placeholder's own words
        if not (begins_within or placeholders.is_masked(text[span.start : end])):
            yield replace(span, end=end)


def apart(found: Iterable[Span], others: Iterable[Span]) -> Iterator[Span]:
    """Yields the spans that overlap none of the others."""
    # Attack: an attacker writes thousands of each, so that every one is compared with every other.
    taken = merge(others)
    starts = [span.start for span in taken]
    ends = [span.end for span in taken]
    for span in found:
        first = bisect.bisect_right(ends, span.start)
        behind = bisect.bisect_left(starts, span.end)
        if first >= behind:
            yield span


def apply(text: bytes, found: list[Span], mask: Callable[[str, bytes], bytes]) -> bytes:
    """Returns the text with every span replaced."""
    parts, done = [], 0
    for span in found:
        new = span.replacement
        if new is None:
            value = text[span.start : span.end]
            new = mask(span.kind, value)
        parts += [text[done : span.start], new]
        done = span.end
    rest = text[done:]
    return b"".join([*parts, rest])
