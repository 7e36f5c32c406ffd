"""`str.format` with guarded fields. Attack: a script calls `"{0.__class__}".format(x)`, which reads an attribute
without a guard.

The guards replace `str.format` and `str.format_map` by these functions wherever a script could get them, bound or
unbound.
"""

from __future__ import annotations

import builtins
import datetime
import string
import types
from _string import formatter_field_name_split  # type: ignore[import-not-found]
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

__all__ = ["METHODS", "bind", "install", "safe"]

_RAW: Final = {str.format: "format", str.format_map: "format_map"}


class _Formatter(string.Formatter):
    read: Callable[[object, str], object]
    """The attribute guard."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, int | str]:
        first, rest = formatter_field_name_split(field_name)
        value = self.get_value(first, args, kwargs)
        for is_attribute, key in rest:
            value = self.read(value, key) if is_attribute else value[key]
        return value, first

    def format_field(self, value: Any, format_spec: str) -> str:
        return field(value, format_spec)


def field(value: Any, spec: str = "", /) -> str:
    """Replaces `format(value, spec)`: values that define no formats, and dates whose `spec` names no part, are aligned
    as text."""
    # Without a `%` Python would print the spec itself.
    if isinstance(value, datetime.date) and spec and "%" not in spec:
        return builtins.format(str(value), spec)
    try:
        return builtins.format(value, spec)
    except TypeError as error:
        # A missing field is None; a table of pods should not fail because of it.
        if not str(error).startswith("unsupported format string passed to "):
            raise
        try:
            return builtins.format(str(value), spec)
        except ValueError:  # `spec` is a format for numbers
            raise error from None


_formatter: Final = _Formatter()


def install(read: Callable[[object, str], object]) -> None:
    """Sets the attribute guard. guards.py, which defines the guard, calls this once, since it imports this module."""
    _formatter.read = read


def _template(value: object, method: str) -> str:
    """Returns a template as a plain string. Raises the TypeError that Python raises for another type."""
    kind = type(value)
    if str not in kind.__mro__:
        raise TypeError(f"descriptor '{method}' for 'str' objects doesn't apply to a '{kind.__name__}' object")
    return str.__str__(value)


def format(template: str, /, *args: object, **kwargs: object) -> str:  # noqa: A001  the name that error messages show
    """Replaces `str.format`: reads each attribute in a field through the guard."""
    return _formatter.vformat(_template(template, "format"), args, kwargs)


def format_map(template: str, mapping: Mapping[str, object], /) -> str:
    """Replaces `str.format_map`: reads each attribute in a field through the guard."""
    return _formatter.vformat(_template(template, "format_map"), (), mapping)


METHODS: Final[dict[str, Callable[..., str]]] = {"format": format, "format_map": format_map}


def bind(template: object, method: str) -> Callable[..., str]:
    """Returns the guarded method of that name, bound to one string."""
    return types.MethodType(METHODS[method], template)


def safe(value: object) -> object:
    """Returns `value`, or its guarded replacement when it is `str.format` or `str.format_map`, bound or unbound."""
    kind = type(value)
    if kind is types.MethodDescriptorType and value in _RAW:
        return METHODS[_RAW[value]]
    if kind is types.BuiltinMethodType:
        owner, method = value.__self__, value.__name__  # type: ignore[attr-defined]
        if method in METHODS and str in type(owner).__mro__:
            return bind(owner, method)
    return value
