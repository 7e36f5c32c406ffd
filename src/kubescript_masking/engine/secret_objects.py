"""Secret objects: in JSON as the API server sends them, and in YAML as people keep them in other objects.

Keys and sizes stay, values go; what hangs on the object in annotations is found by the rules for everything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from kubescript_masking.rules import values
from kubescript_masking.text import json_strings, linear
from kubescript_masking.text.json_strings import String
from kubescript_masking.text.spans import Span

__all__ = ["KIND", "ROLES", "find_owned", "json_values", "yaml_values"]

KIND: Final = "secret"
ROLES: Final = frozenset({"data", "stringData", "last-applied"})
"""Where in a Secret a value is."""
_FIELDS: Final = linear.build(rb'"(data|stringData)"\s*:\s*\{')
_LAST_APPLIED: Final = linear.build(rb'"kubectl\.kubernetes\.io/last-applied-configuration"\s*:\s*"')
_KIND: Final = linear.build(rb'[^\\]"\s*:\s*"(?i:Secret(?:List)?)\z')
_KIND_BYTES: Final = 200
"""Bytes in front of a kind's end that are read for it."""
_WITHIN: Final = linear.build(rb'(?s)[^"{}]*(?:"((?:[^"\\]|\\.)*)"(\s*:)?|([{}]))')
"""The next string within an object, or the next brace."""
_BLOCK: Final = linear.build(rb"(?m)^([ \t]*(?:- )?)[\"']?(?:data|stringData)[\"']?:[ \t]*\r?\n")
_LINE: Final = linear.build(rb"[ \t]*[\"']?[\w.\-]+[\"']?:[ \t]*([^\r\n]*)(?:\r?\n|\z)")
_NO_VALUE: Final = linear.build(rb"[|>][+-]?\d?|[\"']{2}")
_SEPARATOR: Final = linear.build(rb"(?m)^---")
_MAX_BYTES: Final = 2 * 1024 * 1024


def json_values(data: bytes, start: int = 0, end: int | None = None) -> Iterator[String]:
    """What every `data` and `stringData` between two places of a document hold, and every annotation of `kubectl
    apply`, which holds it too."""
    end = len(data) if end is None else end
    read = start
    for field in _FIELDS.finditer(data, start, end):
        if field.start() >= read:
            strings, read = _find_held(data, field.end(), end)
            yield from (String(*string, role=field[1].decode()) for string in strings)
    for applied in _LAST_APPLIED.finditer(data, start, end):
        yield String(applied.end(), json_strings.end_of(data, applied.end()), role="last-applied")


def _find_held(data: bytes, place: int, end: int) -> tuple[list[tuple[int, int]], int]:
    """The values of the object within which this place is, and where it ends. A manifest that somebody wrote may hold
    a number among them, or an object."""
    found: list[tuple[int, int]] = []
    depth = 1
    while depth and (part := _WITHIN.match(data, place, end)) is not None:
        if part[3]:
            depth += 1 if part[3] == b"{" else -1
        elif part[1] and not part[2]:
            found.append(part.span(1))
        place = part.end()
    return found, place


def find_owned(data: bytes, hits: Iterable[tuple[str, int]]) -> Iterator[String]:
    """The same of the objects that say of themselves that they are Secrets."""
    wanted = [
        end - 1 for probe, end in hits if probe == "manifest" and _KIND.search(data[max(0, end - _KIND_BYTES) : end])
    ]
    if not wanted:
        return
    places: list[tuple[int, int]] = []
    stack: list[list[int]] = []  # of each open object: where it begins, and whether it is a Secret
    at = 0
    for brace, place in _braces(data):
        while at < len(wanted) and wanted[at] <= place:
            if stack:
                stack[-1][1] = 1
            at += 1
        if brace == b"{":
            stack.append([place, 0])
        elif stack:
            start, is_secret = stack.pop()
            if is_secret:
                while places and places[-1][0] > start:  # a Secret within this one would be read again
                    places.pop()
                places.append((start, place + 1))
    for start, end in places:
        yield from json_values(data, start, end)


def _braces(data: bytes) -> Iterator[tuple[bytes, int]]:
    """The braces of a document that are in no string, and where they stand."""
    place = 0
    for number, part in enumerate(json_strings.quotes_only(data, 0, len(data)).split(b'"')):
        if number % 2 == 0 and (b"{" in part or b"}" in part):
            for at in range(len(part)):
                if (sign := part[at : at + 1]) in {b"{", b"}"}:
                    yield sign, place + at
        place += len(part) + 1


def yaml_values(text: bytes, places: Iterable[int]) -> Iterator[Span]:
    """The values in the YAML documents in which the `places` lie."""
    done = -1
    for place in places:
        if place < done:
            continue
        opening = text.rfind(b"\n---", max(0, place - _MAX_BYTES), place)
        closing = _SEPARATOR.search(text, place, place + _MAX_BYTES)
        done = closing.start() if closing is not None else min(len(text), place + _MAX_BYTES)
        read = max(0, opening, place - _MAX_BYTES)
        for block in _BLOCK.finditer(text, read, done):
            if block.start() >= read:  # of a block within a block each line has a value, or goes as a whole
                spans, read = _block(text, block.end(), done, _indent(block[1]))
                yield from spans


def _indent(lead: bytes) -> int:
    return len(lead.expandtabs())


def _block(text: bytes, place: int, end: int, depth: int) -> tuple[list[Span], int]:
    """The values of one block, whose lines are indented deeper than its name, and where it ends."""
    found: list[Span] = []
    own: int | None = None
    while place < end:
        stop = text.find(b"\n", place, end)
        stop = end if stop < 0 else stop + 1
        line = text[place:stop]
        indent = _indent(line[: len(line) - len(line.lstrip(b" \t"))])
        if line.strip() and indent <= depth:
            break
        match = _LINE.match(line)
        own = indent if own is None and line.strip() else own
        if match is not None and indent == own:
            value = match[1].rstrip(b" \t")
            if value and not (_NO_VALUE.fullmatch(value) or values.is_blank(value.strip(b"\"'"))):
                start = place + match.start(1)
                found.append(Span(start, start + len(value), KIND))
        elif line.strip() and not values.is_blank(line.strip()):
            lead = len(line) - len(line.lstrip())
            found.append(Span(place + lead, place + len(line.rstrip()), KIND))
        place = stop
    return found, place
