"""Owns reading one value of a row: `read(pod, "spec.nodeName")`, `read(row, "count")`, `read(pair, 1)`, or by a
function. `table` and `top` read their columns and keys with it.

Rows are views, dicts, tuples, lists, and objects of the script.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from kubescript.guest.sdk.objects import list_view, views
from kubescript.guest.sdk.values import names
from kubescript_sandbox.language import guards

__all__ = ["MISSING", "Key", "missing_everywhere", "read"]

Key = str | int | Callable[[Any], Any]

MISSING: Final = type("Missing", (), {"__slots__": (), "__repr__": lambda _: "-"})()
"""The value of a field that a row does not have; a field that is null gives None."""

_INDEX: Final = re.compile(r"\[(-?\d+)\]")


def read(row: Any, key: Key) -> Any:
    """Returns one row's value, or MISSING. A field that the row's kind does not have raises an error that names the
    nearest."""
    if callable(key):
        return key(row)
    if isinstance(key, int):
        return _item(row, key)
    if not isinstance(key, str):
        raise TypeError(f"a column or key is a field's name, a number or a function, not a {type(key).__name__}")
    value, rest = row, _INDEX.sub(r".\1", str.__str__(key)).strip(".")
    while rest and value is not None and value is not MISSING:
        if isinstance(value, Mapping) and not isinstance(value, views.View) and rest in value:
            return value[rest]  # the key itself may have dots in it
        if _is_map(value):
            return value.get(rest, MISSING)
        step, _, rest = rest.partition(".")
        value = _step(value, step)
    return value


def _is_map(value: Any) -> bool:
    """Tells whether a view is a map from the user's keys to texts, such as labels; dots are then part of a key."""
    return isinstance(value, views.View) and value._shape.exact and not value._shape.element.name


def _step(value: Any, step: str) -> Any:
    if isinstance(value, views.View):
        return getattr(value, step) if value._shape.closed and not step.startswith("_") else value.get(step, MISSING)
    if isinstance(value, Mapping):
        try:
            return value[step] if step in value or type(value).__module__.startswith("kubescript.") else MISSING
        except KeyError:
            return MISSING
    if step.lstrip("-").isdigit():
        return _item(value, int(step))
    if isinstance(value, list_view.ListView | list) or type(value) is tuple:
        return [_step(each, step) for each in value]
    # The script's own guard reads the attribute, so a path reaches only what the script could have written itself.
    return guards.dynamic(value, step)


def _item(value: Any, position: int) -> Any:
    try:
        return value[position]
    except (IndexError, KeyError):
        return MISSING


def missing_everywhere(key: Key, rows: Iterable[Any]) -> KeyError:
    """Returns the error for a name that no row has."""
    # A misspelt name would otherwise be a column of nothing.
    known = {str(name) for row in rows if isinstance(row, Mapping) for name in row}
    return KeyError(f"no row has {key!r}; {names.suggestion(str(key), known, 20)}")
