"""Facts about an object for preconditions and rules: its identity, state, labels and images."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import msgspec

from kubescript.kube import documents, state
from kubescript.wire import inspection

__all__ = ["TooManyError", "of"]

_MAX: Final = 1_000
"""Most labels, and most images, of one object. Nodes have about a hundred labels."""
_NOT_CONTENT: Final = frozenset({"managedFields", "resourceVersion", "generation"})
"""Metadata that changes with every write, or without any change that matters."""


class TooManyError(ValueError):
    """The object has too many labels or images for the rules."""


def of(document: dict[str, Any], *, status: bool) -> inspection.Facts:
    """Returns the facts of an object; `status` says whether the status is part of its content. Raises TooManyError."""
    metadata = documents.mapping(document, "metadata")
    labels = documents.labels(document)
    images = sorted(set(documents.images(document)))
    # Attack: a label that a rule checks comes after the last label that is read.
    if len(labels) > _MAX or len(images) > _MAX:
        raise TooManyError
    return inspection.Facts(
        uid=_text(metadata, "uid"),
        resource_version=_text(metadata, "resourceVersion"),
        digest=_digest(document, status=status),
        labels=labels,
        replicas=documents.replicas(document),
        images=tuple(images),
        state=inspection.State(*state.of(document)),
    )


def _text(value: dict[str, Any], key: str) -> str:
    """Returns a member that is text; an empty one if it is not."""
    found = value.get(key)
    return found if isinstance(found, str) else ""


def _digest(document: dict[str, Any], *, status: bool) -> str:
    """Returns the digest of an object's content, independent of the order of keys."""
    content = dict(document)
    if not status:
        content.pop("status", None)
    metadata = content.get("metadata")
    if isinstance(metadata, dict):
        content["metadata"] = {key: value for key, value in metadata.items() if key not in _NOT_CONTENT}
    data = msgspec.json.encode(content, order="deterministic")
    return hashlib.sha256(data).hexdigest()
