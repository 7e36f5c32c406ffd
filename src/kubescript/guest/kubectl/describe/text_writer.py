"""`Writer`, which lays out fields and tables like kubectl: a tab ends a cell, and cells in the same column of adjacent
lines have the same width."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from kubescript.guest.kubectl.describe import texts

__all__ = ["Writer"]

_PADDING: Final = 2
_MAX_ANNOTATION: Final = 140
"""How many characters of an annotation fit in a line, as in kubectl."""
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_MAX_LINES: Final = 50
"""How many lines of an annotation are shown."""

# Attack: an object has a variable with a million tabs, or a cell of a megabyte above ten thousand short ones.
_MAX_CELLS: Final = 16
"""How many cells a line may have, more than in any table."""
_MAX_WIDTH: Final = 200
"""The width in characters to which cells are padded at most."""

# As in kubectl: text from the cluster must not control the reader's terminal. The other characters end lines too.
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
        """Writes a field if it has a value."""
        if value is not None and value != "":
            self.field(name, value, level)

    def title(self, name: str, level: int = 0) -> None:
        """Writes the title of a section."""
        self.row(f"{name}:", level=level)

    def row(self, *cells: str, level: int = 0) -> None:
        """Writes one line. Further lines of a cell are indented below it."""
        # Attack: a container's last message has a second line that looks like a section's title. kubectl does not
        # indent it.
        first, *rest = ("  " * level + "\t".join(cells)).translate(_ESCAPES).split("\n")
        self._lines.append(first.split("\t", _MAX_CELLS - 1))
        self._lines.extend(["  " * (level + 1) + line] for line in rest)

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]], rules: Sequence[str] | None = None) -> None:
        """Writes a table under a section's title. `rules` are the lines under the header if kubectl's have other
        lengths."""
        self.row(*head, level=1)
        self.row(*(rules or ["-" * len(name) for name in head]), level=1)
        for row in rows:
            # Attack: an event's message has a second line that looks like another event.
            self.row(*(cell.replace("\n", " ") for cell in row), level=1)

    def verbatim(self, text: str) -> None:
        """Writes text without treating tabs as ends of cells."""
        self._lines.extend([line] for line in text.translate(_ESCAPES).split("\n"))

    def several(self, title: str, found: Iterable[str], level: int = 0) -> None:
        """Writes a field with several values, one per line."""
        shown = list(found) or ["<none>"]
        self.row(f"{title}:", shown[0], level=level)
        for value in shown[1:]:
            self.row("", value, level=level)

    def labels(self, title: str, labels: Mapping[str, str] | None, level: int = 0) -> None:
        """Writes a map of short values, sorted by key."""
        self.several(title, (f"{key}={value}" for key, value in sorted((labels or {}).items())), level)

    def annotations(self, title: str, annotations: Mapping[str, str] | None) -> None:
        """Writes annotations; long values are cut and go below their keys."""
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
    """Returns lines with padded cells. A line's last cell does not affect the alignment of others."""
    widest = max(map(len, lines), default=0)
    for column in range(widest - 1):
        _pad(lines, column)
    return ["".join(cells).rstrip() for cells in lines]


def _pad(lines: Sequence[list[str]], column: int) -> None:
    """Pads one column: each run of adjacent lines that have it gets a separate width."""
    run: list[list[str]] = []
    for cells in [*lines, []]:
        if len(cells) > column + 1:
            run.append(cells)
            continue
        width = min(_MAX_WIDTH, max((len(each[column]) for each in run), default=0)) + _PADDING
        for each in run:
            each[column] = each[column].ljust(max(width, len(each[column]) + _PADDING))
        run = []
