"""How clients reach the server over HTTP and TLS, and how much one caller may ask of it."""

from __future__ import annotations

from typing import Annotated, Final

import pydantic
from pydantic import Field

from kubescript.config import section

__all__ = ["LOOPBACK", "Http", "Tls"]


LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
"""Hosts that only this machine reaches."""


class Http(section.Section):
    """The http transport, and the limits of each caller. Slow requests need no setting: each has 15 seconds."""

    url: Annotated[str | None, Field(pattern=r"^https?://[^/?#\s]+(/[^?#\s]*)?$")] = None
    """The URL where clients find the server: `https://kubescript.example.com/mcp`. It is the OAuth resource (RFC
    9728) and the audience that tokens must name; requests may name its host. Default: the address that the server
    listens on.
    """
    hosts: tuple[str, ...] = ()
    """Other hosts that requests may name: `kubescript.tools.svc`, `10.0.0.7`. Loopback addresses are always allowed."""
    origins: tuple[str, ...] = ()
    """Origins of web pages that may send requests: `https://inspector.example.com`. Those of the url and of loopback
    addresses are always allowed."""
    stateless: bool = False
    """Whether to keep no sessions, so that any replica answers any request. Questions to people then need clients that
    support MCP 2026-07-28.
    """
    open_metrics: bool = False
    """Whether to serve /metrics without authentication."""
    metrics_port: Annotated[int | None, Field(ge=0, le=65_535)] = None
    """A second port, which serves /metrics, /health and /ready without authentication and TLS. Default: none."""
    metrics_host: str | None = None
    """The address of the second port. Default: the server's `host`."""
    max_sessions: Annotated[int, Field(ge=1, le=10_000)] = 512
    """Sessions that one caller may have at one endpoint at the same time, at all replicas together. The next one gets
    503 until one ends or expires."""
    session_idle_s: Annotated[int, Field(ge=1, le=86_400)] = 1_800
    """Seconds without a request or an open stream after which a session ends. Its client then gets 404 and starts
    another.
    """
    requests_per_minute: Annotated[int, Field(ge=1, le=1_000_000)] = 1_200
    """Requests that one caller may send per minute to all replicas together. The next one gets 429."""


class Tls(section.Section):
    """TLS of the http transport. The files are read again when they change."""

    cert_file: section.UserPath | None = None
    """Certificates in PEM: the server's, then the intermediate ones up to the CA."""
    key_file: section.UserPath | None = None
    """The server's key in PEM."""
    client_ca_file: section.UserPath | None = None
    """CAs of callers, in PEM. A certificate signed by one of them authenticates its caller: the common name is the user
    and the organizations are the groups, as in Kubernetes."""

    @pydantic.model_validator(mode="after")
    def _whole(self) -> Tls:
        """Refuses a certificate without its key, and client CAs without a certificate."""
        has_certificate = self.cert_file is not None
        has_key = self.key_file is not None
        if has_certificate != has_key:
            raise ValueError("cert_file and key_file belong together")
        if self.client_ca_file is not None and not has_certificate:
            raise ValueError("client_ca_file needs cert_file and key_file")
        return self
