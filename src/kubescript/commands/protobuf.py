"""Reads the bodies that `kubectl` writes as protobuf: reviews of the caller's own rights.

Since 1.35 its typed clients prefer protobuf. `create` uses these clients too, but is refused with an explanation. All
other allowed commands send JSON, or nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

__all__ = ["CONTENT_TYPE", "UnknownMessageError", "to_json"]

CONTENT_TYPE: Final = "application/vnd.kubernetes.protobuf"
_MAGIC: Final = b"k8s\x00"
_LENGTH_DELIMITED: Final = 2
"""Protobuf's wire type of strings and messages."""
_MAX_SHIFT: Final = 28
"""The largest shift in a length, which has at most five bytes."""

# Field numbers are those of generated.proto in k8s.io/api/authorization/v1 and authentication/v1. A Python string
# stands for a string, and a pair for a message.
_Shape = Mapping[int, "str | tuple[str, _Shape]"]
_RESOURCE: Final[_Shape] = {
    1: "namespace", 2: "verb", 3: "group", 4: "version", 5: "resource", 6: "subresource", 7: "name",
}  # fmt: skip
_PATH: Final[_Shape] = {1: "path", 2: "verb"}
_SPEC: Final[_Shape] = {1: ("resourceAttributes", _RESOURCE), 2: ("nonResourceAttributes", _PATH)}
_METADATA: Final = ("metadata", cast("_Shape", {}))
_KINDS: Final[Mapping[str, _Shape]] = {
    "SelfSubjectAccessReview": {1: _METADATA, 2: ("spec", _SPEC), 3: ("status", {})},
    "SelfSubjectRulesReview": {1: _METADATA, 2: ("spec", {1: "namespace"}), 3: ("status", {})},
    "SelfSubjectReview": {1: _METADATA, 2: ("status", {})},
}
_ENVELOPE: Final = 1, 2
"""The numbers of the type and the object in runtime.Unknown."""


class UnknownMessageError(ValueError):
    """An error for a body that is not one of the three reviews, or is malformed."""


def to_json(body: bytes) -> dict[str, Any]:
    """Returns the object in a body. Raises UnknownMessageError. Takes linear time."""
    if not body.startswith(_MAGIC):
        raise UnknownMessageError("no Kubernetes object")
    # A memoryview is cut without copying, so that nested messages take linear time.
    data = memoryview(body)[len(_MAGIC) :]
    envelope = dict(_fields(data))
    about, raw = (envelope.get(number, memoryview(b"")) for number in _ENVELOPE)
    type_meta = _object(about, {1: "apiVersion", 2: "kind"})
    kind = type_meta.get("kind", "nameless object")
    shape = _KINDS.get(kind)
    if shape is None:
        raise UnknownMessageError(f"a {kind[:80]}")
    return type_meta | _object(raw, shape)


def _object(data: memoryview, shape: _Shape) -> dict[str, Any]:
    """Returns a message. Unknown fields mean nothing in a review; with an empty shape, they are ignored."""
    found: dict[str, Any] = {}
    for number, value in _fields(data):
        field = shape.get(number)
        if field is None:
            if shape:
                raise UnknownMessageError(f"a field {number}")
        elif isinstance(field, str):
            found[field] = _text(value)
        else:
            found[field[0]] = _object(value, field[1])
    return found


def _text(value: memoryview) -> str:
    try:
        return str(value, "utf-8")
    except UnicodeDecodeError:
        raise UnknownMessageError("a text that is no UTF-8") from None


def _fields(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yields the fields of a message that have a length: strings and messages. Other fields do not matter in a
    review."""
    at = 0
    while at < len(data):
        key, at = _number(data, at)
        if key & 7 == 0:
            _, at = _number(data, at)
            continue
        if key & 7 != _LENGTH_DELIMITED:
            raise UnknownMessageError("a field of another kind")
        size, at = _number(data, at)
        if size > len(data) - at:
            raise UnknownMessageError("a field that is cut off")
        yield key >> 3, data[at : at + size]
        at += size


def _number(data: memoryview, at: int) -> tuple[int, int]:
    """Returns a varint, and the position after it."""
    value = 0
    for shift in range(0, _MAX_SHIFT + 1, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, at
    raise UnknownMessageError("a number that does not end")
