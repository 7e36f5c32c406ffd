"""`dataclasses` for scripts, without generated code.

Python's `dataclass` writes the methods' source code and executes it. Attacks that reached `eval`: scripts named fields
`eval` and `f, self.f(eval)`, hid defaults in a docstring that looks like a signature, or wrote annotations that are
evaluated. Here the methods are closures (data_methods.py).
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import MISSING
from typing import Any, Final

from kubescript_sandbox.language import classes
from kubescript_sandbox.library import copying, data_fields, data_methods
from kubescript_sandbox.library.data_fields import Field, Kind, Record

__all__ = ["MEMBERS", "asdict", "dataclass", "fields", "is_instance"]

_WITHOUT_EFFECT: Final = {"match_args": True, "slots": False, "weakref_slot": False}
"""Scripts have no class patterns, and `__slots__` is left out of their classes."""
_OPTIONS: Final = _WITHOUT_EFFECT | {
    "init": True,
    "repr": True,
    "eq": True,
    "order": False,
    "unsafe_hash": False,
    "frozen": False,
    "kw_only": False,
}
_ORDER: Final = ("__lt__", "__le__", "__gt__", "__ge__")


# --- the decorator ----------------------------------------------------------------------------------------------------


def dataclass(cls: Any = None, /, **options: Any) -> Any:
    """Replaces dataclasses.dataclass: accepts only classes of the script."""
    decided = data_fields.decide("dataclass", _OPTIONS, options)
    if cls is None:
        return lambda late: _complete(late, decided)
    return _complete(cls, decided)


def _complete(cls: Any, options: Mapping[str, Any]) -> Any:
    if not classes.is_script_class(cls):
        raise TypeError("dataclass works on classes defined in the script")
    if options["order"] and not options["eq"]:
        raise ValueError("eq must be true if order is true")
    inherited = _inherit_fields(cls, frozen=options["frozen"])
    record = Record(inherited | data_fields.collect(cls, kw_only=options["kw_only"]), options["frozen"])
    cls.__record__ = record
    _add_methods(cls, options, record)
    abc.update_abstractmethods(cls)
    return cls


def _inherit_fields(cls: type, *, frozen: bool) -> dict[str, Field]:
    """Returns the fields of the dataclasses that a class inherits from; those of the nearest count."""
    bases = [vars(base) for base in cls.__mro__[:0:-1]]
    records = [body["__record__"] for body in bases if "__record__" in body]
    any_frozen = any(record.frozen for record in records)
    if any_frozen and not frozen:
        raise TypeError("cannot inherit non-frozen dataclass from a frozen one")
    if records and frozen and not any_frozen:
        raise TypeError("cannot inherit frozen dataclass from a non-frozen one")
    inherited: dict[str, Field] = {}
    for record in records:
        inherited |= record.fields
    return inherited


def _add_methods(cls: Any, options: Mapping[str, Any], record: Record) -> None:
    own = record.attributes()
    compared = [each for each in own if each.compare]
    hashed = [each for each in own if (each.compare if each.hash is None else each.hash)]
    # Decided before our `__eq__` is added, because it depends on whether the script defines one.
    hash_ = data_methods.hashing(cls, options, hashed)
    if options["init"]:
        _add(cls, "__init__", data_methods.init(cls, record))
    if options["repr"]:
        _add(cls, "__repr__", data_methods.representation(cls, [each for each in own if each.repr]))
    if options["eq"]:
        _add(cls, "__eq__", data_methods.comparison(cls, "__eq__", compared))
    for name in _ORDER if options["order"] else ():
        if not _add(cls, name, data_methods.comparison(cls, name, compared)):
            raise TypeError(
                f"Cannot overwrite attribute {name} in class {cls.__name__}. Consider using functools.total_ordering"
            )
    if options["frozen"]:
        data_methods.freeze(cls, frozenset(each.name for each in own))
    if hash_ is not MISSING:
        cls.__hash__ = hash_


def _add(cls: Any, name: str, method: Any) -> bool:
    """Adds a method to the class unless its body defines one; returns whether it was added."""
    if name in vars(cls):
        return False
    method.__name__ = name
    method.__qualname__ = f"{cls.__qualname__}.{name}"
    setattr(cls, name, method)
    return True


# --- functions --------------------------------------------------------------------------------------------------------


def _record(cls: Any) -> Any:
    """Returns the record of a script's dataclass; None for anything else."""
    if not classes.is_script_class(cls):
        return None
    return getattr(cls, "__record__", None)


def is_dataclass(obj: object) -> bool:
    """Replaces dataclasses.is_dataclass."""
    return _record(obj) is not None or is_instance(obj)


def is_instance(value: object) -> bool:
    """Says whether a value is an object of a script's dataclass."""
    return _record(type(value)) is not None


def fields(obj: object) -> tuple[Field, ...]:
    """Replaces dataclasses.fields."""
    record = _record(obj) or _record(type(obj))
    if record is None:
        raise TypeError("must be called with a dataclass type or instance")
    return tuple(record.attributes())


def _require_instance(obj: object, function: str) -> None:
    """Raises TypeError unless the object is an instance of a script's dataclass."""
    if not is_instance(obj):
        raise TypeError(f"{function}() should be called on dataclass instances")


def asdict(obj: Any, *, dict_factory: Callable[[list[tuple[str, Any]]], Any] = dict) -> Any:
    """Replaces dataclasses.asdict."""

    def make(value: Any) -> Any:
        pairs = []
        for each in fields(value):
            item = each._read(value, each.name)
            pairs.append((each.name, _convert(item, make)))
        return dict_factory(pairs)

    _require_instance(obj, "asdict")
    return make(obj)


def astuple(obj: Any, *, tuple_factory: Callable[[list[Any]], Any] = tuple) -> Any:
    """Replaces dataclasses.astuple."""

    def make(value: Any) -> Any:
        items = []
        for each in fields(value):
            item = each._read(value, each.name)
            items.append(_convert(item, make))
        return tuple_factory(items)

    _require_instance(obj, "astuple")
    return make(obj)


def _convert(value: Any, make: Callable[[Any], Any]) -> Any:
    """Returns a converted value from inside a dataclass."""
    # Attack: a script puts a guest's object into its dataclass; the real asdict would read its private fields.
    if is_instance(value):
        return make(value)
    kind = type(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        items = [_convert(item, make) for item in value]
        return kind(*items)
    if kind in {list, tuple, set, frozenset}:
        return kind(_convert(item, make) for item in value)
    if kind is dict:
        return {_convert(key, make): _convert(item, make) for key, item in value.items()}
    return copying.deep(value)


def replace(obj: Any, /, **changes: Any) -> Any:
    """Replaces dataclasses.replace."""
    _require_instance(obj, "replace")
    for name, each in _record(type(obj)).fields.items():
        if each._kind is Kind.CLASS_VAR:
            continue
        if not each.init:
            if name in changes:
                raise ValueError(f"field {name} is declared with init=False, it cannot be specified with replace()")
        elif name not in changes:
            if each._kind is Kind.INIT_VAR and each.default is MISSING:
                raise ValueError(f"InitVar {name!r} must be specified with replace()")
            changes[name] = each._read(obj, name)
    return type(obj)(**changes)


_OFFERED: Final = (asdict, astuple, dataclass, data_fields.field, fields, is_dataclass, replace)
MEMBERS: Final[dict[str, object]] = {
    **{function.__name__: function for function in _OFFERED},
    **{name: getattr(dataclasses, name) for name in ("FrozenInstanceError", "InitVar", "KW_ONLY", "MISSING")},
}
"""The names that scripts can import from `dataclasses`."""
