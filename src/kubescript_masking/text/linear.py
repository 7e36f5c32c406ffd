"""The only regular expressions that read hostile bytes: RE2's, whose time grows with the text and with nothing else.

Look-around and back references, which RE2 lacks, become two patterns and a condition in the calling code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Protocol

import re2

__all__ = ["Match", "Pattern", "PatternError", "build", "escape"]

PatternError: Final[type[Exception]] = re2.error


class Match(Protocol):
    """A match, as in `re.Match`. A group that did not take part in the match is None, and its place is -1."""

    def __getitem__(self, group: int, /) -> bytes: ...
    def start(self, group: int = 0) -> int:
        """Returns where the group begins."""

    def end(self, group: int = 0) -> int:
        """Returns where the group ends."""

    def span(self, group: int = 0) -> tuple[int, int]:
        """Returns where the group begins and where it ends."""


class Pattern(Protocol):
    """A pattern, as in `re.Pattern`: the same places and the same choice among matches."""

    @property
    def groups(self) -> int:
        """How many groups there are."""

    @property
    def groupindex(self) -> dict[bytes, int]:
        """The groups that have names."""

    def search(self, text: bytes, pos: int = 0, endpos: int | None = None) -> Match | None:
        """Returns the first match anywhere."""

    def match(self, text: bytes, pos: int = 0, endpos: int | None = None) -> Match | None:
        """Returns the match that begins at `pos`."""

    def fullmatch(self, text: bytes, pos: int = 0, endpos: int | None = None) -> Match | None:
        """Returns the match that is the whole text."""

    def finditer(self, text: bytes, pos: int = 0, endpos: int | None = None) -> Iterator[Match]:
        """Yields all matches, one after another."""

    def sub(self, repl: bytes | Callable[[Match], bytes], text: bytes, count: int = 0) -> bytes:
        """Returns the text with every match replaced."""


def build(pattern: bytes) -> Pattern:
    r"""Returns the pattern for bytes, with upper bounds of 60 or more removed. Raises PatternError for what RE2 lacks.

    Callers bound the text instead.
    """
    # Bounds in a pattern copy its parts, which makes RE2's automaton too large to be kept: `pypi-[\w-]{50,1000}` took
    # 50 µs per byte. Backtracking patterns, one of them cubic in its blanks, took 5.6 s for 600 blanks in a line of a
    # Secret.
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    bounded = _MANY.sub(rb"\1}", pattern)
    found: Pattern = re2.compile(bounded, options)
    return found


_MANY: Final = re2.compile(rb"([^\\]\{\d{1,3},)(?:[6-9]\d|\d{3,4})\}")


def escape(text: bytes) -> bytes:
    """Returns a pattern that finds this text and nothing else."""
    return bytes(re2.escape(text))
