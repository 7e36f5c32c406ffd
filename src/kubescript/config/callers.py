"""How clients reach the server over HTTP, who they are, and what each may do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal

import pydantic
from pydantic import Field

from kubescript.config import section

__all__ = ["LOOPBACK", "Access", "Auth", "Http", "Impersonation", "Introspection", "Tls"]


LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
"""Hosts that only this machine reaches."""


class Http(section.Section):
    """The http transport, and the limits of each caller. What is sent too slowly needs no setting: a request has 15
    seconds."""

    url: Annotated[str | None, Field(pattern=r"^https?://[^/?#\s]+(/[^?#\s]*)?$")] = None
    """Where clients find the server: `https://kubescript.example.com/mcp`. It is the resource of OAuth (RFC 9728), the
    audience that tokens must name, and its host is one that requests may name. Default: the address that it listens on.
    """
    hosts: tuple[str, ...] = ()
    """Further hosts that requests may name: `kubescript.tools.svc`, `10.0.0.7`. Loopback addresses always are some."""
    origins: tuple[str, ...] = ()
    """Origins of web pages that may send requests: `https://inspector.example.com`. Those of the url and of loopback
    addresses always are some."""
    stateless: bool = False
    """Keep no sessions, so that any replica answers any request. Questions to people then need clients of 2026-07-28.
    """
    open_metrics: bool = False
    """Serve /metrics without authentication."""
    max_sessions: Annotated[int, Field(ge=1, le=10_000)] = 512
    """Sessions that one caller may have at one endpoint at the same time. The next one gets 503 until a session ends or
    expires."""
    session_idle_s: Annotated[int, Field(ge=1, le=86_400)] = 1_800
    """Seconds without a request or an open stream after which a session ends. Its client gets 404 and begins another.
    """
    requests_per_minute: Annotated[int, Field(ge=1, le=1_000_000)] = 1_200
    """Requests that one caller may send in a minute. The next one gets 429."""


class Tls(section.Section):
    """TLS of the http transport. The files are read again when they change."""

    cert_file: section.UserPath | None = None
    """Certificates in PEM: the server's, and those between it and the CA."""
    key_file: section.UserPath | None = None
    """The server's key in PEM."""
    client_ca_file: section.UserPath | None = None
    """CAs of callers, in PEM. A caller with a certificate of theirs is authenticated by it: the common name is the
    user, and the organizations are the groups, as in Kubernetes."""

    @pydantic.model_validator(mode="after")
    def _whole(self) -> Tls:
        """Refuses a certificate without its key."""
        if (self.cert_file is None) != (self.key_file is None):
            raise ValueError("cert_file and key_file belong together")
        if self.client_ca_file is not None and self.cert_file is None:
            raise ValueError("client_ca_file needs cert_file and key_file")
        return self


class Introspection(section.Section):
    """An endpoint that says what an opaque token is (RFC 7662)."""

    url: Annotated[str, Field(pattern=r"^https?://")]
    """The endpoint."""
    client_id: str
    """The client as which the server asks."""
    client_secret_file: section.UserPath
    """A file with that client's secret."""


class Auth(section.Section):
    """Who callers are. Each way that is set up is one way in."""

    issuer: Annotated[str | None, Field(pattern=r"^https?://")] = None
    """The identity provider of OpenID Connect: `https://id.example.com/realms/x`. Tokens that it has signed for the
    audience are verified with its published keys, and clients are told to log in there."""
    audience: tuple[str, ...] = ()
    """What a token must name as one of its audiences. Default: `http.url`."""
    scopes: tuple[str, ...] = ()
    """What a token's scope must have for the server to be used at all."""
    user_claim: str = "sub"
    """The claim with the user's name: `email`, `preferred_username`. Only `sub` is never given to another user."""
    groups_claim: str = "groups"
    """The claim with the user's groups."""
    ca_file: section.UserPath | None = None
    """CAs of the identity provider, in PEM. Default: the system's."""
    introspection: Introspection | None = None
    """Where to ask about tokens that are not signed by `issuer`."""
    token_review: bool = False
    """Ask the (default) cluster about tokens: those of service accounts, and all others that it accepts."""
    tokens: Mapping[str, Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]] = {}
    """The SHA-256 of each user's token, by the user's name. The tokens themselves are in no setting."""
    tokens_file: section.UserPath | None = None
    """A file of tokens as kube-apiserver's `--token-auth-file`: token,user,uid,"group1,group2". In place of the token
    there may stand sha256: and its digest in hexadecimal. It is read again when it changes."""


class Impersonation(section.Section):
    """How callers are named to the cluster with `acts_as = "impersonate"`."""

    user_prefix: str = ""
    """What stands before the user's name: `oidc:`."""
    group_prefix: str = ""
    """What stands before each group's name."""
    groups: tuple[str, ...] = ("*",)
    """The groups that are passed on; `team-*` matches. None whose name then begins with `system:` ever is."""


class Access(section.Section):
    """What some callers may do. The first table that fits a caller counts; a caller that fits none is refused."""

    users: tuple[str, ...] = ()
    """The caller is one of these; `*@example.com` matches. Default: every caller."""
    groups: tuple[str, ...] = ()
    """The caller is in one of these. Default: every caller."""
    scopes: tuple[str, ...] = ()
    """The caller's token has all of these scopes."""
    toolsets: tuple[str, ...] | None = None
    """Those of the server's toolsets that the caller has. Default: all."""
    contexts: tuple[str, ...] | None = None
    """Those of the server's contexts that the caller's scripts may name. Default: all."""
    writes: Literal["off", "plan", "direct"] | None = None
    """The most that the caller may do in a cluster; the cluster's own mode may be less. Below `direct` the toolset
    `openstack` writes nothing. Default: that mode."""
