"""What may pass of one object of which only a part is served. `metadata_bodies` cuts bodies into such objects.

A struct lists the fields that pass; all others are left out, and so are annotations that hold a copy of the object. Of
a Secret whose keys are served, one mask stands in place of every value.
"""

from __future__ import annotations

import string
from typing import Any, Final, TypeVar

import msgspec

from kubescript.wire import inspection
from kubescript_masking.engine import program
from kubescript_masking.text import linear
from kubescript_masking.wire import lists, masking

__all__ = ["Object", "ShapeError", "decode", "make_cutter", "read", "reduce"]

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
# Attack: masks that differ, or tell a size, let a script compare values, or confirm a guess of one.
_MASK: Final = msgspec.Raw(f'"{masking.OPENING.decode()}{inspection.NOT_SERVED}:00000000»"'.encode())
"""Stands for every value of a Secret, whatever it is."""
_KEY_SIGNS: Final = frozenset(string.ascii_letters + string.digits + "-._")
_MAX_KEY: Final = 253
"""The maximum length of a key, and the signs that it may have; no API server stores another one."""
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


class _Secret(Object, omit_defaults=True, rename="camel"):
    type: str | None = None
    immutable: bool | None = None
    data: dict[str, Any] | None = None
    string_data: dict[str, Any] | None = None


_OF_OBJECTS: Final = (msgspec.json.Decoder(Object), msgspec.json.Decoder(list[Object] | None))
_OF_SECRETS: Final = (msgspec.json.Decoder(_Secret), msgspec.json.Decoder(list[_Secret] | None))


def read(served: inspection.Metadata, body: bytes) -> Object:
    """Returns an object with the fields that may pass. Raises ShapeError."""
    return decode(body, _Secret if served.keys else Object)


def make_cutter(served: inspection.Metadata) -> lists.Cutter[Object]:
    """Returns what cuts a list into objects with the fields that may pass."""
    one, many = _OF_SECRETS if served.keys else _OF_OBJECTS
    return lists.Cutter(one.decode, many.decode)


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
    if isinstance(found, _Secret):
        _hide_values(found)
    return found


def _hide_values(secret: _Secret) -> None:
    """Replaces a Secret's values with masks. Raises ShapeError for a key that no Secret can have."""
    # A manifest in a snapshot may have values in `stringData`, which an API server would have moved to `data`.
    names = [*(secret.data or ()), *(secret.string_data or ())]
    if not all(map(_is_key, names)):
        raise ShapeError
    secret.data = dict.fromkeys(names, _MASK)
    if not names:
        secret.data = None
    secret.string_data = None


def _is_key(name: str) -> bool:
    """Says whether an API server accepts this name of a key."""
    return 0 < len(name) <= _MAX_KEY and _KEY_SIGNS.issuperset(name)


def _is_copy(name: str, value: str) -> bool:
    """Says whether an annotation contains a copy of this or another object."""
    if name in _COPY_NAMES:
        return True
    if any(part in name for part in _COPIES):
        return True
    return _COPY.search(value.encode()) is not None
