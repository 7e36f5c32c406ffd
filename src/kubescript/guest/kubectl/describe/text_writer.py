"""`Writer`, which lays out fields and tables like kubectl: a tab ends a cell, and cells in the same column of adjacent
lines have the same width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from kubescript.guest.kubectl.describe import texts
from kubescript.guest.kubectl.describe.texts import Labels, Object

__all__ = ["Writer"]

_PADDING: Final = 2
# As in kubectl, an annotation with more characters than this goes below its key.
_MAX_ANNOTATION: Final = 140
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_MAX_LINES: Final = 50
"""How many lines of an annotation are shown."""

# Attack: an object has a variable with a million tabs, each of which begins a column. No real table has 16.
_MAX_CELLS: Final = 16
# Attack: an object has a cell of a megabyte above ten thousand short ones, which would all be padded to its width.
_MAX_WIDTH: Final = 200

# As in kubectl, text from the cluster must not control the reader's terminal. The other characters here end lines too.
_ESCAPES: Final = str.maketrans(
    {"\x1b": "^[", "\r": "\\r", "\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


Keys = Mapping[str, str]
"""The names of fields, each with its key in a JSON object."""


class Writer:
    """The text of one description."""

    def __init__(self) -> None:
        self._lines: list[list[str]] = []

    def field(self, name: str, value: object = "", level: int = 0) -> None:
        """Writes `Name:  value`."""
        text = texts.text(value)
        self.row(f"{name}:", text, level=level)

    def optional_field(self, name: str, value: object, level: int = 0) -> None:
        """Writes a field if it has a value."""
        if value is None or value == "":
            return
        self.field(name, value, level)

    def fields(self, found: Object, keys: Keys, level: int = 0) -> None:
        """Writes several values of an object."""
        for name, key in keys.items():
            value = found.get(key)
            self.field(name, value, level)

    def optional_fields(self, found: Object, keys: Keys, level: int = 0) -> None:
        """Writes several values of an object, leaving out those that it does not have."""
        for name, key in keys.items():
            value = found.get(key)
            self.optional_field(name, value, level)

    def title(self, name: str, level: int = 0) -> None:
        """Writes the title of a section."""
        self.row(f"{name}:", level=level)

    def row(self, *cells: str, level: int = 0) -> None:
        """Writes one line. Further lines of a cell are indented below it."""
        indent = "  " * level
        text = indent + "\t".join(cells)
        first, *rest = text.translate(_ESCAPES).split("\n")
        self._lines.append(first.split("\t", _MAX_CELLS - 1))
        # Attack: a container's last message has a second line that looks like a section's title. kubectl does not
        # indent it.
        self._lines.extend([f"{indent}  {line}"] for line in rest)

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]], rules: Sequence[str] | None = None) -> None:
        """Writes a table under a section's title. `rules` are the lines under the titles, for a table in which
        kubectl's lines differ in length from the titles."""
        self.row(*head, level=1)
        lines = rules or ["-" * len(name) for name in head]
        self.row(*lines, level=1)
        for row in rows:
            # Attack: an event's message has a second line that looks like another event.
            cells = [cell.replace("\n", " ") for cell in row]
            self.row(*cells, level=1)

    def verbatim(self, text: str) -> None:
        """Writes text in which a tab does not end a cell."""
        lines = text.translate(_ESCAPES).split("\n")
        self._lines.extend([line] for line in lines)

    def several(self, title: str, found: Iterable[str], level: int = 0) -> None:
        """Writes a field with several values, one per line."""
        first, *rest = list(found) or ["<none>"]
        self.row(f"{title}:", first, level=level)
        for value in rest:
            self.row("", value, level=level)

    def labels(self, title: str, labels: Labels | None, level: int = 0) -> None:
        """Writes a map of short values, sorted by key."""
        pairs = texts.pairs(labels)
        self.several(title, pairs, level)

    def annotations(self, title: str, annotations: Labels | None) -> None:
        """Writes annotations; long values are cut and go below their keys."""
        found = annotations or {}
        lines = _annotation_lines(found)
        self.several(title, lines)

    def names(self, metadata: Object) -> None:
        """Writes the name and the namespace of an object."""
        self.field("Name", metadata.get("name"))
        self.field("Namespace", metadata.get("namespace"))

    def labels_and_annotations(self, metadata: Object) -> None:
        """Writes the labels and annotations of an object."""
        labels = metadata.get("labels")
        annotations = metadata.get("annotations")
        self.labels("Labels", labels)
        self.annotations("Annotations", annotations)

    def text(self) -> str:
        """Returns everything that was written."""
        return "\n".join(_align(self._lines))


def _annotation_lines(annotations: Labels) -> Iterator[str]:
    """Yields the lines of all annotations, sorted by key."""
    for key, value in sorted(annotations.items()):
        # In this annotation, kubectl keeps a copy of the whole object.
        if key != _LAST_APPLIED:
            yield from _lines_of_annotation(key, value)


def _lines_of_annotation(key: str, value: str) -> Iterator[str]:
    """Yields `key: value`, or the key above the lines of its value."""
    lines = value.removesuffix("\n").split("\n")
    one_line = f"{key}: {lines[0]}"
    if len(lines) == 1 and len(one_line) <= _MAX_ANNOTATION:
        yield one_line
        return
    yield f"{key}:"
    for line in lines[:_MAX_LINES]:
        yield f"  {_cut_line(line)}"
    if len(lines) > _MAX_LINES:
        yield "  ..."


def _cut_line(line: str) -> str:
    """Returns a line of an annotation as far as it fits below its key."""
    longest = _MAX_ANNOTATION - 2
    if len(line) <= longest:
        return line
    return f"{line[:longest]}..."


def _align(lines: Sequence[list[str]]) -> list[str]:
    """Returns lines with padded cells. A line's last cell does not affect the alignment of others."""
    widest = max(map(len, lines), default=0)
    for column in range(widest - 1):
        _pad(lines, column)
    return ["".join(cells).rstrip() for cells in lines]


def _pad(lines: Sequence[list[str]], column: int) -> None:
    """Pads one column: each run of adjacent lines that have this column gets a width of its own."""
    run: list[list[str]] = []
    for cells in lines:
        if len(cells) > column + 1:
            run.append(cells)
        else:
            _pad_run(run, column)
            run = []
    _pad_run(run, column)


def _pad_run(lines: Sequence[list[str]], column: int) -> None:
    """Pads one column of adjacent lines to the widest cell, but no further than to `_MAX_WIDTH`."""
    widest = max((len(cells[column]) for cells in lines), default=0)
    width = min(_MAX_WIDTH, widest)
    for cells in lines:
        cell = cells[column]
        cells[column] = cell.ljust(max(width, len(cell)) + _PADDING)
