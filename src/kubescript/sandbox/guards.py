"""What compiled scripts call in place of attribute reads, writes, and the builtins that would read or write for them.

Reading items, iterating and calling need no guard and are compiled natively. The source's attribute names were checked
when the script was compiled, so `read` looks at types only; names that come as strings (`getattr`) are checked here by
the same rules.
Guards judge by `type(x)`, never by `isinstance`, which an object may answer for itself.
"""

from __future__ import annotations

import abc
import collections
import decimal
import io
import types
from collections.abc import Callable
from typing import Any, Final, NoReturn

from kubescript.sandbox import classes, formatting, names

__all__ = [
    "REFUSED_TYPES",
    "Type",
    "delete",
    "get",
    "has",
    "listing",
    "none",
    "own",
    "private",
    "protocol",
    "read",
    "special",
    "store",
    "vars_",
    "writable",
]

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
"""No attribute is read from an object of these types, and none of these is handed out as an attribute."""

_WRITABLE: Final[frozenset[type]] = frozenset(
    {
        *(list, dict, bytearray),
        *(collections.defaultdict, collections.Counter, collections.deque, collections.OrderedDict),
        *(collections.ChainMap, collections.UserDict, collections.UserList),
        *(types.SimpleNamespace, decimal.Context),
    }
)
_TUPLE_NAMES: Final = frozenset({"_asdict", "_replace", "_make", "_fields", "_field_defaults"})
_BUILTIN: Final = classes.BASES | {str, bool, range, slice, type(None)}
_KEYWORD_FIELDS: Final = frozenset({"_continue", "_except", "_exec", "_from", "_not"})
"""Fields of Kubernetes objects that are words of Python, as the official client spells them."""
_METACLASSES: Final = classes.METACLASSES
_SEALED: Final = classes.SEALED


def _refuse(obj: Any, _name: str) -> NoReturn:
    raise AttributeError(f"a script cannot look into a {type(obj).__name__}") from None


READERS: Final[dict[type, Callable[[Any, str], Any]]] = dict.fromkeys(REFUSED_TYPES, _refuse)
"""Types whose attributes are read by a function of their own. The SDK adds its views: what Python does first, looking
for an attribute of the class and making an AttributeError, takes three times as long as reading the field."""


def read(obj: Any, name: str) -> Any:
    """`obj.name` for a public name. The hot path: 10⁶ reads are 0.1 s."""
    if type(obj) in READERS:
        return READERS[type(obj)](obj, name)
    value = getattr(obj, name)
    if type(value) in REFUSED_TYPES:
        raise AttributeError(f"{name!r} is not for scripts: it is a {type(value).__name__}") from None
    return value


def private(obj: Any, name: str) -> Any:
    """`obj._name`: only for what the script's own classes define, and the documented methods of named tuples."""
    kind = type(obj)
    if kind is super:
        kind = obj.__self_class__
    if type(kind) in _METACLASSES or kind in _METACLASSES:
        return read(obj, name)
    if name in _KEYWORD_FIELDS and getattr(kind, "_guarded_writes", False) is True:
        return read(obj, name)
    cls = obj if kind is type else kind
    if name in _TUPLE_NAMES and tuple in cls.__mro__ and hasattr(cls, "_fields"):
        return read(obj, name)
    raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r} that a script may use")


def special(obj: Any, name: str) -> Any:
    """`obj.name` for the names in names.SPECIAL, which are dangerous on one type each."""
    kind = type(obj)
    if name == "obj" and AttributeError in kind.__mro__:
        raise AttributeError("the attribute `obj` of an AttributeError is not available: use error.name or str(error)")
    if name == "register" and issubclass(kind, abc.ABCMeta) and not classes.is_script_class(obj):
        raise AttributeError("`register` of a shared class is not available: inherit from it")
    return formatting.safe(read(obj, name))


def protocol(obj: Any, name: str) -> Any:
    """`obj.__method__` on the script's own classes and objects, on `super()`, and on builtin types.

    Attack: `json.__init__("json", {"loads": evil})`, which would fill one of our objects anew.
    """
    kind = type(obj)
    if kind is super or kind in _BUILTIN or kind in _METACLASSES or type(kind) in _METACLASSES:
        return read(obj, name)
    if kind is type and obj in _BUILTIN:
        return read(obj, name)
    raise AttributeError(f"{name} of {_describe(obj)} is not for scripts: use the operator or builtin that calls it")


_GUARDS: Final[dict[names.Access, Callable[[Any, str], Any]]] = {
    names.Access.PUBLIC: read,
    names.Access.PRIVATE: private,
    names.Access.SPECIAL: special,
    names.Access.PROTOCOL: protocol,
}


def none(obj: Any) -> bool:
    """`obj is None` for scripts: true of an empty list or map of the SDK that stands for a field the object lacks."""
    return obj is None or (getattr(type(obj), "_stands_in", False) is True and obj._home is not None)


