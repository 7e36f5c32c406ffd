"""The guards: functions that compiled scripts call instead of reading and writing attributes.

Reading items, iterating and calling need no guard and stay native. The attribute names in the source were checked when
the script was compiled, so `read` checks types only; names given as strings (`getattr`, in reflection.py) are checked
here by the same rules. Guards decide by `type(x)`, never by `isinstance`, whose answer an object can influence.
"""

from __future__ import annotations

import abc
import collections
import decimal
import types
import typing
from collections.abc import Callable
from typing import Any, Final, NoReturn

from kubescript_sandbox.language import classes, formatting, identifiers
from kubescript_sandbox.language.classes import is_script_class
from kubescript_sandbox.language.read_values import JUDGED, REFUSED_TYPES, describe, judge

__all__ = [
    "READERS", "REFUSED_TYPES", "access", "augment", "box", "by_name", "count_masks", "describe", "dynamic",
    "forget_mask", "none", "own", "private", "protocol", "read", "special", "target", "writable",
]  # fmt: skip


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
    """Refuses to look into an object that leads out of a script's world."""
    kind = type(obj)
    raise AttributeError(f"a script cannot look into a {kind.__name__}") from None


def _read_alias(obj: Any, name: str) -> Any:
    """Reads an attribute of `list[int]` or `typing.List`: that of its class."""
    if name in identifiers.TEXTS:
        return getattr(obj, name)
    return read(obj.__origin__, name)


# The guest adds its views: Python's own way, which looks for a class attribute and makes an AttributeError first, takes
# three times as long as reading the field.
READERS: Final[dict[type, Callable[[Any, str], Any]]] = {
    **dict.fromkeys(REFUSED_TYPES, _refuse),
    **dict.fromkeys(_ALIASES, _read_alias),
}
"""Types whose attributes are read by a special function."""


def read(obj: Any, name: str) -> Any:
    """Returns `obj.name` for a public name."""
    # The hot path: 10⁶ reads take 0.1 s.
    if type(obj) in READERS:
        return READERS[type(obj)](obj, name)
    value = getattr(obj, name)
    return judge(obj, name, value) if type(value) in JUDGED else value


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
    registered classes."""
    # Attack: a script calls `typing.Mapping.register(str)`, or `register` of its own subclass of Mapping.
    return isinstance(cls, abc.ABCMeta) and not all(
        is_script_class(each) or each in _PLAIN_BASES for each in type.__dict__["__mro__"].__get__(cls)
    )


_PLAIN_BASES: Final = frozenset({object, abc.ABC, typing.Generic, typing.Protocol})


def protocol(obj: Any, name: str) -> Any:
    """Returns `obj.__method__` of the script's own classes and objects, of their `super()`, and of builtin types."""
    # Attack: a script calls `json.__init__("json", {"loads": evil})`, which would refill one of our objects, or
    # `super(type(error), error).__init__(…)`, which does so through the parent class.
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
    if obj is None:
        return True
    stands_in = getattr(type(obj), "_stands_in", False) is True
    return stands_in and obj._home is not None


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
    """Returns `obj` for `obj.name += …`, which reads the attribute natively."""
    # Attack: a script writes `U.copy += spy`, which hands a method that `U` inherits from UserDict to `spy.__radd__`,
    # without a guard.
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
