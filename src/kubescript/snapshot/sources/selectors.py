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
_PART: Final = re.compile(rf"{_TEXT}|(?P<blank>\s+|#[^\n]*)|[\w.:]+|[=!|][=~]|.", re.DOTALL)
_NAME: Final = re.compile(r"[A-Za-z_:][A-Za-z0-9_:.]*")
_SIGNS: Final = ("=~", "!~", "!=", "=")
_FILTERS: Final = ("|=", "|~", "!=", "!~")
_QUOTES: Final = ('"', "'", "`")
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
    return tuple(found[0] for found in _PART.finditer(text) if found.lastgroup != "blank")


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
    while sign := reader.take(*_FILTERS):
        value = reader.take_string()
        if value is None:
            return None
        filters.append((sign, value))
    if selector is None or not reader.is_at_end():
        return None
    return LogSelector(selector, tuple(filters))


class _Reader:
    """The parts of an expression, read from the first one."""

    def __init__(self, text: str) -> None:
        self._parts = (*normalize(text), "")
        self._at = 0

    def is_at_end(self) -> bool:
        """Says whether nothing is left."""
        return not self._parts[self._at]

    def take(self, *wanted: str) -> str:
        """Returns the part here, and goes on behind it; empty if it is none of these."""
        part = self._parts[self._at]
        if part not in wanted:
            return ""
        self._at += 1
        return part

    def take_name(self) -> str:
        """Returns the name here; empty if there is none."""
        part = self._parts[self._at]
        return self.take(part) if _NAME.fullmatch(part) else ""

    def take_string(self) -> str | None:
        """Returns the value of a string literal here; None if there is none."""
        literal = self._parts[self._at]
        if len(literal) < 2 or literal[0] not in _QUOTES or literal[-1] != literal[0]:
            return None
        text, is_raw = literal[1:-1], literal[0] == "`"
        if not is_raw and not _ESCAPED.keys() >= set(_ESCAPE.findall(text)):
            return None
        self._at += 1
        return text if is_raw else _ESCAPE.sub(lambda found: _ESCAPED[found[1]], text)

    def read_selector(self) -> Selector | None:
        """Returns the selector here; None if there is none."""
        name = self.take_name()
        found = {Matcher(METRIC, "=", name)} if name else set()
        if self.take("{"):
            while not self.take("}"):
                matcher = self._read_matcher()
                if matcher is None:
                    return None
                found.add(matcher)
                if not self.take(",") and self._parts[self._at] != "}":
                    return None
        return Selector(frozenset(found)) if found else None

    def _read_matcher(self) -> Matcher | None:
        quoted = None if (label := self.take_name()) else self.take_string()
        sign = self.take(*_SIGNS)
        if quoted is not None and not sign:
            return Matcher(METRIC, "=", quoted)
        value = self.take_string()
        label = label or quoted or ""
        if not label or not sign or value is None:
            return None
        return Matcher(label, sign, value)
