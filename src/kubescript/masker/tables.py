"""Tables: the server prints what a column's path finds, so that the value stands in a cell and its name in the head."""

from __future__ import annotations

import json
import re
from typing import Final

from kubescript.masker import json_strings, masker, names, placeholders, values

__all__ = ["Cells"]

_COLUMNS: Final = re.compile(rb'"columnDefinitions"\s*:\s*(?=\[)')
_CELLS: Final = re.compile(rb'"cells"\s*:\s*\[')
_CELL: Final = re.compile(rb'\s*+("(?:[^"\\]++|\\.)*+"|[^,"\[\]{}]*+)\s*+(,|\])', re.DOTALL)


class Cells:
    """One table, or a watch of one, on its way through: columns are told once."""

    def __init__(self, rules: masker.Masker, found: masker.Found) -> None:
        self._rules = rules
        self._found = found
        self._secret: dict[int, str] = {}
        """Column → kind, of those whose name promises a credential."""

    def __call__(self, piece: bytes) -> bytes:
        """The piece with the cells of such columns masked."""
        if (columns := _COLUMNS.search(piece)) is not None:
            self._secret = _secret_columns(piece[columns.end() :])
        if not self._secret:
            return piece
        parts, done = [], 0
        for row in _CELLS.finditer(piece):
            place = row.end()
            for number, cell in enumerate(_cells(piece, place)):
                if (kind := self._secret.get(number)) and (mask := self._masked(cell, kind)) is not None:
                    parts += [piece[done : cell.start(1)], mask]
                    done = cell.end(1)
        return b"".join([*parts, piece[done:]])

    def _masked(self, cell: re.Match[bytes], kind: str) -> bytes | None:
        content = json_strings.unescaped(cell[1][1:-1]) if cell[1].startswith(b'"') else None
        if content is None or placeholders.is_masked(content) or not values.is_secret(content, kind):
            return None
        return b'"' + self._rules.masked(kind, content, self._found) + b'"'


def _cells(piece: bytes, place: int) -> list[re.Match[bytes]]:
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
    except ValueError:
        return {}
    named = ((number, names.kind(str(column.get("name", "")))) for number, column in enumerate(columns))
    return {number: kind for number, kind in named if kind}
