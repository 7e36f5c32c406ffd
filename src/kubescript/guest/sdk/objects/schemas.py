"""Provides shapes, which describe a JSON value before it is decoded. A shape is made from schemas.json on first use;
all views share it.

For a view, a shape maps a name to its JSON key (`fields`), and gives the shape of a map's or list's elements
(`element`). It holds only names, never data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from typing import Any, Final, NamedTuple

from kubescript.guest.sdk.values import names, operations

__all__ = ["FREE", "OBJECT", "OBJECT_LIST", "Field", "Shape", "answer_of_source", "metadata_only", "shape_of"]

FindObject = Callable[[Mapping[str, str], str], Any]
"""Returns the object that labels name, of this kind or of the one they suggest with \"\"; None if there is none."""


class Field(NamedTuple):
    """The field that a spelling means."""

    key: str
    """The JSON key."""
    shape: Shape
    absent: type | None
    """list or dict if the field, when it is absent, reads as an empty one; otherwise None."""
    time: bool
    """Whether the attribute is a datetime."""


class Shape:
    """A model, a map type, a list type, or any value (`FREE`). `fields`, `element` and `spelling` are made when they
    are first read."""

    __slots__ = (
        "_kind",
        "closed",
        "element",
        "exact",
        "fields",
        "find_object",
        "metadata_rule",
        "name",
        "plain",
        "spelling",
        "withheld",
    )

    name: str
    """The model's name; empty for maps, lists and free shapes."""
    closed: bool
    """Whether an unknown field is an error rather than data."""
    exact: bool
    """Whether this is a map with the user's own keys, such as labels; each key then has only one spelling."""
    plain: bool
    """Whether the dynamic client reads the object; `to_dict()` then keeps the JSON names."""
    fields: dict[str, Field]
    """Fields by each spelling: snake_case attribute, JSON key, and `from_` for `from`."""
    element: Shape
    spelling: dict[str, str]
    """Maps a JSON key to its name in `to_dict()`."""
    metadata_rule: str
    """The rule that hides all of the object but its metadata; empty if the object is whole."""
    withheld: Container[str]
    """The names of fields that the rule withholds."""
    find_object: FindObject | None
    """Finds the object that the labels of an alert, a rule or a target name; None for other objects."""

    def __init__(self, kind: str, *, closed: bool = False, plain: bool = False) -> None:
        self.metadata_rule = ""
        self.withheld = frozenset()
        self.find_object = None
        self._kind = kind
        self.closed = closed
        self.plain = plain
        self.exact = kind.startswith("Dict[")
        self.name = kind if closed else ""

    def __getattr__(self, name: str) -> object:
        # Python calls this for a slot that is not set yet. Slots are filled late because models refer to each other in
        # circles, and a script reads only a few of them.
        if name == "fields":
            model = operations.models().get(self._kind, {})
            self.fields = _fields(model, plain=self.plain)
            return self.fields
        if name == "element":
            kind = _element(self._kind)
            self.element = shape_of(kind, plain=self.plain)
            return self.element
        if name == "spelling":
            attributes = {} if self.plain else operations.models().get(self._kind, {})
            self.spelling = {self.fields[attribute].key: attribute for attribute in attributes}
            return self.spelling
        raise AttributeError(name)

    @property
    def attributes(self) -> list[str]:
        """Returns the fields in the official client's spelling."""
        if self.metadata_rule:
            return sorted(_OF_EVERY_OBJECT)
        return sorted(operations.models().get(self.name, ()))


_SHAPES: Final[dict[tuple[str, bool], Shape]] = {}


def shape_of(kind: str, *, plain: bool = False) -> Shape:
    """Returns the shape of a type string such as "V1Pod", "List[V1Container]", "Dict[str, str]" or "object"."""
    known = _SHAPES.get((kind, plain))
    if known is not None:
        return known
    is_model = kind in operations.models()
    made = FREE
    if is_model or kind.startswith(("List[", "Dict[")):
        made = Shape(kind, closed=is_model, plain=plain)
    _SHAPES[kind, plain] = made
    return made


