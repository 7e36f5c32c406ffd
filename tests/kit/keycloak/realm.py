"""The realm as Keycloak imports it: a team's users and groups, three clients, and who may register more of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

__all__ = [
    "APPROVALS", "AUDIENCE", "BASIC", "CLIENT", "INTROSPECTION", "NAME", "SECRET", "USERS", "audience", "document",
    "password",
]  # fmt: skip

NAME: Final = "kubescript"
USERS: Final = {"alice": ("platform", "payments"), "bob": ("payments",), "eve": ()}
"""Users and their groups."""
CLIENT: Final = "claude"
"""The public client."""
INTROSPECTION: Final = "kubescript"
"""The confidential client that asks about tokens."""
APPROVALS: Final = "approvals"
"""The confidential client by which people log in to the page for approvals; it has the same secret."""
SECRET: Final = "introspection-secret"
AUDIENCE: Final = "resource"
"""The mapper that names the resource in a token."""
BASIC: Final = "basic"
"""Of the scopes that a realm gives to all clients, Keycloak gives this one only to those which register for others."""
SCOPES: Final = ("kubescript:read", "kubescript:write")
_LOOPBACK: Final = ("127.0.0.1", "localhost")
_POLICIES: Final = "org.keycloak.services.clientregistration.policy.ClientRegistrationPolicy"


def password(user: str) -> str:
    """A user's password."""
    return f"{user}-password"


def document() -> dict[str, Any]:
    """What `--import-realm` reads."""
    return {
        "realm": NAME,
        "enabled": True,
        "sslRequired": "none",
        "accessTokenLifespan": 300,
        "groups": [{"name": name} for name in sorted({group for groups in USERS.values() for group in groups})],
        "users": [_user(name, groups) for name, groups in USERS.items()],
        "clients": _clients(),
        "clientScopes": [_scope(BASIC, _mappers()), *(_scope(name) for name in SCOPES)],
        "defaultDefaultClientScopes": [BASIC],
        "defaultOptionalClientScopes": list(SCOPES),
        "components": {_POLICIES: _registration()},
    }


def _user(name: str, groups: tuple[str, ...]) -> dict[str, Any]:
    return {
        "username": name,
        "email": f"{name}@example.com",
        "emailVerified": True,
        "firstName": name.title(),
        "lastName": "Example",
        "enabled": True,
        "credentials": [{"type": "password", "value": password(name)}],
        "realmRoles": [f"default-roles-{NAME}"],
        "groups": [f"/{group}" for group in groups],
    }


def _clients() -> list[dict[str, Any]]:
    public = {
        "clientId": CLIENT,
        "publicClient": True,
        "standardFlowEnabled": True,
        "directAccessGrantsEnabled": True,
        "fullScopeAllowed": False,
        "redirectUris": [f"http://{host}/*" for host in _LOOPBACK],  # any port, as RFC 8252 wants it
        "attributes": {"pkce.code.challenge.method": "S256"},
    }
    confidential = {
        "clientId": INTROSPECTION,
        "publicClient": False,
        "secret": SECRET,
        "standardFlowEnabled": False,
        "directAccessGrantsEnabled": False,
    }
    page = {
        "clientId": APPROVALS,
        "publicClient": False,
        "secret": SECRET,
        "standardFlowEnabled": True,
        "directAccessGrantsEnabled": False,
        "redirectUris": [f"http://{host}/*" for host in _LOOPBACK],
        "attributes": {"pkce.code.challenge.method": "S256"},
    }
    return [public, confidential, page]


def _scope(name: str, mappers: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """A scope that puts these claims into a token, or else its own name."""
    attributes = {"include.in.token.scope": str(not mappers).lower(), "display.on.consent.screen": "false"}
    return {"name": name, "protocol": "openid-connect", "attributes": attributes, "protocolMappers": [*mappers]}


def _mappers() -> list[dict[str, Any]]:
    """What puts the user, his groups and the audience into a token."""
    username, email = ({"user.attribute": each, "jsonType.label": "String"} for each in ("username", "email"))
    return [
        _mapper("sub", "oidc-sub-mapper", {}),
        _mapper("username", "oidc-usermodel-attribute-mapper", {**username, "claim.name": "preferred_username"}),
        _mapper("email", "oidc-usermodel-attribute-mapper", {**email, "claim.name": "email"}),
        _mapper("groups", "oidc-group-membership-mapper", {"full.path": "false", "claim.name": "groups"}),
        _mapper(AUDIENCE, "oidc-audience-mapper", {"included.custom.audience": "http://nobody.invalid"}),
        # Since 26.6.2 only a client among the audience is told about a token.
        _mapper("introspection", "oidc-audience-mapper", {"included.client.audience": INTROSPECTION}),
    ]


def audience(name: str, config: dict[str, str]) -> dict[str, Any]:
    """A mapper that adds an audience to access tokens."""
    return _mapper(name, "oidc-audience-mapper", config)


def _mapper(name: str, kind: str, config: dict[str, str]) -> dict[str, Any]:
    everywhere = {"access.token.claim": "true", "introspection.token.claim": "true"}
    if kind != "oidc-audience-mapper":
        everywhere["id.token.claim"] = "true"
    return {
        "name": name, "protocol": "openid-connect", "protocolMapper": kind, "config": {**everywhere, **config},
    }  # fmt: skip


def _registration() -> list[dict[str, Any]]:
    """Whoever is on this machine may register a client that redirects to this machine."""
    hosts = {
        "trusted-hosts": list(_LOOPBACK),
        "host-sending-registration-request-must-match": ["true"],
        "client-uris-must-match": ["true"],
    }
    policies: dict[str, dict[str, list[str]]] = {
        "trusted-hosts": hosts,
        "allowed-client-templates": {"allow-default-scopes": ["true"]},
        "scope": {},
        "max-clients": {"max-clients": ["200"]},
    }
    return [
        {"name": name, "providerId": name, "subType": "anonymous", "config": config}
        for name, config in policies.items()
    ]
