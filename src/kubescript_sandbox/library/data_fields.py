"""The fields of a script's dataclass, from its annotations, its class attributes and `field()`.

data_classes.py makes the methods from them. Annotations are compared as text, never evaluated. An option is decided
once, because `__bool__` of a script's object can answer differently each time.
"""

from __future__ import annotations

import enum
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, MISSING, InitVar
from typing import Any, ClassVar, Final

from kubescript_sandbox.language import classes, guards, parameters

__all__ = ["Field", "Kind", "Record", "collect", "decide", "field"]

_FLAGS: Final = {"init": True, "repr": True, "hash": None, "compare": True, "kw_only": MISSING}


class Kind(enum.Enum):
    """Kinds of declarations by annotations."""

    FIELD = "an attribute"
    CLASS_VAR = "ClassVar"
    INIT_VAR = "InitVar"
    KEYWORDS = "KW_ONLY"


_WORDS: Final = {kind.value: kind for kind in Kind}


class Field:
    """The objects that `field()` and `fields()` return."""

    def __init__(self, name: Any, annotation: Any, options: Mapping[str, Any]) -> None:
        self.name = name
        self.type = annotation
        self.default = options["default"]
        self.default_factory = options["default_factory"]
        self.init = options["init"]
        self.repr = options["repr"]
        self.hash = options["hash"]
        self.compare = options["compare"]
        self.metadata = options["metadata"]
        self.kw_only = options["kw_only"]
        self._kind = Kind.FIELD
        self._read: Callable[[Any, str], Any] = guards.read

    def __repr__(self) -> str:
        public = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        shown = [f"{name}={value!r}" for name, value in public.items()]
        return f"Field({','.join(shown)})"


class Record(typing.NamedTuple):
    """A dataclass's own record, in an attribute whose name no script can write."""

    fields: dict[str, Field]
    frozen: bool

    def attributes(self) -> list[Field]:
        """Returns the fields that are neither ClassVar nor InitVar."""
        return [each for each in self.fields.values() if each._kind is Kind.FIELD]


def decide(function: str, defaults: Mapping[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Returns each option as True or False (None and MISSING stay), or its default if it is not given."""
    parameters.require_plain(options)
    given = {name: options.pop(name, default) for name, default in defaults.items()}
    if options:
        unknown = next(iter(options))
        raise TypeError(f"{function}() got an unexpected keyword argument {unknown!r}")
    return {name: _decide_value(value) for name, value in given.items()}


def _decide_value(value: Any) -> Any:
    """Returns a value as True or False; None and MISSING stay."""
    is_open = value is None or value is MISSING
    return value if is_open else bool(value)


def field(
    *, default: Any = MISSING, default_factory: Any = MISSING, metadata: Mapping[Any, Any] | None = None, **flags: Any
) -> Any:
    """Replaces dataclasses.field."""
    if default is not MISSING and default_factory is not MISSING:
        raise ValueError("cannot specify both default and default_factory")
    options = decide("field", _FLAGS, flags)
    options |= {"default": default, "default_factory": default_factory}
    options["metadata"] = types.MappingProxyType({} if metadata is None else dict(metadata))
    return Field(None, None, options)


def collect(cls: type, *, kw_only: bool) -> dict[str, Field]:
    """Returns what the class's annotations declare, by name.

    A class attribute that is a `field()` is replaced by its default, or removed.
    """
    annotations = inspect.get_annotations(cls)
    for name, value in vars(cls).items():
        if type(value) is Field and name not in annotations:
            raise TypeError(f"{name!r} is a field but has no type annotation")
    found = {}
    marked = False
    for name, annotation in annotations.items():
        kind = _kind(annotation)
        if kind is not Kind.KEYWORDS:
            found[name] = _field(cls, name, annotation, kw_only=kw_only)
        elif marked:
            raise TypeError(f"{name!r} is KW_ONLY, but KW_ONLY has already been specified")
        else:
            marked = kw_only = True
    return found


def _kind(annotation: Any) -> Kind:
    """Returns the kind of declaration that an annotation makes."""
    if type(annotation) is str:  # "typing.ClassVar[int]"
        origin = annotation.partition("[")[0]
        word = origin.rpartition(".")[2].strip()
        return _WORDS.get(word, Kind.FIELD)
    if annotation is ClassVar or typing.get_origin(annotation) is ClassVar:
        return Kind.CLASS_VAR
    if annotation is InitVar or type(annotation) is InitVar:
        return Kind.INIT_VAR
    if annotation is KW_ONLY:
        return Kind.KEYWORDS
    return Kind.FIELD


def _field(cls: type, name: Any, annotation: Any, *, kw_only: bool) -> Field:
    read = _reader(name)
    # Attack: a script declares a field `copy` in a subclass of UserDict, whose raw method would be taken for the
    # default.
    given = read(cls, name) if classes.is_own(cls, name) else MISSING
    # A new object, because a script may give one `field()` to two classes.
    spec = given if type(given) is Field else field(default=given)
    made = Field(name, annotation, vars(spec))
    made._kind = _kind(annotation)
    made._read = read
    _check(made)
    if made.kw_only is MISSING:
        made.kw_only = kw_only
    if type(vars(cls).get(name)) is Field:
        _replace(cls, name, made.default)
    return made


def _reader(name: Any) -> Callable[[Any, str], Any]:
    """Returns the guard that reads the attribute. Raises TypeError for a name that a script cannot write."""
    try:
        guards.access(name, store=True)
        return guards.by_name(name)
    except AttributeError as refused:
        raise TypeError(f"a field cannot have this name: {refused}") from None


def _replace(cls: type, name: str, default: Any) -> None:
    if default is MISSING:
        delattr(cls, name)
    else:
        setattr(cls, name, default)


def _check(made: Field) -> None:
    name, kind = made.name, made._kind
    if kind is not Kind.FIELD and made.default_factory is not MISSING:
        raise TypeError(f"field {name} cannot have a default factory")
    if kind is Kind.CLASS_VAR and made.kw_only is not MISSING:
        raise TypeError(f"field {name} is a ClassVar but specifies kw_only")
    if kind is Kind.INIT_VAR and not made.init:
        raise TypeError(f"field {name} is an InitVar, which cannot have init=False")
    if kind is Kind.FIELD and type(made.default).__hash__ is None:
        raise ValueError(f"mutable default {type(made.default)} for field {name} is not allowed: use default_factory")
