"""Reads one value of a row: `read(pod, "spec.nodeName")`, `read(row, "count")`, `read(pair, 1)`, or by a function.
`table` and `top` read their columns and keys with it.

Rows are views, dicts, tuples, lists, and the script's own objects.
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
    """Returns one row's value, or MISSING. For a field that the row's kind does not have, raises an error that names
    the nearest."""
    if callable(key):
        return key(row)
    if isinstance(key, int):
        return _item(row, key)
    if not isinstance(key, str):
        raise TypeError(f"a column or key is a field's name, a number or a function, not a {type(key).__name__}")
    value = row
    # "containers[0].image" is read as "containers.0.image".
    rest = _INDEX.sub(r".\1", str.__str__(key)).strip(".")
    while rest and value is not None and value is not MISSING:
        # A dict's key may itself contain dots.
        if isinstance(value, Mapping) and not isinstance(value, views.View) and rest in value:
            return value[rest]
        if _is_map(value):
            return value.get(rest, MISSING)
        step, _, rest = rest.partition(".")
        value = _read_step(value, step)
    return value


def _is_map(value: Any) -> bool:
    """Says whether a view is a map from the user's keys to strings, such as labels; a key may then contain dots."""
    if not isinstance(value, views.View):
        return False
    shape = value._shape
    return shape.exact and not shape.element.name


def _read_step(value: Any, step: str) -> Any:
    """Returns what one part of a path reads: a field, an element, or that part of every element."""
    if isinstance(value, views.View):
        # Reading an attribute gives more than reading an item: times become datetimes, and an error names the nearest
        # field.
        if value._shape.closed and not step.startswith("_"):
            return getattr(value, step)
        return value.get(step, MISSING)
    if isinstance(value, Mapping):
        return _read_mapping(value, step)
    if step.lstrip("-").isdigit():
        return _item(value, int(step))
    if isinstance(value, list_view.ListView | list) or type(value) is tuple:
        return [_read_step(each, step) for each in value]
    # Attack: a path leads to an attribute that a script may not read. So the script's own guard reads it here.
    return guards.dynamic(value, step)


def _read_mapping(value: Mapping[str, Any], key: str) -> Any:
    # In the SDK's own mappings an absent field may read as None; a script's defaultdict must not get a new key.
    own = type(value).__module__.startswith("kubescript.")
    try:
        return value[key] if key in value or own else MISSING
    except KeyError:
        return MISSING


def _item(value: Any, position: int) -> Any:
    try:
        return value[position]
    except (IndexError, KeyError):
        return MISSING


def missing_everywhere(key: Key, rows: Iterable[Any]) -> KeyError:
    """Returns the error for a name that no row has."""
    # A misspelt name would otherwise make an empty column.
    known: set[str] = set()
    for row in rows:
        if isinstance(row, Mapping):
            known.update(map(str, row))
    hint = names.suggestion(str(key), known, 20)
    return KeyError(f"no row has {key!r}; {hint}")
