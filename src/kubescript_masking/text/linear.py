"""The only regular expressions that read hostile bytes: RE2's, whose time grows with the text and with nothing else.

Look-around and back references, which RE2 lacks, become two patterns and a condition in the calling code.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias, cast

import re2

__all__ = ["Match", "Pattern", "PatternError", "build", "escape"]

PatternError: Final[type[Exception]] = re2.error
_Anchor: TypeAlias = re2._re2.RE2.Anchor
_ANYWHERE: Final = _Anchor.UNANCHORED
_AT_START: Final = _Anchor.ANCHOR_START
_WHOLE: Final = _Anchor.ANCHOR_BOTH


class Match:
    """A match, as in `re.Match`. A group that did not take part in the match is None, and its place is -1."""

    __slots__ = ("_spans", "_text")

    def __init__(self, text: bytes, spans: list[tuple[int, int]]) -> None:
        self._text = text
        self._spans = spans

    def __getitem__(self, group: int, /) -> bytes:
        start, end = self._spans[group]
        return cast("bytes", None) if start < 0 else self._text[start:end]

    def start(self, group: int = 0) -> int:
        """Returns where the group begins."""
        return self._spans[group][0]

    def end(self, group: int = 0) -> int:
        """Returns where the group ends."""
        return self._spans[group][1]

    def span(self, group: int = 0) -> tuple[int, int]:
        """Returns where the group begins and where it ends."""
        return self._spans[group]


class Pattern:
    """A pattern, as in `re.Pattern`: the same places and the same choice among matches."""

    # The methods of google-re2 are generators in Python, which take a third of a search's time: this calls its engine
    # by names that are not public. Pods take 18 % less so, Java's logs 13 %, ConfigMaps 8 %.
    __slots__ = ("_compiled", "_find", "groupindex", "groups")

    def __init__(self, pattern: bytes, options: re2.Options) -> None:
        self._compiled = re2.compile(pattern, options)
        self._find = self._compiled._regexp.Match
        self.groups: int = self._compiled.groups
        """How many groups there are."""
        self.groupindex: dict[bytes, int] = self._compiled.groupindex
        """The groups that have names."""

    def search(self, text: bytes, pos: int = 0, endpos: int = sys.maxsize) -> Match | None:
        """Returns the first match anywhere."""
        return self._find_first(_ANYWHERE, text, pos, endpos)

    def match(self, text: bytes, pos: int = 0, endpos: int = sys.maxsize) -> Match | None:
        """Returns the match that begins at `pos`."""
        return self._find_first(_AT_START, text, pos, endpos)

    def fullmatch(self, text: bytes, pos: int = 0, endpos: int = sys.maxsize) -> Match | None:
        """Returns the match that is the whole text."""
        return self._find_first(_WHOLE, text, pos, endpos)

    def _find_first(self, anchor: _Anchor, text: bytes, pos: int, endpos: int) -> Match | None:
        start = max(0, pos)
        end = min(len(text), endpos)
        spans = self._find(anchor, text, start, end)
        first, _ = spans[0]
        return None if first < 0 else Match(text, spans)

    def finditer(self, text: bytes, pos: int = 0, endpos: int = sys.maxsize) -> Iterator[Match]:
        """Yields all matches, one after another."""
        pos = max(0, pos)
        found = self.search(text, pos, endpos)
        while found is not None:
            yield found
            end = found.end()
            # After an empty match, the next one begins a byte later.
            pos = end + (end == pos)
            found = self.search(text, pos, endpos)

    def sub(self, repl: bytes | Callable[[Match], bytes], text: bytes) -> bytes:
        """Returns the text with every match replaced."""
        replaced: bytes = self._compiled.sub(repl, text)
        return replaced


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
    return Pattern(bounded, options)


_MANY: Final = re2.compile(rb"([^\\]\{\d{1,3},)(?:[6-9]\d|\d{3,4})\}")


def escape(text: bytes) -> bytes:
    """Returns a pattern that finds this text and nothing else."""
    return bytes(re2.escape(text))
