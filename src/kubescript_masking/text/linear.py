"""The only regular expressions that meet hostile bytes: RE2's, whose time grows with the text and with nothing else.

What RE2 cannot say (a look around, a back reference) is two patterns and a condition in the code that uses them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Protocol

import re2

__all__ = ["Match", "Pattern", "PatternError", "build", "escape"]

PatternError: Final[type[Exception]] = re2.error


class Match(Protocol):
    """What was found; as `re.Match`. A group that took no part is None, and its place is -1."""

    def __getitem__(self, group: int, /) -> bytes: ...
    def start(self, group: int = 0) -> int:
        """Where the group begins."""

    def end(self, group: int = 0) -> int:
        """Where the group ends."""

    def span(self, group: int = 0) -> tuple[int, int]:
        """Both."""


class Pattern(Protocol):
    """As `re.Pattern`: the same places and the same choice among matches."""

    @property
    def groups(self) -> int:
        """How many groups there are."""

    @property
    def groupindex(self) -> dict[bytes, int]:
        """The groups that have names."""

    def search(self, text: bytes, pos: int = 0, endpos: int | None = None) -> Match | None:
        """The first match that begins anywhere."""

    def match(self, text: bytes, pos: int = 0, endpos: int | None = None) -> Match | None:
        """The match that begins at `pos`."""

    def fullmatch(self, text: bytes, pos: int = 0, endpos: int | None = None) -> Match | None:
        """The match that is the whole text."""

    def finditer(self, text: bytes, pos: int = 0, endpos: int | None = None) -> Iterator[Match]:
        """All matches, one behind the other."""

    def sub(self, repl: bytes | Callable[[Match], bytes], text: bytes, count: int = 0) -> bytes:
        """The text with every match replaced."""


def build(pattern: bytes) -> Pattern:
    r"""The pattern, over bytes; "at most 60" and more is without end. Raises PatternError for what RE2 has no word for.

    A piece of a text is bounded before a pattern sees it. Bounds in the pattern are copies of its parts, which make
    RE2's automaton too large to be kept: `pypi-[\w-]{50,1000}` cost 50 µs a byte.
    """
    # With patterns that backtrack, one of which was cubic in its blanks, 600 blanks in a line of a Secret took 5.6 s.
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    found: Pattern = re2.compile(_MANY.sub(rb"\1}", pattern), options)
    return found


_MANY: Final = re2.compile(rb"([^\\]\{\d{1,3},)(?:[6-9]\d|\d{3,4})\}")


def escape(text: bytes) -> bytes:
    """The pattern that finds this text and nothing else."""
    return bytes(re2.escape(text))
