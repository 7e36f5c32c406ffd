"""The builtins that inspect objects, for scripts: getattr, hasattr, setattr, delattr, vars, dir and type.

builtins.py hands them out. Each calls the guard that compiled code would have called.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NoReturn

from kubescript_sandbox.language import classes, guards, identifiers

__all__ = ["Type", "delete", "get", "has", "listing", "name_types", "store", "vars_"]


def get(obj: Any, name: Any, /, *default: Any) -> Any:
    """Replaces `getattr`. A refused name raises AttributeError even when a default is given."""
    if len(default) > 1:
        raise TypeError(f"getattr expected at most 3 arguments, got {2 + len(default)}")
    reader = guards.by_name(name)
    try:
        value = reader(obj, name)
    except AttributeError:
        if default:
            return default[0]
        raise
    return default[0] if default and value is None and _lacks(obj, name) else value


def has(obj: Any, name: Any, /) -> bool:
    """Replaces `hasattr`: False for names that a script may not read. `hasattr(x, "__iter__")` works for any object."""
    if type(name) is str and name in identifiers.PROTOCOL:
        return hasattr(type(obj), name)
    try:
        return guards.dynamic(obj, name) is not None or not _lacks(obj, name)
    except AttributeError:
        return False


def _lacks(obj: Any, name: str) -> bool:
    """Says whether an attribute that reads as None is missing; the guest's objects without a model can distinguish
    this."""
    kind = type(obj)
    if kind not in guards.READERS:
        return False
    lacks = getattr(kind, "_lacks", None)
    return lacks is not None and bool(lacks(obj, name))


def store(obj: Any, name: Any, value: Any, /) -> None:
    """Replaces `setattr`."""
    setattr(guards.target(obj, name), name, value)


def delete(obj: Any, name: Any, /) -> None:
    """Replaces `delattr`."""
    delattr(guards.target(obj, name), name)


def vars_(*objects: Any) -> dict[str, Any]:
    """Replaces `vars`: returns a copy for the script's own objects, and `.to_dict()` for a Kubernetes object."""
    if len(objects) != 1:
        raise TypeError("vars() takes one object here: names are simply there, use them")
    obj = objects[0]
    kind = type(obj)
    if type(kind) in classes.METACLASSES or kind is classes.SimpleNamespace:
        return dict(getattr(obj, "__dict__", {}))
    is_sdk_copy = getattr(kind, "_guarded_writes", False) is True
    if is_sdk_copy and hasattr(kind, "to_dict"):
        return obj.to_dict()  # type: ignore[no-any-return]
    raise TypeError(f"vars() of {guards.describe(obj)} is not available: use dir(x) and getattr(x, name)")


def listing(*objects: Any) -> list[str]:
    """Replaces `dir`: returns the public names."""
    if len(objects) != 1:
        raise TypeError("dir() takes one object here, such as dir(k8s)")
    obj = objects[0]
    return [name for name in dir(obj) if not name.startswith("_") and name not in identifiers.INTROSPECTION]


# --- type(x) ----------------------------------------------------------------------------------------------------------

_NAMED: Final[set[type]] = set()
"""Types that a script can name: builtins, and the modules' exports. `type(x)` returns no other callable type."""
_KINDS: Final[dict[type, type]] = {}
"""Stand-in ▶ its type."""
_STAND_INS: Final[dict[type, type]] = {}
"""Type ▶ its stand-in."""


class _StandIn(type):
    """The type of types that cannot be named: they support only their name, comparison and `isinstance`.

    Attack: a script calls `type(list[int])(f, int)()`, which sets `__orig_class__` on anything that `f` returns, or
    `type(k8s)(session)`.
    """

    def __call__(cls, *_args: object, **_options: object) -> NoReturn:
        raise TypeError(f"a script cannot make a {cls.__name__} by type(x)")

    def __instancecheck__(cls, obj: object) -> bool:
        return issubclass(type(obj), _KINDS[cls])

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(_KINDS.get(kind, kind), _KINDS[cls])

    def __repr__(cls) -> str:
        return f"<class {cls.__name__!r}>"


def name_types(values: Iterable[object]) -> None:
    """Lets `type(x)` return those of these values that are types."""
    _NAMED.update(each for each in values if isinstance(each, type))


def _is_named(kind: type) -> bool:
    lineage = kind.__mro__
    return (
        kind in _NAMED
        or classes.is_script_class(kind)
        or BaseException in lineage
        or (tuple in lineage and kind.__module__ == classes.MODULE)
    )


def _stand_in(kind: type) -> type:
    if kind not in _STAND_INS:
        _STAND_INS[kind] = made = _StandIn(kind.__name__, (), {"__slots__": ()})
        _KINDS[made] = kind
    return _STAND_INS[kind]


class _TypeOfTypes(type):
    def __call__(cls, *args: Any) -> Any:
        if len(args) != 1:
            raise TypeError("type() takes one argument here: write a class statement to make a class")
        kind = type(args[0])
        if issubclass(kind, type):
            return Type
        return kind if _is_named(kind) else _stand_in(kind)

    def __instancecheck__(cls, obj: object) -> bool:
        return isinstance(obj, type)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, type)

    def __repr__(cls) -> str:
        return "<class 'type'>"


class Type(metaclass=_TypeOfTypes):
    """`type` in a script: returns a value's type, but makes none. `type[X]` is `type`."""

    def __class_getitem__(cls, item: object) -> type:
        return cls


Type.__name__ = Type.__qualname__ = "type"
