"""Judges the values that a script reads from an attribute: what leads out of its world is refused or replaced.

Called by guards.py. It decides by `type(x)`, never by `isinstance`, whose answer an object can influence.
"""

from __future__ import annotations

import functools
import io
import types
from collections.abc import Callable
from typing import Any, Final

from kubescript_sandbox.language import failures, identifiers
from kubescript_sandbox.language.classes import is_script_class

__all__ = ["JUDGED", "REFUSED_TYPES", "describe", "judge"]

REFUSED_TYPES: Final[frozenset[type]] = frozenset(
    {
        types.ModuleType,
        types.FrameType,
        types.CodeType,
        types.TracebackType,
        types.CellType,
        io.FileIO,
        io.BufferedReader,
        io.BufferedWriter,
        io.BufferedRandom,
        io.TextIOWrapper,
    }
)
"""Types whose objects a script may neither read attributes from nor receive as an attribute."""
_DESCRIPTORS: Final[frozenset[type]] = frozenset({property, functools.cached_property})
JUDGED: Final = REFUSED_TYPES | _DESCRIPTORS | {types.FunctionType, types.MappingProxyType}
"""Types of values that are checked before a script gets them."""


def judge(obj: Any, name: str, value: Any) -> Any:
    """Returns `value`, which was read from `obj`, in a form that a script may have."""
    # Attack: a script calls `ExitStack.callback(fake, f)`, which sets `__wrapped__` on anything that `fake`'s methods
    # return, or writes `class A: p = IPv4Address.is_private`, which runs the property with the script's object as its
    # `self`.
    if type(value) in REFUSED_TYPES:
        raise AttributeError(f"{name!r} is not for scripts: it is a {type(value).__name__}") from None
    if type(value) is types.MappingProxyType:
        # Attack: a script writes `RegexFlag.__members__ | spy`, which hands the writable dict behind the proxy to
        # `spy.__ror__`; so do `view.keys().mapping`, `pattern.groupindex` and `field.metadata`.
        return types.MappingProxyType(dict(value))
    owner = _owner(obj, name, value)
    if owner is None or (is_script_class(owner) and not _is_generated(name, value)):
        return value
    if type(value) in _DESCRIPTORS:
        raise AttributeError(f"{name!r} is a property: read it from a {owner.__name__}, not from the type") from None
    return _method(owner, value)


def _is_generated(name: str, value: Any) -> bool:
    """Says whether the library or we put this method into a script's class, as `total_ordering` does with `__gt__`."""
    # Attack: a script calls `A.__init__(json, evil)` of a protocol or dataclass, which would set an attribute of `json`
    # without a guard.
    code = getattr(value, "__code__", None)  # a property has none
    return name in identifiers.PROTOCOL and code is not None and code.co_filename != failures.FILENAME


def _owner(obj: Any, name: str, value: Any) -> type | None:
    """Returns the class that defines a value, if it was read unbound from a class."""
    kind = type(obj)
    within: Any = None
    if kind is super:
        within = obj.__self_class__
    elif type in kind.__mro__:
        within = obj
    if within is None:
        return None
    lineage: tuple[type, ...] = type.__dict__["__mro__"].__get__(within)
    return next((each for each in lineage if vars(each).get(name) is value), None)


def _method(owner: type, function: types.FunctionType) -> Callable[..., Any]:
    """Returns a method of the library or of ours, wrapped so that it requires an object of its own class as its first
    argument, as functions in C do."""

    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if owner not in type(self).__mro__:
            raise TypeError(f"{function.__name__!r} of {owner.__name__} doesn't apply to {describe(self)}")
        return function(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = function.__name__
    method.__doc__ = function.__doc__
    return method


def describe(obj: object) -> str:
    """Returns an object's description for error messages."""
    if isinstance(obj, type):
        return f"the type {obj.__name__}"
    return f"a {type(obj).__name__}"
