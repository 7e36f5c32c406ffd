"""Where the MCP endpoints are: /mcp, and one for each toolset that has its own (`config.ROUTES`)."""

from __future__ import annotations

import urllib.parse
from typing import Final

from kubescript import config

__all__ = ["METADATA", "PATHS", "metadata", "resource"]

METADATA: Final = "/.well-known/oauth-protected-resource"
"""Where clients learn which issuer lets them in (RFC 9728)."""
PATHS: Final = {path: name for name in config.ROUTES for path in (f"/{name}/", f"/{name}")}
"""Paths of the endpoints beside /mcp, with their routes. Both forms are served: many clients do not follow a redirect
with a POST."""


def resource(url: str, path: str) -> str:
    """Returns the URL at which clients find the endpoint of a path; `url` is where they find /mcp."""
    if path not in PATHS:
        return url
    return url.rstrip("/").removesuffix("/mcp") + path


def metadata(url: str, path: str = "") -> str:
    """Returns the URL of the metadata about the endpoint of a path."""
    parts = urllib.parse.urlsplit(resource(url, path))
    # Clients compare the resource in the metadata with the URL they asked for: of a route, both forms are resources.
    own = parts.path if path in PATHS else parts.path.rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{METADATA}{own}"
