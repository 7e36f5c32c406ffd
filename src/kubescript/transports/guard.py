"""Refuses requests of web pages. `serving` puts it before every path.

A page of any site can send requests to loopback addresses, and by DNS rebinding under a name of its own. Its browser
then writes that name into Host, and the page's into Origin. The MCP SDK's check covers /mcp alone, takes any text that
begins like an allowed one (`127.0.0.1:x@evil.example`), and reads the first of two headers.
"""

from __future__ import annotations

import re
from typing import Final

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["Guard"]

_HOST: Final = re.compile(rb"(?:127\.0\.0\.1|localhost|\[::1\])(?::[0-9]{1,5})?", re.IGNORECASE)
_ORIGIN: Final = re.compile(b"http://" + _HOST.pattern, re.IGNORECASE)
_wrong_host: Final = PlainTextResponse("Invalid Host header: the server answers to loopback addresses only", 421)
_wrong_origin: Final = PlainTextResponse(
    "Invalid Origin header: the server answers to no web page of another site", 403
)


class Guard:
    """An application that passes on requests which name a loopback address as their Host, and as their Origin if they
    have one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] == "http":
            hosts = [value for name, value in scope["headers"] if name == b"host"]
            origins = [value for name, value in scope["headers"] if name == b"origin"]
            if len(hosts) != 1 or not _HOST.fullmatch(hosts[0]):
                await _wrong_host(scope, receive, send)
                return
            if not all(map(_ORIGIN.fullmatch, origins)):
                await _wrong_origin(scope, receive, send)
                return
        await self._app(scope, receive, send)
