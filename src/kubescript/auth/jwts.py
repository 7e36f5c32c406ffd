"""Verifies JSON Web Tokens of one issuer with its published keys. PyJWT verifies; here is what it must demand."""

from __future__ import annotations

from typing import Any, Final

import jwt

from kubescript import config, errors
from kubescript.auth import claims, keys, provider, user

__all__ = ["Verifier", "issuer_of"]

_LEEWAY_S: Final = 10.0


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
        """Returns who the token is about; takes less than a millisecond. Raises AuthError."""
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
                leeway=_LEEWAY_S,
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
        return claims.credential(found, self._settings, self.issuer, token)


_UNREADABLE: Final = (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError)
"""Attack: a header or claims of forms that nobody has thought of."""


def issuer_of(token: str) -> str:
    """Returns who claims to have issued a token; empty for a token that is no JWT. Nothing of it is verified."""
    if token.count(".") != 2:
        return ""
    try:
        unverified = jwt.decode(token, options={"verify_signature": False})
    except _UNREADABLE:
        return ""
    issuer = unverified.get("iss")
    return issuer if isinstance(issuer, str) else ""


def _key_id(token: str) -> str:
    """Returns the key that a token names; empty when it names none."""
    try:
        found = jwt.get_unverified_header(token).get("kid")
    except _UNREADABLE:
        return ""
    return found if isinstance(found, str) else ""
