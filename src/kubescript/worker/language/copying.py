"""`copy.copy` and `copy.deepcopy` for scripts.

Python's own ask an object by name for `__reduce_ex__`, `__deepcopy__` and `__setstate__`, and set whatever attributes
the answers name. Attack: a `__getattr__` that answers them was handed the memo with the private parts of everything
copied, and wrote to any object. These copiers know the types they copy, look at types only, and refuse the rest.
"""

from __future__ import annotations

import collections
import copyreg
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

from kubescript.worker.language import classes

__all__ = ["deep", "shallow"]

_CopyPart = Callable[[Any], Any]
"""Takes a part of the original and gives what stands in its place in the copy."""

_IMMUTABLE: Final = (
    *(type(None), type(Ellipsis), type(NotImplemented), int, float, complex, str, bytes, range, slice, type, enum.Enum),
    *(types.FunctionType, types.BuiltinFunctionType, types.MethodType, re.Pattern, re.Match),
    *(decimal.Decimal, fractions.Fraction, datetime.date, datetime.time, datetime.timedelta, datetime.timezone),
    *(zoneinfo.ZoneInfo, ipaddress.IPv4Address, ipaddress.IPv6Address, ipaddress.IPv4Network, ipaddress.IPv6Network),
)
"""Types whose objects are their own copies, unless their class is a script's."""

_TYPES: tuple[type, ...] = (
    *(dict, list, tuple, set, frozenset, bytearray, classes.SimpleNamespace),
    *(collections.deque, collections.defaultdict, collections.OrderedDict, collections.Counter),
    *(collections.UserDict, collections.UserList),
)
_COLLECTIONS: Final = frozenset(_TYPES)
"""Types of Python's whose objects are made anew from their parts."""


def shallow(value: Any) -> Any:
    """`copy.copy`. Raises TypeError for what has no copy."""
    return _copy(value, lambda part: part, lambda _copied: None, "__copy__")


def deep(value: Any) -> Any:
    """`copy.deepcopy` without `memo`. Raises TypeError for what has no copy."""
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
    """The copy of one object. `on_created` gets it before its parts are copied, for they may lead back to it."""
    kind = type(value)
    mro = kind.__mro__
    is_script_object = classes.is_script_class(kind) and enum.Enum not in mro
    if not is_script_object and any(item in _IMMUTABLE for item in mro):
        return value
    if is_script_object or kind in _COLLECTIONS or (tuple in mro and hasattr(kind, "_fields")):
        return _rebuild(value, copy_part, on_created)
    if method := getattr(kind, hook, None):  # of the SDK: a script's class cannot define it (identifiers.DEFINABLE)
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
    """A new object of the same type. What cannot be filled later has its content already."""
    kind: Any = type(value)
    for base in (tuple, frozenset):
        if base in kind.__mro__:
            return base.__new__(kind, [copy_part(item) for item in base.__iter__(value)])
    if any(base in kind.__mro__ for base in (str, bytes, int, float, complex)):
        return kind.__new__(kind, value)
    if BaseException in kind.__mro__:
        return kind.__new__(kind, *map(copy_part, _ARGS(value)))
    return kind.__new__(kind)


_ARGS: Final = BaseException.args.__get__  # type: ignore[attr-defined]
"""A script's class may call something else `args`."""


def _copy_attributes(value: Any, copied: Any, copy_part: _CopyPart) -> None:
    """Instance attributes, those in slots too. Their names passed the compiler when the script set them."""
    if getattr(type(value), "__dictoffset__", 0):
        instance_dict = object.__getattribute__(value, "__dict__")
        attributes = {name: copy_part(item) for name, item in instance_dict.items()}
        if {collections.UserDict, collections.UserList} & set(type(value).__mro__):
            attributes["data"] = attributes["data"].copy()  # its content, though Python keeps it in an attribute
        object.__getattribute__(copied, "__dict__").update(attributes)
    for name in copyreg._slotnames(type(value)):  # type: ignore[attr-defined]
        try:
            object.__setattr__(copied, name, copy_part(object.__getattribute__(value, name)))
        except AttributeError:
            continue  # a slot that was never filled


def _fill_mapping(base: type[dict[Any, Any]]) -> Callable[[Any, Any, _CopyPart], None]:
    def fill(copied: Any, value: Any, copy_part: _CopyPart) -> None:
        for key, item in base.items(value):
            base.__setitem__(copied, copy_part(key), copy_part(item))

    return fill


def _fill_defaultdict(copied: Any, value: Any, copy_part: _CopyPart) -> None:
    factory: Any = collections.defaultdict.__dict__["default_factory"]
    factory.__set__(copied, factory.__get__(value))
    _fill_mapping(dict)(copied, value, copy_part)


def _fill_deque(copied: Any, value: Any, copy_part: _CopyPart) -> None:
    limit = collections.deque.__dict__["maxlen"].__get__(value)
    collections.deque.__init__(copied, [], limit)
    collections.deque.extend(copied, map(copy_part, collections.deque.__iter__(value)))


_FILLS: Final[dict[type, Callable[[Any, Any, _CopyPart], None]]] = {
    collections.OrderedDict: _fill_mapping(collections.OrderedDict),
    collections.defaultdict: _fill_defaultdict,
    dict: _fill_mapping(dict),
    list: lambda copied, value, copy_part: list.extend(copied, map(copy_part, list.__iter__(value))),
    set: lambda copied, value, copy_part: set.update(copied, map(copy_part, set.__iter__(value))),
    bytearray: lambda copied, value, _part: bytearray.extend(copied, value),
    collections.deque: _fill_deque,
}
"""The first base that an object has says how its content is copied."""
