"""Makes the connections to sources from settings: to a URL of their own, or to a Service through the API server."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kubescript import config, errors
from kubescript.cluster import acting, base, live, service_proxy, web
from kubescript.sources import door, source
from kubescript_sandbox.host import cancellation

__all__ = ["connect", "open_door"]

_MAX_SECRET: Final = 64 * 1024
"""How many bytes a file with a token may have."""


def open_door(
    settings: config.Settings,
    hooks: source.Hooks,
    cluster: base.Cluster,
    own_cluster: base.Cluster,
    bearer: acting.Bearer | None,
    patience_s: float | None,
) -> door.Door | None:
    """Returns the sources of one cluster; None if there are none. `cluster` is called for the caller, `own_cluster`
    is the same for the server itself, and `bearer` passes the caller's token on; None: no caller has one. `patience_s`
    bounds the wait for an answer to begin."""
    if not isinstance(cluster, live.Live) or not isinstance(own_cluster, live.Live):
        return None
    opened: dict[str, source.Source] = {}
    connections: list[live.Live | web.Web] = [own_cluster]
    for name, own in settings.sources.items():
        server = connect(name, own, cluster, own_cluster, bearer, patience_s)
        opened[name] = source.Source(name, own, server, settings.namespaces)
        if isinstance(server, web.Web):
            connections.append(server)
    return door.Door(opened, hooks, connections)


def connect(
    name: str,
    own: config.Source,
    cluster: live.Live,
    own_cluster: live.Live,
    bearer: acting.Bearer | None,
    patience_s: float | None = None,
) -> base.Server:
    """Returns the connection to one source; for the arguments see `open_door`."""
    if own.service is not None:
        namespace, _, service = own.service.partition("/")
        asks = own_cluster if own.auth == "server" else cluster
        return service_proxy.ServiceProxy(asks, namespace, service)
    assert own.url is not None  # the settings have one of both
    trust = web.Trust(own.ca_file, own.cert_file, own.key_file)
    return web.Web(name, own.url, trust, _Headers(name, own, cluster, own_cluster, bearer), patience_s)


@dataclass(frozen=True, slots=True)
class _Headers:
    """The operator's headers of each request to one source; for the fields see `connect`."""

    name: str
    own: config.Source
    cluster: live.Live
    own_cluster: live.Live
    bearer: acting.Bearer | None

    def __call__(self, deadline: float, cancel: cancellation.Cancellation) -> list[tuple[str, str]]:
        headers = []
        if self.own.tenant is not None:
            headers.append(("X-Scope-OrgID", self.own.tenant))
        authorization = self._authorize(deadline, cancel)
        if authorization:
            headers.append(("Authorization", authorization))
        return headers

    def _authorize(self, deadline: float, cancel: cancellation.Cancellation) -> str:
        """Returns the Authorization header; empty for none. Raises ClusterError."""
        own = self.own
        if own.token_file is not None:
            return f"Bearer {self._read_secret(own.token_file)}"
        if own.basic_auth_file is not None:
            return f"Basic {base64.b64encode(self._read_secret(own.basic_auth_file).encode()).decode()}"
        if own.auth == "caller":
            return self._pass_on(deadline, cancel)
        if own.auth == "server":
            return self._own_token(deadline, cancel)
        return ""

    def _own_token(self, deadline: float, cancel: cancellation.Cancellation) -> str:
        _, authorization = self.own_cluster.identify(deadline, cancel)
        if not authorization:
            raise errors.ClusterError(
                f"the server has no token for this cluster that it could send to {self.name}, the source",
                code="cluster.auth",
                remedy=f'use token_file, or cert_file and auth = "none", in [sources.{self.name}]',
            )
        return authorization

    def _pass_on(self, deadline: float, cancel: cancellation.Cancellation) -> str:
        if self.bearer is None:
            raise errors.ClusterError(
                f"{self.name}, the source, takes callers' tokens, and you have none",
                code="cluster.auth",
                remedy=f'serve over http with [auth], or change auth = "caller" in [sources.{self.name}]',
            )
        # Attack: a token that another cluster has reviewed is sent to this cluster's source.
        address, _ = self.cluster.identify(deadline, cancel)
        bearer = self.bearer.at("", self.own.audience or "")
        return dict(bearer.headers(address, deadline, cancel))["Authorization"]

    def _read_secret(self, file: Path) -> str:
        """Returns the only line of a file. Raises ClusterError, which quotes nothing of it."""
        try:
            with file.open("rb") as opened:
                text = opened.read(_MAX_SECRET).decode("ascii").strip()
        except (OSError, UnicodeDecodeError):
            text = ""
        if not text or not text.isprintable():
            raise errors.ClusterError(
                f"the credentials for {self.name}, the source, cannot be read",
                code="cluster.auth",
                remedy=f"put one line of ASCII into {file}",
            )
        return text
