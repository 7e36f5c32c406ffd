"""Leaves out of a list or watch of Namespaces those that a caller may not see or has not selected. `inspector` calls
this module before anything is masked; the host, which has the credentials, reads no name of the answer.

Attack: an API server that gets the selector answers with more bytes when a Namespace of a guessed name or label exists.
So the selectors are applied here, to the permitted Namespaces alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec

from kubescript.inspection import metadata_bodies, served_objects
from kubescript.kube import selectors, wildcards
from kubescript.wire import inspection

__all__ = ["events", "of_list"]


_FIELDS: Final = selectors.list_indexed("", "namespaces")


class _Metadata(msgspec.Struct):
    name: str = ""
    labels: dict[str, str] | None = None


class _Status(msgspec.Struct):
    phase: str = ""


class _Namespace(msgspec.Struct):
    metadata: _Metadata
    status: _Status | None = None


_Pick = Callable[[_Namespace], bool]
"""A function that says whether a Namespace may pass."""


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


def of_list(served: inspection.Namespaces, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yields the list of the Namespaces that may pass. Raises ShapeError or TooLargeError."""
    body = metadata_bodies.read_whole(chunks)
    found = served_objects.decode(body, _List)
    # The rest of a list that the API server has cut unasked would be missing unnoticed: its token may not pass.
    if found.metadata.next:
        raise served_objects.ShapeError
    # The metadata is written anew: a count of the remaining items would tell of others.
    picks = _make_pick(served)
    kept = [item for item in found.items or () if picks(_read(item))]
    version = {"resourceVersion": found.metadata.resource_version}
    yield msgspec.json.encode({"kind": found.kind, "apiVersion": found.api_version, "metadata": version, "items": kept})


def events(served: inspection.Namespaces, lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yields the events about Namespaces that may pass, one per line. Raises ShapeError."""
    picks = _make_pick(served)
    for line in lines:
        if line.strip() and _passes(line, picks):
            yield line


def _passes(line: bytes, picks: _Pick) -> bool:
    """Says whether an event may pass: one about a Namespace that may, or one about none. Raises ShapeError."""
    event = served_objects.decode(line, _Event)
    if event.type == "ERROR":
        return True
    namespace = _read(event.object)
    is_unnamed = event.type == "BOOKMARK" and not namespace.metadata.name
    return is_unnamed or picks(namespace)


def _read(raw: msgspec.Raw) -> _Namespace:
    """Returns what decides on a Namespace. Raises ShapeError."""
    return served_objects.decode(bytes(raw), _Namespace)


def _make_pick(served: inspection.Namespaces) -> _Pick:
    """Returns the function that says which Namespaces may pass."""
    has_labels = selectors.labels(served.label_selector)
    has_fields, _ = selectors.fields(served.field_selector, _FIELDS)

    def picks(namespace: _Namespace) -> bool:
        if not wildcards.matches(namespace.metadata.name, served.patterns):
            return False
        found = msgspec.to_builtins(namespace)
        return all(check is None or check(found) for check in (has_labels, has_fields))

    return picks
