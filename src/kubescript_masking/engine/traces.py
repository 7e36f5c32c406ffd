"""Traces as OTLP writes them in JSON: `{"key": "db.user", "value": {"stringValue": "ci"}}`. A list of such attributes
becomes an object, so that each value stands below its name, as in any other document.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kubescript_masking.engine import results

__all__ = ["read"]

_KINDS: Final = frozenset({
    "stringValue", "intValue", "doubleValue", "boolValue", "bytesValue", "arrayValue", "kvlistValue",
})  # fmt: skip
_INTEGER_DIGITS: Final = 19


def read(document: bytes | bytearray) -> bytes:
    """Returns a trace, or the answer to a search, with its attributes as objects. Raises one of lists.UNREADABLE,
    and TooLargeError."""
    texts = (document.count(b'"') - document.count(rb"\"")) // 2
    values = max(texts, document.count(b","))  # numbers have no quotation marks
    results.check_size((values + document.count(b"{") + document.count(b"[")) // 2)
    return msgspec.json.encode(_flatten(msgspec.json.decode(document)))


def _flatten(value: Any) -> Any:
    if isinstance(value, list):
        items = [_flatten(each) for each in value]
        if value and all(map(_is_attribute, value)):
            return {name: each for item in items for name, each in item.items()}
        return items
    if not isinstance(value, dict):
        return value
    if _is_attribute(value):
        # No name of a field has brackets or quotation marks, so the rules know none that does:
        # `| by(span."db.password")`.
        name = value["key"].removeprefix("by(").removesuffix(")").replace('"', "")
        return {name: _unwrap(value.get("value"))}
    return {name: _flatten(each) for name, each in value.items()}


def _is_attribute(value: Any) -> bool:
    is_named = isinstance(value, dict) and isinstance(value.get("key"), str)
    return is_named and _is_wrapped(value.get("value", {}))


def _is_wrapped(value: Any) -> bool:
    """Says whether a value stands below its kind; an empty one has none."""
    return isinstance(value, dict) and (not value or not _KINDS.isdisjoint(value))


def _unwrap(value: Any) -> Any:
    """Returns the value of an attribute as plain JSON; all of them if there are several."""
    found = [_unwrap_kind(kind, inner) for kind, inner in (value or {}).items()]
    return found if len(found) > 1 else next(iter(found), None)


def _unwrap_kind(kind: str, inner: Any) -> Any:
    if kind == "intValue" and isinstance(inner, str) and _is_integer(inner):
        return int(inner)
    if kind in {"arrayValue", "kvlistValue"} and isinstance(inner, dict):
        listed = inner.get("values") or []
        return _flatten(listed) if kind == "kvlistValue" else _unwrap_all(listed)
    return _flatten(inner)


def _is_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) <= _INTEGER_DIGITS


def _unwrap_all(values: Any) -> Any:
    if not isinstance(values, list):
        return _flatten(values)
    return [_unwrap(each) if _is_wrapped(each) else _flatten(each) for each in values]
