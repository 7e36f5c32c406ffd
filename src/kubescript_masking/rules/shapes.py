"""Recognises tokens by their shape: gitleaks' rules (`shapes.toml`), ours (`own_shapes.toml`), an operator's."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from kubescript_masking.rules import randomness
from kubescript_masking.rules.probes import Probe, RuleError
from kubescript_masking.text import linear
from kubescript_masking.text.spans import Span
from kubescript_masking.wire import masking

__all__ = ["Rule", "build", "load_shipped"]

_FILES: Final = ("shapes.toml", "own_shapes.toml")
_BACK: Final = 400
# A token may lie across two parts of a text.
_OVERLAP: Final = 512
"""How many bytes are read again with the next part of a text."""
_AHEAD: Final = 2_048
_BLANK: Final = 8
"""How many letters at the end of a dummy token are all equal."""
_TAIL: Final = 200
_LETTERS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
_ESCAPES: Final = frozenset({b"\\n", b"\\r", b"\\t"})
_LOOKS_AROUND: Final = ("(?=", "(?!", "(?<=", "(?<!")


class Rule:
    """One shape."""

    def __init__(self, told: masking.Rule) -> None:
        self.id = told.id
        self.probe = Probe(told.id, told.probe or told.regex)
        self._told = told

    @functools.cached_property
    def regex(self) -> linear.Pattern:
        """The regular expression. Raises RuleError."""
        # A masker meets few of the 151 shapes; building all took a tenth of its start.
        return build(self._told.regex, f"redaction rule `{self.id}`")

    def spans(self, text: bytes, end: int, done: int) -> tuple[list[Span], int]:
        """Returns the tokens around the end of a probe, and how far the text was read; `done` is how far it already
        was."""
        if end <= done:
            return [], done
        start = max(0, done - _OVERLAP, end - _BACK)
        stop = min(len(text), end + _AHEAD)
        found = list(self._find_tokens(text, start, stop))
        is_whole = stop == len(text)
        return found, stop if is_whole else stop - _OVERLAP

    def _find_tokens(self, text: bytes, start: int, stop: int) -> Iterator[Span]:
        for match in self.regex.finditer(text, start, stop):
            first, last = match.span(self._find_group(match))
            if self._told.bounded and not _is_apart(text, first):
                continue
            token = text[first:last]
            if not _is_dummy(token) and randomness.entropy(token) >= self._told.entropy:
                end = _follow(text, last)
                yield Span(first, end, self.id)

    def _find_group(self, match: linear.Match) -> int:
        """Returns the group that is the token: the first, or else the whole match."""
        if self.regex.groups > 0 and match.start(1) >= 0:
            return 1
        return 0


def _is_dummy(token: bytes) -> bool:
    """Says whether a token ends with one repeated letter: `ghp_xxxxxxxx`."""
    tail = token[-_BLANK:]
    letters = set(tail.lower())
    return len(letters) == 1


def load_shipped() -> list[Rule]:
    """Returns the rules that come with kubescript."""
    rules: list[Rule] = []
    for name in _FILES:
        text = Path(__file__).with_name(name).read_text("utf-8")
        for each in tomllib.loads(text)["rules"]:
            told = msgspec.convert({"bounded": True, **each}, masking.Rule)
            rules.append(Rule(told))
    return rules


def build(regex: str, setting: str) -> linear.Pattern:
    """Returns a regular expression from the settings. Raises RuleError, which names the setting."""
    try:
        return linear.build(regex.encode())
    except linear.PatternError as error:
        said = error.args[0].decode("utf-8", "replace") if error.args else "RE2 refuses it"
        if any(each in regex for each in _LOOKS_AROUND):
            said = (
                "RE2 has no look-ahead and no look-behind; include the text around the value in the expression, and "
                "put the value into a group `(…)`"
            )
        raise RuleError(f"{setting}: {regex!r} is not an RE2 regular expression: {said}") from None


def _is_apart(text: bytes, start: int) -> bool:
    """Says whether no letter stands before a token, except that of an escape."""
    low = max(0, start - 2)
    before = text[low:start]
    last = before[-1:]
    return before in _ESCAPES or not last.isalnum()


def _follow(text: bytes, stop: int) -> int:
    """Returns where the letters after a token end."""
    tail = text[stop : stop + _TAIL]
    behind = tail.lstrip(_LETTERS)
    return stop + len(tail) - len(behind)
