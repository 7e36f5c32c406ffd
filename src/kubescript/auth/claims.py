"""Reads a user from a token's claims: those of a verified JWT, or an introspection endpoint's answer (RFC 7662 uses the
same names)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final, TypeGuard

from kubescript import config, errors
from kubescript.auth import user

__all__ = ["LEEWAY_S", "audiences", "credential", "of_login", "time_of"]

LEEWAY_S: Final = 10.0
"""Seconds by which clocks may differ."""
# Seconds; above this, floats cannot represent every whole number.
_END_OF_TIME: Final = 1 << 53
_KIND: Final = "typ"
# Attack: a caller sends a Keycloak ID, refresh, offline or logout token, which has the header of an access token, or
# which introspection calls active.
_KINDS: Final = frozenset({"bearer", "dpop"})
"""Keycloak's values of the claim `typ` in access tokens."""
_ID: Final = "id"
"""The value of both claims in ID tokens."""
_USE: Final = "token_use"
"""The claim in which Cognito writes `access` or `id`, and Ory Hydra `access_token` or `refresh_token`."""
_OF_OTHERS: Final = frozenset({"events", "at_hash", "c_hash"})
"""Claims of tokens with another purpose: a security event (RFC 8417), such as a logout token, or an ID token."""


def credential(claims: Mapping[str, Any], settings: config.Auth, issuer: str, token: str) -> user.Credential:
    """Returns the user whom an access token's claims identify. Raises AuthError when they name no usable one."""
    _check_kind(claims)
    return _read(claims, settings, issuer, token)


def of_login(claims: Mapping[str, Any], settings: config.Auth, issuer: str) -> user.Credential:
    """Returns the user whom an ID token's claims identify; its token is empty. Raises AuthError when they name no
    usable one, or are those of another token."""
    kind = claims.get(_KIND, _ID)
    use = claims.get(_USE, _ID)
    if not isinstance(kind, str) or not isinstance(use, str) or {kind.lower(), use.lower()} != {_ID}:
        raise errors.AuthError("the token is not an ID token")
    return _read(claims, settings, issuer, "")


def _read(claims: Mapping[str, Any], settings: config.Auth, issuer: str, token: str) -> user.Credential:
    # PyJWT checks this for a JWT; an introspection endpoint may call a token active that is not valid yet.
    if (time_of(claims, "nbf") or 0.0) > time.time() + LEEWAY_S:
        raise errors.AuthError("the token is not valid yet")
    name = claims.get(settings.user_claim)
    if not _is_name(name):
        raise errors.AuthError(
            "the token does not name its user",
            remedy=f"the claim {settings.user_claim} (auth.user_claim) must be a text",
        )
    # Without verification, users can enter any address.
    if settings.user_claim == "email" and claims.get("email_verified") is not True:
        raise errors.AuthError("the token's email is not verified")
    # Attack: a user is in so many groups that Entra ID omits them, including those that a rule restricts.
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
    return user.Credential(found, time_of(claims, "exp"), token, audiences(claims))


def audiences(claims: Mapping[str, Any]) -> frozenset[str]:
    """Returns the audiences that claims name."""
    value = claims.get("aud")
    named = [value] if isinstance(value, str) else value
    if not isinstance(named, list | tuple):
        return frozenset()
    return frozenset(name for name in named if isinstance(name, str))


def _check_kind(claims: Mapping[str, Any]) -> None:
    """Raises AuthError if a token's claims show that it is not an access token."""
    kind = claims.get(_KIND, "bearer")
    use = claims.get(_USE, "access")
    has_kind = isinstance(kind, str) and kind.lower() in _KINDS
    has_use = isinstance(use, str) and use.startswith("access")
    has_other_purpose = not _OF_OTHERS.isdisjoint(claims)
    if has_kind and has_use and not has_other_purpose:
        return
    raise errors.AuthError("the token is not an access token", remedy="send the access token of the login")


def _is_name(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value != ""


def _groups(value: object) -> tuple[str, ...]:
    """Returns the groups. Raises AuthError when they cannot be read."""
    groups = [value] if isinstance(value, str) else value
    if groups is None:
        return ()
    # A rule must not mistake a caller whose groups cannot be read for one without groups.
    if not isinstance(groups, list) or not all(map(_is_name, groups)):
        raise errors.AuthError(
            "the groups in the token cannot be read",
            remedy="the claim of auth.groups_claim must be a list of names",
        )
    return tuple(sorted(set(groups)))


def _scopes(claims: Mapping[str, Any]) -> frozenset[str]:
    """Returns the scopes, in the format of RFC 9068 (`scope`), or of Microsoft's and Okta's tokens (`scp`)."""
    fallback = claims.get("scp", "")
    value = claims.get("scope", fallback)
    if isinstance(value, str):
        value = value.split()
    if not isinstance(value, list):
        return frozenset()
    return frozenset(scope for scope in value if isinstance(scope, str))


def time_of(claims: Mapping[str, Any], name: str) -> float | None:
    """Returns a time in the token; None if it is missing. Raises AuthError if it cannot be read."""
    value = claims.get(name)
    if value is None:
        return None
    # Python counts True as the number 1.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value < _END_OF_TIME:
        raise errors.AuthError("the time in the token cannot be read")
    return float(value)
