"""Verifies JSON Web Tokens of one issuer with its published keys, using PyJWT with strict requirements."""

from __future__ import annotations

import re
from typing import Any, Final

import jwt

from kubescript import config, errors
from kubescript.auth import claims, keys, provider, user

__all__ = ["Verifier", "is_jwt", "peek"]

# RFC 9068 requires `at+jwt`; Keycloak, Entra ID and Okta write `JWT` by default, and some providers omit it.
# Attack: a caller sends a logout token (`logout+jwt`), a security event or a proof (`dpop+jwt`) that the same provider
# signed for the same audience.
_TYPES: Final = frozenset({"", "jwt", "at+jwt"})
"""The values of the header `typ` in access tokens."""
_MEDIA_TYPE: Final = "application/"
"""A prefix that RFC 7515 lets issuers omit."""
# RFC 6750, without a dot at the end, which readers in Java skip.
_BEARER: Final = re.compile(r"[A-Za-z0-9._~+/-]*[A-Za-z0-9_~+/-]=*")
"""The characters of a bearer token."""


class Verifier:
    """A verifier of one issuer's tokens."""

    def __init__(self, settings: config.Auth, audience: tuple[str, ...], source: provider.Provider) -> None:
        """`audience` lists audiences; a token must name one of them."""
        assert settings.issuer is not None
        self.issuer: Final = settings.issuer
        self._settings = settings
        self._audience = audience
        self._keys = keys.Keys(lambda: source.keys(self.issuer))

    def is_responsible(self, token: str) -> bool:
        """Says whether a token is a JWT of this issuer. Raises AuthError for one that another reader might take for
        such a JWT, although it cannot be read here."""
        # Attack: a caller changes the unused bits of a token's last character, puts a space into it or writes it as
        # JSON. PyJWT does not read it, but an API server does that trusts the same issuer, and asks for no scope.
        told = peek(token)
        if _BEARER.fullmatch(token) is None or (is_jwt(token) and not told):
            raise errors.AuthError("the token is not valid")
        issuer = told.get("iss")
        return isinstance(issuer, str) and issuer.rstrip("/") == self.issuer.rstrip("/")

    def wants_keys(self, token: str) -> bool:
        """Says whether `fetch_keys` should be called before `verify`."""
        return self._keys.wants(_key_id(token))

    def fetch_keys(self) -> None:
        """Fetches the issuer's keys. Blocks. Raises AuthError."""
        self._keys.fetch()

    def check_keys(self) -> str:
        """Returns `ok`, or why the issuer gave no keys when last asked. Old ones are fetched in the background."""
        self._keys.renew()
        return self._keys.problem or "ok"

    def verify(self, token: str) -> user.Credential:
        """Returns the credential in an access token; takes less than a millisecond. Raises AuthError."""
        found = self.read(token, self._audience)
        if not _is_access_token(token):
            raise errors.AuthError("the token is not an access token", remedy="its header `typ` must be at+jwt or JWT")
        return claims.credential(found, self._settings, self.issuer, token)

    def read(self, token: str, audience: tuple[str, ...]) -> dict[str, Any]:
        """Returns the claims of a token that the issuer has signed for one of these audiences, and that has not
        expired. Raises AuthError."""
        key = self._keys.get(_key_id(token))
        if key is None and not self._keys.are_known:
            raise errors.AuthError(
                "the keys of the identity provider cannot be fetched now; try again", code="auth.unavailable"
            )
        if key is None:
            raise errors.AuthError("the token is not valid")
        try:
            return jwt.decode(
                token,
                key,
                algorithms=list(keys.ALGORITHMS),
                audience=audience,
                issuer=self.issuer,
                leeway=claims.LEEWAY_S,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.ExpiredSignatureError:
            raise errors.AuthError("the token has expired") from None
        except jwt.InvalidAudienceError:
            wanted = " or ".join(audience)
            raise errors.AuthError(
                "the token is for another audience", remedy=f"its aud must name {wanted} (auth.audience)"
            ) from None
        except _UNREADABLE:
            raise errors.AuthError("the token is not valid") from None


# Attack: a caller sends a header or claims in an unforeseen format, for which PyJWT raises other exceptions.
_UNREADABLE: Final = (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError)
"""What PyJWT raises for an unreadable token."""


def is_jwt(token: str) -> bool:
    """Says whether a token has the three parts of a JWT, which may be unreadable."""
    return token.count(".") == 2


def peek(token: str) -> dict[str, Any]:
    """Returns the claims in a token, unverified; none if it is not a JWT that can be read."""
    if not is_jwt(token):
        return {}
    try:
        return jwt.decode(token, options={"verify_signature": False})
    except _UNREADABLE:
        return {}


def _is_access_token(token: str) -> bool:
    """Says whether a token's header calls it an access token, or gives no type."""
    kind = _header(token).get("typ", "")
    if not isinstance(kind, str):
        return False
    # Media types are case-insensitive (RFC 2045).
    plain = kind.lower().removeprefix(_MEDIA_TYPE)
    return plain in _TYPES


def _key_id(token: str) -> str:
    """Returns the id of a token's key; empty if it has none."""
    found = _header(token).get("kid")
    return found if isinstance(found, str) else ""


def _header(token: str) -> dict[str, Any]:
    """Returns a token's header, unverified; an empty one if it cannot be read."""
    try:
        return jwt.get_unverified_header(token)
    except _UNREADABLE:
        return {}
