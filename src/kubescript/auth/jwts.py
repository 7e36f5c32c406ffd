"""Verifies JSON Web Tokens of one issuer with its published keys. PyJWT does it; here is what it must demand."""

from __future__ import annotations

from typing import Any, Final

import jwt

from kubescript import config, errors
from kubescript.auth import claims, keys, provider, user

__all__ = ["Verifier", "issuer_of"]

_TYPES: Final = frozenset({"", "jwt", "at+jwt"})
"""Values of the header `typ` that access tokens have: RFC 9068 wants `at+jwt`; Keycloak, Entra ID and Okta write `JWT`
unless they are told otherwise, and some write none. Attack: a logout token (`logout+jwt`), a security event or a proof
(`dpop+jwt`) that the same provider has signed for the same audience."""
_MEDIA_TYPE: Final = "application/"
"""RFC 7515 lets issuers leave it out."""


class Verifier:
    """Verifies the tokens of one issuer."""

    def __init__(self, settings: config.Auth, audience: tuple[str, ...], source: provider.Provider) -> None:
        """A token must name one of `audience`."""
        assert settings.issuer is not None
        self.issuer: Final = settings.issuer
        self._settings = settings
        self._audience = audience
        self._keys = keys.Keys(lambda: source.keys(self.issuer))

    def wants_keys(self, token: str) -> bool:
        """Says whether `fetch_keys` should come before `verify`."""
        return self._keys.wants(_key_id(token))

    def fetch_keys(self) -> None:
        """Asks the issuer for its keys. Blocking. Raises AuthError."""
        self._keys.fetch()

    def verify(self, token: str) -> user.Credential:
        """Returns the user that the token is about; takes less than a millisecond. Raises AuthError."""
        key = self._keys.get(_key_id(token))
        if key is None and not self._keys.are_known:
            raise errors.AuthError(
                "the keys of the identity provider cannot be fetched now; try again", code="auth.unavailable"
            )
        if key is None:
            raise errors.AuthError("the token is not valid")
        try:
            found: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=list(keys.ALGORITHMS),
                audience=self._audience,
                issuer=self.issuer,
                leeway=claims.LEEWAY_S,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.ExpiredSignatureError:
            raise errors.AuthError("the token has expired") from None
        except jwt.InvalidAudienceError:
            wanted = " or ".join(self._audience)
            raise errors.AuthError(
                "the token is for another audience", remedy=f"its aud must name {wanted} (auth.audience)"
            ) from None
        except _UNREADABLE:
            raise errors.AuthError("the token is not valid") from None
        if not _is_access_token(token):
            raise errors.AuthError("the token is not an access token", remedy="its header `typ` must be at+jwt or JWT")
        return claims.credential(found, self._settings, self.issuer, token)


_UNREADABLE: Final = (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError)
"""Attack: a header or claims of an unforeseen form, for which PyJWT has no error of its own."""


def issuer_of(token: str) -> str:
    """Returns the issuer that a token names; empty for a token that is not a JWT. Nothing of it is verified."""
    if token.count(".") != 2:
        return ""
    try:
        unverified = jwt.decode(token, options={"verify_signature": False})
    except _UNREADABLE:
        return ""
    issuer = unverified.get("iss")
    return issuer if isinstance(issuer, str) else ""


def _is_access_token(token: str) -> bool:
    """Says whether a token's header calls it an access token, or does not say what it is."""
    kind = _header(token).get("typ", "")
    return isinstance(kind, str) and kind.lower().removeprefix(_MEDIA_TYPE) in _TYPES


def _key_id(token: str) -> str:
    """Returns the key that a token names; empty when it names none."""
    found = _header(token).get("kid")
    return found if isinstance(found, str) else ""


def _header(token: str) -> dict[str, Any]:
    """Returns a token's header, unverified; an empty one where it cannot be read."""
    try:
        return jwt.get_unverified_header(token)
    except _UNREADABLE:
        return {}
