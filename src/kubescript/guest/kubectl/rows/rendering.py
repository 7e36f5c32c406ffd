"""Formats a Listing's rows: as kubectl's table, or as JSON for a reader who pays for every word."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from kubescript.guest.kubectl.rows import cells, columns, listing

__all__ = ["as_json", "as_names", "as_table"]

_LEAST: Final = 6
_PADDING: Final = 3
"""The minimum width of kubectl's columns, and the space between them."""
_MOST: Final = 200
"""The width in characters to which cells are padded at most."""
_LINE_END: Final = re.compile(r"[\f\n\r]")
_WORD: Final = re.compile(r"[^\W_]+")
_UNSAID: Final = (None, "", cells.NONE, cells.UNSET)
_LEFT_OUT: Final = frozenset(
    {
        *("Containers", "Container-Runtime", "First Seen", "IP", "Nominated Node", "OS-Image", "Readiness Gates"),
        *("Source", "Subobject", "VolumeMode"),
    }
)
"""Wide columns that few questions need. `output="wide"` includes them."""


def as_table(found: listing.Listing, *, wide: bool, namespaces: bool) -> str:
    """Returns kubectl's table. `namespaces` adds a first column with the namespaces."""
    shown = {place: column.name for place, column in enumerate(found.columns) if wide or not column.wide}
    titles = [cells.line(name).upper() for name in shown.values()]
    if namespaces:
        titles.insert(0, "NAMESPACE")
    lines = [titles]
    for row in found.rows:
        line = [cells.line(row.namespace)] if namespaces else []
        line += [_print_cell(row.cell(place)) for place in shown]
        lines.append(line)
    return _align(lines)


def as_names(found: listing.Listing, kind: str) -> str:
    """Returns a line for each row, such as deployment.apps/web."""
    return "\n".join(f"{kind}/{cells.line(row.name)}" for row in found.rows)


def as_json(found: listing.Listing, *, namespaces: bool) -> list[dict[str, Any]]:
    """Returns a map for each row, without empty cells."""
    keys: dict[str, int] = {}
    for place, column in enumerate(found.columns):
        if not _is_hidden(column):
            # Attack: a CRD has a column "name" that contains another object's name.
            keys.setdefault(_key(column.name), place)
    return [_map(row, keys, namespaces=namespaces) for row in found.rows]


def _is_hidden(column: columns.Column) -> bool:
    return column.wide and column.name in _LEFT_OUT


def _map(row: listing.Row, keys: Mapping[str, int], *, namespaces: bool) -> dict[str, Any]:
    values = {key: row.cell(place) for key, place in keys.items()}
    head = {"name": values["name"]} if "name" in values else {}
    if namespaces:
        head["namespace"] = row.namespace
    for key, value in values.items():
        if value not in _UNSAID:
            head.setdefault(key, value)
    return head


def _key(title: str) -> str:
    """Returns a title as a JSON key: "Cluster-IP" becomes clusterIP, "Port(s)" becomes ports."""
    words = _WORD.findall(title.replace("(s)", "s"))
    return "".join(word.lower() if place == 0 else word[:1].upper() + word[1:] for place, word in enumerate(words))


def _print_cell(value: Any) -> str:
    """Returns a cell as kubectl prints it, with the first line only."""
    if value is None:
        return ""
    text = str(value)
    if isinstance(value, bool):
        text = text.lower()
    first, *more = _LINE_END.split(text, maxsplit=1)
    return cells.line(first) + ("..." if more else "")


def _align(lines: list[list[str]]) -> str:
    widths = [max(_LEAST, *(len(cell) + _PADDING for cell in column)) for column in zip(*lines, strict=True)]
    # Attack: an object has a cell of a megabyte, to which a hundred others would be padded.
    widths = [min(width, _MOST) for width in widths]
    gap = " " * _PADDING
    return "\n".join(
        "".join((cell + gap).ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
