"""Classes written by scripts: which bases and names they may have, and how the guards recognise their instances.

Every class statement is compiled to `class X(…, metaclass=__metaclass__)`, where `__metaclass__` is a `Factory`. The
class gets the metaclass of this module that corresponds to that of its bases. So `type(type(x)) in METACLASSES` means
that `x` belongs to the script, which may write its attributes and read its one-underscore names.
"""

from __future__ import annotations

import abc
import builtins
import collections
import collections.abc
import contextlib
import enum
import functools
import types
import typing
from typing import Any, Final, NoReturn

from kubescript_sandbox.language import formatting, identifiers, named_tuples

__all__ = [
    "ENUMS",
    "METACLASSES",
    "MODULE",
    "SEALED",
    "Factory",
    "SimpleNamespace",
    "is_own",
    "is_script_class",
]

MODULE: Final = identifiers.MODULE


class _Nowhere:
    """The attribute `obj` of a script's own AttributeErrors, which cannot be read and ignores writes. Attack: a script
    writes `class E(AttributeError): obj = None`, and `vars(error)` finds the object that lacks the attribute.
    """

    def __get__(self, _obj: object, _cls: type) -> NoReturn:
        raise AttributeError("the attribute `obj` of an AttributeError is not available") from None

    def __set__(self, _obj: object, _value: object) -> None:
        """Ignores the value: Python sets it when the error is raised."""


class _Meta(type):
    """Prevents scripts from replacing a `_Nowhere`."""

    def __setattr__(cls, name: str, value: object) -> None:
        cls.__check(name)
        super().__setattr__(name, value)

    def __delattr__(cls, name: str) -> None:
        cls.__check(name)
        super().__delattr__(name)

    def __check(cls, name: str) -> None:
        """Raises TypeError for the attribute that holds a `_Nowhere`."""
        if name == "obj" and AttributeError in cls.__mro__:
            raise TypeError("an AttributeError cannot define obj")


class ScriptType(_Meta):
    """The metaclass of ordinary script classes."""


class ScriptABCMeta(_Meta, abc.ABCMeta):
    """The metaclass for abstract bases."""


class ScriptProtocolMeta(_Meta, type(typing.Protocol)):  # type: ignore[misc]
    """The metaclass for protocols."""


class ScriptEnumMeta(_Meta, enum.EnumMeta):
    """The metaclass for enumerations; without the functional call, which would take any names and any base."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or kwargs or not cls.__members__:
            raise TypeError("write the enumeration as a class: `class Color(Enum):` with one `NAME = value` per line")
        return super().__call__(args[0])


METACLASSES: Final = frozenset({ScriptType, ScriptABCMeta, ScriptProtocolMeta, ScriptEnumMeta})

(_TYPED_DICT,) = types.resolve_bases((typing.TypedDict,))
_TWINS: Final[dict[type, type]] = {
    type: ScriptType,
    abc.ABCMeta: ScriptABCMeta,
    type(typing.Protocol): ScriptProtocolMeta,
    named_tuples.NamedTupleMeta: named_tuples.NamedTupleMeta,
    type(_TYPED_DICT): type(_TYPED_DICT),
} | {meta: meta for meta in METACLASSES}


class Enum(enum.Enum, metaclass=ScriptEnumMeta):
    """enum.Enum for scripts."""


class IntEnum(enum.IntEnum, metaclass=ScriptEnumMeta):
    """enum.IntEnum for scripts."""


class StrEnum(enum.StrEnum, metaclass=ScriptEnumMeta):
    """enum.StrEnum for scripts."""

    format = formatting.METHODS["format"]
    format_map = formatting.METHODS["format_map"]


class Flag(enum.Flag, metaclass=ScriptEnumMeta):
    """enum.Flag for scripts."""


class IntFlag(enum.IntFlag, metaclass=ScriptEnumMeta):
    """enum.IntFlag for scripts."""


class Str(str):  # noqa: SLOT000  scripts subclass it and set attributes
    """The base of `class X(str)`. Without it, library code that reads `x.format` without a guard finds the raw
    method."""

    format = formatting.METHODS["format"]
    format_map = formatting.METHODS["format_map"]


ENUMS: Final = {cls.__name__: cls for cls in (Enum, IntEnum, StrEnum, Flag, IntFlag)}


class SimpleNamespace(types.SimpleNamespace):
    """Replaces types.SimpleNamespace: its attributes have only names that a script may write.

    Attack: a script calls `SimpleNamespace(**{"__reduce_ex__": f})` for an object whose hook the library calls; or
    passes a name whose type is its own subclass of str with a `startswith` that lies.
    """

    def __init__(self, /, **attributes: Any) -> None:
        for name in attributes:
            if type(name) is not str:
                raise TypeError("the name of an attribute must be a plain string")
            try:
                identifiers.access(name, store=True)
            except identifiers.Refused as refused:
                raise TypeError(str(refused)) from None
        super().__init__(**attributes)

    def __repr__(self) -> str:
        return "namespace" + super().__repr__().removeprefix(type(self).__name__)


# All scripts share these classes, so they are read-only.
SEALED: Final = frozenset(ENUMS.values())
"""This module's classes that have a metaclass for scripts."""

