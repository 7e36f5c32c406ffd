"""Leaves out of a list or watch of Namespaces those that a caller may not see. `inspector` calls this module before
anything is masked; the host, which has the credentials, reads no name of the answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from kubescript.inspection import metadata_bodies, served_objects
from kubescript.kube import namespace_patterns

__all__ = ["events", "of_list"]


class _Name(msgspec.Struct):
    name: str = ""


class _Named(msgspec.Struct):
    metadata: _Name


class _Head(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    next: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct, rename="camel"):
    kind: str
    api_version: str
    items: list[msgspec.Raw] | None
    metadata: _Head


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


def of_list(patterns: Sequence[str], chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yields the list of the permitted Namespaces. Raises ShapeError or TooLargeError."""
    body = metadata_bodies.read_whole(chunks)
    found = served_objects.decode(body, _List)
    # The rest of a list that the API server has cut unasked would be missing unnoticed: its token may not pass.
    if found.metadata.next:
        raise served_objects.ShapeError
    # The metadata is written anew: a count of the remaining items would tell of others.
    kept = [item for item in found.items or () if _is_permitted(item, patterns)]
    version = {"resourceVersion": found.metadata.resource_version}
    yield msgspec.json.encode({"kind": found.kind, "apiVersion": found.api_version, "metadata": version, "items": kept})


def events(patterns: Sequence[str], lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yields the events about permitted Namespaces, one per line. Raises ShapeError."""
    for line in lines:
        if line.strip() and _passes(line, patterns):
            yield line


def _passes(line: bytes, patterns: Sequence[str]) -> bool:
    """Says whether an event may pass: one about a permitted Namespace, or one about none. Raises ShapeError."""
    event = served_objects.decode(line, _Event)
    if event.type == "ERROR":
        return True
    named = served_objects.decode(bytes(event.object), _Named)
    if event.type == "BOOKMARK" and not named.metadata.name:
        return True
    return namespace_patterns.is_permitted(named.metadata.name, patterns)


def _is_permitted(item: msgspec.Raw, patterns: Sequence[str]) -> bool:
    """Says whether a Namespace may be seen. Raises ShapeError."""
    named = served_objects.decode(bytes(item), _Named)
    return namespace_patterns.is_permitted(named.metadata.name, patterns)
