"""Reads the hostile command lines of oc_lines.txt."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, cast

__all__ = ["Expected", "Line", "lines"]

Expected = Literal["refused", "read-only", "passes"]

_FILE: Final = Path(__file__).with_suffix(".txt")
_CHARACTER: Final = re.compile(r"<U\+([0-9A-F]{4})>")
_REPEATED: Final = re.compile(r"<([0-9]+) times ([^<>]+)>")


@dataclass(frozen=True)
class Line:
    """One line, and what the argument check does with it: see the head of the file."""

    group: str
    expected: Expected
    source: str
    text: str

    @property
    def arguments(self) -> list[str] | None:
        """The words for kubectl itself, as if nothing checked them; None for what no process can be started with."""
        try:
            words = shlex.split(self.text)
            usable = "\0" not in self.text and bool(self.text.encode())
        except ValueError:  # an open quote, or half of a pair of surrogates
            return None
        return words[1:] if usable and words[:1] == ["oc"] else words if usable else None


def lines() -> list[Line]:
    """All lines, in the order of the file."""
    found: list[Line] = []
    group = ""
    for row in _FILE.read_text("utf-8").splitlines():
        if row.startswith("## "):
            group = row[3:]
        elif row and not row.startswith("#"):
            expected, _, source = row.partition(" ")
            found.append(Line(group, cast("Expected", expected), source, _unfolded(source)))
    return found


def _unfolded(source: str) -> str:
    repeated = _REPEATED.sub(lambda found: found[2] * int(found[1]), source)
    return _CHARACTER.sub(lambda found: chr(int(found[1], 16)), repeated)