def writable(obj: Any) -> Any:
    """`obj` itself when a script may write its items and public attributes."""
    kind = type(obj)
    if kind in _WRITABLE or type(kind) in _METACLASSES:
        return obj
    if kind in _METACLASSES and obj not in _SEALED:
        return obj
    if kind is types.FunctionType and obj.__module__ == classes.MODULE:
        return obj
    if getattr(kind, "_guarded_writes", False) is True:  # objects of the SDK that are copies, made to be changed
        return obj
    raise TypeError(f"{_describe(obj)} cannot be changed: {_instead(obj)}")


def own(obj: Any) -> Any:
    """`obj` itself when it belongs to the script, so that `obj._name = …` may be written."""
    if type(type(obj)) in _METACLASSES or classes.is_script_class(obj):
        return obj
    raise TypeError(f"{_describe(obj)} has no private attributes for scripts: use a public name")


def _describe(obj: object) -> str:
    return f"the type {obj.__name__}" if isinstance(obj, type) else f"a {type(obj).__name__}"


def _instead(obj: object) -> str:
    if type(obj) in {tuple, str, bytes, frozenset, range}:
        return "it is immutable, build a new one"
    return "copy what you need into a dict or an object of your own"


# --- builtins that take a name as a string ----------------------------------------------------------------------------


def _access(name: object, *, store: bool = False) -> names.Access:
    if type(name) is not str:
        raise TypeError("attribute name must be a plain string")
    try:
        return names.access(name, store=store)
    except names.Refused as refused:
        raise AttributeError(str(refused)) from None


def dynamic(obj: Any, name: Any) -> Any:
    """An attribute whose name is only known now: the compile-time check and the guard in one."""
    return _GUARDS[_access(name)](obj, name)


formatting.install(dynamic)


def get(obj: Any, name: Any, /, *default: Any) -> Any:
    """`getattr` for scripts. A name that is refused raises even when a default is given."""
    if len(default) > 1:
        raise TypeError(f"getattr expected at most 3 arguments, got {2 + len(default)}")
    reader = _GUARDS[_access(name)]
    try:
        value = reader(obj, name)
    except AttributeError:
        if default:
            return default[0]
        raise
    return default[0] if default and value is None and _lacks(obj, name) else value


def has(obj: Any, name: Any, /) -> bool:
    """`hasattr` for scripts: false for what a script may not read. `hasattr(x, "__iter__")` answers for any object."""
    if type(name) is str and name in names.PROTOCOL:
        return hasattr(type(obj), name)
    try:
        return dynamic(obj, name) is not None or not _lacks(obj, name)
    except AttributeError:
        return False


def _lacks(obj: Any, name: str) -> bool:
    """Whether a name that reads as None is not there at all: objects without a model say so."""
    return type(obj) in READERS and bool(getattr(type(obj), "_lacks", lambda *_: False)(obj, name))


def store(obj: Any, name: Any, value: Any, /) -> None:
    """`setattr` for scripts."""
    setattr(_target(obj, name), name, value)


def delete(obj: Any, name: Any, /) -> None:
    """`delattr` for scripts."""
    delattr(_target(obj, name), name)


def _target(obj: Any, name: Any) -> Any:
    return own(obj) if _access(name, store=True) is names.Access.PRIVATE else writable(obj)


def vars_(*objects: Any) -> dict[str, Any]:
    """`vars` for scripts: a copy, of the script's own objects, or `.to_dict()` of a Kubernetes object."""
    if len(objects) != 1:
        raise TypeError("vars() takes one object here: names are simply there, use them")
    obj = objects[0]
    if type(type(obj)) in _METACLASSES or type(obj) is types.SimpleNamespace:
        return dict(getattr(obj, "__dict__", {}))
    if getattr(type(obj), "_guarded_writes", False) is True and hasattr(type(obj), "to_dict"):
        return obj.to_dict()  # type: ignore[no-any-return]
    raise TypeError(f"vars() of {_describe(obj)} is not available: use dir(x) and getattr(x, name)")


def listing(*objects: Any) -> list[str]:
    """`dir` for scripts: the public names."""
    if len(objects) != 1:
        raise TypeError("dir() takes one object here, such as dir(k8s)")
    obj = objects[0]
    return [name for name in dir(obj) if not name.startswith("_") and name not in names.INTROSPECTION]


# --- type(x) ----------------------------------------------------------------------------------------------------------

_OPAQUE: Final = {kind: type(kind.__name__, (), {"__slots__": ()}) for kind in (*REFUSED_TYPES, types.FunctionType)}
"""Stand-ins for types whose constructors make code: they have the name, and nothing else."""


class _TypeOfTypes(type):
    def __call__(cls, *args: Any) -> Any:
        if len(args) != 1:
            raise TypeError("type() takes one argument here: write a class statement to make a class")
        kind = type(args[0])
        return Type if issubclass(kind, type) else _OPAQUE.get(kind, kind)

    def __instancecheck__(cls, obj: object) -> bool:
        return isinstance(obj, type)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, type)

    def __repr__(cls) -> str:
        return "<class 'type'>"


class Type(metaclass=_TypeOfTypes):
    """What `type` is in a script: tells the type of a value, makes none. `type[X]` is `type`."""

    def __class_getitem__(cls, item: object) -> type:
        return cls


Type.__name__ = Type.__qualname__ = "type"
