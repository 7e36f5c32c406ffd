"""`copy.copy` and `copy.deepcopy` for scripts.

shims.py replaces Python's functions by these. Python's ask an object by name for `__reduce_ex__`, `__deepcopy__` and
`__setstate__`, and set any attributes that the answers name. Attack: a script's `__getattr__` answers to these names,
receives the memo with the private parts of everything copied, and can write to any object. The functions here copy only
known types, look at types only, and refuse the rest.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import fractions
import ipaddress
import re
import types
import zoneinfo
from collections.abc import Callable
from typing import Any, Final

from kubescript_sandbox.language import classes

__all__ = ["deep", "shallow"]

_CopyPart = Callable[[Any], Any]
"""Takes a part of the original and returns the part of the copy."""

_IMMUTABLE: Final = (
    *(type(None), type(Ellipsis), type(NotImplemented), int, float, complex, str, bytes, range, slice, type, enum.Enum),
    *(types.FunctionType, types.BuiltinFunctionType, types.MethodType, re.Pattern, re.Match),
    *(decimal.Decimal, fractions.Fraction, datetime.date, datetime.time, datetime.timedelta, datetime.timezone),
    *(zoneinfo.ZoneInfo, ipaddress.IPv4Address, ipaddress.IPv6Address, ipaddress.IPv4Network, ipaddress.IPv6Network),
)
"""Types whose objects are their own copies, unless a script defined their class."""

_TYPES: tuple[type, ...] = (
    *(dict, list, tuple, set, frozenset, bytearray, classes.SimpleNamespace),
    *(collections.deque, collections.defaultdict, collections.OrderedDict, collections.Counter),
    *(collections.UserDict, collections.UserList),
)
_COLLECTIONS: Final = frozenset(_TYPES)
"""Python types whose objects are rebuilt from their parts."""


def shallow(value: Any) -> Any:
    """Replaces `copy.copy`. Raises TypeError for an object that cannot be copied."""
    return _copy(value, lambda part: part, lambda _copied: None, "__copy__")


def deep(value: Any) -> Any:
    """Replaces `copy.deepcopy`, without `memo`. Raises TypeError for an object that cannot be copied."""
    copies: dict[int, Any] = {}
    originals = []  # kept alive, so that no id in `copies` is used again

    def copy_part(original: Any) -> Any:
        key = id(original)
        if key not in copies:
            originals.append(original)
            copies[key] = _copy(original, copy_part, lambda new: copies.setdefault(key, new), "__deepcopy__")
        return copies[key]

    return copy_part(value)


def _copy(value: Any, copy_part: _CopyPart, on_created: Callable[[Any], object], hook: str) -> Any:
    """Copies one object. `on_created` receives the copy before its parts are copied, because these may refer to it."""
    kind = type(value)
    mro = kind.__mro__
    is_script_object = classes.is_script_class(kind) and enum.Enum not in mro
    if not is_script_object and any(base in _IMMUTABLE for base in mro):
        return value
    is_named_tuple = tuple in mro and hasattr(kind, "_fields")
    if is_script_object or kind in _COLLECTIONS or is_named_tuple:
        return _rebuild(value, copy_part, on_created)
    method = getattr(kind, hook, None)  # of the guest: a script's class cannot define it (identifiers.DEFINABLE)
    if method is not None:
        return method(value) if hook == "__copy__" else method(value, {})
    raise TypeError(f"cannot copy a {kind.__name__}: build a new one")


def _rebuild(value: Any, copy_part: _CopyPart, on_created: Callable[[Any], object]) -> Any:
    copied = _new_object(value, copy_part)
    on_created(copied)
    for base, fill in _FILLS.items():
        if base in type(value).__mro__:
            fill(copied, value, copy_part)
            break
    _copy_attributes(value, copied, copy_part)
    return copied


def _new_object(value: Any, copy_part: _CopyPart) -> Any:
    """Returns an object of the same type. Objects that cannot be filled later get their content here."""
    kind: Any = type(value)
    mro = kind.__mro__
    for base in (tuple, frozenset):
        if base in mro:
            items = [copy_part(item) for item in base.__iter__(value)]
            return base.__new__(kind, items)
    if any(base in mro for base in (str, bytes, int, float, complex)):
        return kind.__new__(kind, value)
    if BaseException in mro:
        args = map(copy_part, _ARGS(value))
        return kind.__new__(kind, *args)
    return kind.__new__(kind)


_ARGS: Final = BaseException.args.__get__  # type: ignore[attr-defined]
"""Reads `args` past the script's class, which may define an attribute of that name."""


def _copy_attributes(value: Any, copied: Any, copy_part: _CopyPart) -> None:
    """Copies the instance attributes. Their names passed the compiler when the script set them; no class has slots."""
    kind = type(value)
    if getattr(kind, "__dictoffset__", 0):
        instance_dict = object.__getattribute__(value, "__dict__")
        attributes = {name: copy_part(item) for name, item in instance_dict.items()}
        if collections.UserDict in kind.__mro__ or collections.UserList in kind.__mro__:
            attributes["data"] = attributes["data"].copy()  # the content of these two types is in an attribute
        object.__getattribute__(copied, "__dict__").update(attributes)


def _fill_mapping(base: type[dict[Any, Any]]) -> Callable[[Any, Any, _CopyPart], None]:
    def fill(copied: Any, value: Any, copy_part: _CopyPart) -> None:
        for key, item in base.items(value):
            key_copy = copy_part(key)
            base.__setitem__(copied, key_copy, copy_part(item))

    return fill


def _fill_defaultdict(copied: Any, value: Any, copy_part: _CopyPart) -> None:
    descriptor: Any = collections.defaultdict.__dict__["default_factory"]
    factory = descriptor.__get__(value)
    descriptor.__set__(copied, factory)
    fill = _fill_mapping(dict)
    fill(copied, value, copy_part)


def _fill_deque(copied: Any, value: Any, copy_part: _CopyPart) -> None:
    descriptor = collections.deque.__dict__["maxlen"]
    limit = descriptor.__get__(value)
    collections.deque.__init__(copied, [], limit)
    items = map(copy_part, collections.deque.__iter__(value))
    collections.deque.extend(copied, items)


_FILLS: Final[dict[type, Callable[[Any, Any, _CopyPart], None]]] = {
    collections.OrderedDict: _fill_mapping(collections.OrderedDict),
    collections.defaultdict: _fill_defaultdict,
    dict: _fill_mapping(dict),
    list: lambda copied, value, copy_part: list.extend(copied, map(copy_part, list.__iter__(value))),
    set: lambda copied, value, copy_part: set.update(copied, map(copy_part, set.__iter__(value))),
    bytearray: lambda copied, value, _part: bytearray.extend(copied, value),
    collections.deque: _fill_deque,
}
"""How an object's content is copied, by base type; the first match counts."""
