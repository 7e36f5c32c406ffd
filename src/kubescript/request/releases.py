"""Helm releases: kubescript's own resource, so that no script reads the objects in which Helm stores them.

Helm stores each revision of a release in a Secret, or in a ConfigMap if its operator says so. A script asks for

    /apis/helm.sh/secrets/namespaces/shop/releases                                  the list of revisions
    /apis/helm.sh/secrets/namespaces/shop/releases/sh.helm.release.v1.web.v3        one revision

A call that accepts metadata gets a revision without values, notes, hooks and objects. The version segment names the
resource that stores them. `resolve` returns the request that is sent: for the metadata of the Secrets, or for one
Secret, from which `inspection.release_contents` writes the parts that a script may see.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final, Literal

from kubescript import errors
from kubescript.request import request

__all__ = ["holder", "resolve"]

_PLURAL: Final = "releases"
_METADATA_RULE: Final = "helm.sh/Release"
"""Marks the request that is sent: only the masking process's rewritten answer may pass."""
_HOLDERS: Final = frozenset({"secrets", "configmaps"})
_NAME: Final = re.compile(r"sh\.helm\.release\.v1\.[a-z0-9](?:[-a-z0-9.]{0,51}[a-z0-9])?\.v[1-9][0-9]{0,8}")
"""Helm's name for a revision. A release's name has at most 53 characters."""
_OWNED: Final = "owner=helm"
_KEYS: Final = frozenset({"labelSelector", "limit", "continue"})
_LIST: Final = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


def holder(call: request.Request) -> request.Request:
    """Returns the call with the resource that holds the releases, to apply that resource's rules."""
    return replace(call, group="", version="v1", resource=call.version)


def resolve(call: request.Request) -> request.Request:
    """Returns the request that is sent. Raises RequestError for anything but a list or one revision."""
    names_releases = call.resource == _PLURAL and not call.subresource
    if not names_releases or call.version not in _HOLDERS:
        raise _refusal("a release is read at apis/helm.sh/secrets (or configmaps)/namespaces/NAMESPACE/releases")
    if call.method != "GET" or call.verb not in {"get", "list"}:
        raise _refusal(f"releases can only be listed and read, so {call.verb} is refused; return the helm command")
    held = replace(holder(call), metadata_rule=_METADATA_RULE)
    if call.verb == "list":
        return _request_list(held)
    return _request_one(held)


def _request_list(call: request.Request) -> request.Request:
    """Returns the request for the metadata of all revisions."""
    options = dict(call.query)
    unknown = min(options.keys() - _KEYS, default="")
    if unknown:
        known = ", ".join(sorted(_KEYS))
        raise _refusal(f"releases are listed with {known}; leave out {unknown}")
    # The terms of a selector are ANDed, so the script's own selector cannot reach beyond Helm's objects.
    own = options.get("labelSelector")
    options["labelSelector"] = f"{_OWNED},{own}" if own else _OWNED
    query = tuple(options.items())
    return replace(call, path=_path(call), query=query, accept=_LIST)


def _request_one(call: request.Request) -> request.Request:
    """Returns the request for one revision."""
    # Attack: under another name, the request would be for any Secret of the namespace.
    if not call.namespace or not _NAME.fullmatch(call.name):
        raise _refusal("a revision is named sh.helm.release.v1.NAME.vNUMBER, in the namespace of its release")
    extent: Literal["brief", "whole"] = "whole"
    if "PartialObjectMetadata" in call.accept:
        extent = "brief"
    path = f"{_path(call)}/{call.name}"
    return replace(call, path=path, query=(), accept="application/json", release=extent)


def _path(call: request.Request) -> str:
    """Returns the path of the resource that holds the releases."""
    root = "/api/v1"
    if call.namespace:
        root += f"/namespaces/{call.namespace}"
    return f"{root}/{call.resource}"


def _refusal(message: str) -> errors.RequestError:
    return errors.RequestError(message, code="request.release")
