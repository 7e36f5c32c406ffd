"""Requests to an API server, parsed from method and path in the same way as the API server does."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from typing import Final, NamedTuple

from kubescript.kube import kinds, paths
from kubescript_safety import scenario

__all__ = ["Asked", "covers", "read"]

_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch"}


class Asked(NamedTuple):
    """A request for objects."""

    verb: str
    resource: str
    """Includes the group: `deployments.apps`."""
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def read(method: str, path: str, query: Mapping[str, str]) -> Asked | None:
    """Returns the request; None for paths without objects: health, versions, discovery."""
    parts = [part for part in path.split("/") if part]
    found = paths.locate(parts)
    if found is None:
        return None
    verb = _verb(method, found.name, query)
    resource = kinds.full_name(found.group, found.resource)
    return Asked(verb, resource, found.namespace, found.name, found.subresource)


def covers(target: scenario.Target, asked: Asked) -> bool:
    """Says whether a request is for objects that match the target. A list counts for every object that it may
    contain."""
    pairs = ((target.resource, asked.resource), (target.namespace, asked.namespace), (target.name, asked.name))
    # An empty value means all objects, and so may include those that the target names.
    return all(fnmatch.fnmatchcase(value, pattern) for pattern, value in pairs if pattern and value)


def _verb(method: str, name: str, query: Mapping[str, str]) -> str:
    """Returns the verb by which the API server authorizes the request."""
    if method in {"GET", "HEAD"}:
        # This is how the API server parses a boolean.
        if query.get("watch", "").lower() in {"1", "true"}:
            return "watch"
        return "get" if name else "list"
    if method == "DELETE":
        return "delete" if name else "deletecollection"
    return _VERBS.get(method, method.lower())
