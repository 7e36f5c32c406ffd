"""Identifies the callers of all requests by a bearer token or a certificate. `transports` calls it.

Each token is verified in only one way: a JWT that names the issuer is never passed to another party, so that no weaker
method accepts what a stronger one has refused.
"""

from __future__ import annotations

import hashlib
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from kubescript import config, errors
from kubescript.auth import claims, jwts, opaque, provider, token_review, tokens_file, user
from kubescript.cluster import base

__all__ = ["Authenticator"]

_MAX_TOKEN: Final = 16_384
"""Characters; Keycloak's tokens with a hundred roles have 6,000."""
_MAX_TLS_NAMES: Final = 100
_MAX_NAME: Final = 256
_MAX_GROUPS: Final = 500


class Authenticator:
    """The methods of authentication in the settings. Used by one event loop."""

    def __init__(
        self,
        settings: config.Settings,
        audience: Sequence[str],
        cluster: Callable[[], base.Cluster],
    ) -> None:
        """`audience` lists the audiences that are accepted if the settings name none; `cluster` answers TokenReviews.
        Raises ConfigError."""
        auth = settings.auth
        self._settings = auth
        named = auth.audience or tuple(audience)
        self._file = tokens_file.TokensFile(auth.tokens_file) if auth.tokens_file is not None else None
        self._tokens = {digest.removeprefix("sha256:"): name for name, digest in auth.tokens.items()}
        needs_provider = bool(auth.issuer) or auth.introspection is not None
        self._source = provider.Provider(auth) if needs_provider else None
        self._jwts = None
        if auth.issuer is not None and self._source is not None:
            self._jwts = jwts.Verifier(auth, named, self._source)
        self._audience = named
        ways: list[Callable[[str], user.Credential]] = []
        if auth.introspection is not None:
            ways.append(self._introspect)
        if auth.token_review:
            ways.append(token_review.TokenReview(cluster, auth.audience).verify)
        self._opaque = opaque.Opaque(ways)
        self._keys = opaque.Questions()

    async def bearer(self, token: str) -> user.Credential:
        """Returns the credential of a token. Raises AuthError."""
        is_plain = token.isascii() and token.isprintable()
        if not token or len(token) > _MAX_TOKEN or not is_plain:
            raise errors.AuthError("the token is not valid")
        listed = self._find_listed(token)
        if listed is not None:
            return self._check(user.Credential(listed, None, token))
        if self._jwts is not None and jwts.issuer_of(token) == self._jwts.issuer:
            if self._jwts.wants_keys(token):
                await self._keys.ask(self._jwts.fetch_keys)
            return self._check(self._jwts.verify(token))
        return self._check(await self._opaque.find(token))

    def _find_listed(self, token: str) -> user.User | None:
        """Returns the user of a static token in the file or the settings."""
        found = self._file.find(token) if self._file is not None else None
        if found is not None:
            return found
        name = self._tokens.get(hashlib.sha256(token.encode()).hexdigest())
        return user.User(name, "tokens", name) if name is not None else None

    def certificate(self, shown: Mapping[str, Any]) -> user.Credential:
        """Returns the user that a certificate names: the common name, and the organizations as groups, as Kubernetes
        reads it. TLS has verified the certificate; `shown` is what `ssl.SSLSocket.getpeercert` returns. Raises
        AuthError."""
        pairs = [pair for part in shown["subject"] for pair in part]
        names = [value for key, value in pairs if key == "commonName"]
        if len(names) != 1 or not names[0] or len(pairs) > _MAX_TLS_NAMES:
            raise errors.AuthError("the certificate does not name one user")
        groups = {value for key, value in pairs if key == "organizationName"}
        found = user.User(names[0], "client_ca_file", names[0], tuple(sorted(groups)))
        # Attack: a client keeps a connection alive after the certificate with which it began has expired.
        expires = ssl.cert_time_to_seconds(shown["notAfter"])
        return self._check(user.Credential(found, expires))

    def _check(self, found: user.Credential) -> user.Credential:
        """Returns the credential. Raises AuthError if it has expired, or is a token that can have scopes but lacks a
        required one."""
        _check_names(found.user)
        if found.expires is not None and found.expires + claims.LEEWAY_S <= time.time():
            raise errors.AuthError("the token has expired")
        has_scopes = found.user.issuer not in {"tokens", "tokens_file", "token_review", "client_ca_file"}
        if has_scopes and not found.user.scopes.issuperset(self._settings.scopes):
            raise errors.AuthError(f"the token lacks a scope of {' '.join(self._settings.scopes)}", code="auth.scope")
        return found

    def close(self) -> None:
        """Closes the connections to the identity provider."""
        if self._source is not None:
            self._source.close()

    def _introspect(self, token: str) -> user.Credential:
        assert self._source is not None
        assert self._settings.introspection is not None
        found = self._source.introspect(token)
        _check_audience(found, self._audience)
        issuer = found.get("iss")
        if not isinstance(issuer, str):
            issuer = self._settings.introspection.url
        return claims.credential(found, self._settings, issuer, token)


def _check_names(found: user.User) -> None:
    """Raises AuthError for names that headers, records or rules cannot hold, whatever their source."""
    names = (found.name, *found.groups)
    are_usable = (0 < len(name) <= _MAX_NAME and name.isprintable() for name in names)
    if len(names) > _MAX_GROUPS or not all(are_usable):
        raise errors.AuthError(
            "the names of the user and the groups cannot be used: too many, too long, or not printable"
        )


def _check_audience(found: Mapping[str, Any], wanted: Sequence[str]) -> None:
    """Raises AuthError if a token that an endpoint calls active is for another audience."""
    audience = found.get("aud", ())
    if isinstance(audience, str):
        audience = [audience]
    named = filter(_is_text, audience) if isinstance(audience, list | tuple) else ()
    if set(wanted).isdisjoint(named):
        raise errors.AuthError(
            "the token is for another audience", remedy=f"its aud must name {' or '.join(wanted)} (auth.audience)"
        )


def _is_text(value: object) -> bool:
    return isinstance(value, str)
