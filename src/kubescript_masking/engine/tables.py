"""Tables as the API server prints them: a column's name is in the header, and its values are in the rows below.

The document's structure is read. The place of a key decides, not its text: an annotation may be called
`columnDefinitions` or `cells`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubescript_masking.rules import names
from kubescript_masking.text import json_strings, linear
from kubescript_masking.text.json_strings import String

__all__ = ["Tables"]

_TOKEN: Final = linear.build(rb'(?s)"((?:[^"\\]|\\.)*)"(\s*:)?|[{}\[\],]')
_OPENS: Final = frozenset(b"{[")
_CLOSES: Final = frozenset(b"}]")
_HEAD: Final = (b"columnDefinitions",)
_ROWS: Final = (b"rows",)
_IN_HEAD: Final = frozenset({b"apiVersion", b"columnDefinitions", b"kind", b"metadata"})
"""Fields of a Table that come before its rows."""
_Path = list[bytes | int]
"""A value's place in the document: keys of objects, indexes of lists."""


class Tables:
    """Reads one document, or the events of one watch, piece by piece. A piece ends outside any string."""

    def __init__(self, *, watch: bool) -> None:
        """`watch` says that each piece is an event that contains an object."""
        self._root: _Path = [b"object"] if watch else []
        self._path: _Path = []
        self._is_table = False
        self._is_settled = False
        """Whether the rest of the document cannot contain a cell to mask."""
        # Attack: a script reads a watch's later events, in which kube-apiserver sends `columnDefinitions: null`. So a
        # header stays valid until the next one.
        self._names: dict[int, str] = {}
        self._new_names: dict[int, str] = {}

    def strings(self, piece: bytes) -> Iterator[String]:
        """Yields the strings in the cells of credential columns, each with its column's name. Rows before any header
        are masked like a Secret's values, since their columns are unknown."""
        is_event = bool(self._root)
        if is_event:
            self._path, self._is_table, self._is_settled = [], False, False
        if self._is_settled:
            return
        for token in _TOKEN.finditer(piece):
            sign = piece[token.start()]
            if sign in _OPENS:
                self._open(is_list=sign == ord("["))
            elif sign in _CLOSES:
                self._close()
            elif sign == ord(","):
                self._pass()
            elif token[2]:
                self._name(token[1])
            else:
                yield from self._read(piece, *token.span(1))
            if self._is_settled:
                return

    def _open(self, *, is_list: bool) -> None:
        """Enters an object or a list."""
        field = self._field()
        if field == _HEAD:
            self._new_names = {}
        elif field == _ROWS:
            has_secret = any(map(names.kind, self._names.values()))
            self._is_settled = bool(self._names) and not has_secret
        elif field is not None and not self._is_table:
            # Every API server writes a Table's kind before its rows. Custom objects are written in alphabetical order:
            # `apiVersion`, `items`, `kind`.
            is_root_list = is_list and not field
            is_other_field = len(field) == 1 and field[0] not in _IN_HEAD
            self._is_settled = is_root_list or is_other_field
        self._path.append(0 if is_list else b"")

    def _close(self) -> None:
        """Leaves an object or a list."""
        if self._path:
            self._path.pop()
        if self._field() == _HEAD and self._new_names:
            self._names = self._new_names

    def _pass(self) -> None:
        """Moves on to the next item of a list; an object's next member comes with its key."""
        if not self._path:
            return
        last = self._path[-1]
        if isinstance(last, int):
            self._path[-1] = last + 1

    def _name(self, key: bytes) -> None:
        """Moves on to this member of an object."""
        if not self._path:
            return
        if b"\\" in key:
            key = json_strings.text_of(key).encode()
        self._path[-1] = key

    def _read(self, piece: bytes, start: int, end: int) -> Iterator[String]:
        """Reads a string that is a value."""
        match self._field(3):
            case (b"kind",):
                kind = json_strings.text_of(piece[start:end])
                self._is_table = kind == "Table"
                self._is_settled = not self._is_table
            case (b"columnDefinitions", int(column), b"name"):
                name = json_strings.text_of(piece[start:end])
                self._new_names[column] = name
            case (b"rows", int(), b"cells"):
                yield from self._cell(start, end)

    def _cell(self, start: int, end: int) -> Iterator[String]:
        """Judges a string in a cell by its column."""
        if not self._names:
            yield String(start, end, role="stringData")
            return
        cell = self._path[len(self._root) + 3 :]
        column = cell[0] if cell else None
        name = self._names.get(column, "") if isinstance(column, int) else ""
        if names.kind(name):
            yield String(start, end, name)

    def _field(self, depth: int | None = None) -> tuple[bytes | int, ...] | None:
        """Returns the place within the document's object, up to this depth; None outside it."""
        inside = len(self._root)
        if self._path[:inside] != self._root:
            return None
        end = None if depth is None else inside + depth
        return tuple(self._path[inside:end])
