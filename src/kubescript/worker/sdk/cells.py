"""A value as one line of text, for a table's cell."""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Mapping
from typing import Any, Final

from kubescript.worker.sdk import ages, fields, lists, sequences, timestamps, views

__all__ = ["ABSENT", "text"]

ABSENT: Final = "-"
MAX_DEPTH: Final = 4
"""Levels of lists in lists: one that holds itself has no end."""
MAX_ELEMENTS: Final = 50
MAX_TEXT: Final = 2_000
"""Characters of one cell before a table cuts it to its own width."""

_BREAKS: Final = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")
"""White space and control characters: an escape sequence in a log line must not reach a terminal."""


def text(value: Any, depth: int = 0) -> str:
    """One line; "-" for what is missing or empty."""
    if depth > MAX_DEPTH:
        return "…"
    return _BREAKS.sub(" ", _text(value, depth)[:MAX_TEXT]).strip() or ABSENT


def _text(value: Any, depth: int) -> str:
    if value is None or value is fields.MISSING:
        return ABSENT
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float | decimal.Decimal):
        return _number(float(value))
    if isinstance(value, datetime.date):
        return timestamps.format_time(value)
    if isinstance(value, datetime.timedelta):
        return str(ages.Age.of(value)) if not isinstance(value, ages.Age) else str(value)
    return _compound(value, depth)


def _compound(value: Any, depth: int) -> str:
    if isinstance(value, views.View) and isinstance(value.get("metadata"), Mapping):
        return text(value["metadata"].get("name"), depth + 1)
    if isinstance(value, Mapping):
        return _joined((f"{text(key, depth + 1)}={text(value[key], depth + 1)}" for key in list(value)), len(value))
    if isinstance(value, sequences.ListView | lists.ListObject | list | tuple | set | frozenset):
        elements = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        return _joined((text(each, depth + 1) for each in elements), len(value))
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace")
    made = str(value)
    return str.__str__(made)  # a script's __str__ may give a str of its own kind


def _joined(parts: Any, size: int) -> str:
    shown = [part for part, _ in zip(parts, range(MAX_ELEMENTS), strict=False)]
    return ",".join(shown) + (f",… ({size} in all)" if size > MAX_ELEMENTS else "")


def _number(value: float) -> str:
    """Three decimals, more for small numbers; no tail of binary rounding."""
    if value != value or value in (float("inf"), float("-inf")) or value == int(value):  # noqa: PLR0124 - not a number
        return str(value).removesuffix(".0")
    return f"{value:.3f}".rstrip("0").rstrip(".") if abs(value) >= 0.1 else f"{value:.3g}"
