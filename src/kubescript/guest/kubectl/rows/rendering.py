"""Formats a Listing's rows: as kubectl's table, or as JSON for a reader who pays for every word."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kubescript.guest.kubectl.rows import cells
from kubescript.guest.kubectl.rows.columns import Column
from kubescript.guest.kubectl.rows.listing import Listing, Row

__all__ = ["as_json", "as_names", "as_table"]

# As in kubectl: the minimum width of columns, and the space between them.
_LEAST: Final = 6
_PADDING: Final = 3
# Attack: an object has a cell of a megabyte, to which a hundred others would be padded.
_MOST: Final = 200
_LINE_END: Final = re.compile(r"[\f\n\r]")
_WORD: Final = re.compile(r"[^\W_]+")
_UNSAID: Final = (None, "", cells.NONE, cells.UNSET)
# Wide columns that few questions need, but that a reader of JSON would pay for. `output="wide"` includes them.
_LEFT_OUT: Final = frozenset(
    {
        *("Containers", "Container-Runtime", "First Seen", "IP", "Nominated Node", "OS-Image", "Readiness Gates"),
        *("Source", "Subobject", "VolumeMode"),
    }
)


def as_table(found: Listing, *, wide: bool, namespaces: bool) -> str:
    """Returns kubectl's table. `namespaces` adds a first column with the namespaces."""
    places = [place for place, column in enumerate(found.columns) if wide or not column.wide]
    titles = [cells.line(found.columns[place].name).upper() for place in places]
    if namespaces:
        titles.insert(0, "NAMESPACE")
    lines = [titles]
    for row in found.rows:
        line = [_print_cell(row.cell(place)) for place in places]
        if namespaces:
            line.insert(0, cells.line(row.namespace))
        lines.append(line)
    return _align(lines)


def as_names(found: Listing, kind: str) -> str:
    """Returns a line for each row, such as deployment.apps/web."""
    names = [cells.line(row.name) for row in found.rows]
    return "\n".join(f"{kind}/{name}" for name in names)


def as_json(found: Listing, *, namespaces: bool) -> list[dict[str, Any]]:
    """Returns a map for each row, without empty cells."""
    keys: dict[str, int] = {}
    for place, column in enumerate(found.columns):
        if not _is_hidden(column):
            # Attack: a CRD has a column "name" that contains another object's name.
            keys.setdefault(_json_key(column.name), place)
    return [_row_map(row, keys, namespaces=namespaces) for row in found.rows]


def _is_hidden(column: Column) -> bool:
    """Says whether JSON leaves out a column."""
    return column.wide and column.name in _LEFT_OUT


def _row_map(row: Row, keys: Mapping[str, int], *, namespaces: bool) -> dict[str, Any]:
    """Returns a row as a map that begins with its name and namespace."""
    values = {key: row.cell(place) for key, place in keys.items()}
    found = {}
    if "name" in values:
        found["name"] = values["name"]
    if namespaces:
        found["namespace"] = row.namespace
    for key, value in values.items():
        if value not in _UNSAID:
            found.setdefault(key, value)
    return found


def _json_key(title: str) -> str:
    """Returns a title as a JSON key: "Cluster-IP" becomes clusterIP, "Port(s)" becomes ports."""
    words = _WORD.findall(title.replace("(s)", "s"))
    if not words:
        return ""
    first, *others = words
    capitalized = [word[:1].upper() + word[1:] for word in others]
    return "".join([first.lower(), *capitalized])


def _print_cell(value: Any) -> str:
    """Returns the first line of a cell as kubectl prints it."""
    if value is None:
        return ""
    text = str(value)
    # Go writes true and false.
    if isinstance(value, bool):
        text = text.lower()
    first, *more = _LINE_END.split(text, maxsplit=1)
    if not more:
        return cells.line(first)
    return cells.line(first) + "..."


def _align(lines: list[list[str]]) -> str:
    """Returns lines with cells padded to the widest of their column."""
    columns = zip(*lines, strict=True)
    widths = [_column_width(column) for column in columns]
    padded = [_pad_line(line, widths) for line in lines]
    return "\n".join(padded)


def _column_width(column: Sequence[str]) -> int:
    """Returns a column's width: that of its widest cell, within bounds."""
    widest = max(map(len, column)) + _PADDING
    return min(max(widest, _LEAST), _MOST)


def _pad_line(line: list[str], widths: list[int]) -> str:
    """Returns a line of the table, with its cells padded to their columns' widths."""
    gap = " " * _PADDING
    padded = [(cell + gap).ljust(width) for cell, width in zip(line, widths, strict=True)]
    return "".join(padded).rstrip()
