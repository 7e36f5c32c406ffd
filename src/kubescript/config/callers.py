"""How callers are authenticated, and what each may do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import pydantic
from pydantic import Field

from kubescript.config import section
from kubescript.config.fleet import LabelSelector
from kubescript.kube import namespace_patterns

__all__ = ["Access", "Approvers", "Auth", "Callers", "Exchange", "Impersonation", "Introspection", "Reach"]


class Introspection(section.Section):
    """An endpoint that validates opaque tokens (RFC 7662)."""

    url: Annotated[str, Field(pattern=r"^https?://")]
    """The endpoint."""
    client_id: str
    """The client ID with which the server authenticates there."""
    client_secret_file: section.UserPath
    """A file with that client's secret."""


class Exchange(section.Section):
    """A token endpoint that exchanges callers' tokens for others, with `acts_as = "caller"`."""

    url: Annotated[str | None, Field(pattern=r"^https?://")] = None
    """The endpoint. Default: the one in the metadata of `auth.issuer`."""
    client_id: str
    """The client ID with which the server authenticates there."""
    client_secret_file: section.UserPath
    """A file with that client's secret."""
    form: Literal["rfc8693", "on-behalf-of"] = "rfc8693"
    """The form of the request: OAuth's token exchange, or Microsoft's on-behalf-of flow."""


class Auth(section.Section):
    """How callers are authenticated. Each method that is set up is accepted."""

    issuer: Annotated[str | None, Field(pattern=r"^https?://")] = None
    """The OpenID Connect identity provider: `https://id.example.com/realms/x`. Tokens that it signed for the audience
    are verified with its published keys, and clients are told to log in there."""
    audience: tuple[str, ...] = ()
    """The audiences of which a token must name one. Default: `http.url`."""
    scopes: tuple[str, ...] = ()
    """Scopes that a token must have to use the server at all."""
    user_claim: str = "sub"
    """The claim with the user's name: `email`, `preferred_username`. Only `sub` is never reassigned to another user."""
    groups_claim: str = "groups"
    """The claim with the user's groups."""
    ca_file: section.UserPath | None = None
    """CAs of the identity provider, in PEM. Default: the system's."""
    introspection: Introspection | None = None
    """The endpoint for tokens that are not signed by `issuer`."""
    exchange: Exchange | None = None
    """The endpoint that exchanges tokens of the identity provider which a cluster does not take. Default: such tokens
    are not sent."""
    token_review: bool = False
    """Whether to have the (default) cluster review tokens: those of service accounts, and all others that it accepts.
    """
    tokens: Mapping[str, Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]] = {}
    """The SHA-256 of each user's token, by user name. No setting holds the tokens themselves."""
    tokens_file: section.UserPath | None = None
    """A token file like that of kube-apiserver's `--token-auth-file`: token,user,uid,"group1,group2". The token may be
    replaced by `sha256:` and its digest in hexadecimal. The file is read again when it changes."""

    @pydantic.model_validator(mode="after")
    def _check(self) -> Auth:
        if self.exchange is not None and self.exchange.url is None and self.issuer is None:
            raise ValueError("`auth.exchange` needs `auth.issuer`, or the `url` of a token endpoint")
        return self


class Impersonation(section.Section):
    """The names under which callers are impersonated with `acts_as = "impersonate"`."""

    user_prefix: str = ""
    """The prefix of the user's name: `oidc:`."""
    group_prefix: str = ""
    """The prefix of each group's name."""
    groups: tuple[str, ...] = ("*",)
    """The groups that are passed on; `team-*` is a pattern. Groups whose prefixed name begins with `system:` never are.
    """


class Callers(section.Section):
    """The callers whom a table matches: by name, by who has vouched for them, and by group."""

    users: tuple[str, ...] = ()
    """The users whom the table matches; `*@example.com` is a pattern. Default: every caller."""
    issuer: str | None = None
    """Who must have vouched for the caller: the issuer of the identity provider, `tokens`, `tokens_file`,
    `token_review` or `client_ca_file`. Default: anyone."""
    groups: tuple[str, ...] = ()
    """The groups of which the caller must be in one. Default: every caller."""


class Access(Callers):
    """The rights of some callers. The first table that matches a caller applies; a caller that matches none is
    refused."""

    scopes: tuple[str, ...] = ()
    """The scopes that the caller's token must all have."""
    toolsets: tuple[str, ...] | None = None
    """The server's toolsets that the caller may use. Default: all."""
    contexts: tuple[str, ...] | None = None
    """The server's contexts that the caller's scripts may name. Default: all."""
    context_selector: LabelSelector | None = None
    """A label selector: of these contexts, the caller's scripts may name those with such labels, at each moment.
    Default: all."""
    namespaces: Annotated[
        tuple[Annotated[str, Field(pattern=f"^{namespace_patterns.PATTERN}$")], ...] | None, Field(min_length=1)
    ] = None
    """The only namespaces that the caller sees and changes; `team-a-*` is a pattern. Nothing outside of a namespace is
    served then, except what the API server says of itself and the Namespaces that match. Default: all, and objects
    without a namespace."""
    writes: Literal["off", "plan", "direct"] | None = None
    """The most permissive mode for the caller in a cluster; the cluster's own mode may permit less. Below `direct` the
    toolset `openstack` writes nothing. Default: the cluster's mode."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Which of the found clusters a caller's scripts may name."""

    names: tuple[str, ...] | None
    """None: all."""
    selector: str | None
    listed: frozenset[str]
    """All of the server's own `contexts`, which win over found clusters of the same names."""


class Approvers(Callers):
    """People who may approve other callers' plans on the page, where callers are known. A plan is theirs to decide if
    these tables together cover every namespace in which it changes something."""

    namespaces: Annotated[tuple[str, ...], Field(min_length=1)]
    """The namespaces: `shop-*` is a pattern, `*` matches all. Objects without a namespace are covered only by "" and
    by `*`."""
    contexts: tuple[str, ...] | None = None
    """The contexts. Default: all."""
