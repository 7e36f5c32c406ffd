"""Refuses requests from web pages. `serving` puts it in front of every path.

A page of any site can send requests to this machine's addresses, and by DNS rebinding under its own name. Its browser
then writes that name into Host, and the page's into Origin. The MCP SDK's check covers only /mcp, accepts any string
that begins like an allowed one (`127.0.0.1:x@evil.example`), and reads only the first of two headers.
"""

from __future__ import annotations

import logging
import re
import time
import urllib.parse
from collections.abc import Iterable
from typing import Final

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from kubescript import config
from kubescript.transports import endpoints

__all__ = ["Guard"]

log = logging.getLogger(__name__)

_LOG_S: Final = 60.0
"""Seconds between two log lines about a wrong Host, since anybody may send such requests without end."""
_MAX_HOST: Final = 253
"""How many characters of a wrong Host the log shows: those of the longest DNS name."""

_LOOPBACK: Final = r"127\.0\.0\.1|localhost|\[::1\]"
_PORT: Final = "(?::[0-9]{1,5})?"
_ADDRESS: Final = re.compile(rb"(?:[0-9.]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?", re.IGNORECASE)
_LOOPBACK_ONLY: Final = config.Http()
_wrong_host: Final = PlainTextResponse(
    "Invalid Host header: the server does not answer to that name; its operator can add it to http.url or http.hosts",
    421,
)
_wrong_origin: Final = PlainTextResponse(
    "Invalid Origin header: the server answers to no web page of another site", 403
)


class Guard:
    """An application that passes on requests whose Host is one of this server's, and whose Origins, if any, are too.
    Probes may request the paths in `anywhere` by any IP address: a page that rebinds uses a name."""

    def __init__(
        self,
        app: ASGIApp,
        settings: config.Http = _LOOPBACK_ONLY,
        anywhere: frozenset[str] = frozenset(),
        scheme: str = "http",
    ) -> None:
        """`scheme` is the one by which this machine reaches the server."""
        self._app = app
        self._logged = -_LOG_S
        self._anywhere = anywhere
        hosts = list(settings.hosts)
        origins = list(settings.origins)
        if settings.url:
            origin = endpoints.origin(settings.url)
            hosts.append(urllib.parse.urlsplit(origin).netloc)
            origins.append(origin)
        self._host = _pattern(_LOOPBACK, hosts, _PORT)
        self._origin = _pattern(f"(?:http|{scheme})://(?:{_LOOPBACK}){_PORT}", origins, "")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        app = self._app
        if scope["type"] == "http":
            headers = scope["headers"]
            hosts = [value for name, value in headers if name == b"host"]
            origins = [value for name, value in headers if name == b"origin"]
            # Two Host headers are refused: two readers might each choose a different one.
            if len(hosts) != 1 or not self._is_own(hosts[0], scope["path"]):
                self._log_wrong_host(hosts)
                app = _wrong_host
            elif not all(map(self._origin.fullmatch, origins)):
                app = _wrong_origin
        await app(scope, receive, send)

    def _log_wrong_host(self, hosts: list[bytes]) -> None:
        """Logs a refused request, at most once a minute."""
        now = time.monotonic()
        if now - self._logged < _LOG_S:
            return
        self._logged = now
        named = b", ".join(hosts)[:_MAX_HOST].decode("latin-1")
        log.warning(
            "a request for the host %r is refused: add it to http.url or http.hosts if clients should use it",
            named,
            extra={"event": "http.wrong_host", "status": 421},
        )

    def _is_own(self, host: bytes, path: str) -> bool:
        """Says whether a request may name this host."""
        if self._host.fullmatch(host):
            return True
        # Attack: a page sends a request to an address of its own, by DNS rebinding. Its browser then writes the page's
        # name into Host, never an IP address.
        return path in self._anywhere and _ADDRESS.fullmatch(host) is not None


def _pattern(loopback: str, names: Iterable[str], port: str) -> re.Pattern[bytes]:
    """Returns a pattern that matches loopback addresses and the names, with the given port pattern."""
    escaped = [re.escape(name) for name in names]
    hosts = "|".join([loopback, *escaped])
    pattern = f"(?:{hosts}){port}"
    return re.compile(pattern.encode(), re.IGNORECASE)
