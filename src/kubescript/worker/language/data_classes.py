"""`dataclasses` for scripts, without generated code.

Python's `dataclass` writes the source code of the methods and executes it. Attacks that reached `eval`: fields of the
names `eval` and `f, self.f(eval)`, defaults in a docstring that looks like a signature, annotations that are evaluated.
Here the methods are closures. They act on objects of their own class only, and read and write attributes as the
script itself does.
"""

from __future__ import annotations

import abc
import dataclasses
import operator
import reprlib
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, FrozenInstanceError
from typing import Any, Final, NoReturn

from kubescript.worker.language import classes, copying, data_fields, guards, parameters
from kubescript.worker.language.data_fields import Field, Kind

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
_MADE: Final = object()
"""In place of a value that a `default_factory` makes."""


class _Record(typing.NamedTuple):
    """What a dataclass knows of itself, in an attribute of a name that no script can write."""

    fields: dict[str, Field]
    frozen: bool

    def attributes(self) -> list[Field]:
        """The fields that are neither ClassVar nor InitVar."""
        return [each for each in self.fields.values() if each._kind is Kind.FIELD]


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
    inherited = _inherited(cls, frozen=options["frozen"])
    record = _Record(inherited | data_fields.collect(cls, kw_only=options["kw_only"]), options["frozen"])
    cls.__record__ = record
    _add_methods(cls, options, record)
    abc.update_abstractmethods(cls)
    return cls


def _inherited(cls: type, *, frozen: bool) -> dict[str, Field]:
    records = [vars(base)["__record__"] for base in cls.__mro__[:0:-1] if "__record__" in vars(base)]
    any_frozen = any(record.frozen for record in records)
    if any_frozen and not frozen:
        raise TypeError("cannot inherit non-frozen dataclass from a frozen one")
    if records and frozen and not any_frozen:
        raise TypeError("cannot inherit frozen dataclass from a non-frozen one")
    return {name: each for record in records for name, each in record.fields.items()}


def _add_methods(cls: Any, options: Mapping[str, Any], record: _Record) -> None:
    own = record.attributes()
    compared = [each for each in own if each.compare]
    hashed = [each for each in own if (each.compare if each.hash is None else each.hash)]
    hash_ = _hash(cls, options, hashed)  # whether the script defines `__eq__` is asked before there is one of ours
    if options["init"]:
        _add(cls, "__init__", _init(cls, record))
    if options["repr"]:
        _add(cls, "__repr__", _repr(cls, [each for each in own if each.repr]))
    if options["eq"]:
        _add(cls, "__eq__", _comparison(cls, "__eq__", compared))
    for name in _ORDER if options["order"] else ():
        if not _add(cls, name, _comparison(cls, name, compared)):
            raise TypeError(
                f"Cannot overwrite attribute {name} in class {cls.__name__}. Consider using functools.total_ordering"
            )
    if options["frozen"]:
        _freeze(cls, frozenset(each.name for each in own))
    if hash_ is not MISSING:
        cls.__hash__ = hash_


def _add(cls: Any, name: str, method: Any) -> bool:
    """Add a method to the class unless its body defines one."""
    if name in vars(cls):
        return False
    method.__name__ = name
    method.__qualname__ = f"{cls.__qualname__}.{name}"
    setattr(cls, name, method)
    return True


# --- methods ----------------------------------------------------------------------------------------------------------


def _refuse(cls: type, self: object, name: str) -> NoReturn:
    """Attack: `A.__init__(json, evil)`, which would set an attribute of `json`."""
    raise TypeError(f"{name!r} of {cls.__name__} doesn't apply to {guards.describe(self)}")


def _require(cls: type, self: object, name: str) -> None:
    if cls not in type(self).__mro__:
        _refuse(cls, self, name)


def _init(cls: Any, record: _Record) -> Callable[..., None]:
    given = [each for each in record.fields.values() if each.init and each._kind is not Kind.CLASS_VAR]
    positional = [each for each in given if not each.kw_only]
    given = positional + [each for each in given if each.kw_only]
    made = [each for each in record.attributes() if each.default_factory is not MISSING]
    defaults = {each.name: each.default for each in given if each.default is not MISSING}
    defaults |= {each.name: _MADE for each in made}
    _check_order(positional, defaults)
    call = parameters.Parameters(
        f"{cls.__qualname__}.__init__", [each.name for each in given], len(positional), defaults
    )
    given += [each for each in made if not each.init]
    return _initializer(cls, record, call, {each.name: place for place, each in enumerate(given)})


def _check_order(positional: list[Field], defaults: Mapping[str, Any]) -> None:
    after_default = False
    for each in positional:
        if after_default and each.name not in defaults:
            raise TypeError(f"non-default argument {each.name!r} follows default argument")
        after_default = each.name in defaults


