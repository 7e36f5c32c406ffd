"""What preconditions and rules need to know of an object: which one it is, in what state, with which images."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from kubescript.masker import state
from kubescript.wire import masking

__all__ = ["TooManyError", "of"]

_MAX: Final = 1_000
"""Labels, and images, of one object. Nodes have some hundred labels."""
_NOT_CONTENT: Final = frozenset({"managedFields", "resourceVersion", "generation"})
"""Metadata that changes with every write, or with none that matters."""
_CONTAINERS: Final = frozenset({"containers", "initContainers", "ephemeralContainers"})


class TooManyError(ValueError):
    """There are more labels or images than any rule could be asked about."""


def of(document: dict[str, Any], *, status: bool) -> masking.Facts:
    """Returns the facts of an object; `status` says whether that is a part of its content. Raises TooManyError."""
    metadata = state.mapping(document, "metadata")
    labels = {key: value for key, value in state.mapping(metadata, "labels").items() if isinstance(value, str)}
    images = sorted(set(_images(document)))
    # Attack: a label that a rule protects stands behind more labels than are looked at.
    if len(labels) > _MAX or len(images) > _MAX:
        raise TooManyError
    replicas = state.mapping(document, "spec").get("replicas")
    return masking.Facts(
        uid=_text(metadata, "uid"),
        resource_version=_text(metadata, "resourceVersion"),
        digest=_digest(document, status=status),
        labels=labels,
        replicas=replicas if isinstance(replicas, int) and not isinstance(replicas, bool) else None,
        images=tuple(images),
        state=state.of(document),
    )


def _text(value: dict[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""


def _digest(document: dict[str, Any], *, status: bool) -> str:
    content = {key: value for key, value in document.items() if status or key != "status"}
    metadata = content.get("metadata")
    if isinstance(metadata, dict):
        content["metadata"] = {key: value for key, value in metadata.items() if key not in _NOT_CONTENT}
    return hashlib.sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()


def _images(value: Any) -> Iterator[str]:
    """Yields the images of all containers, and of volumes that hold an image, wherever their pods' templates are."""
    rest = [value]
    while rest:
        value = rest.pop()
        if isinstance(value, list):
            rest.extend(value)
        elif isinstance(value, dict):
            rest.extend(value.values())
            for key in _CONTAINERS & value.keys():
                yield from _named(value[key])
            # Attack: a volume brings the files of an image that no container names.
            reference = state.mapping(value, "image").get("reference")
            if isinstance(reference, str):
                yield reference


def _named(containers: Any) -> Iterator[str]:
    for container in containers if isinstance(containers, list) else ():
        image = container.get("image") if isinstance(container, dict) else None
        if isinstance(image, str) and image:
            yield image
