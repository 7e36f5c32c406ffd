"""Which objects of the hub the sources ask for, and what they read of them: only the fields that they need."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec

from kubescript.cluster import kubeconfig

__all__ = ["MAX_BYTES", "MAX_LABELS", "Key", "Kind", "Metadata", "Object", "Secret", "read_secret", "write_kubeconfig"]

MAX_BYTES: Final = 64 * 1024
"""The size of a Secret's value, and of all else that is kept of an object; a kubeconfig with certificates has 8 KiB."""
MAX_LABELS: Final = 64
"""The number of an object's labels."""


class Key(NamedTuple):
    """Which object of a kind."""

    namespace: str
    name: str

    def __str__(self) -> str:
        """Returns namespace/name, or the name of an object without a namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True)
class Kind:
    """Which objects are watched. The server's account needs `list` and `watch` on them."""

    group: str
    resource: str
    namespace: str = ""
    """Empty: all namespaces."""
    label_selector: str = ""
    name: str = ""
    """The only name that the objects have, to which RBAC may limit the right; empty: any name."""

    def __str__(self) -> str:
        """Returns the kind in a message: `secrets in namespace fleet`."""
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"{resource} in namespace {self.namespace}" if self.namespace else resource

    def options(self) -> list[tuple[str, str]]:
        """Returns the selectors as a query."""
        options = []
        if self.label_selector:
            options.append(("labelSelector", self.label_selector))
        if self.name:
            options.append(("fieldSelector", f"metadata.name={self.name}"))
        return options


class Metadata(msgspec.Struct, frozen=True):
    """An object's metadata."""

    name: str = ""
    namespace: str = ""
    resource_version: str = msgspec.field(name="resourceVersion", default="")
    created: str = msgspec.field(name="creationTimestamp", default="")
    """By the API server's clock, which no writer sets: UTC, so that later times sort behind earlier ones."""
    labels: dict[str, str] = {}

    @property
    def key(self) -> Key:
        """Which object it is."""
        return Key(self.namespace, self.name)


class Object(msgspec.Struct, frozen=True):
    """An object of any kind."""

    metadata: Metadata


class _Secret(msgspec.Struct, frozen=True):
    metadata: Metadata
    data: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Secret:
    """A Secret's labels and one of its values."""

    labels: dict[str, str]
    key: str
    value: bytes = field(repr=False)


def read_secret(content: bytes, keys: tuple[str, ...], *, or_only: bool = False) -> Secret:
    """Returns the value of the first of the keys that the Secret has; with `or_only`, that of its only key else.

    Raises ValueError, with our own text.
    """
    secret = msgspec.json.decode(content, type=_Secret)
    if or_only and len(secret.data) == 1:
        keys = tuple(secret.data)
    key = next((key for key in keys if key in secret.data), None)
    if key is None:
        raise ValueError(f"the Secret has no key {' or '.join(keys)}")
    found = secret.data[key]
    if len(found) > MAX_BYTES * 4 // 3 + 4:
        raise ValueError(f"the Secret's value is larger than {MAX_BYTES >> 10} KiB")
    try:
        value = base64.b64decode(found, validate=True)
    except binascii.Error:
        raise ValueError("the Secret's value is not base64") from None
    return Secret(secret.metadata.labels, key, value)


def write_kubeconfig(cluster: Mapping[str, str] | msgspec.Raw, token: bytes) -> bytes:
    """Returns a kubeconfig of one cluster and the user of a token."""
    user = {"token": token.decode("ascii", "replace").strip()}
    return msgspec.json.encode(kubeconfig.make("found", cluster, user))