def _initializer(
    cls: Any, record: _Record, call: parameters.Parameters, places: Mapping[str, int]
) -> Callable[..., None]:
    """`places` has the names of the parameters, then those of fields that only their factory fills."""
    own = [each for each in record.attributes() if each.name in places]
    stored = [(each.name, places[each.name]) for each in own]
    made = [(places[each.name], each.default_factory) for each in own if each.default_factory is not MISSING]
    room = [_MADE] * sum(not each.init for each in own)
    passed_on = [places[each.name] for each in record.fields.values() if each._kind is Kind.INIT_VAR]
    bind = call.bind
    everything = call.positional if call.positional == len(places) else -1
    store = object.__setattr__ if record.frozen else setattr
    continues = hasattr(cls, "__post_init__")

    def __init__(self: Any, /, *args: Any, **kwargs: Any) -> None:  # noqa: N807  a method
        if cls not in type(self).__mro__:
            _refuse(cls, self, "__init__")
        values: Any = args if len(args) == everything and not kwargs else bind(args, kwargs)
        if made:
            values = [*values, *room]
            for place, factory in made:
                if values[place] is _MADE:
                    values[place] = factory()
        for name, place in stored:
            store(self, name, values[place])
        if continues:
            self.__post_init__(*[values[place] for place in passed_on])

    return __init__


def _values(found: Iterable[Field]) -> Callable[[Any], tuple[Any, ...]]:
    """What reads the fields of an object, through the guards."""
    reads = [(each._read, each.name) for each in found]
    return lambda self: tuple([read(self, name) for read, name in reads])


def _repr(cls: Any, shown: list[Field]) -> Callable[[Any], str]:
    values = _values(shown)

    @reprlib.recursive_repr()
    def __repr__(self: Any) -> str:  # noqa: N807  a method
        _require(cls, self, "__repr__")
        texts = [f"{each.name}={value!r}" for each, value in zip(shown, values(self), strict=True)]
        return f"{type(self).__qualname__}({', '.join(texts)})"

    return __repr__


def _comparison(cls: Any, name: str, compared: list[Field]) -> Callable[[Any, Any], Any]:
    values = _values(compared)
    compare = getattr(operator, name)

    def method(self: Any, other: Any) -> Any:
        _require(cls, self, name)
        if type(other) is not type(self):
            return NotImplemented
        return compare(values(self), values(other))

    return method


def _hash(cls: Any, options: Mapping[str, Any], hashed: list[Field]) -> Any:
    """The `__hash__` that the class gets; MISSING when it keeps its own."""
    body = vars(cls)
    defined = "__hash__" in body and not (body["__hash__"] is None and "__eq__" in body)
    if options["unsafe_hash"] and defined:
        raise TypeError(f"Cannot overwrite attribute __hash__ in class {cls.__name__}")
    if defined or not (options["unsafe_hash"] or options["eq"]):
        return MISSING
    if not (options["unsafe_hash"] or options["frozen"]):
        return None  # equal objects that change have no hash
    values = _values(hashed)

    def __hash__(self: Any) -> int:  # noqa: N807  a method
        _require(cls, self, "__hash__")
        return hash(values(self))

    return __hash__


def _freeze(cls: Any, names: frozenset[str]) -> None:
    def __setattr__(self: Any, name: str, value: object) -> None:  # noqa: N807  a method
        _require(cls, self, "__setattr__")
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807  a method
        _require(cls, self, "__delattr__")
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    cls.__setattr__ = __setattr__
    cls.__delattr__ = __delattr__


# --- functions --------------------------------------------------------------------------------------------------------


def _record(cls: Any) -> Any:
    return getattr(cls, "__record__", None) if classes.is_script_class(cls) else None


def is_dataclass(obj: object) -> bool:
    """Replaces dataclasses.is_dataclass."""
    return _record(obj) is not None or is_instance(obj)


def is_instance(value: object) -> bool:
    """Whether this is an object of a script's dataclass."""
    return _record(type(value)) is not None


def fields(obj: object) -> tuple[Field, ...]:
    """Replaces dataclasses.fields."""
    record = _record(obj) or _record(type(obj))
    if record is None:
        raise TypeError("must be called with a dataclass type or instance")
    return tuple(record.attributes())


def _require_instance(obj: object, function: str) -> None:
    if not is_instance(obj):
        raise TypeError(f"{function}() should be called on dataclass instances")


def asdict(obj: Any, *, dict_factory: Callable[[list[tuple[str, Any]]], Any] = dict) -> Any:
    """Replaces dataclasses.asdict."""

    def make(value: Any) -> Any:
        return dict_factory([(each.name, _convert(each._read(value, each.name), make)) for each in fields(value)])

    _require_instance(obj, "asdict")
    return make(obj)


def astuple(obj: Any, *, tuple_factory: Callable[[list[Any]], Any] = tuple) -> Any:
    """Replaces dataclasses.astuple."""

    def make(value: Any) -> Any:
        return tuple_factory([_convert(each._read(value, each.name), make) for each in fields(value)])

    _require_instance(obj, "astuple")
    return make(obj)


def _convert(value: Any, make: Callable[[Any], Any]) -> Any:
    """Convert a value inside a dataclass."""
    # Attack: an object of the SDK inside a script's dataclass, whose private fields the real asdict would read.
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
"""What scripts import from `dataclasses`."""
