"""Shapes: what is known about a JSON value before it is decoded. Made on first use from schemas.json and shared.

A shape answers two questions for a view: which JSON key does this name mean (`fields`), and what shape do the elements
of this map or list have (`element`). It holds names only, never data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from kubescript.worker.sdk import names, operations

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

    __slots__ = ("_kind", "closed", "element", "exact", "fields", "name", "plain", "spelling")

    name: str
    """The model's name; empty for maps, lists and anything."""
    closed: bool
    """A field it does not know is an error, not data."""
    exact: bool
    """A map with keys of the user's, such as labels: an item has one spelling."""
    plain: bool
    """Read by the dynamic client: `to_dict()` keeps the JSON names."""
    fields: dict[str, Field]
    """Field by each spelling: snake_case attribute, JSON key, and `from_` for `from`."""
    element: Shape
    spelling: dict[str, str]
    """JSON key to its name in `to_dict()`."""

    def __init__(self, kind: str, *, closed: bool = False, plain: bool = False) -> None:
        self._kind = kind
        self.closed = closed
        self.plain = plain
        self.exact = kind.startswith("Dict[")
        self.name = kind if closed else ""

    def __getattr__(self, name: str) -> object:
        if name == "fields":
            self.fields = _fields(operations.models().get(self._kind, {}), plain=self.plain)
            return self.fields
        if name == "element":
            self.element = shape_of(_element(self._kind), plain=self.plain)
            return self.element
        if name == "spelling":
            own = {} if self.plain else operations.models().get(self._kind, {})
            self.spelling = {self.fields[attribute].key: attribute for attribute in own}
            return self.spelling
        raise AttributeError(name)

    @property
    def attributes(self) -> list[str]:
        """The fields in the official client's spelling."""
        return sorted(operations.models().get(self.name, ()))


_SHAPES: Final[dict[tuple[str, bool], Shape]] = {}


def shape_of(kind: str, *, plain: bool = False) -> Shape:
    """The shape of a type string such as "V1Pod", "List[V1Container]", "Dict[str, str]" or "object"."""
    known = _SHAPES.get((kind, plain))
    if known is None:
        model = kind in operations.models()
        structured = model or kind.startswith(("List[", "Dict["))
        known = _SHAPES[kind, plain] = Shape(kind, closed=model, plain=plain) if structured else FREE
    return known


def _element(kind: str) -> str:
    """The element type of a list or map type; "object" for everything else."""
    if kind.startswith("List["):
        return kind[5:-1]
    if kind.startswith("Dict["):
        return kind[5:-1].partition(", ")[2]
    return "object"


_PLURAL_ACRONYM: Final = re.compile("[A-Z]{2,}s")


def _fields(model: Mapping[str, str | tuple[str, str]], *, plain: bool) -> dict[str, Field]:
    """Each spelling of each field. The official attribute comes last and wins where two fields share a spelling."""
    found: dict[str, Field] = {}
    exact: dict[str, Field] = {}
    for attribute, entry in model.items():
        kind, key = (entry, names.camel(attribute)) if isinstance(entry, str) else entry
        absent = list if kind.startswith("List[") else dict if kind.startswith("Dict[") else None
        found[key] = Field(key, shape_of(kind, plain=plain), absent, False)
        if _PLURAL_ACRONYM.search(key):
            found.setdefault(names.codegen(key), found[key])
        exact[attribute] = found[key]._replace(time=kind == "datetime")
        if attribute.startswith(
            "_"
        ):  # `from` is a Python word: the official `_from`, and `from_` for who cannot write it
            found[f"{key}_"] = found[key]
    return found | exact


FREE: Final = Shape("", plain=True)
"""Anything: no field is known, every element is anything."""
FREE.element = FREE
FREE.fields = {}
FREE.spelling = {}


class _ObjectShape(Shape):
    """A whole Kubernetes object without a model: its metadata is known all the same."""

    __slots__ = ()

    def __getattr__(self, name: str) -> object:
        if name == "fields":
            self.fields = _fields({"api_version": "str", "kind": "str", "metadata": "V1ObjectMeta"}, plain=True)
            return self.fields
        if name == "spelling":
            self.spelling = {}
            return self.spelling
        raise AttributeError(name)


OBJECT: Final = _ObjectShape("", plain=True)
"""A custom resource, or whatever else comes without a model."""
OBJECT.element = FREE

OBJECT_LIST: Final = Shape("", plain=True)
"""A list of such objects."""
OBJECT_LIST.element = OBJECT
OBJECT_LIST.fields = {}
OBJECT_LIST.spelling = {}
