"""An API call as data: what the broker parses, the policy decides on and the cluster performs."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Request"]


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request to an API server, with the fields kube-apiserver itself would read from it (RequestInfo)."""

    method: str
    path: str
    """Absolute and quoted, exactly as it is sent; no query."""
    query: tuple[tuple[str, str], ...]
    verb: str
    """get, list, watch, create, update, patch, delete, deletecollection; lower-case HTTP method when not a resource."""
    is_resource: bool
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    body: bytes | None = None
    content_type: str = "application/json"
    accept: str = "application/json"
