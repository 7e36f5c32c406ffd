"""Tokens recognised by their shape: gitleaks' rules (`shapes.toml`), ours (`own_shapes.toml`), an operator's."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from kubescript_masking.rules import values
from kubescript_masking.rules.probes import Probe, RuleError
from kubescript_masking.text import linear
from kubescript_masking.text.spans import Span
from kubescript_masking.wire import masking

__all__ = ["Rule", "build", "load_shipped"]

_FILES: Final = ("shapes.toml", "own_shapes.toml")
_BACK: Final = 400
_OVERLAP: Final = 512
"""Bytes that are read again with the next part of a text: a token may lie across both."""
_AHEAD: Final = 2_048
_BLANK: Final = 8
"""This many equal letters at the end mark a dummy, not a token."""
_TAIL: Final = 200
_LETTERS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
_ESCAPES: Final = frozenset({b"\\n", b"\\r", b"\\t"})
_LOOKS_AROUND: Final = ("(?=", "(?!", "(?<=", "(?<!")


class Rule:
    """One shape."""

    def __init__(self, told: masking.Rule) -> None:
        """Raises RuleError."""
        self.id = told.id
        self.probe = Probe(told.id, told.probe or told.regex)
        self._regex = build(told.regex, f"redaction rule `{told.id}`")
        self._entropy = told.entropy
        self._bounded = told.bounded

    def spans(self, text: bytes, end: int, done: int) -> tuple[list[Span], int]:
        """Returns the tokens around the end of a probe, and how far the text was read; `done`: how far it already
        was."""
        if end <= done:
            return [], done
        start = max(0, done - _OVERLAP, end - _BACK)
        stop = min(len(text), end + _AHEAD)
        found = list(self._find_tokens(text, start, stop))
        return found, stop if stop == len(text) else stop - _OVERLAP

    def _find_tokens(self, text: bytes, start: int, stop: int) -> Iterator[Span]:
        for match in self._regex.finditer(text, start, stop):
            has_group = bool(self._regex.groups) and match.start(1) >= 0
            first, last = match.span(1 if has_group else 0)
            if self._bounded and not _is_apart(text, first):
                continue
            token = text[first:last]
            is_blank = len(set(token[-_BLANK:].lower())) == 1  # ghp_xxxxxxxx
            if not is_blank and values.entropy(token) >= self._entropy:
                yield Span(first, _follow(text, last), self.id)


def load_shipped() -> list[Rule]:
    """Returns the rules that come with kubescript."""
    rules: list[Rule] = []
    for name in _FILES:
        data = tomllib.loads(Path(__file__).with_name(name).read_text("utf-8"))
        rules += [Rule(msgspec.convert({"bounded": True, **each}, masking.Rule)) for each in data["rules"]]
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
    before = text[max(0, start - 2) : start]
    return not before[-1:].isalnum() or before in _ESCAPES


def _follow(text: bytes, stop: int) -> int:
    """Returns where the letters behind a token end."""
    tail = text[stop : stop + _TAIL]
    return stop + len(tail) - len(tail.lstrip(_LETTERS))
