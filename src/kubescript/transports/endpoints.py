"""The paths of the MCP endpoints: /mcp, and one for each toolset with its own endpoint (`config.ROUTES`)."""

from __future__ import annotations

import urllib.parse
from typing import Final

from kubescript import config

__all__ = ["METADATA", "PAGE", "PATHS", "is_page", "metadata", "origin", "page_url", "resource"]

METADATA: Final = "/.well-known/oauth-protected-resource"
"""The path where clients learn the issuer of accepted tokens (RFC 9728)."""
PAGE: Final = "/approvals"
"""The path of the page on which callers approve plans, which has a log-in of its own."""
# Both forms are served: many clients do not follow redirects with a POST.
PATHS: Final = {path: name for name in config.ROUTES for path in (f"/{name}/", f"/{name}")}
"""Paths of the endpoints beside /mcp, with their routes."""
_DEFAULT_PORTS: Final = {"http": ":80", "https": ":443"}


def is_page(path: str) -> bool:
    """Says whether a path is the page's."""
    return path == PAGE or path.startswith(f"{PAGE}/")


def origin(url: str) -> str:
    """Returns the origin of a URL as browsers write it: in lower case, without the scheme's own port."""
    address = urllib.parse.urlsplit(url)
    place = address.netloc.lower().removesuffix(_DEFAULT_PORTS.get(address.scheme, ""))
    return f"{address.scheme}://{place}"


def page_url(url: str) -> str:
    """Returns the URL of the page; `url` is that of /mcp."""
    return url.rstrip("/").removesuffix("/mcp") + PAGE


def resource(url: str, path: str) -> str:
    """Returns the URL of the endpoint at a path; `url` is that of /mcp."""
    if path not in PATHS:
        return url
    return url.rstrip("/").removesuffix("/mcp") + path


def metadata(url: str, path: str = "") -> str:
    """Returns the URL of the metadata about the endpoint at a path."""
    address = urllib.parse.urlsplit(resource(url, path))
    own = address.path
    # Clients compare the resource in the metadata with the requested URL, so both forms of a route are resources.
    if path not in PATHS:
        own = own.rstrip("/")
    return f"{address.scheme}://{address.netloc}{METADATA}{own}"
