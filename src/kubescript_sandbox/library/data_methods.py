"""The methods of a script's dataclass: closures that accept only objects of their own class.

They read and write attributes as the script itself does. data_classes.py adds them to the class.
"""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, FrozenInstanceError
from typing import Any, Final, NoReturn

from kubescript_sandbox.language import guards, parameters
from kubescript_sandbox.library.data_fields import Field, Kind, Record

__all__ = ["comparison", "freeze", "hashing", "init", "representation"]

_MADE: Final = object()
"""Placeholder for a value that a `default_factory` makes."""


def _refuse(cls: type, self: object, name: str) -> NoReturn:
    """Raises TypeError: a method was called with an object that is not of its class."""
    # Attack: a script calls `A.__init__(json, evil)`, which would set an attribute of `json`.
    described = guards.describe(self)
    raise TypeError(f"{name!r} of {cls.__name__} doesn't apply to {described}")


def _require(cls: type, self: object, name: str) -> None:
    """Raises TypeError unless an object is of this class."""
    if cls not in type(self).__mro__:
        _refuse(cls, self, name)


def init(cls: Any, record: Record) -> Callable[..., None]:
    """Returns `__init__`, which calls `__post_init__` if the class has one."""
    given = [each for each in record.fields.values() if each.init and each._kind is not Kind.CLASS_VAR]
    positional = [each for each in given if not each.kw_only]
    keyword_only = [each for each in given if each.kw_only]
    given = [*positional, *keyword_only]
    made = [each for each in record.attributes() if each.default_factory is not MISSING]
    defaults = {each.name: each.default for each in given if each.default is not MISSING}
    defaults |= {each.name: _MADE for each in made}
    _check_order(positional, defaults)
    names = [each.name for each in given]
    call = parameters.Parameters(f"{cls.__qualname__}.__init__", names, len(positional), defaults)
    filled = [each.name for each in made if not each.init]
    places = {name: place for place, name in enumerate([*names, *filled])}
    return _initializer(cls, record, call, places)


def _check_order(positional: list[Field], defaults: Mapping[str, Any]) -> None:
    """Raises TypeError for a field without a default that follows one with a default."""
    after_default = False
    for each in positional:
        has_default = each.name in defaults
        if after_default and not has_default:
            raise TypeError(f"non-default argument {each.name!r} follows default argument")
        after_default = has_default


def _initializer(
    cls: Any, record: Record, call: parameters.Parameters, places: Mapping[str, int]
) -> Callable[..., None]:
    """Returns `__init__`. `places` has the parameters' names, then those of fields that only their factory fills."""
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
    """Returns a function that reads an object's fields, through the guards."""
    reads = [(each._read, each.name) for each in found]
    return lambda self: tuple([read(self, name) for read, name in reads])


def representation(cls: Any, shown: list[Field]) -> Callable[[Any], str]:
    """Returns `__repr__`."""
    values = _values(shown)

    @reprlib.recursive_repr()
    def __repr__(self: Any) -> str:  # noqa: N807  a method
        _require(cls, self, "__repr__")
        texts = [f"{each.name}={value!r}" for each, value in zip(shown, values(self), strict=True)]
        return f"{type(self).__qualname__}({', '.join(texts)})"

    return __repr__


def comparison(cls: Any, name: str, compared: list[Field]) -> Callable[[Any, Any], Any]:
    """Returns `__eq__`, or one of the ordering methods."""
    values = _values(compared)
    compare = getattr(operator, name)

    def method(self: Any, other: Any) -> Any:
        _require(cls, self, name)
        if type(other) is not type(self):
            return NotImplemented
        return compare(values(self), values(other))

    return method


def hashing(cls: Any, options: Mapping[str, Any], hashed: list[Field]) -> Any:
    """Returns the class's new `__hash__`; MISSING when it keeps its own."""
    body = vars(cls)
    defined = "__hash__" in body and not (body["__hash__"] is None and "__eq__" in body)
    if options["unsafe_hash"] and defined:
        raise TypeError(f"Cannot overwrite attribute __hash__ in class {cls.__name__}")
    if defined or not (options["unsafe_hash"] or options["eq"]):
        return MISSING
    if not (options["unsafe_hash"] or options["frozen"]):
        return None  # mutable objects that compare equal have no hash
    values = _values(hashed)

    def __hash__(self: Any) -> int:  # noqa: N807  a method
        _require(cls, self, "__hash__")
        return hash(values(self))

    return __hash__


def freeze(cls: Any, names: frozenset[str]) -> None:
    """Makes the fields of the class's objects read-only."""

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
