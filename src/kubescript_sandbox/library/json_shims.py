"""`json.loads` and `json.dumps` for scripts, which know dates, sets, dataclasses and the guest's objects.

shims.py puts them into the module `json`.
"""

from __future__ import annotations

import fractions
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kubescript_sandbox.language import parameters, reflection
from kubescript_sandbox.library import data_classes

__all__ = ["dumps", "loads"]


def loads(text: str | bytes | bytearray, *, cls: None = None, **options: Any) -> Any:
    """Replaces json.loads, without `cls`."""
    parameters.require_plain(options)
    if cls is not None:
        raise TypeError("json.loads(cls=…) is not available: use object_hook")
    return json.loads(text, **options)


def dumps(value: object, *, cls: None = None, default: Callable[[Any], Any] | None = None, **options: Any) -> str:
    """Replaces json.dumps, without `cls`; dates become strings, sets become lists, the guest's objects become dicts."""
    parameters.require_plain(options)
    if cls is not None:
        raise TypeError("json.dumps(cls=…) is not available: use default")
    convert = _or_plain(default) if default else _plain
    return json.dumps(value, default=_number_or(convert), **options)


def _number_or(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Returns a converter that makes quantity() results plain numbers, even if a script's `default` would convert
    them."""

    def number_or(value: Any) -> Any:
        if isinstance(value, fractions.Fraction):
            return int(value) if value.denominator == 1 else float(value)
        return convert(value)

    return number_or


def _or_plain(default: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Returns a script's `default`, wrapped so that it is called only where the official client's objects would need it
    too. Maps and lists of the official client are dicts and lists; `default=str` would turn the guest's into text that
    is not JSON."""

    def convert(value: Any) -> Any:
        as_text = default in (str, repr)
        if _is_json(value) or (as_text and _is_view(value)):
            return _plain(value)
        return default(value)

    return convert


def _is_view(value: Any) -> bool:
    """Says whether a value is an object, map or list of the guest."""
    is_guests = getattr(type(value), "_guarded_writes", False) is True
    return is_guests and isinstance(value, (Mapping, Sequence))


def _is_json(value: Any) -> bool:
    """Says whether a value is a map or list of the guest, or an object for which it has no model."""
    if getattr(type(value), "_stands_in", False) is not True:
        return False
    is_object = value._shape.closed and isinstance(value, Mapping)
    return not is_object


def _plain(value: Any) -> object:
    if _is_view(value):
        return dict(value) if hasattr(value, "keys") else list(value)
    if data_classes.is_instance(value):
        return data_classes.asdict(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    for method in ("isoformat", "to_dict"):
        if callable(found := reflection.get(value, method, None)) and not isinstance(value, type):
            return found()
    if isinstance(value, Iterable):
        return list(value)
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
