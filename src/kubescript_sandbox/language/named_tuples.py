"""`namedtuple` and `NamedTuple` for scripts: subclasses of tuple, made without generated code.

Python's own write the field names into the source code of `__new__` and evaluate it, and compile annotations that are
strings. Here `__new__` is a closure; a field's descriptor is Python's own, which is written in C.
"""

from __future__ import annotations

import collections
import inspect
import keyword
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kubescript_sandbox.language import identifiers, parameters

__all__ = ["NAMED_TUPLE", "NamedTuple", "NamedTupleMeta", "namedtuple"]

_PROHIBITED: Final = frozenset({"__init__", "_fields", "_field_defaults", "_make", "_replace", "_asdict", "_source"})
_getter: Any = collections._tuplegetter  # type: ignore[attr-defined]
"""The descriptor of a field in Python's named tuples, which reads no attribute."""


def namedtuple(
    typename: str,
    field_names: str | Iterable[str],
    *,
    rename: bool = False,
    defaults: Iterable[Any] | None = None,
    module: str | None = None,
) -> type:
    """Replaces collections.namedtuple; `module` has no effect."""
    if isinstance(field_names, str):
        field_names = str.__str__(field_names).replace(",", " ").split()
    names = [str(name) for name in field_names]
    typename = str(typename)
    _require_strings([typename, *names])
    is_renamed = bool(rename)
    if is_renamed:
        names = _rename_fields(names)
    _check_names(typename, names, private=is_renamed)
    values = [] if defaults is None else list(defaults)
    if len(values) > len(names):
        raise TypeError("Got more default values than field names")
    made = type(typename, (tuple,), {"__slots__": (), "__module__": identifiers.MODULE})
    return _complete(made, names, dict(zip(names[len(names) - len(values) :], values, strict=True)))


def NamedTuple(typename: str, fields: Iterable[tuple[str, Any]] | None = None, /, **more: Any) -> type:
    """Replaces typing.NamedTuple, as a base and as a function. Annotations are ignored."""
    if fields is None:
        fields = more.items()
    elif more:
        raise TypeError("Either list of fields or keywords can be provided to NamedTuple, not both")
    names = [name for name, _ in fields]
    return namedtuple(typename, names)


class NamedTupleMeta(type):
    """Makes the class of `class P(NamedTuple):`, which is an ordinary subclass of tuple."""

    def __new__(cls, typename: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        """Makes the class from its body."""
        if bases != (NAMED_TUPLE,):
            raise TypeError("can only inherit from NamedTuple, and from nothing else beside it")
        for key in body:
            if key in _PROHIBITED:
                raise AttributeError(f"Cannot overwrite NamedTuple attribute {key}")
        made = type(typename, (tuple,), {**body, "__slots__": ()})
        names = list(inspect.get_annotations(made))
        _require_strings(names)
        _check_names(typename, names)
        defaults = {name: body[name] for name in names if name in body}
        _check_order(names, defaults)
        return _complete(made, names, defaults)


NAMED_TUPLE: Final = type.__new__(NamedTupleMeta, "NamedTuple", (), {})
"""Replaces `NamedTuple` among the bases of a class statement."""
NamedTuple.__mro_entries__ = lambda _bases: (NAMED_TUPLE,)  # type: ignore[attr-defined]


# --- names ------------------------------------------------------------------------------------------------------------


def _require_strings(names: list[str]) -> None:
    """Raises TypeError for a name that only behaves like a string."""
    if any(type(name) is not str for name in names):
        raise TypeError("Type names and field names must be strings")


def _rename_fields(names: list[str]) -> list[str]:
    """Returns the names, with `_0`, `_1`, … in place of those that no field may have."""
    seen: set[str] = set()
    renamed = []
    for place, name in enumerate(names):
        is_word = name.isidentifier() and not keyword.iskeyword(name)
        is_field = is_word and not name.startswith("_") and name not in seen
        renamed.append(name if is_field else f"_{place}")
        seen.add(name)
    return renamed


def _check_names(typename: str, names: list[str], *, private: bool = False) -> None:
    for name in [typename, *names]:
        if not name.isidentifier():
            raise ValueError(f"Type names and field names must be valid identifiers: {name!r}")
        if keyword.iskeyword(name):
            raise ValueError(f"Type names and field names cannot be a keyword: {name!r}")
    seen: set[str] = set()
    for name in names:
        if name.startswith("_") and not private:
            raise ValueError(f"Field names cannot start with an underscore: {name!r}")
        if name in seen:
            raise ValueError(f"Encountered duplicate field name: {name!r}")
        seen.add(name)


def _check_order(names: list[str], defaults: Mapping[str, Any]) -> None:
    """Raises TypeError for a field without a default that follows one with a default."""
    before: list[str] = []
    for name in names:
        if name in defaults:
            before.append(name)
        elif before:
            plural = "s" if len(before) > 1 else ""
            raise TypeError(
                f"Non-default namedtuple field {name} cannot follow default field{plural} {', '.join(before)}"
            )


# --- members ----------------------------------------------------------------------------------------------------------


def _complete(made: Any, names: Sequence[str], defaults: dict[str, Any]) -> type:
    """Gives a new subclass of tuple its fields and methods, except those that the script defines."""
    if vars(made).get("__doc__") is None:
        made.__doc__ = f"{made.__name__}({', '.join(names)})"
    for place, name in enumerate(names):
        setattr(made, name, _getter(place, f"Alias for field number {place}"))
    made._fields = tuple(names)
    made._field_defaults = defaults
    made.__new__ = _new(made, names, defaults)
    made._make = _make(len(names))
    for function in (_replace, _asdict, __repr__):
        if function.__name__ not in vars(made):
            setattr(made, function.__name__, function)
    return made  # type: ignore[no-any-return]


def _new(made: type, names: Sequence[str], defaults: dict[str, Any]) -> Any:
    taken = parameters.Parameters(f"{made.__name__}.__new__", names, len(names), defaults)

    def __new__(cls: type, /, *args: Any, **kwargs: Any) -> Any:  # noqa: N807  the name that errors show
        return tuple.__new__(cls, taken.bind(args, kwargs))

    return staticmethod(__new__)


def _make(count: int) -> Any:
    def _make(cls: type, iterable: Iterable[Any]) -> Any:
        made: Any = tuple.__new__(cls, iterable)
        size = tuple.__len__(made)
        if size != count:
            raise TypeError(f"Expected {count} arguments, got {size}")
        return made

    return classmethod(_make)


def _replace(self: Any, /, **changes: Any) -> Any:
    pairs = zip(self._fields, tuple.__iter__(self), strict=True)
    values = [changes.pop(name, value) for name, value in pairs]
    if changes:
        raise ValueError(f"Got unexpected field names: {list(changes)!r}")
    return tuple.__new__(type(self), values)


def _asdict(self: Any) -> dict[str, Any]:
    pairs = zip(self._fields, tuple.__iter__(self), strict=True)
    return dict(pairs)


def __repr__(self: Any) -> str:  # noqa: N807  a method
    pairs = zip(self._fields, tuple.__iter__(self), strict=True)
    shown = [f"{name}={value!r}" for name, value in pairs]
    return f"{type(self).__name__}({', '.join(shown)})"
