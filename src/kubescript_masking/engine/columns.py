"""Finds values in columns: the name is in the header of a CSV, a table or an INSERT, and the values may be far below
it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kubescript_masking.rules import names, values
from kubescript_masking.text import linear
from kubescript_masking.text.spans import Span

__all__ = ["Columns", "columns", "header", "insert"]

_Field = tuple[int, int]
"""Where a field begins and ends."""
_HEAD_BYTES: Final = 2_000
_ROW_BYTES: Final = 262_144
_ROWS: Final = 10_000
_FIELD: Final = linear.build(rb"[ \t]*[\"'`]?([A-Za-z][\w.-]{0,60}(?: [A-Za-z][\w.-]{0,30})?)[\"'`]?[ \t]*")
_SPLIT: Final = {
    sign: linear.build(rb"(?:[ \t]*\"(?:[^\"]|\"\")*\"[ \t]*|[^" + linear.escape(sign) + rb"]*)")
    for sign in (b",", b";", b"\t", b"|")
}
_WIDE: Final = linear.build(rb"\S+(?: \S+)*")
_CAPITALS: Final = linear.build(rb"[A-Z][A-Z0-9_-]*(?: [A-Z][A-Z0-9_-]*)?")
_OF_RULES: Final = b"-+|=: \t"
"""Characters of the line between a header and its rows."""
_AROUND: Final = b" \t\"'`"
"""Characters around a field."""
_INSERT: Final = linear.build(rb"\(([^()]*)\)\s*(?:OUTPUT [\w.]+ )?(?i:values)\s*\(")
_INSERT_BYTES: Final = 1_200
_LITERAL: Final = linear.build(rb"\s*(?:N?'((?:[^']|'')*)'|\"([^\"]*)\"|([^,()'\"]*(?:\([^()]*\))?))\s*(,|\))")
_NEXT_ROW: Final = linear.build(rb"\s*,\s*\(")


@dataclass(frozen=True, slots=True)
class Columns:
    """A table's header."""

    sign: bytes
    """The separator of fields; an empty one stands for two blanks or more."""
    size: int
    secret: tuple[tuple[int, str], ...]

    def cells(self, line: bytes) -> list[Span] | None:
        """Returns the secrets in a row; None when the line is not a row."""
        if line and not line.strip(_OF_RULES):
            return []
        if len(line) > _ROW_BYTES:
            return None
        fields = _split(line, self.sign)
        if len(fields) != self.size:
            return None
        found = []
        for at, kind in self.secret:
            start, end = _trim(line, fields[at])
            if values.is_secret(line[start:end], kind):
                found.append(Span(start, end, kind))
        is_next_head = not found and header(line) is not None
        return None if is_next_head else found


def header(line: bytes) -> Columns | None:
    """Returns the header in a line of column names; None unless one of them is a credential's."""
    line = line.rstrip(b"\r\n")
    if line.startswith(b"# "):
        line = b"  " + line[2:]
    if len(line) > _HEAD_BYTES:
        return None
    for sign in (b"", *_SPLIT):
        is_sentence = sign in {b",", b";"} and sign + b" " in line
        is_words = not sign and not line.isupper()
        if sign not in line or is_sentence or is_words:
            continue
        fields = _split(line, sign)
        name = _FIELD if sign else _CAPITALS
        are_names = all(name.fullmatch(line, start, end) for start, end in fields)
        if len(fields) > 1 and are_names:
            return _find_secret(line, sign, fields)
    return None


def _find_secret(line: bytes, sign: bytes, fields: list[_Field]) -> Columns | None:
    """Returns the header of these fields; None unless one of them is a credential's name."""
    secret = []
    for at, field in enumerate(fields):
        start, end = _trim(line, field)
        name = line[start:end].decode()
        kind = names.kind(name)
        if kind:
            secret.append((at, kind))
    if not secret:
        return None
    return Columns(sign, len(fields), tuple(secret))


def _split(line: bytes, sign: bytes) -> list[_Field]:
    """Returns the fields of a row."""
    if not sign:
        return [match.span() for match in _WIDE.finditer(line)]
    place = 0
    end = len(line.rstrip())
    if sign == b"|":  # a bar surrounds the row as well
        place = len(line) - len(line.lstrip(b" \t|"))
        end = len(line.rstrip(b" \t\r\n|"))
    found = []
    if b'"' not in line:
        for part in line[place:end].split(sign):
            found.append((place, place + len(part)))
            place += len(part) + 1
        return found
    field = _SPLIT[sign].match(line, place, end)
    while field is not None:
        found.append(field.span())
        place = field.end() + 1
        is_last = place > end or line[field.end() : place] != sign
        field = None if is_last else _SPLIT[sign].match(line, place, end)
    return found


def _trim(line: bytes, place: _Field) -> _Field:
    """Returns a field without the blanks and quotes around it."""
    start, end = place
    field = line[start:end]
    behind = field.lstrip(_AROUND)
    before = field.rstrip(_AROUND)
    first, last = end - len(behind), start + len(before)
    return first, max(first, last)


def columns(text: bytes, end: int) -> Iterator[Span]:
    """Yields the secret cells below the header in which a name was found. A span without a kind says how far the header
    was read, since a header may contain two hundred names."""
    low = max(0, end - _HEAD_BYTES)
    start = text.rfind(b"\n", low, max(0, end - 1)) + 1
    stop = text.find(b"\n", max(start, end - 1), end + _HEAD_BYTES)
    head = header(text[start:stop]) if stop >= 0 else None
    if head is None:
        return
    yield Span(stop, stop, "")  # how far the header was read
    for _ in range(_ROWS):
        place = stop + 1
        stop = text.find(b"\n", place)
        if stop < 0:
            stop = len(text)
        is_row = place < stop <= place + _ROW_BYTES
        cells = head.cells(text[place:stop]) if is_row else None
        if cells is None:
            return
        for cell in cells:
            yield Span(place + cell.start, place + cell.end, cell.kind)


def insert(text: bytes, end: int) -> Iterator[Span]:
    """Yields the secrets of `INSERT INTO users (name, password) VALUES ('a', 'x'), …`."""
    begin = max(0, end - _INSERT_BYTES)
    heads = (one for one in _INSERT.finditer(text, begin, end) if one.end() == end)
    head = next(heads, None)
    if head is None:
        return
    fields = [field.strip(b' \t\r\n`"[]') for field in head[1].split(b",")]
    kinds = [names.kind(field.decode("utf-8", "replace")) for field in fields]
    place = end
    for _ in range(_ROWS):
        for kind in [*kinds, ""]:
            limit = min(len(text), place + _ROW_BYTES)
            literal = _LITERAL.match(text, place, limit)
            if literal is None:
                return
            yield from _judge_literal(literal, kind)
            place = literal.end()
            if literal[4] == b")":
                break
        row = _NEXT_ROW.match(text, place)
        if row is None:
            return
        place = row.end()


def _judge_literal(literal: linear.Match, kind: str) -> Iterator[Span]:
    """Yields a literal that is a string, if it is secret in a column of this kind."""
    group = 1 if literal.start(1) >= 0 else 2
    start, end = literal.span(group)
    is_string = start >= 0
    if kind and is_string and values.is_secret(literal[group], kind):
        yield Span(start, end, kind)
