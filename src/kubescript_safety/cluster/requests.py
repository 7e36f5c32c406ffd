"""What a request to an API server asks for, by its method and path, as the API server reads them."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from typing import Final, NamedTuple

from kubescript.kube import kinds
from kubescript_safety import scenario

__all__ = ["Asked", "covers", "read"]

_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch"}
_OF_NAMESPACES: Final = frozenset({"finalize", "status"})
"""Subresources of the kind Namespace; any other word there is a kind in the namespace."""


class Asked(NamedTuple):
    """One request for objects."""

    verb: str
    resource: str
    """With the group: `deployments.apps`."""
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def read(method: str, path: str, query: Mapping[str, str]) -> Asked | None:
    """Returns what is asked for; None for what is no object: health, versions, discovery."""
    parts = [part for part in path.split("/") if part]
    if parts[:1] == ["api"] and len(parts) > 2:
        group, rest = "", parts[2:]
    elif parts[:1] == ["apis"] and len(parts) > 3:
        group, rest = parts[1], parts[3:]
    else:
        return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in _OF_NAMESPACES:
        namespace, rest = rest[1], rest[2:]
    resource, name, subresource = (*rest, "", "")[:3]
    return Asked(_verb(method, name, query), kinds.full_name(group, resource), namespace, name, subresource)


def covers(target: scenario.Target, asked: Asked) -> bool:
    """Says whether a request is about objects that the target names. A list is about every object it may hold."""
    pairs = ((target.resource, asked.resource), (target.namespace, asked.namespace), (target.name, asked.name))
    return all(fnmatch.fnmatchcase(value, pattern) for pattern, value in pairs if pattern and value)


def _verb(method: str, name: str, query: Mapping[str, str]) -> str:
    if method in {"GET", "HEAD"}:
        watches = query.get("watch", "").lower() in {"1", "true"}
        return "watch" if watches else "get" if name else "list"
    if method == "DELETE":
        return "delete" if name else "deletecollection"
    return _VERBS.get(method, method.lower())
