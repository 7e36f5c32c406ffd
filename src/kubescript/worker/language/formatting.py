"""`str.format` with guarded fields: `"{0.__class__}".format(x)` reads attributes through the guard like any other code.

The guards put these functions in the place of `str.format` and `str.format_map` wherever a script could fetch them,
bound or unbound.
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
    """`format(value, spec)`, where a value that has no formats of its own is aligned as its text: a field that is not
    there is None, and a table of pods should not fail for it. A date whose format names no part is aligned as well:
    Python would print the format itself."""
    if isinstance(value, datetime.date) and spec and "%" not in spec:
        return builtins.format(str(value), spec)
    try:
        return builtins.format(value, spec)
    except TypeError as error:
        if not str(error).startswith("unsupported format string passed to "):
            raise
        try:
            return builtins.format(str(value), spec)
        except ValueError:  # a format of numbers
            raise error from None


_formatter: Final = _Formatter()


def install(read: Callable[[object, str], object]) -> None:
    """Give the attribute guard. Called once, by the module that owns it."""
    _formatter.read = read


def _template(value: object, method: str) -> str:
    kind = type(value)
    if str not in kind.__mro__:
        raise TypeError(f"descriptor '{method}' for 'str' objects doesn't apply to a '{kind.__name__}' object")
    return str.__str__(value)


def format(template: str, /, *args: object, **kwargs: object) -> str:  # noqa: A001  the name that error messages show
    """`str.format`, each attribute in a field read through the guard."""
    return _formatter.vformat(_template(template, "format"), args, kwargs)


def format_map(template: str, mapping: Mapping[str, object], /) -> str:
    """`str.format_map`, each attribute in a field read through the guard."""
    return _formatter.vformat(_template(template, "format_map"), (), mapping)


METHODS: Final[dict[str, Callable[..., str]]] = {"format": format, "format_map": format_map}


def bind(template: object, method: str) -> Callable[..., str]:
    """The guarded method of one string."""
    return types.MethodType(METHODS[method], template)


def safe(value: object) -> object:
    """`value`, or its guarded twin when it is `str.format` or `str.format_map` in any binding."""
    kind = type(value)
    if kind is types.MethodDescriptorType and value in _RAW:
        return METHODS[_RAW[value]]
    if kind is types.BuiltinMethodType:
        owner, method = value.__self__, value.__name__  # type: ignore[attr-defined]
        if method in METHODS and str in type(owner).__mro__:
            return bind(owner, method)
    return value
