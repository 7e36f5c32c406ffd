"""Verifies JSON Web Tokens of one issuer with its published keys. Blocking: it may fetch them.

PyJWT verifies; here is what it must demand. Keys are fetched anew every five minutes, and when a token names one that
is not known, but then at most every few seconds: nobody can make this server ask its provider for each request.
"""

from __future__ import annotations

import threading
from typing import Any, Final

import jwt

from kubescript import config, errors
from kubescript.auth import claims, provider, user

__all__ = ["Verifier", "issuer_of"]

_ALGORITHMS: Final = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
)  # fmt: skip
"""Attack: `none`, and HS256 with the public key as its secret."""
_LEEWAY_S: Final = 10.0
_KEYS_S: Final = 300.0
_COOLDOWN_S: Final = 5.0
"""Seconds after keys were fetched in which an unknown key is nobody's."""
_TIMEOUT_S: Final = 5.0


class Verifier:
    """Verifies the tokens of one issuer. Many threads use it at once."""

    def __init__(self, settings: config.Auth, audience: tuple[str, ...], source: provider.Provider) -> None:
        """A token must name one of `audience`."""
        assert settings.issuer is not None
        self.issuer: Final = settings.issuer
        self._settings = settings
        self._audience = audience
        self._source = source
        self._lock = threading.Lock()
        self._keys: jwt.PyJWKClient | None = None

    def verify(self, token: str) -> user.Credential:
        """Returns who the token is about. Raises AuthError."""
        try:
            key = self._known_keys().get_signing_key_from_jwt(token)
            found: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=list(_ALGORITHMS),
                audience=self._audience,
                issuer=self.issuer,
                leeway=_LEEWAY_S,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.PyJWKClientConnectionError:
            raise errors.AuthError(
                "the keys of the identity provider cannot be fetched now; try again",
                code="auth.unavailable",
                remedy="check that this server reaches the provider's jwks_uri, and auth.ca_file",
            ) from None
        except jwt.ExpiredSignatureError:
            raise errors.AuthError("the token has expired") from None
        except jwt.InvalidAudienceError:
            wanted = " or ".join(self._audience)
            raise errors.AuthError(
                "the token is for another audience", remedy=f"its aud must name {wanted} (auth.audience)"
            ) from None
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
            # Attack: a header or claims of forms that nobody has thought of.
            raise errors.AuthError("the token is not valid") from None
        return claims.credential(found, self._settings, self.issuer, token)

    def _known_keys(self) -> jwt.PyJWKClient:
        with self._lock:
            if self._keys is None:
                self._keys = jwt.PyJWKClient(
                    self._source.keys_url(self.issuer),
                    lifespan=_KEYS_S,
                    timeout=_TIMEOUT_S,
                    ssl_context=self._source.tls,
                    cooldown_duration=_COOLDOWN_S,
                )
            return self._keys


def issuer_of(token: str) -> str:
    """Returns who claims to have issued a token; empty for a token that is no JWT. Nothing of it is verified."""
    if token.count(".") != 2:
        return ""
    try:
        unverified = jwt.decode(token, options={"verify_signature": False})
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
        return ""
    issuer = unverified.get("iss")
    return issuer if isinstance(issuer, str) else ""
