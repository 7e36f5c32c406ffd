"""An API server's answers to a list and to a watch: only the fields that are needed, and the rest unread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeVar

import msgspec

from kubescript import errors
from kubescript.fleet import nesting

__all__ = ["Event", "Group", "Page", "Status", "decode", "split_lines"]

_MAX_EVENT_BYTES: Final = 4 * 1024 * 1024
"""Of one event, which has one object: etcd takes 1.5 MiB."""
_T = TypeVar("_T")


class _ListMeta(msgspec.Struct):
    resource_version: str = msgspec.field(name="resourceVersion")
    token: str = msgspec.field(name="continue", default="")


class Page(msgspec.Struct):
    """A page of a list."""

    metadata: _ListMeta
    items: list[msgspec.Raw] = []


class Event(msgspec.Struct):
    """An event of a watch."""

    type: str
    object: msgspec.Raw


class Status(msgspec.Struct):
    """The object of the event ERROR."""

    code: int = 0


class _GroupVersion(msgspec.Struct):
    version: str


class Group(msgspec.Struct):
    """An API group, with the version that the server prefers."""

    preferred: _GroupVersion = msgspec.field(name="preferredVersion")


def split_lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yields the lines of a watch. Raises ClusterError for one that is too long."""
    rest = bytearray()
    for chunk in chunks:
        first, *others = chunk.split(b"\n")
        rest += first
        for other in others:
            yield bytes(rest)
            rest = bytearray(other)
        if len(rest) > _MAX_EVENT_BYTES:
            raise errors.ClusterError("an event of the hub is implausibly large", code="cluster.too_large")


def decode(content: bytes, kind: type[_T]) -> _T:
    """Returns the JSON as a value of this type. Raises ClusterError, which quotes nothing of it."""
    try:
        return nesting.read(content, msgspec.json.Decoder(kind).decode)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise errors.ClusterError("the hub's answer is not an API server's", code="cluster.broken") from None
