"""Folds lines to the width of a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

__all__ = ["fold"]

# Terminals have tables and settings of their own for wide, ambiguous and combining characters. A line that is folded
# too early is still read; one that is folded too late is broken by the terminal.
_MOST_CELLS: Final = 2
"""How many cells a terminal gives to a character beyond ASCII at most."""


def fold(line: str, width: int) -> Iterator[str]:
    """Yields a line in pieces of at most `width` cells of a terminal, broken at blanks if possible. `width` is at least
    20."""
    margin = len(line) - len(line.lstrip(" "))
    # Attack: later pieces of a value look like kubescript's own lines. So they are indented more deeply.
    indent = " " * min(margin + 6, width // 2)
    lead = ""
    start = 0
    while (end := _find_end(line, start, width - len(lead))) < len(line):
        # The blank must be in the last third of the piece: a break further left would waste most of the line.
        blank = line.rfind(" ", start + (end - start) * 2 // 3, end)
        if blank >= 0:
            end = blank + 1
        yield (lead + line[start:end]).rstrip(" ")
        lead = indent
        start = end
    yield lead + line[start:]


def _find_end(line: str, start: int, cells: int) -> int:
    """Returns the end of the longest piece from `start` that fits into so many cells."""
    most = min(start + cells, len(line))
    if line.isascii():
        return most
    # Attack: each of the wide letters before a forged line takes two cells.
    for place in range(start, most):
        cells -= 1 if line[place].isascii() else _MOST_CELLS
        if cells < 0:
            return place
    return most
