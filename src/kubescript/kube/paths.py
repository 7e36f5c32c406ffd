"""The paths of an API server: how to split one into its parts and build one from them.

These functions check nothing. `request.info` decides what may be sent, and refuses every path that two programs could
read differently before it splits one with these functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

__all__ = ["Key", "Location", "join", "locate", "root", "split_namespace", "split_root"]

Key = tuple[str, str, str, str]
"""Group, resource, namespace and name of an object."""

_OF_NAMESPACES: Final = frozenset({"finalize", "status"})
"""The subresources of a namespace: any other word in this position is a resource in the namespace."""


class Location(NamedTuple):
    """The target of a path: a collection, an object, or a subresource. A namespace itself has no namespace."""

    group: str
    version: str
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def key(self) -> Key:
        """The object's key."""
        return self.group, self.resource, self.namespace, self.name


def locate(path: Sequence[str]) -> Location | None:
    """Returns the target of the segments; None for paths that are not resources: health, versions, discovery."""
    found = split_root(path)
    if found is None:
        return None
    group, version, parts = found
    namespace, parts = split_namespace(parts)
    return Location(group, version, parts[0], namespace, *parts[1:3])


def split_root(path: Sequence[str]) -> tuple[str, str, Sequence[str]] | None:
    """Returns group, version and the remaining segments; None for a path without a resource."""
    if len(path) > 2 and path[0] == "api":
        return "", path[1], path[2:]
    if len(path) > 3 and path[0] == "apis":
        return path[1], path[2], path[3:]
    return None


def split_namespace(parts: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Returns the namespace, and the segments from the resource on; no namespace for the path of a namespace itself."""
    if len(parts) > 2 and parts[0] == "namespaces" and parts[2] not in _OF_NAMESPACES:
        return parts[1], parts[2:]
    return "", parts


def root(group: str, version: str) -> tuple[str, ...]:
    """Returns the first segments of all paths of a version: `apis`, `apps`, `v1`; for the core group `api`, `v1`."""
    return ("apis", group, version) if group else ("api", version)


def join(
    group: str, version: str, resource: str, namespace: str | None = None, name: str | None = None
) -> tuple[str, ...]:
    """Returns the path of one object, or without a name, of all objects in a namespace or in the cluster."""
    # An empty string stays an empty segment, which every request refuses: it must not widen the path to the whole
    # cluster.
    within = () if namespace is None else ("namespaces", namespace)
    last = (resource,) if name is None else (resource, name)
    return (*root(group, version), *within, *last)
