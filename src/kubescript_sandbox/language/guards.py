"""The guards: functions that compiled scripts call instead of reading and writing attributes.

Reading items, iterating and calling need no guard and stay native. The attribute names in the source were checked when
the script was compiled, so `read` checks types only; names given as strings (`getattr`, in reflection.py) are checked
here by the same rules. Guards decide by `type(x)`, never by `isinstance`, whose answer an object can influence.
"""

from __future__ import annotations

import abc
import collections
import decimal
import functools
import io
import types
import typing
from collections.abc import Callable
from typing import Any, Final, NoReturn

from kubescript_sandbox.language import classes, failures, formatting, identifiers
from kubescript_sandbox.language.classes import is_script_class

__all__ = [
    "READERS", "REFUSED_TYPES", "access", "augment", "box", "by_name", "count_masks", "describe", "dynamic",
    "forget_mask", "none", "own", "private", "protocol", "read", "special", "target", "writable",
]  # fmt: skip

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

_WRITABLE: Final[frozenset[type]] = frozenset(
    {
        *(list, dict, bytearray),
        *(collections.defaultdict, collections.Counter, collections.deque, collections.OrderedDict),
        *(collections.ChainMap, collections.UserDict, collections.UserList),
        *(classes.SimpleNamespace, decimal.Context),
    }
)
_TUPLE_NAMES: Final = frozenset({"_asdict", "_replace", "_make", "_fields", "_field_defaults"})
_BUILTIN: Final = classes.BASES | {str, bool, range, slice, type(None)}
_KEYWORD_FIELDS: Final = frozenset({"_continue", "_except", "_exec", "_from", "_not"})
"""Fields of Kubernetes objects that are Python keywords, as the official client spells them."""
_METACLASSES: Final = classes.METACLASSES
_SEALED: Final = classes.SEALED


_DESCRIPTORS: Final[frozenset[type]] = frozenset({property, functools.cached_property})
_JUDGED: Final = REFUSED_TYPES | _DESCRIPTORS | {types.FunctionType, types.MappingProxyType}
"""Types of values that are checked before a script gets them."""
_BASE_ALIAS: Final[type] = typing._BaseGenericAlias  # type: ignore[attr-defined]
_ALIASES: Final[tuple[type, ...]] = (
    *(types.GenericAlias, type(collections.abc.Callable[[], None])),
    *(kind for kind in vars(typing).values() if isinstance(kind, type) and issubclass(kind, _BASE_ALIAS)),
)
"""Types of `list[int]` and `typing.List`, which forward an attribute to their class."""


def count_masks() -> int:
    """Returns the number of masks seen before a script tests a field's truth. The guest replaces this function and the
    next."""
    return 0


def forget_mask(_before: int, value: Any) -> Any:
    """Returns a value that the script tests only for its truth."""
    return value


def _refuse(obj: Any, _name: str) -> NoReturn:
    raise AttributeError(f"a script cannot look into a {type(obj).__name__}") from None


def _read_alias(obj: Any, name: str) -> Any:
    return getattr(obj, name) if name in identifiers.TEXTS else read(obj.__origin__, name)


READERS: Final[dict[type, Callable[[Any, str], Any]]] = {
    **dict.fromkeys(REFUSED_TYPES, _refuse),
    **dict.fromkeys(_ALIASES, _read_alias),
}
"""Types whose attributes are read by a special function. The guest adds its views: Python's own way, which looks for a
class attribute and makes an AttributeError first, takes three times as long as reading the field."""


def read(obj: Any, name: str) -> Any:
    """Returns `obj.name` for a public name. The hot path: 10⁶ reads are 0.1 s."""
    if type(obj) in READERS:
        return READERS[type(obj)](obj, name)
    value = getattr(obj, name)
    return _judge(obj, name, value) if type(value) in _JUDGED else value


