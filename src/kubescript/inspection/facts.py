"""What preconditions and rules need to know of an object: which one it is, in what state, with which images."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import msgspec

from kubescript.kube import documents, state
from kubescript.wire import inspection

__all__ = ["TooManyError", "of"]

_MAX: Final = 1_000
"""Labels, and images, of one object. Nodes have some hundred labels."""
_NOT_CONTENT: Final = frozenset({"managedFields", "resourceVersion", "generation"})
"""Metadata that changes with every write, or with none that matters."""


class TooManyError(ValueError):
    """There are more labels or images than any rule could be asked about."""


def of(document: dict[str, Any], *, status: bool) -> inspection.Facts:
    """Returns the facts of an object; `status` says whether that is a part of its content. Raises TooManyError."""
    metadata = documents.mapping(document, "metadata")
    labels = documents.labels(document)
    images = sorted(set(documents.images(document)))
    # Attack: a label that a rule protects stands behind more labels than are looked at.
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
    """Returns a member that is a text; an empty one where it is none."""
    found = value.get(key)
    return found if isinstance(found, str) else ""


def _digest(document: dict[str, Any], *, status: bool) -> str:
    """Returns the digest of an object's content, the same for the same content in any order."""
    content = dict(document)
    if not status:
        content.pop("status", None)
    metadata = content.get("metadata")
    if isinstance(metadata, dict):
        content["metadata"] = {key: value for key, value in metadata.items() if key not in _NOT_CONTENT}
    data = msgspec.json.encode(content, order="deterministic")
    return hashlib.sha256(data).hexdigest()
