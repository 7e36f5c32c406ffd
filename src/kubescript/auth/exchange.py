"""Exchanges callers' tokens at the identity provider for tokens of other audiences: OAuth's token exchange (RFC 8693),
and Microsoft's on-behalf-of flow. Blocking; `exchanged_tokens` calls it in separate threads."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any, Final

from kubescript import config, errors
from kubescript.auth import claims, jwts, provider
from kubescript.cluster import acting

__all__ = ["Endpoint"]

_ACCESS_TOKEN: Final = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105 - a kind of token
_JWT: Final = "urn:ietf:params:oauth:token-type:jwt"
_REFUSAL: Final = "the identity provider does not exchange the caller's token for one of this audience"
_UNUSABLE: Final = "the identity provider has given a token that cannot be used: "
# As many characters as a caller's own token may have.
_TOKEN: Final = re.compile(r"[!-~]{1,16384}")
_UNSTATED_S: Final = 60.0
"""Seconds for which a token is valid of which nothing says how long it is."""


class Endpoint:
    """The token endpoint of one server's provider. Used by many threads at once."""

    def __init__(self, settings: config.Auth) -> None:
        """Raises ConfigError when the client's secret or the CAs cannot be read."""
        assert settings.exchange is not None
        self._settings = settings.exchange
        self._issuer = settings.issuer or ""
        self._source = provider.Provider(settings)
        self._secret = provider.read_secret(settings.exchange.client_secret_file, "auth.exchange.client_secret_file")

    def find_url(self) -> str:
        """Returns the endpoint's URL. Raises AuthError when the issuer's metadata do not name one."""
        return self._settings.url or self._source.endpoint(self._issuer, "token_endpoint")

    def exchange(self, token: acting.Token, audience: str) -> acting.Token:
        """Returns a token for this audience, which expires no later than the given one. Raises AuthError."""
        url = self.find_url()
        if self._settings.form == "rfc8693":
            client, fields = self._write_exchange(token, audience)
        else:
            client, fields = self._write_on_behalf_of(token, audience)
        answer = self._source.grant(url, client, fields, _REFUSAL)
        return _read(answer, token, audience)

    def close(self) -> None:
        """Closes the connections."""
        self._source.close()

    def _write_exchange(self, token: acting.Token, audience: str) -> tuple[tuple[str, str], Mapping[str, str]]:
        """Returns the client's id and secret, and the fields of RFC 8693."""
        fields = {
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
            "subject_token": token.text,
            "subject_token_type": _ACCESS_TOKEN,
            "requested_token_type": _ACCESS_TOKEN,
            "audience": audience,
        }
        return (self._settings.client_id, self._secret), fields

    def _write_on_behalf_of(self, token: acting.Token, audience: str) -> tuple[tuple[str, str], Mapping[str, str]]:
        """Returns the client's id, and the fields as Microsoft documents them, the client's secret among them."""
        fields = {
            "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
            "client_secret": self._secret,
            "assertion": token.text,
            "scope": f"{audience}/.default",
            "requested_token_use": "on_behalf_of",
        }
        return (self._settings.client_id, ""), fields


def _read(answer: Mapping[str, Any], given: acting.Token, audience: str) -> acting.Token:
    """Returns the token in an endpoint's answer. Raises AuthError for one that is not what was asked for."""
    text = answer.get("access_token")
    kind = answer.get("token_type", "Bearer")
    issued = answer.get("issued_token_type", _ACCESS_TOKEN)
    # Attack: a line break in the token begins another header.
    if not isinstance(text, str) or _TOKEN.fullmatch(text) is None:
        raise errors.AuthError(f"{_UNUSABLE}there is none, or it is no bearer token")
    if not isinstance(kind, str) or kind.lower() != "bearer" or issued not in (_ACCESS_TOKEN, _JWT):
        raise errors.AuthError(f"{_UNUSABLE}it is not an access token")
    # Attack: a provider that knows no audiences gives an opaque token back, which its caller has for this server.
    if text == given.text:
        raise errors.AuthError(f"{_UNUSABLE}it is the caller's own")
    told = jwts.peek(text)
    # Attack: the provider gives all audiences, whatever it is asked for, and a cluster's administrator uses the token
    # at other clusters and here. What an opaque token is for, only its issuer can say.
    if jwts.is_jwt(text) and claims.audiences(told) != {audience}:
        raise errors.AuthError(
            f"{_UNUSABLE}its aud does not name {audience} alone",
            remedy="have the provider give tokens of the audience that is asked for, and of no other",
        )
    expires = _expiry(answer, told, given)
    if expires <= time.time():
        raise errors.AuthError(f"{_UNUSABLE}it has expired")
    return acting.Token(text, expires, frozenset({audience}))


def _expiry(answer: Mapping[str, Any], told: Mapping[str, Any], given: acting.Token) -> float:
    """Returns when an exchanged token expires, in seconds since the epoch. Raises AuthError if that cannot be read."""
    lifetime = claims.time_of(answer, "expires_in")
    now = time.time()
    ends = [claims.time_of(told, "exp"), now + lifetime if lifetime is not None else None]
    known = [end for end in ends if end is not None] or [now + _UNSTATED_S]
    # A caller whose own token has expired is known no longer.
    if given.expires is not None:
        known.append(given.expires)
    return min(known)
