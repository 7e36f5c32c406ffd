"""Columns: the name stands in the head of a CSV, of a printed table or of an INSERT, and the values far below it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kubescript.masker import names, values
from kubescript.masker.spans import Span

__all__ = ["Columns", "columns", "header", "insert"]

_HEAD_BYTES: Final = 2_000
_ROW_BYTES: Final = 262_144
_ROWS: Final = 10_000
_FIELD: Final = re.compile(rb"[ \t]*[\"'`]?([A-Za-z][\w.-]{0,60}(?: [A-Za-z][\w.-]{0,30})?)[\"'`]?[ \t]*")
_SPLIT: Final = {
    sign: re.compile(rb"(?:[ \t]*\"(?:[^\"]|\"\"){0,2000}\"[ \t]*|[^" + re.escape(sign) + rb"]*)")
    for sign in (b",", b";", b"\t", b"|")
}
_WIDE: Final = re.compile(rb"\S+(?: \S+)*")
_UPPER: Final = re.compile(rb"[A-Z][A-Z0-9_-]*(?: [A-Z][A-Z0-9_-]*)?(?: {2,}[A-Z][A-Z0-9_-]*(?: [A-Z][A-Z0-9_-]*)?)+ *")
_RULE: Final = re.compile(rb"[-+|=: \t]+")
_INSERT: Final = re.compile(rb"\(([\w`\"\[\], \t\r\n]{3,1000})\)\s{0,20}(?:OUTPUT [\w.]+ )?(?i:values)\s{0,20}(?=\()")
_LITERAL: Final = re.compile(rb"\s*+(?:N?'((?:[^']|'')*+)'|\"([^\"]*+)\"|([^,()'\"]*+(?:\([^()]*\))?))\s*+(,|\))")


@dataclass(frozen=True, slots=True)
class Columns:
    """A table's head."""

    sign: bytes
    """What separates the fields; nothing: two blanks or more."""
    size: int
    secret: tuple[tuple[int, str], ...]

    def cells(self, line: bytes) -> list[Span] | None:
        """What is secret in a row; None when the line is none."""
        if _RULE.fullmatch(line):
            return []
        fields = _fields(line, self.sign) if len(line) <= _ROW_BYTES else []
        if len(fields) != self.size or header(line) is not None:
            return None
        found = []
        for at, kind in self.secret:
            start, end = _trimmed(line, *fields[at])
            if values.is_secret(line[start:end], kind):
                found.append(Span(start, end, kind))
        return found


def header(line: bytes) -> Columns | None:
    """A line of names, at least one of which is a credential's."""
    line = line.rstrip(b"\r\n")
    if len(line) > _HEAD_BYTES:
        return None
    if _UPPER.fullmatch(line):
        return _columns(line, b"", _fields(line, b""))
    for sign in _SPLIT:
        if sign not in line or (sign in b",;" and sign + b" " in line):  # a sentence
            continue
        fields = _fields(line, sign)
        if len(fields) > 1 and all(_FIELD.fullmatch(line, *field) for field in fields):
            return _columns(line, sign, fields)
    return None


def _columns(line: bytes, sign: bytes, fields: list[tuple[int, int]]) -> Columns | None:
    named = ((at, names.kind(line[slice(*_trimmed(line, *field))].decode())) for at, field in enumerate(fields))
    secret = tuple((at, kind) for at, kind in named if kind)
    return Columns(sign, len(fields), secret) if secret else None


def _fields(line: bytes, sign: bytes) -> list[tuple[int, int]]:
    if not sign:
        return [match.span() for match in _WIDE.finditer(line)]
    place, end = 0, len(line.rstrip())
    if sign == b"|":  # around the row as well
        place = len(line) - len(line.lstrip(b" \t|"))
        end = len(line.rstrip(b" \t\r\n|"))
    found = []
    while (field := _SPLIT[sign].match(line, place, end)) is not None:
        found.append(field.span())
        place = field.end() + 1
        if place > end or line[field.end() : place] != sign:
            break
    return found


def _trimmed(line: bytes, start: int, end: int) -> tuple[int, int]:
    field = line[start:end]
    start += len(field) - len(field.lstrip(b" \t\"'`"))
    return start, max(start, end - (len(field) - len(field.rstrip(b" \t\"'`"))))


def columns(text: bytes, end: int) -> Iterator[Span]:
    """The secret cells below the head in which a name was found. A span without a kind says how far the head was read:
    one may have two hundred names."""
    start = text.rfind(b"\n", max(0, end - _HEAD_BYTES), max(0, end - 1)) + 1
    stop = text.find(b"\n", max(start, end - 1), end + _HEAD_BYTES)
    head = header(text[start:stop]) if stop >= 0 else None
    if head is not None:
        yield Span(stop, stop, "")
    for _ in range(_ROWS if head is not None else 0):
        place, stop = stop + 1, text.find(b"\n", stop + 1)
        stop = len(text) if stop < 0 else stop
        cells = head.cells(text[place:stop]) if head is not None and place < stop <= place + _ROW_BYTES else None
        if cells is None:
            return
        yield from (Span(place + cell.start, place + cell.end, cell.kind) for cell in cells)


def insert(text: bytes, end: int) -> Iterator[Span]:
    """`INSERT INTO users (name, password) VALUES ('a', 'x'), …`."""
    begin = max(0, end - 1_200)
    head = next((one for one in _INSERT.finditer(text, begin, end + 1) if one.end() >= end - 1), None)
    if head is None:
        return
    kinds = [names.kind(field.strip(b' \t\r\n`"[]').decode()) for field in head[1].split(b",")]
    place = head.end()
    for _ in range(_ROWS):
        if text[place : place + 1] != b"(":
            return
        place += 1
        for kind in [*kinds, ""]:
            literal = _LITERAL.match(text, place, place + _ROW_BYTES)
            if literal is None:
                return
            group = 1 if literal[1] is not None else 2 if literal[2] is not None else 0
            if kind and group and values.is_secret(literal[group], kind):
                yield Span(literal.start(group), literal.end(group), kind)
            place = literal.end()
            if literal[4] == b")":
                break
        more = re.compile(rb"\s{0,20},\s{0,20}").match(text, place)
        place = more.end() if more is not None else len(text)
