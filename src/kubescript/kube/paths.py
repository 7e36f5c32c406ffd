"""The paths of an API server: what one leads to, and how it is made of its parts.

Nothing here checks a path. What may be sent at all is decided by `request.info`, which refuses every path that two
programs can read in two ways before it takes one apart with these functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

__all__ = ["Key", "Location", "join", "locate", "root", "split_namespace", "split_root"]

Key = tuple[str, str, str, str]
"""Group, resource, namespace and name of an object."""

_OF_NAMESPACES: Final = frozenset({"finalize", "status"})
"""The subresources of a namespace: any other word in their place is a resource in the namespace."""


class Location(NamedTuple):
    """What a path leads to: a collection, an object, or a subresource. A namespace is in no namespace."""

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
    """Returns what the segments lead to; None for what is no resource: health, versions, discovery."""
    found = split_root(path)
    if found is None:
        return None
    group, version, parts = found
    namespace, parts = split_namespace(parts)
    return Location(group, version, parts[0], namespace, *parts[1:3])


def split_root(path: Sequence[str]) -> tuple[str, str, Sequence[str]] | None:
    """Returns group, version and the segments behind them; None for a path without a resource."""
    if len(path) > 2 and path[0] == "api":
        return "", path[1], path[2:]
    if len(path) > 3 and path[0] == "apis":
        return path[1], path[2], path[3:]
    return None


def split_namespace(parts: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Returns the namespace, and the segments from the resource on; no namespace for a path of a namespace itself."""
    if len(parts) > 2 and parts[0] == "namespaces" and parts[2] not in _OF_NAMESPACES:
        return parts[1], parts[2:]
    return "", parts


def root(group: str, version: str) -> tuple[str, ...]:
    """Returns the first segments of all paths of a version: `apis`, `apps`, `v1`; of the core group `api`, `v1`."""
    return ("apis", group, version) if group else ("api", version)


def join(
    group: str, version: str, resource: str, namespace: str | None = None, name: str | None = None
) -> tuple[str, ...]:
    """Returns the path of one object, or without a name of all in a namespace or in the cluster."""
    # An empty text stays an empty segment, which no request may have: it must not widen the path to the whole cluster.
    within = () if namespace is None else ("namespaces", namespace)
    last = (resource,) if name is None else (resource, name)
    return (*root(group, version), *within, *last)
