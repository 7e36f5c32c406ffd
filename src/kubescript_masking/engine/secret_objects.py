"""Secret objects: in JSON as the API server sends them, and in YAML as people embed them in other objects.

Keys and sizes stay, values are masked; secrets in other annotations are found by the general rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from kubescript_masking.rules import values
from kubescript_masking.text import json_strings, linear, placeholders
from kubescript_masking.text.json_strings import String
from kubescript_masking.text.spans import Span

__all__ = ["KIND", "ROLES", "find_owned", "json_values", "yaml_values"]

KIND: Final = "secret"
ROLES: Final = frozenset({"data", "stringData", "last-applied"})
"""The parts of a Secret that hold values."""
_FIELDS: Final = linear.build(rb'"(data|stringData)"\s*:\s*\{')
_LAST_APPLIED: Final = linear.build(rb'"kubectl\.kubernetes\.io/last-applied-configuration"\s*:\s*"')
_KIND: Final = linear.build(rb'[^\\]"\s*:\s*"(?i:Secret(?:List)?)\z')
_KIND_BYTES: Final = 200
"""The key of a kind must stand within this many bytes before the kind's end."""
_WITHIN: Final = linear.build(rb'(?s)[^"{}]*(?:"((?:[^"\\]|\\.)*)"(\s*:)?|([{}]))')
"""The next string within an object, or the next brace."""
_BLOCK: Final = linear.build(rb"(?m)^([ \t]*(?:- )?)[\"']?(?:data|stringData)[\"']?:[ \t]*\r?\n")
_LINE: Final = linear.build(rb"[ \t]*[\"']?[\w.\-]+[\"']?:[ \t]*([^\r\n]*)(?:\r?\n|\z)")
_NO_VALUE: Final = linear.build(rb"[|>][+-]?\d?|[\"']{2}")
_SEPARATOR: Final = linear.build(rb"(?m)^---")
_MAX_BYTES: Final = 2 * 1024 * 1024


def json_values(data: bytes, start: int = 0, end: int | None = None) -> Iterator[String]:
    """Yields the values in every `data` and `stringData` between two places of a document, and every `last-applied`
    annotation of `kubectl apply`, which contains them too."""
    if end is None:
        end = len(data)
    read = start
    for field in _FIELDS.finditer(data, start, end):
        if field.start() < read:
            continue
        role = field[1].decode()
        strings, read = _find_held(data, field.end(), end)
        for first, last in strings:
            yield String(first, last, role=role)
    for applied in _LAST_APPLIED.finditer(data, start, end):
        first = applied.end()
        yield String(first, json_strings.end_of(data, first), role="last-applied")


def _find_held(data: bytes, place: int, end: int) -> tuple[list[tuple[int, int]], int]:
    """Returns the values of the object around this place, and where it ends. A handwritten one may contain a number or
    an object."""
    found: list[tuple[int, int]] = []
    depth = 1
    while depth:
        part = _WITHIN.match(data, place, end)
        if part is None:
            break
        brace, is_key = part[3], part[2] is not None
        if brace:
            depth += 1 if brace == b"{" else -1
        elif part[1] and not is_key:
            found.append(part.span(1))
        place = part.end()
    return found, place


def find_owned(data: bytes, hits: Iterable[tuple[str, int]]) -> Iterator[String]:
    """Yields such values of all objects whose kind is Secret."""
    manifests = [end for probe, end in hits if probe == "manifest"]
    kinds = [end - 1 for end in manifests if _ends_kind(data, end)]
    if not kinds:
        return
    for start, end in _find_objects(data, kinds):
        yield from json_values(data, start, end)


def _ends_kind(data: bytes, end: int) -> bool:
    """Says whether an object's kind, Secret, ends here."""
    low = max(0, end - _KIND_BYTES)
    return _KIND.search(data[low:end]) is not None


def _find_objects(data: bytes, kinds: list[int]) -> list[tuple[int, int]]:
    """Returns the objects whose own kinds end at these places, without those within another one of them."""
    places: list[tuple[int, int]] = []
    stack: list[list[int]] = []  # for each open object: where it begins, and whether it is a Secret
    at = 0
    for brace, place in _braces(data):
        while at < len(kinds) and kinds[at] <= place:
            if stack:
                stack[-1][1] = 1
            at += 1
        if brace == b"{":
            stack.append([place, 0])
        elif stack:
            start, is_secret = stack.pop()
            if not is_secret:
                continue
            while places and places[-1][0] > start:  # a Secret within this one would be read again
                places.pop()
            places.append((start, place + 1))
    return places


def _braces(data: bytes) -> Iterator[tuple[bytes, int]]:
    """Yields the braces of a document outside its strings, and their places."""
    place = 0
    parts = json_strings.quotes_only(data, 0, len(data)).split(b'"')
    for number, part in enumerate(parts):
        is_string = number % 2 == 1
        # Strings are not searched: they are most of a document.
        if not is_string and (b"{" in part or b"}" in part):
            for at, sign in enumerate(part, start=place):
                if sign in b"{}":
                    yield bytes([sign]), at
        place += len(part) + 1


def yaml_values(text: bytes, places: Iterable[int]) -> Iterator[Span]:
    """Yields the values in the YAML documents around the `places`."""
    done = -1
    for place in places:
        if place < done:
            continue
        low = max(0, place - _MAX_BYTES)
        high = min(len(text), place + _MAX_BYTES)
        closing = _SEPARATOR.search(text, place, high)
        done = high if closing is None else closing.start()
        read = max(low, text.rfind(b"\n---", low, place))
        for block in _BLOCK.finditer(text, read, done):
            if block.start() < read:  # inside a block, inner blocks were read already
                continue
            depth = _count_columns(block[1])
            found, read = _read_block(text, block.end(), done, depth)
            yield from found


def _count_columns(lead: bytes) -> int:
    return len(lead.expandtabs())


def _read_block(text: bytes, place: int, end: int, depth: int) -> tuple[list[Span], int]:
    """Returns the values of one block, whose lines are indented deeper than its name, and where it ends."""
    found: list[Span] = []
    own: int | None = None
    while place < end:
        stop = text.find(b"\n", place, end) + 1 or end
        line = text[place:stop]
        if line.strip():
            bare = line.lstrip(b" \t")
            lead = line[: len(line) - len(bare)]
            indent = _count_columns(lead)
            if indent <= depth:
                break
            own = indent if own is None else own
            start, value = _find_value(line, is_field=indent == own)
            if value:
                first = place + start
                found.append(Span(first, first + len(value), KIND))
        place = stop
    return found, place


def _find_value(line: bytes, *, is_field: bool) -> tuple[int, bytes]:
    """Returns where the value in a block's line begins, and the value: a field's content, or else the whole line."""
    match = _LINE.match(line) if is_field else None
    if match is None:
        start = len(line) - len(line.lstrip())
        value = line.strip()
        return start, b"" if values.is_blank(value) else value
    value = match[1].rstrip(b" \t")
    bare = value.strip(b"\"'")
    is_empty = _NO_VALUE.fullmatch(value) is not None or values.is_blank(bare)
    return match.start(1), b"" if is_empty or placeholders.is_masked(bare) else value
