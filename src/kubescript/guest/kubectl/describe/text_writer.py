"""Owns `Writer`, which lays out fields and tables as kubectl does: a tab ends a cell, and cells below each other in
adjacent lines are equally wide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from kubescript.guest.kubectl.describe import texts

__all__ = ["Writer"]

_PADDING: Final = 2
_MAX_ANNOTATION: Final = 140
"""Characters of an annotation in one line, as kubectl cuts them."""
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_MAX_LINES: Final = 50
"""Lines of one annotation."""

# Attack: a variable's value of a million tabs, or a cell of a megabyte above ten thousand short ones.
_MAX_CELLS: Final = 16
"""Cells of a line; no table has as many."""
_MAX_WIDTH: Final = 200
"""Characters to which a cell is padded."""

# As kubectl: the text of a cluster must not steer the reader's terminal. The others are ends of lines too.
_ESCAPES: Final = str.maketrans(
    {"\x1b": "^[", "\r": "\\r", "\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


class Writer:
    """The text of one description."""

    def __init__(self) -> None:
        self._lines: list[list[str]] = []

    def field(self, name: str, value: object = "", level: int = 0) -> None:
        """Writes `Name:  value`."""
        self.row(f"{name}:", texts.text(value), level=level)

    def optional_field(self, name: str, value: object, level: int = 0) -> None:
        """Writes a field that has a value, and nothing for one that has none."""
        if value is not None and value != "":
            self.field(name, value, level)

    def title(self, name: str, level: int = 0) -> None:
        """Writes the title of a section."""
        self.row(f"{name}:", level=level)

    def row(self, *cells: str, level: int = 0) -> None:
        """Writes one line. The lines of a cell after the first one are indented below it."""
        # Attack: a container's last words, whose second line is the title of a section. kubectl does not indent it.
        first, *rest = ("  " * level + "\t".join(cells)).translate(_ESCAPES).split("\n")
        self._lines.append(first.split("\t", _MAX_CELLS - 1))
        self._lines.extend(["  " * (level + 1) + line] for line in rest)

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]], rules: Sequence[str] | None = None) -> None:
        """Writes a table under a section's title. `rules` are the lines under the head where kubectl's have another
        length."""
        self.row(*head, level=1)
        self.row(*(rules or ["-" * len(name) for name in head]), level=1)
        for row in rows:
            # Attack: an event's message whose second line is another event.
            self.row(*(cell.replace("\n", " ") for cell in row), level=1)

    def verbatim(self, text: str) -> None:
        """Writes text in which a tab is a tab."""
        self._lines.extend([line] for line in text.translate(_ESCAPES).split("\n"))

    def several(self, title: str, found: Iterable[str], level: int = 0) -> None:
        """Writes a field of several values, one below the other."""
        shown = list(found) or ["<none>"]
        self.row(f"{title}:", shown[0], level=level)
        for value in shown[1:]:
            self.row("", value, level=level)

    def labels(self, title: str, labels: Mapping[str, str] | None, level: int = 0) -> None:
        """Writes a map of short values in the order of its keys."""
        self.several(title, (f"{key}={value}" for key, value in sorted((labels or {}).items())), level)

    def annotations(self, title: str, annotations: Mapping[str, str] | None) -> None:
        """Writes annotations, long values below their keys and cut."""
        self.several(title, _annotation_lines(annotations or {}))

    def text(self) -> str:
        """Returns everything that was written."""
        return "\n".join(_align(self._lines))


def _annotation_lines(annotations: Mapping[str, str]) -> Iterable[str]:
    for key, value in sorted(annotations.items()):
        if key == _LAST_APPLIED:
            continue
        lines = value.removesuffix("\n").split("\n")
        if len(lines) == 1 and len(key) + len(lines[0]) + 2 <= _MAX_ANNOTATION:
            yield f"{key}: {lines[0]}"
            continue
        yield f"{key}:"
        for line in lines[:_MAX_LINES]:
            cut = "..." if len(line) > _MAX_ANNOTATION - 2 else ""
            yield f"  {line[: _MAX_ANNOTATION - 2]}{cut}"
        if len(lines) > _MAX_LINES:
            yield "  ..."


def _align(lines: Sequence[list[str]]) -> list[str]:
    """Returns lines whose cells are padded. The last cell of a line is none that others are aligned with."""
    widest = max(map(len, lines), default=0)
    for column in range(widest - 1):
        _pad(lines, column)
    return ["".join(cells).rstrip() for cells in lines]


def _pad(lines: Sequence[list[str]], column: int) -> None:
    """Pads one column: each run of adjacent lines that have it gets a width of its own."""
    run: list[list[str]] = []
    for cells in [*lines, []]:
        if len(cells) > column + 1:
            run.append(cells)
            continue
        width = min(_MAX_WIDTH, max((len(each[column]) for each in run), default=0)) + _PADDING
        for each in run:
            each[column] = each[column].ljust(max(width, len(each[column]) + _PADDING))
        run = []
