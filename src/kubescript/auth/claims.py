"""Reads a user out of the claims of a token: a JWT's that was verified, or an introspection endpoint's answer (RFC 7662
uses the same names)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final, TypeGuard

from kubescript import config, errors
from kubescript.auth import user

__all__ = ["LEEWAY_S", "credential"]

LEEWAY_S: Final = 10.0
"""Seconds by which clocks may differ."""
_END_OF_TIME: Final = 1 << 53
"""Seconds; from here on a float does not hold every whole number."""
_KIND: Final = "typ"
_KINDS: Final = frozenset({"bearer", "dpop"})
"""What Keycloak writes into the claim `typ` of access tokens. Attack: its ID, refresh, offline and logout tokens, which
have the header of an access token, or which its introspection calls active."""
_USE: Final = "token_use"
"""What Cognito and Ory Hydra write: `access`, `access_token`, `id`, `refresh_token`."""
_OF_OTHERS: Final = frozenset({"events", "at_hash", "c_hash"})
"""Claims of tokens for something else: a security event (RFC 8417), such as a logout token; an ID token."""


def credential(claims: Mapping[str, Any], settings: config.Auth, issuer: str, token: str) -> user.Credential:
    """Returns the user that the claims are about. Raises AuthError when they name none that can be used."""
    _check_kind(claims)
    # PyJWT has checked this of a JWT; an introspection endpoint may call a token active that is not valid yet.
    if (_time(claims, "nbf") or 0.0) > time.time() + LEEWAY_S:
        raise errors.AuthError("the token is not valid yet")
    name = claims.get(settings.user_claim)
    if not _is_name(name):
        raise errors.AuthError(
            "the token does not name its user",
            remedy=f"the claim {settings.user_claim} (auth.user_claim) must be a text",
        )
    # An address that is not verified is whatever the user has typed in.
    if settings.user_claim == "email" and claims.get("email_verified") is not True:
        raise errors.AuthError("the token's email is not verified")
    # Attack: so many groups that Entra ID leaves them out, and with them those that a rule restricts.
    if claims.get("hasgroups") or settings.groups_claim in (claims.get("_claim_names") or ()):
        raise errors.AuthError(
            "the token leaves out its groups: there are too many",
            remedy="have the provider name those alone that matter",
        )
    subject = claims.get("sub")
    found = user.User(
        name=name,
        issuer=issuer,
        subject=subject if isinstance(subject, str) else "",
        groups=_groups(claims.get(settings.groups_claim)),
        scopes=_scopes(claims),
    )
    return user.Credential(found, _time(claims, "exp"), token)


def _check_kind(claims: Mapping[str, Any]) -> None:
    """Raises AuthError for a token whose claims say that it is no access token."""
    kind = claims.get(_KIND, "bearer")
    use = claims.get(_USE, "access")
    has_kind = isinstance(kind, str) and kind.lower() in _KINDS
    has_use = isinstance(use, str) and use.startswith("access")
    if not has_kind or not has_use or not _OF_OTHERS.isdisjoint(claims):
        raise errors.AuthError("the token is not an access token", remedy="send the access token of the login")


def _is_name(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value)


def _groups(value: object) -> tuple[str, ...]:
    """Returns the groups. Raises AuthError when they cannot be read: a rule must not take a caller for another one."""
    groups = [value] if isinstance(value, str) else value
    if groups is None:
        return ()
    if not isinstance(groups, list) or not all(map(_is_name, groups)):
        raise errors.AuthError(
            "the groups in the token cannot be read",
            remedy="the claim of auth.groups_claim must be a list of names",
        )
    return tuple(sorted(set(groups)))


def _scopes(claims: Mapping[str, Any]) -> frozenset[str]:
    """Returns the scopes, as RFC 9068 writes them (`scope`), or as Microsoft's and Okta's tokens do (`scp`)."""
    value = claims.get("scope", claims.get("scp", ""))
    if isinstance(value, str):
        return frozenset(value.split())
    if isinstance(value, list):
        return frozenset(scope for scope in value if isinstance(scope, str))
    return frozenset()


def _time(claims: Mapping[str, Any], name: str) -> float | None:
    """Returns a time that the token names; None when it names none. Raises AuthError when it cannot be read."""
    value = claims.get(name)
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value < _END_OF_TIME:
        raise errors.AuthError("the time in the token cannot be read")
    return float(value)