def _judge(obj: Any, name: str, value: Any) -> Any:
    """Returns `value`, which was read from `obj`, in a form that a script may have.

    Attack: a script calls `ExitStack.callback(fake, f)`, which sets `__wrapped__` on anything that `fake`'s methods
    return, or writes `class A: p = IPv4Address.is_private`, which runs the property with the script's object as its
    `self`.
    """
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
    """Says whether the library or we put this method into a script's class, as `total_ordering` does with `__gt__`.

    Attack: a script calls `A.__init__(json, evil)` of a protocol or dataclass, which would set an attribute of `json`
    without a guard.
    """
    code = getattr(value, "__code__", None)  # a property has none
    return name in identifiers.PROTOCOL and code is not None and code.co_filename != failures.FILENAME


def _owner(obj: Any, name: str, value: Any) -> type | None:
    """Returns the class that defines a value, if it was read unbound from a class."""
    kind = type(obj)
    within = obj.__self_class__ if kind is super else obj if type in kind.__mro__ else None
    lineage = () if within is None else type.__dict__["__mro__"].__get__(within)
    return next((each for each in lineage if vars(each).get(name) is value), None)


def _method(owner: type, function: types.FunctionType) -> Callable[..., Any]:
    """Returns a library function or one of ours that requires an object of its own class as its first argument, as
    functions in C do."""

    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if owner not in type(self).__mro__:
            raise TypeError(f"{function.__name__!r} of {owner.__name__} doesn't apply to {describe(self)}")
        return function(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = function.__name__
    method.__doc__ = function.__doc__
    return method


def private(obj: Any, name: str) -> Any:
    """Reads `obj._name`: only from objects of the script's own classes, and the documented methods of named tuples."""
    kind = type(obj)
    if kind is super:
        kind = obj.__self_class__
    if type(kind) in _METACLASSES or kind in _METACLASSES:
        return read(obj, name)
    if name in _KEYWORD_FIELDS and getattr(kind, "_guarded_writes", False) is True:
        return read(obj, name)
    cls = obj if kind is type else kind
    if name in _TUPLE_NAMES and tuple in cls.__mro__ and hasattr(cls, "_fields"):
        value = read(obj, name)
        # Attack: a script writes `ParseResult._field_defaults["x"] = 1`, which fills the dict of the shared class.
        return dict(value) if name == "_field_defaults" else value
    raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r} that a script may use")


def special(obj: Any, name: str) -> Any:
    """Returns `obj.name` for the names in identifiers.SPECIAL, which are dangerous on one type each."""
    kind = obj if type in type(obj).__mro__ else type(obj)
    if kind is super and not is_script_class(obj.__self_class__):  # Attack: `super(FrozenInstanceError, e).obj`
        kind = obj.__self_class__
    if name == "obj" and AttributeError in type.__dict__["__mro__"].__get__(kind):
        raise AttributeError("the attribute `obj` of an AttributeError is not available: use error.name or str(error)")
    value = read(obj, name)
    if type(value) is types.MethodType and _is_shared(value.__self__):
        raise AttributeError(f"{name!r} of a shared class is not available: inherit from it")
    return formatting.safe(value)


def _is_shared(cls: object) -> bool:
    """Says whether a class is abstract and not the script's, or inherits from such a class, which would remember
    registered classes. Attack: a script calls `typing.Mapping.register(str)`, or `register` of its own subclass of
    Mapping."""
    return isinstance(cls, abc.ABCMeta) and not all(
        is_script_class(each) or each in _PLAIN_BASES for each in type.__dict__["__mro__"].__get__(cls)
    )


_PLAIN_BASES: Final = frozenset({object, abc.ABC, typing.Generic, typing.Protocol})


def protocol(obj: Any, name: str) -> Any:
    """Returns `obj.__method__` of the script's own classes and objects, of their `super()`, and of builtin types.

    Attack: a script calls `json.__init__("json", {"loads": evil})`, which would refill one of our objects, or
    `super(type(error), error).__init__(…)`, which does so through the parent class.
    """
    kind = type(obj)
    if kind is super:
        kind = obj.__self_class__
        if is_script_class(kind):
            return read(obj, name)
        raise AttributeError(f"super() of a {kind.__name__} is not for scripts")
    if kind in _BUILTIN or kind in _METACLASSES or type(kind) in _METACLASSES:
        return read(obj, name)
    if kind is type and obj in _BUILTIN:
        return read(obj, name)
    raise AttributeError(f"{name} of {describe(obj)} is not for scripts: use the operator or builtin that calls it")