def _element(kind: str) -> str:
    """Returns the element type of a list or map type, and "object" for every other type."""
    if kind.startswith("List["):
        return kind[5:-1]
    if kind.startswith("Dict["):
        return kind[5:-1].partition(", ")[2]
    return "object"


_OF_EVERY_OBJECT: Final = {"api_version": "str", "kind": "str", "metadata": "V1ObjectMeta"}


class _AllNames:
    """The withheld fields of an object without a model: any name may be one."""

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str) or name.startswith("_"):
            return False
        return name not in _OF_EVERY_OBJECT


def metadata_only(shape: Shape, rule: str) -> Shape:
    """Returns the shape of an object of which, by this rule, only the metadata is served."""
    served = Shape(shape._kind, closed=shape.closed, plain=shape.plain)
    served.metadata_rule = rule
    served.fields = _fields(_OF_EVERY_OBJECT, plain=shape.plain)
    served.element = FREE
    served.spelling = {}
    if not shape.plain:
        served.spelling = {field.key: name for name, field in served.fields.items()}
    # A withheld field must not read as one that is absent.
    if shape.closed:
        served.withheld = shape.fields.keys() - served.fields.keys()
    else:
        served.withheld = _AllNames()
    return served


_PLURAL_ACRONYM: Final = re.compile("[A-Z]{2,}s")


def _fields(model: Mapping[str, str | tuple[str, str]], *, plain: bool) -> dict[str, Field]:
    """Returns the fields by each of their spellings."""
    # `exact` has the official attributes; it is merged last, and so takes precedence where two fields share a spelling.
    found: dict[str, Field] = {}
    exact: dict[str, Field] = {}
    for attribute, entry in model.items():
        kind, key = (entry, names.camel(attribute)) if isinstance(entry, str) else entry
        field = Field(key, shape_of(kind, plain=plain), _absent_type(kind), False)
        found[key] = field
        # Older official clients call clusterIPs cluster_i_ps.
        if _PLURAL_ACRONYM.search(key):
            found.setdefault(names.codegen(key), field)
        exact[attribute] = field._replace(time=kind == "datetime")
        # `from` is a Python keyword: the official client has `_from`, and scripts may also write `from_`.
        if attribute.startswith("_"):
            found[f"{key}_"] = field
    return found | exact


def _absent_type(kind: str) -> type | None:
    """Returns the type of the empty value that an absent list or map reads as; None for other fields."""
    if kind.startswith("List["):
        return list
    if kind.startswith("Dict["):
        return dict
    return None


FREE: Final = Shape("", plain=True)
"""Any value: no field is known, and every element is free too."""
FREE.element = FREE
FREE.fields = {}
FREE.spelling = {}


class _ObjectShape(Shape):
    """A whole Kubernetes object without a model. Its metadata still has the shape V1ObjectMeta."""

    __slots__ = ()

    def __getattr__(self, name: str) -> object:
        if name == "fields":
            self.fields = _fields(_OF_EVERY_OBJECT, plain=True)
            return self.fields
        if name == "spelling":
            self.spelling = {}
            return self.spelling
        raise AttributeError(name)


_TIMES_OF_SOURCES: Final = ("startsAt", "endsAt", "activeAt", "updatedAt", "lastScrape", "lastEvaluation")


def answer_of_source(find_object: FindObject) -> Shape:
    """Returns the shape of everything in the answer of a source: free, but for times by their snake_case names."""
    made = Shape("", plain=True)
    made.find_object = find_object
    made.element = made
    made.fields = {names.snake(key): Field(key, made, None, time=True) for key in _TIMES_OF_SOURCES}
    made.spelling = {}
    return made


OBJECT: Final = _ObjectShape("", plain=True)
"""A custom resource, or any other object without a model."""
OBJECT.element = FREE

OBJECT_LIST: Final = Shape("", plain=True)
"""A list of such objects."""
OBJECT_LIST.element = OBJECT
OBJECT_LIST.fields = {}
OBJECT_LIST.spelling = {}
