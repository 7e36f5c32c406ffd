"""The text of one cell of a table."""

from __future__ import annotations

import datetime
import decimal
import fractions
import itertools
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kubescript.guest.sdk.objects import fields, list_objects, list_view, views
from kubescript.guest.sdk.values import ages, timestamps

__all__ = ["ABSENT", "write"]

ABSENT: Final = "-"

# Without a limit, a list that contains itself would have no end.
MAX_DEPTH: Final = 4
"""How many levels of lists in lists a cell shows."""
MAX_ELEMENTS: Final = 50
MAX_TEXT: Final = 2_000
"""How many characters of a cell are kept before a table cuts it to its own width."""

# White space and control characters. Attack: an escape sequence in a log line would reach a terminal.
_BREAKS: Final = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def write(value: Any, depth: int = 0) -> str:
    """Returns a value as one line of text; "-" when it is missing or empty."""
    if depth > MAX_DEPTH:
        return "…"
    # The text is cut first: a cell may be a log, and the rest of it is not shown.
    text = _value_text(value, depth)[:MAX_TEXT]
    return _BREAKS.sub(" ", text).strip() or ABSENT


def _value_text(value: Any, depth: int) -> str:
    if value is None or value is fields.MISSING:
        return ABSENT
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float | decimal.Decimal | fractions.Fraction):
        return _number(float(value))
    if isinstance(value, datetime.date):
        return timestamps.format_time(value)
    if isinstance(value, datetime.timedelta):
        age = value if isinstance(value, ages.Age) else ages.Age.of(value)
        return str(age)
    return _compound(value, depth)


def _compound(value: Any, depth: int) -> str:
    """Returns the text of an object, a map, a sequence, or a value of any other type."""
    below = depth + 1
    if isinstance(value, views.View) and isinstance(value.get("metadata"), Mapping):
        name = value["metadata"].get("name")
        return write(name, below)
    if isinstance(value, Mapping):
        pairs = (f"{write(key, below)}={write(value[key], below)}" for key in list(value))
        return _join(pairs, len(value))
    if isinstance(value, list_view.ListView | list_objects.ListObject | list | tuple | set | frozenset):
        elements = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        texts = (write(each, below) for each in elements)
        return _join(texts, len(value))
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace")
    # A script's __str__ may return an instance of its own subclass of str.
    return str.__str__(str(value))


def _join(parts: Iterator[str], size: int) -> str:
    """Returns the first parts, and the number of all if there are more."""
    # Only the parts that are shown are taken from the iterator.
    shown = ",".join(itertools.islice(parts, MAX_ELEMENTS))
    if size <= MAX_ELEMENTS:
        return shown
    return f"{shown},… ({size} in all)"


def _number(value: float) -> str:
    """Returns a number with at most three decimals, or with three digits when it is below 0.1."""
    if not math.isfinite(value) or value == int(value):
        return str(value).removesuffix(".0")
    # The number is rounded, so that 0.1 + 0.2 is 0.3.
    if abs(value) >= 0.1:
        return f"{value:.3f}".rstrip("0").rstrip(".")
    return f"{value:.3g}"
