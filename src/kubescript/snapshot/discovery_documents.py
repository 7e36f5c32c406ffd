"""Discovery documents of a snapshot: saved ones, or ones made from the captured objects. Called by `snapshot`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from kubescript import types
from kubescript.request import request
from kubescript.snapshot import collection, responses, saved_cluster

__all__ = ["answer", "resource_list"]

_VERBS: Final = ["get", "list", "watch"]


def answer(saved: saved_cluster.SavedCluster, call: request.Request) -> types.Response | None:
    """Returns the document at a non-resource path; None when a snapshot has none."""
    parts = call.path.strip("/").split("/")
    if parts[:2] == ["openapi", "v3"]:  # none is captured; a server without it answers in the same way
        return responses.failure(404, "NotFound", "a snapshot holds no OpenAPI documents")
    document = None
    if len(parts) <= 3:
        name = _document_name(parts)
        document = saved.discovery(*name)
    if document is not None:
        return responses.document(msgspec.Raw(document))
    resources = [entry.resource for entry in saved.collections.values()]
    if parts == ["api"]:
        return responses.document({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})
    if parts == ["version"]:
        return _version(saved)
    if parts[0] == "apis":
        return _groups(resources, parts[1:])
    return resource_list(resources, "", "v1") if parts == ["api", "v1"] else None


def resource_list(resources: Iterable[collection.Resource], group: str, version: str) -> types.Response:
    """Returns the APIResourceList of one group and version."""
    matching = [one for one in resources if (one.group, one.version) == (group, version)]
    if not matching:
        return responses.failure(404, "NotFound", "the server could not find the requested resource")
    entries = [
        {
            "name": one.plural,
            "singularName": one.kind.lower(),
            "namespaced": one.namespaced,
            "kind": one.kind,
            "verbs": _VERBS,
        }
        for one in matching
    ]
    return responses.document(
        {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": matching[0].api_version, "resources": entries}
    )


def _document_name(parts: list[str]) -> tuple[str, ...]:
    """Returns the name under which the capture saves a path's document."""
    if parts == ["api", "v1"]:
        return "core", "v1"
    if parts[0] == "apis" and len(parts) == 3:
        return tuple(parts[1:])
    return ("-".join(parts),)


def _version(saved: saved_cluster.SavedCluster) -> types.Response | None:
    """Returns the saved version; None when it was not captured."""
    # The version is never guessed.
    if saved.info is None or not bytes(saved.info.server).startswith(b"{"):
        return None
    return responses.document(saved.info.server)


def _groups(resources: list[collection.Resource], rest: list[str]) -> types.Response:
    """Returns the document at /apis, /apis/GROUP or /apis/GROUP/VERSION."""
    if len(rest) == 2:
        return resource_list(resources, rest[0], rest[1])
    versions: dict[str, set[str]] = {}
    for resource in resources:
        is_wanted = not rest or resource.group == rest[0]
        if resource.group and is_wanted:
            known = versions.setdefault(resource.group, set())
            known.add(resource.version)
    groups = [_group(name, sorted(versions[name])) for name in sorted(versions)]
    if not rest:
        # `partial` tells our own resolver that a group may have more kinds than were captured.
        listed = {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups, "partial": True}
        return responses.document(listed)
    if not groups:
        return responses.failure(404, "NotFound", "the server could not find the requested resource")
    return responses.document({"kind": "APIGroup", "apiVersion": "v1", **groups[0]})


def _group(name: str, versions: list[str]) -> dict[str, Any]:
    """Returns a group with these versions, of which the first is preferred."""
    offered = []
    for version in versions:
        entry = {"groupVersion": f"{name}/{version}", "version": version}
        offered.append(entry)
    return {"name": name, "versions": offered, "preferredVersion": offered[0]}
