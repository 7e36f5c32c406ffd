"""The second wall, at HTTP level: limits the requests that leave a process running openstackclient.

It stops a misclassified command, an operator's pattern that allows too much, a plugin that writes while it shows, and
an answer that sends the client, with its token, to another host: a redirect, or a link in a list of versions. It is not
a boundary against code in the process, which can open a socket itself.
"""

from __future__ import annotations

import http.client
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from kubescript.launcher.refusal import Refused

__all__ = ["Gate", "addresses"]

_Origin = tuple[str, int]
"""A host and a port."""
_READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_PORTS: Final = {"http": 80, "https": 443}


class Gate:
    """A gate that decides on each request by its method and target. It is shut until `open_for` or `open_for_login` is
    called."""

    def __init__(self, *, allow_write: bool) -> None:
        self._allow_write = allow_write
        self._origins: set[_Origin] = set()
        self._logins: set[tuple[_Origin, str]] = set()
        """The origins and paths at which a POST only asks for a token."""

    def open_for_login(self, url: str) -> None:
        """Lets requests to the identity service pass, including the POST for a token."""
        origin = _origin(url)
        if origin is None:
            return
        self._origins.add(origin)
        path = urlsplit(url).path.rstrip("/")
        # An auth_url may end before or after the version.
        for tokens in ("/auth/tokens", "/v3/auth/tokens"):
            self._logins.add((origin, path + tokens))

    def open_for(self, urls: Iterable[str]) -> None:
        """Lets requests to the hosts and ports of these addresses pass."""
        for url in urls:
            origin = _origin(url)
            if origin is not None:
                self._origins.add(origin)

    def check(self, host: str, port: int, method: str, target: str) -> None:
        """Raises Refused unless the request may leave."""
        host = _plain(host)
        origin = (host, port)
        # An answer may send the client, with its token, to another host: a redirect, or a link in a list of versions.
        if origin not in self._origins:
            raise Refused(
                f"a request to {host}:{port} was refused: it is neither the cloud's auth_url nor in its catalog. "
                "Ask the operator of this server to look at both."
            )
        path, _, _ = target.partition("?")
        is_login = method == "POST" and (origin, path) in self._logins
        if self._allow_write or method in _READS or is_login:
            return
        raise Refused(
            f"a {method} request was refused: this server only reads. Ask its operator, who can set "
            "openstack.allow_write."
        )

    def install(self) -> None:
        """Installs the gate in front of every request of this process."""
        # Every library that the client uses sends its requests through this class.
        original = http.client.HTTPConnection.putrequest

        def putrequest(
            connection: http.client.HTTPConnection, method: str, url: str, *args: Any, **options: Any
        ) -> None:
            self.check(connection.host, connection.port, method, url)
            original(connection, method, url, *args, **options)

        http.client.HTTPConnection.putrequest = putrequest  # type: ignore[method-assign,assignment]


def addresses(catalog: Iterable[Mapping[str, Any]]) -> list[str]:
    """Returns every address in a service catalog."""
    found: list[str] = []
    for service in catalog:
        for endpoint in service.get("endpoints", ()):
            found += [value for value in endpoint.values() if isinstance(value, str)]
    return found


def _origin(url: str) -> _Origin | None:
    """Returns the host and port of an address; None if it is not an HTTP address."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in _PORTS or not host:
        return None
    return _plain(host), port or _PORTS[parts.scheme]


def _plain(host: str) -> str:
    """Returns a host in the form used for comparison."""
    return host.strip("[]").rstrip(".").lower()