_GUARDS: Final[dict[identifiers.Access, Callable[[Any, str], Any]]] = {
    identifiers.Access.PUBLIC: read,
    identifiers.Access.PRIVATE: private,
    identifiers.Access.SPECIAL: special,
    identifiers.Access.PROTOCOL: protocol,
}


def none(obj: Any) -> bool:
    """Replaces `obj is None`: also true for a guest's empty list or map that stands for a missing field."""
    return obj is None or (getattr(type(obj), "_stands_in", False) is True and obj._home is not None)


def writable(obj: Any) -> Any:
    """Returns `obj` when a script may write its items and public attributes. Raises TypeError otherwise."""
    kind = type(obj)
    if kind in _WRITABLE or type(kind) in _METACLASSES:
        return obj
    if kind in _METACLASSES and obj not in _SEALED:
        return obj
    if kind is types.FunctionType and obj.__module__ == classes.MODULE:
        return obj
    if getattr(kind, "_guarded_writes", False) is True:  # objects of the guest that are copies, made to be changed
        return obj
    raise TypeError(f"{describe(obj)} cannot be changed: {_instead(obj)}")


def augment(obj: Any, name: str) -> Any:
    """Returns `obj` for `obj.name += …`, which reads the attribute natively.

    Attack: a script writes `U.copy += spy`, which hands a method that `U` inherits from UserDict to `spy.__radd__`,
    without a guard.
    """
    owner = target(obj, name)
    if type(obj) in _METACLASSES and not classes.is_own(obj, name):
        raise TypeError(f"{name!r} is not an attribute that the class defines: assign it first")
    return owner


def target(obj: Any, name: Any) -> Any:
    """Returns `obj` itself when a script may write its attribute `name`, which is known only at run time."""
    if access(name, store=True) is identifiers.Access.PRIVATE:
        return own(obj)
    return writable(obj)


class box:  # noqa: N801
    """Holds the value of `case a.b:`, which must remain an attribute in a pattern.

    Attack: a script writes `case ExitStack.callback:`, which handed the method to the subject's `__eq__`, without a
    guard.
    """

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value


def own(obj: Any) -> Any:
    """Returns `obj` itself when it belongs to the script, so that `obj._name = …` may be written."""
    if type(type(obj)) in _METACLASSES or is_script_class(obj):
        return obj
    raise TypeError(f"{describe(obj)} has no private attributes for scripts: use a public name")


def describe(obj: object) -> str:
    """Returns an object's description for error messages."""
    return f"the type {obj.__name__}" if isinstance(obj, type) else f"a {type(obj).__name__}"


def _instead(obj: object) -> str:
    if type(obj) in {tuple, str, bytes, frozenset, range}:
        return "it is immutable, build a new one"
    return "copy what you need into a dict or an object of your own"


def by_name(name: object) -> Callable[[Any, str], Any]:
    """Returns the guard for a name that is known only at run time. Raises AttributeError when scripts may not use
    it."""
    return _GUARDS[access(name)]


def access(name: object, *, store: bool = False) -> identifiers.Access:
    """Returns the kind of a name that is known only at run time. Raises AttributeError when scripts may not use it."""
    if type(name) is not str:
        raise TypeError("attribute name must be a plain string")
    try:
        return identifiers.access(name, store=store)
    except identifiers.Refused as refused:
        raise AttributeError(str(refused)) from None


def dynamic(obj: Any, name: Any) -> Any:
    """Reads an attribute whose name is known only at run time: checks the name, then calls its guard."""
    return _GUARDS[access(name)](obj, name)


formatting.install(dynamic)
