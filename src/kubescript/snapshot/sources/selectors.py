"""Selectors of series and of log streams, read and compared by the host: `up{job="web", pod=~"web-.*"}`, in LogQL with
filters of lines behind it. Everything else of PromQL and LogQL is none.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from kubescript.snapshot import collection
from kubescript.snapshot.sources import patterns

__all__ = ["METRIC", "LogSelector", "Matcher", "Selector", "normalize", "read", "read_logs"]

METRIC: Final = "__name__"
"""The label that holds the metric's name."""
# No string is scanned twice if its end is missing.
_TEXT: Final = r'"(?:[^"\\\n]|\\.)*+["\n]?|\'(?:[^\'\\\n]|\\.)*+[\'\n]?|`[^`]*+`?'
_BLANK: Final = re.compile(r"(?:\s|#[^\n]*)*")
_TOKEN: Final = re.compile(rf"(?P<text>{_TEXT})|(?P<blank>\s+|#[^\n]*)|[\w.:]+|.", re.DOTALL)
_STRING: Final = re.compile(_TEXT)
_NAME: Final = re.compile(r"[A-Za-z_:][A-Za-z0-9_:.]*")
_SIGN: Final = re.compile(r"=~|!~|!=|=")
_FILTER: Final = re.compile(r"\|=|\|~|!=|!~")
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "'": "'"}


@dataclass(frozen=True, slots=True)
class Matcher:
    """One condition on a label's value, or on a line."""

    label: str
    sign: str
    """`=`, `!=`, `=~` or `!~`."""
    value: str

    def compile(self, check: collection.Check) -> Callable[[str], bool]:
        """Returns a function that says whether a value of the label fits. Raises RequestError."""
        is_wanted = self.sign[0] == "="
        if self.sign in {"=", "!="}:
            return lambda value: (value == self.value) is is_wanted
        matches = patterns.compare(self.value, check, is_whole=True)
        return lambda value: matches(value) is is_wanted


@dataclass(frozen=True, slots=True)
class Selector:
    """The conditions that all hold."""

    matchers: frozenset[Matcher]

    @property
    def metric(self) -> str:
        """The metric's name; empty if none is named."""
        return next((each.value for each in self.matchers if each.label == METRIC and each.sign == "="), "")

    def compile(self, check: collection.Check) -> Callable[[Mapping[str, str]], bool]:
        """Returns a function that says whether labels fit, and calls `check`. Raises RequestError."""
        conditions = [(each.label, each.compile(check)) for each in self.matchers]
        return lambda labels: all(fits(labels.get(label, "")) for label, fits in conditions)


@dataclass(frozen=True, slots=True)
class LogSelector:
    """A selector of streams, and the filters of their lines."""

    selector: Selector
    filters: tuple[tuple[str, str], ...] = ()
    """The sign of each, `|=`, `!=`, `|~` or `!~`, and its text."""

    def compile(self, check: collection.Check) -> Callable[[str], bool]:
        """Returns a function that says whether a line passes all filters, and calls `check`. Raises RequestError."""
        filters = [_compile_filter(sign, text, check) for sign, text in self.filters]
        return lambda line: all(passes(line) for passes in filters)


def _compile_filter(sign: str, text: str, check: collection.Check) -> Callable[[str], bool]:
    is_wanted = sign[0] == "|"
    if sign[1] == "=":
        return lambda line: (text in line) is is_wanted
    matches = patterns.compare(text, check, is_whole=False)
    return lambda line: matches(line) is is_wanted


@functools.lru_cache(256)
def normalize(text: str) -> tuple[str, ...]:
    """Returns the parts of an expression, without blanks and comments, by which two writings are the same."""
    return tuple(found[0] for found in _TOKEN.finditer(text) if found.lastgroup != "blank")


def read(text: str) -> Selector | None:
    """Returns the selector that a text is; None if it is another expression."""
    reader = _Reader(text)
    selector = reader.read_selector()
    return selector if reader.is_at_end() else None


def read_logs(text: str) -> LogSelector | None:
    """Returns the selector of streams and the filters of lines that a text is; None if it is another expression."""
    reader = _Reader(text)
    selector = reader.read_selector()
    filters = []
    while sign := reader.take(_FILTER):
        value = reader.take_string()
        if value is None:
            return None
        filters.append((sign, value))
    if selector is None or not reader.is_at_end():
        return None
    return LogSelector(selector, tuple(filters))


class _Reader:
    """A text, read from its beginning."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.take(_BLANK)

    def is_at_end(self) -> bool:
        """Says whether nothing is left."""
        return self._at == len(self._text)

    def take(self, pattern: re.Pattern[str]) -> str:
        """Returns the text that matches here, and goes on behind it and the blanks that follow; empty if none does."""
        found = pattern.match(self._text, self._at)
        if found is None:
            return ""
        blank = _BLANK.match(self._text, found.end())
        self._at = blank.end() if blank is not None else found.end()
        return found[0]

    def take_string(self) -> str | None:
        """Returns the value of a string literal here; None if there is none."""
        literal = self.take(_STRING)
        if len(literal) < 2 or literal[-1] != literal[0]:
            return None
        if literal[0] == "`":
            return literal[1:-1]
        escapes = set(_ESCAPE.findall(literal[1:-1]))
        if not escapes <= _ESCAPED.keys():
            return None
        return _ESCAPE.sub(lambda found: _ESCAPED[found[1]], literal[1:-1])

    def read_selector(self) -> Selector | None:
        """Returns the selector here; None if there is none."""
        name = self.take(_NAME)
        found = {Matcher(METRIC, "=", name)} if name else set()
        if self.take(_literal("{")):
            while not self.take(_literal("}")):
                matcher = self._read_matcher()
                if matcher is None:
                    return None
                found.add(matcher)
                if not self.take(_literal(",")) and self._text[self._at : self._at + 1] != "}":
                    return None
        return Selector(frozenset(found)) if found else None

    def _read_matcher(self) -> Matcher | None:
        quoted = None if (label := self.take(_NAME)) else self.take_string()
        sign = self.take(_SIGN)
        if quoted is not None and not sign:
            return Matcher(METRIC, "=", quoted)
        value = self.take_string()
        label = label or quoted or ""
        if not label or not sign or value is None:
            return None
        return Matcher(label, sign, value)


@functools.cache
def _literal(sign: str) -> re.Pattern[str]:
    return re.compile(re.escape(sign))