EXCEPTIONS: Final = {
    name: value
    for name, value in vars(builtins).items()
    if not name.startswith("_")
    and isinstance(value, type)
    and issubclass(value, BaseException)
    and not issubclass(value, BaseExceptionGroup)
}
"""Python's exceptions, without exception groups."""

BASES: Final = frozenset(EXCEPTIONS.values()) | {
    *(object, int, float, complex, Str, bytes, bytearray, list, dict, tuple, set, frozenset),
    *(collections.OrderedDict, collections.defaultdict, collections.Counter, collections.deque, collections.ChainMap),
    *(collections.UserDict, collections.UserList),
    *(getattr(collections.abc, name) for name in collections.abc.__all__),
    *(abc.ABC, typing.Generic, typing.Protocol, named_tuples.NAMED_TUPLE, _TYPED_DICT),
    contextlib.AbstractContextManager,
}
"""Types that a script may inherit from, in addition to its own."""

_PYTHONS: Final = (
    "module qualname doc annotations classcell firstlineno static_attributes orig_bases annotate annotate_func "
    "conditional_annotations classdictcell classdict type_params total"
)
_RESERVED: Final = frozenset({"_is_protocol", "_is_runtime_protocol"})
"""Flags that would make `isinstance(x, Protocol)` ask any object for any name."""
_METHODS: Final = frozenset({types.FunctionType, types.NoneType, type(functools.cache(len))})
"""Types of values that a class may have under a dunder method's name."""
_FROM_PYTHON: Final = frozenset(f"__{name}__" for name in _PYTHONS.split())
"""Names that the interpreter itself puts into a class body."""


def is_script_class(cls: object) -> bool:
    """Says whether a script wrote this class."""
    return type(cls) in METACLASSES and cls not in SEALED


def is_own(cls: type, name: str) -> bool:
    """Says whether the script defines what `cls.name` finds, in the class or in one that it inherits from."""
    # Attack: a script writes `class U(UserDict, Own)`, where `Own` defines `copy` too, but comes after UserDict with
    # its raw method.
    for each in _lineage(cls):
        if name in vars(each):
            return is_script_class(each)
    return False


def _lineage(cls: type) -> tuple[type, ...]:
    return type.__dict__["__mro__"].__get__(cls)  # type: ignore[no-any-return]


def _is_allowed(base: type) -> bool:
    if type(base) in METACLASSES or base in BASES:
        return True
    return base.__bases__ == (tuple,) and hasattr(base, "_fields")


def _guard_bases(bases: tuple[type, ...]) -> tuple[type, ...]:
    """Returns the bases, with our `Str` for `str`."""
    guarded = [Str if base is str else base for base in bases]
    return tuple(guarded)


def _metaclass(bases: tuple[type, ...]) -> type:
    for base in _guard_bases(bases):
        if not isinstance(base, type) or not _is_allowed(base):
            name = getattr(base, "__name__", base)
            raise TypeError(f"cannot subclass {name!r}: hold one in an attribute instead")
    metaclasses = {type(base) for base in bases}
    twins = [_TWINS[metaclass] for metaclass in metaclasses if metaclass in _TWINS]
    if not twins:
        return ScriptType
    return max(twins, key=lambda twin: len(twin.__mro__))


def _without_dunders(getter: Any) -> types.FunctionType:
    """Returns a script's `__getattr__`, wrapped so that it is never called for a dunder name."""
    # Attack: a script's `__getattr__` answers to the hooks which the library looks up on objects (`__deepcopy__`,
    # `__mro_entries__`, `__typing_subst__`, …). The library calls such a hook with internal objects.
    if type(getter) is not types.FunctionType:
        raise TypeError("write __getattr__ as a method: `def __getattr__(self, name):`")

    def __getattr__(self: Any, name: str) -> Any:  # noqa: N807  the name that dir() and errors show
        if name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getter(self, name)

    return __getattr__  # type: ignore[return-value]


class Factory:
    """The value of `__metaclass__` in a script. The class statement calls it with name, bases and body."""

    __slots__ = ()

    def __prepare__(self, name: str, bases: tuple[type, ...], **options: Any) -> Any:
        """Returns the mapping that the class body fills; an enumeration has a special one."""
        return _metaclass(bases).__prepare__(name, _guard_bases(bases), **options)

    def __call__(self, name: str, bases: tuple[type, ...], body: dict[str, Any], **options: Any) -> Any:
        """Returns the class."""
        for key, value in body.items():
            dunder = key.startswith("__") and key not in identifiers.DEFINABLE and key not in _FROM_PYTHON
            if dunder or key in _RESERVED:
                raise TypeError(f"a class cannot define {key}")
            # Attack: a script writes `__repr__ = x`, so that pprint looks it up in a table of raw methods and passes
            # one to `x.__eq__`. The first such x was an object of a script's class, the second a NamedTuple class.
            if key in identifiers.DEFINABLE and type(value) not in _METHODS:
                raise TypeError(f"write {key} as a method: `def {key}(self, …):`")
        if any(AttributeError in base.__mro__ for base in bases):
            if "obj" in body:
                raise TypeError("an AttributeError cannot define obj")
            body["obj"] = _Nowhere()
        if "__getattr__" in body:
            body["__getattr__"] = _without_dunders(body["__getattr__"])
        return _metaclass(bases)(name, _guard_bases(bases), body, **options)
