"""Tables as the API server prints them: the name of a column stands in the head, and the values in the rows below it.

The document is read as structure. What decides is where a key stands, never that a text looks like one: an annotation
may be called `columnDefinitions` or `cells`.
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
"""Where in the document a value stands: keys of objects, places in lists."""


class Tables:
    """Reads one document, or the events of one watch, piece by piece. A piece ends outside of any string."""

    def __init__(self, *, watch: bool) -> None:
        """`watch` says that each piece is an event with an object in it."""
        self._root: _Path = [b"object"] if watch else []
        self._is_watch = watch
        self._path: _Path = []
        self._is_table = False
        self._is_settled = False
        """Whether nothing in the rest of the document can be a cell to mask."""
        # Attack: kube-apiserver sends `columnDefinitions: null` from the second event of a watch on, so a head stays
        # until there is another one.
        self._names: dict[int, str] = {}
        self._new_names: dict[int, str] = {}

    def strings(self, piece: bytes) -> Iterator[String]:
        """Yields the strings in the cells of credential columns, each by the name of its column. Rows that come before
        any head are masked as values of a Secret: what they are is unknown."""
        if self._is_watch:
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
        """Goes into an object or a list."""
        field = self._field()
        if field == _HEAD:
            self._new_names = {}
        elif field == _ROWS:
            self._is_settled = bool(self._names) and not any(map(names.kind, self._names.values()))
        elif field is not None and not self._is_table:
            # Every API server writes the kind of a Table before its rows. Custom objects are written in the order of
            # the alphabet: `apiVersion`, `items`, `kind`.
            is_root_list = is_list and not field
            self._is_settled = is_root_list or (len(field) == 1 and field[0] not in _IN_HEAD)
        self._path.append(0 if is_list else b"")

    def _close(self) -> None:
        """Goes out of it."""
        if self._path:
            self._path.pop()
        if self._field() == _HEAD and self._new_names:
            self._names = self._new_names

    def _pass(self) -> None:
        """Goes on to the next item of a list; the next member of an object names itself."""
        if self._path and isinstance(self._path[-1], int):
            self._path[-1] += 1

    def _name(self, key: bytes) -> None:
        """Goes on to this member of an object."""
        if self._path:
            self._path[-1] = json_strings.text_of(key).encode() if b"\\" in key else key

    def _read(self, piece: bytes, start: int, end: int) -> Iterator[String]:
        """Reads a string that is a value."""
        match self._field(3):
            case (b"kind",):
                self._is_table = json_strings.text_of(piece[start:end]) == "Table"
                self._is_settled = not self._is_table
            case (b"columnDefinitions", int(column), b"name"):
                self._new_names[column] = json_strings.text_of(piece[start:end])
            case (b"rows", int(), b"cells"):
                yield from self._cell(start, end)

    def _cell(self, start: int, end: int) -> Iterator[String]:
        """Judges a string within a cell by its column."""
        column = self._path[len(self._root) + 3 :][:1]
        name = self._names.get(column[0], "") if column and isinstance(column[0], int) else ""
        if not self._names:
            yield String(start, end, role="stringData")
        elif names.kind(name):
            yield String(start, end, name)

    def _field(self, depth: int | None = None) -> tuple[bytes | int, ...] | None:
        """Returns the place within the document's object, to this depth; None outside of it."""
        inside = len(self._root)
        if self._path[:inside] != self._root:
            return None
        return tuple(self._path[inside:] if depth is None else self._path[inside : inside + depth])
