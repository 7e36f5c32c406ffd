"""What may pass of one object of which only the metadata is served. `metadata_bodies` cuts bodies into such objects.

A struct lists the fields that pass; all others are left out, and so are annotations that hold a copy of the object.
"""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec

from kubescript.wire import inspection
from kubescript_masking.engine import program
from kubescript_masking.text import linear

__all__ = ["Object", "ShapeError", "decode", "reduce"]

_COPIES: Final = ("last-applied", "last-handled")
"""Parts of the names of annotations in which tools keep a copy of the written object."""
_COPY_NAMES: Final = frozenset({"kapp.k14s.io/original", "objectset.rio.cattle.io/applied"})
_COPY: Final = linear.build(
    # The key `data` as JSON inside JSON, YAML or Go writes it.
    rb"""["'](?:data|stringData)["']|(?:^|[\n\r{,\["'\\-])[\s"'\\]*(?:data|stringData)[\s"'\\]*:"""
    # A compressed or encoded value (base64 of gzip, of `{"`, of `apiVersion`) cannot be judged, so it counts as a copy.
    rb"""|^\s*["']?(?:H4sI|eyJ|ewo|YXBpVmVyc2lvb)"""
)
"""Signs that the value of an annotation contains a copy of a Secret."""
_Shape = TypeVar("_Shape", bound=msgspec.Struct)


class ShapeError(program.WithheldError):
    """The body does not have the requested shape."""

    def __init__(self) -> None:
        super().__init__("shape")


class _Owner(msgspec.Struct, omit_defaults=True, rename="camel"):
    api_version: str | None = None
    kind: str | None = None
    name: str | None = None
    uid: str | None = None
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class _Metadata(msgspec.Struct, omit_defaults=True, rename="camel"):
    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[_Owner] | None = None
    finalizers: list[str] | None = None


class Object(msgspec.Struct, omit_defaults=True, rename="camel"):
    """An object, of which only these fields are read."""

    kind: str | None = None
    api_version: str | None = None
    metadata: _Metadata | None = None


def decode(raw: bytes, shape: type[_Shape]) -> _Shape:
    """Returns the fields of a shape; all others are left out. Raises ShapeError."""
    try:
        return msgspec.json.decode(raw, type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise ShapeError from None


def reduce(served: inspection.Metadata, found: Object, *, is_named: bool = True) -> Object:
    """Returns the permitted part of an object, which only a bookmark of a watch may lack a name. Raises ShapeError."""
    metadata = found.metadata
    if metadata is None or (is_named and not metadata.name):
        raise ShapeError
    if served.kind:
        found.kind = served.kind
        found.api_version = served.api_version
    annotations = metadata.annotations
    if annotations:
        # `kubectl apply` keeps a copy of the whole Secret in one of its annotations.
        kept = {key: text for key, text in annotations.items() if not _is_copy(key, text)}
        metadata.annotations = kept
    return found


def _is_copy(name: str, value: str) -> bool:
    """Says whether an annotation contains a copy of this or another object."""
    if name in _COPY_NAMES:
        return True
    if any(part in name for part in _COPIES):
        return True
    return _COPY.search(value.encode()) is not None
