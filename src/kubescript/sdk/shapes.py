"""Shapes: what is known about a JSON value before it is decoded. Made on first use from schemas.json and shared.

A shape answers two questions for a view: which JSON key does this name mean (`fields`), and what shape do the elements
of this map or list have (`element`). It holds names only, never data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from kubescript.sdk import names, tables

__all__ = ["FREE", "OBJECT", "OBJECT_LIST", "Field", "Shape", "shape_of"]


class Field(NamedTuple):
    """How one spelling of a field is answered."""

    key: str
    """The JSON key."""
    shape: Shape
    absent: type | None
    """list or dict where an absent field reads as an empty one; else None."""
    time: bool
    """The attribute is a datetime."""


class Shape:
    """One model, one map or list type, or anything (`FREE`). `fields` and `element` are worked out when first asked
    for."""

    __slots__ = ("_kind", "closed", "element", "fields", "name")

    name: str
    """The model's name; empty for maps, lists and anything."""
    closed: bool
    """A field it does not know is an error, not data."""
    fields: dict[str, Field]
    """Field by each spelling: snake_case attribute, JSON key, and `from_` for `from`."""
    element: Shape

    def __init__(self, kind: str, *, closed: bool = False) -> None:
        self._kind = kind
        self.closed = closed
        self.name = kind if closed else ""

    def __getattr__(self, name: str) -> object:
        if name == "fields":
            self.fields = _fields(tables.models().get(self._kind, {}))
            return self.fields
        if name == "element":
            self.element = shape_of(_element(self._kind))
            return self.element
        raise AttributeError(name)

    @property
    def attributes(self) -> list[str]:
        """The fields in the official client's spelling."""
        return sorted(tables.models().get(self.name, ()))


_SHAPES: Final[dict[str, Shape]] = {}


def shape_of(kind: str) -> Shape:
    """The shape of a type string such as "V1Pod", "List[V1Container]", "Dict[str, str]" or "object"."""
    known = _SHAPES.get(kind)
    if known is None:
        model = kind in tables.models()
        structured = model or kind.startswith(("List[", "Dict["))
        known = _SHAPES[kind] = Shape(kind, closed=model) if structured else FREE
    return known


def _element(kind: str) -> str:
    """The element type of a list or map type; "object" for everything else."""
    if kind.startswith("List["):
        return kind[5:-1]
    if kind.startswith("Dict["):
        return kind[5:-1].partition(", ")[2]
    return "object"


def _fields(model: Mapping[str, str | tuple[str, str]]) -> dict[str, Field]:
    """Each spelling of each field. The official attribute comes last and wins where two fields share a spelling."""
    found: dict[str, Field] = {}
    exact: dict[str, Field] = {}
    for attribute, entry in model.items():
        kind, key = (entry, names.camel(attribute)) if isinstance(entry, str) else entry
        absent = list if kind.startswith("List[") else dict if kind.startswith("Dict[") else None
        found[key] = Field(key, shape_of(kind), absent, False)
        exact[attribute] = found[key]._replace(time=kind == "datetime")
        if attribute.startswith(
            "_"
        ):  # `from` is a Python word: the official `_from`, and `from_` for who cannot write it
            found[f"{key}_"] = found[key]
    return found | exact


FREE: Final = Shape("")
"""Anything: no field is known, every element is anything."""
FREE.element = FREE
FREE.fields = {}


class _ObjectShape(Shape):
    """A whole Kubernetes object without a model: its metadata is known all the same."""

    __slots__ = ()

    def __getattr__(self, name: str) -> object:
        if name == "fields":
            self.fields = _fields({"api_version": "str", "kind": "str", "metadata": "V1ObjectMeta"})
            return self.fields
        raise AttributeError(name)


OBJECT: Final = _ObjectShape("")
"""A custom resource, or whatever else comes without a model."""
OBJECT.element = FREE

OBJECT_LIST: Final = Shape("")
"""A list of such objects."""
OBJECT_LIST.element = OBJECT
OBJECT_LIST.fields = {}
