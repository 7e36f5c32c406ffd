"""Where browsers find a server's page, and the cookies that they keep for it."""

from __future__ import annotations

import urllib.parse
from typing import Literal

from starlette.requests import Request
from starlette.responses import Response

from kubescript import config
from kubescript.transports import endpoints

__all__ = ["Place"]


class Place:
    """The address of a server's page, as browsers have it."""

    def __init__(self, settings: config.Settings) -> None:
        self._origin = endpoints.origin(settings.http.url) if settings.http.url else ""
        self._scheme = settings.scheme
        address = urllib.parse.urlsplit(endpoints.page_url(settings.http.url or ""))
        self.base = address.path
        """The path below which the pages are."""

    def find_origin(self, request: Request) -> str:
        """Returns the origin of the pages."""
        if self._origin:
            return self._origin
        # `transports.guard` has checked that Host is a name of this server. uvicorn does not know of our TLS.
        return f"{self._scheme}://{request.headers['host']}"

    def find_callback(self, request: Request) -> str:
        """Returns the URL to which the identity provider sends people back."""
        return f"{self.find_origin(request)}{self.base}/callback"

    def name_cookie(self, request: Request) -> str:
        """Returns the name of the session's cookie."""
        origin = urllib.parse.urlsplit(self.find_origin(request))
        # A browser sends the cookies of all servers on a host to each of them.
        port = f"-{origin.port}" if origin.port is not None else ""
        # With this prefix, no other server of the domain can set the cookie.
        prefix = "__Host-" if origin.scheme == "https" else ""
        return f"{prefix}kubescript{port}"

    def read_cookie(self, request: Request, end: str = "") -> str:
        """Returns the session's cookie, or the one whose name has this end; an empty string if there is none, or more
        than one."""
        name = self.name_cookie(request) + end
        pairs = ";".join(request.headers.getlist("cookie")).split(";")
        # Attack: a server of the domain sets a cookie whose name has U+00A0 before the prefix. A browser does not guard
        # that name, and `str.strip` would cut the character off. A browser itself adds nothing but blanks.
        named = [pair.strip(" ").partition("=") for pair in pairs]
        values = [value for key, _, value in named if key == name]
        return values[0] if len(values) == 1 else ""

    def set_cookie(
        self,
        request: Request,
        answer: Response,
        end: str,
        value: str,
        same_site: Literal["lax", "strict"],
        seconds: int,
    ) -> None:
        """Sets the session's cookie, or the one whose name has this end; with 0 seconds, removes it."""
        name = self.name_cookie(request)
        is_secure = name.startswith("__Host-")
        answer.set_cookie(
            name + end,
            value,
            max_age=seconds,
            path="/" if is_secure else self.base,
            secure=is_secure,
            httponly=True,
            samesite=same_site,
        )
