"""Facts about an object for preconditions and rules: its identity, state, labels and images."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import msgspec

from kubescript.inspection import node_parts, pods
from kubescript.kube import documents, state
from kubescript.wire import inspection

__all__ = ["TooManyError", "of"]

# Nodes have about a hundred labels.
_MAX: Final = 1_000
"""The maximum number of labels, of images, and of taints, of one object."""
# These fields change with every write, or without any change that matters.
_NOT_CONTENT: Final = frozenset({"managedFields", "resourceVersion", "generation"})
"""Metadata that does not count as the object's content."""

_POLICIES: Final = {"foregroundDeletion": False, "orphan": True}
"""Maps the garbage collector's finalizers to whether the dependents are spared."""


TooManyError = pods.TooManyError


def of(document: dict[str, Any], *, status: bool, manager: str) -> inspection.Facts:
    """Returns the facts of an object; `status` says whether the status is part of its content, and `manager` is the
    request's field manager. Raises TooManyError."""
    metadata = documents.mapping(document, "metadata")
    labels = documents.labels(document)
    images = sorted(set(documents.images(document)))
    taints = node_parts.list_taints(document)
    # Attack: a label that a rule checks comes after the last label that is read.
    if max(len(labels), len(images), len(taints)) > _MAX:
        raise TooManyError
    return inspection.Facts(
        uid=documents.text(metadata, "uid"),
        resource_version=documents.text(metadata, "resourceVersion"),
        digest=_digest(document, status=status),
        labels=labels,
        replicas=documents.replicas(document),
        images=tuple(images),
        state=inspection.State(*state.of(document)),
        pods=pods.of(document),
        is_managed=_is_managed(metadata, manager),
        orphans=_orphans(metadata),
        taints=taints,
    )


def _orphans(metadata: dict[str, Any]) -> bool | None:
    """Returns what the finalizers say about the dependents; like the API server, by the first that says something."""
    finalizers = metadata.get("finalizers")
    if not isinstance(finalizers, list):
        return None
    for each in finalizers:
        if isinstance(each, str) and each in _POLICIES:
            return _POLICIES[each]
    return None


def _is_managed(metadata: dict[str, Any], manager: str) -> bool | None:
    """Says whether a field manager has written fields of the object; None if nobody has."""
    entries = metadata.get("managedFields")
    if not isinstance(entries, list) or not entries:
        return None
    return any(isinstance(entry, dict) and entry.get("manager") == manager for entry in entries)


def _digest(document: dict[str, Any], *, status: bool) -> str:
    """Returns the digest of an object's content, independent of the order of keys."""
    content = dict(document)
    if not status:
        content.pop("status", None)
    metadata = content.get("metadata")
    if isinstance(metadata, dict):
        # This is a copy, since the document's own metadata is still to be compared.
        kept = dict(metadata)
        for key in _NOT_CONTENT:
            kept.pop(key, None)
        content["metadata"] = kept
    data = msgspec.json.encode(content, order="deterministic")
    return hashlib.sha256(data).hexdigest()
