"""Columns: the name stands in the head of a CSV, of a table or of an INSERT, and the values far below it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from kubescript.masker import json_strings, linear, names, spans, values
from kubescript.masker.spans import Span

__all__ = ["Columns", "columns", "header", "insert"]

_HEAD_BYTES: Final = 2_000
_ROW_BYTES: Final = 262_144
_ROWS: Final = 10_000
_FIELD: Final = linear.compiled(rb"[ \t]*[\"'`]?([A-Za-z][\w.-]{0,60}(?: [A-Za-z][\w.-]{0,30})?)[\"'`]?[ \t]*")
_SPLIT: Final = {
    sign: linear.compiled(rb"(?:[ \t]*\"(?:[^\"]|\"\")*\"[ \t]*|[^" + linear.escape(sign) + rb"]*)")
    for sign in (b",", b";", b"\t", b"|")
}
_WIDE: Final = linear.compiled(rb"\S+(?: \S+)*")
_UPPER: Final = linear.compiled(
    rb"[A-Z][A-Z0-9_-]*(?: [A-Z][A-Z0-9_-]*)?(?: {2,}[A-Z][A-Z0-9_-]*(?: [A-Z][A-Z0-9_-]*)?)+ *"
)
_OF_RULES: Final = b"-+|=: \t"
"""What the line between a head and its rows is made of."""
_INSERT: Final = linear.compiled(rb"\(([^()]*)\)\s*(?:OUTPUT [\w.]+ )?(?i:values)\s*\(")
_INSERT_BYTES: Final = 1_200
_LITERAL: Final = linear.compiled(rb"\s*(?:N?'((?:[^']|'')*)'|\"([^\"]*)\"|([^,()'\"]*(?:\([^()]*\))?))\s*(,|\))")
_NEXT_ROW: Final = linear.compiled(rb"\s*,\s*\(")
_DEFINITIONS: Final = linear.compiled(rb'"columnDefinitions"\s*:\s*')
_CELLS: Final = linear.compiled(rb'"cells"\s*:\s*\[')
_CELL: Final = linear.compiled(rb'(?s)\s*("(?:[^"\\]|\\.)*"|[^,"\[\]{}]*)\s*(,|\])')


@dataclass(frozen=True, slots=True)
class Columns:
    """A table's head."""

    sign: bytes
    """What separates the fields; nothing: two blanks or more."""
    size: int
    secret: tuple[tuple[int, str], ...]

    def cells(self, line: bytes) -> list[Span] | None:
        """What is secret in a row; None when the line is none."""
        if line and not line.strip(_OF_RULES):
            return []
        fields = _fields(line, self.sign) if len(line) <= _ROW_BYTES else []
        if len(fields) != self.size:
            return None
        found = []
        for at, kind in self.secret:
            start, end = _trimmed(line, *fields[at])
            if values.is_secret(line[start:end], kind):
                found.append(Span(start, end, kind))
        is_head = not found and header(line) is not None  # of the next table
        return None if is_head else found


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
    if b'"' not in line:
        ends = list(itertools.accumulate((len(field) + 1 for field in line[place:end].split(sign)), initial=place))
        return [(start, stop - 1) for start, stop in itertools.pairwise(ends)]
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
    begin = max(0, end - _INSERT_BYTES)
    head = next((one for one in _INSERT.finditer(text, begin, end) if one.end() == end), None)
    if head is None:
        return
    kinds = [names.kind(field.strip(b' \t\r\n`"[]').decode("utf-8", "replace")) for field in head[1].split(b",")]
    place = end
    for _ in range(_ROWS):
        for kind in [*kinds, ""]:
            literal = _LITERAL.match(text, place, min(len(text), place + _ROW_BYTES))
            if literal is None:
                return
            group = 1 if literal.start(1) >= 0 else 2 if literal.start(2) >= 0 else 0
            if kind and group and values.is_secret(literal[group], kind):
                yield Span(literal.start(group), literal.end(group), kind)
            place = literal.end()
            if literal[4] == b")":
                break
        row = _NEXT_ROW.match(text, place)
        if row is None:
            return
        place = row.end()


class Cells:
    """A table that the API server printed, or a watch of one, on its way through: columns are told once."""

    def __init__(self, mask: Callable[[str, bytes], bytes]) -> None:
        self._mask = mask
        """From the kind of a value and the value."""
        self._secret: dict[int, str] = {}
        """Column → kind, of those whose name promises a credential."""

    def __call__(self, piece: bytes) -> bytes:
        """The piece with the cells of such columns masked."""
        if (definitions := _DEFINITIONS.search(piece)) is not None:
            self._secret = _secret_columns(piece[definitions.end() :])
        parts, done = [], 0
        row = _CELLS.search(piece) if self._secret else None
        while row is not None:
            cells = _cells(piece, row.end())
            for number, cell in enumerate(cells):
                if (kind := self._secret.get(number)) and (mask := self._masked(cell[1], kind)) is not None:
                    parts += [piece[done : cell.start(1)], mask]
                    done = cell.end(1)
            row = _CELLS.search(piece, cells[-1].end() if cells else row.end())
        return b"".join([*parts, piece[done:]])

    def _masked(self, cell: bytes, kind: str) -> bytes | None:
        content = json_strings.unescaped(cell[1:-1]) if cell.startswith(b'"') else None
        if content is None or spans.is_masked(content) or not values.is_secret(content, kind):
            return None
        return b'"' + self._mask(kind, content) + b'"'


def _cells(piece: bytes, place: int) -> list[linear.Match]:
    """The cells of one row, as far as they are plain."""
    cells = []
    while (cell := _CELL.match(piece, place)) is not None:
        cells.append(cell)
        place = cell.end()
        if cell[2] == b"]":
            break
    return cells


def _secret_columns(text: bytes) -> dict[int, str]:
    try:
        columns, _ = json.JSONDecoder().raw_decode(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
    if not isinstance(columns, list):  # an aggregated API server may answer anything
        return {}
    named = ((number, names.kind(_name(column))) for number, column in enumerate(columns))
    return {number: kind for number, kind in named if kind}


def _name(column: object) -> str:
    return str(column.get("name", "")) if isinstance(column, dict) else ""
