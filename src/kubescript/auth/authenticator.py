"""Identifies the callers of all requests by a bearer token or a certificate. `transports` calls it.

Each token is verified in only one way.
"""

from __future__ import annotations

import hashlib
import itertools
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from kubescript import config, errors
from kubescript.auth import claims, jwts, logins, opaque, provider, token_review, tokens_file, user
from kubescript.cluster import base

__all__ = ["Authenticator"]

# Keycloak's tokens with a hundred roles have 6,000 characters.
_MAX_TOKEN: Final = 16_384
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
        self._audience = auth.audience or tuple(audience)
        self._tokens = {digest.removeprefix("sha256:"): name for name, digest in auth.tokens.items()}
        self._file = None
        if auth.tokens_file is not None:
            self._file = tokens_file.TokensFile(auth.tokens_file)
        self._source = None
        if auth.issuer or auth.introspection is not None:
            self._source = provider.Provider(auth)
        self._jwts = None
        self._logins: logins.Logins | None = None
        if auth.issuer is not None and self._source is not None:
            self._jwts = jwts.Verifier(auth, self._audience, self._source)
            login = settings.plans.login
            if login is not None:
                self._logins = logins.Logins(auth, login, self._jwts, self._source)
        ways: list[Callable[[str], user.Credential]] = []
        if auth.introspection is not None:
            ways.append(self._introspect)
        if auth.token_review:
            reviewer = token_review.TokenReview(cluster, auth.audience)
            ways.append(reviewer.verify)
        self._opaque = opaque.Opaque(ways)
        self._keys = opaque.Questions()
        # Attack: strangers begin and end log-ins, so that no key is fetched for the callers.
        self._strangers = opaque.Questions()

    async def bearer(self, token: str) -> user.Credential:
        """Returns the credential of a token. Raises AuthError."""
        if not token or len(token) > _MAX_TOKEN:
            raise errors.AuthError("the token is not valid")
        if not token.isascii() or not token.isprintable():
            raise errors.AuthError("the token is not valid")
        found = await self._find(token)
        return self._check(found)

    @property
    def issuer(self) -> str:
        """The identity provider at which people log in to the page; empty if there is none."""
        if self._logins is None or self._jwts is None:
            return ""
        return self._jwts.issuer

    @property
    def takes_typed_tokens(self) -> bool:
        """Whether there are tokens that a person may type to log in to the page."""
        auth = self._settings
        return bool(auth.tokens or auth.tokens_file or auth.token_review)

    async def verify_typed(self, token: str) -> user.Credential:
        """Returns the credential of a token that a person has typed to log in to the page. Raises AuthError."""
        found = await self.bearer(token)
        # Attack: a client gets access tokens of its own from the identity provider, and logs in to the page as its
        # user, although that needs the user's presence.
        if found.user.issuer not in user.LISTED:
            raise errors.AuthError("this token is for clients; log in at the identity provider")
        return found

    async def begin_login(self, secret: str, back: str) -> str:
        """Returns the URL at which a person logs in; see `logins.Logins.begin`. Raises AuthError."""
        assert self._logins is not None
        return await self._strangers.ask(self._logins.begin, secret, back)

    def read_code(self, secret: str, answer: Mapping[str, str]) -> str:
        """Returns the code in an answer to a log-in; see `logins.Logins.read_code`. Raises AuthError."""
        if self._logins is None:
            raise errors.AuthError("there is no log-in at an identity provider here")
        return self._logins.read_code(secret, answer)

    async def finish_login(self, secret: str, back: str, code: str) -> user.Credential:
        """Returns the credential of a person who has logged in. Raises AuthError."""
        assert self._logins is not None
        found = await self._strangers.ask(self._logins.finish, secret, back, code)
        return self._check(found)

    async def _find(self, token: str) -> user.Credential:
        """Returns the credential of a token, from the only method that is responsible for it. Raises AuthError."""
        listed = self._find_listed(token)
        if listed is not None:
            return user.Credential(listed, None, token)
        verifier = self._jwts
        # A JWT that names the issuer goes to no other method, so that no weaker one accepts what this one refuses.
        if verifier is None or not verifier.is_responsible(token):
            return await self._opaque.find(token)
        if verifier.wants_keys(token):
            await self._keys.ask(verifier.fetch_keys)
        return verifier.verify(token)

    def _find_listed(self, token: str) -> user.User | None:
        """Returns the user of a static token in the file or the settings."""
        if self._file is not None:
            found = self._file.find(token)
            if found is not None:
                return found
        digest = hashlib.sha256(token.encode()).hexdigest()
        name = self._tokens.get(digest)
        if name is None:
            return None
        return user.User(name, "tokens", name)

    def certificate(self, shown: Mapping[str, Any]) -> user.Credential:
        """Returns the user that a certificate names: the common name, and the organizations as groups, as Kubernetes
        reads it. TLS has verified the certificate; `shown` is what `ssl.SSLSocket.getpeercert` returns. Raises
        AuthError."""
        pairs = list(itertools.chain.from_iterable(shown["subject"]))
        names = [value for key, value in pairs if key == "commonName"]
        if len(names) != 1 or not names[0] or len(pairs) > _MAX_TLS_NAMES:
            raise errors.AuthError("the certificate does not name one user")
        (name,) = names
        organizations = {value for key, value in pairs if key == "organizationName"}
        groups = tuple(sorted(organizations))
        found = user.User(name, "client_ca_file", name, groups)
        # Attack: a client keeps a connection alive after the certificate with which it began has expired.
        expires = ssl.cert_time_to_seconds(shown["notAfter"])
        return self._check(user.Credential(found, expires))

    def _check(self, found: user.Credential) -> user.Credential:
        """Returns the credential. Raises AuthError if it has expired, or is a token that can have scopes but lacks a
        required one."""
        caller = found.user
        _check_names(caller)
        if found.expires is not None and found.expires + claims.LEEWAY_S <= time.time():
            raise errors.AuthError("the token has expired")
        # Only tokens of an identity provider can have scopes.
        if caller.is_of_provider and not caller.scopes.issuperset(self._settings.scopes):
            needed = " ".join(self._settings.scopes)
            raise errors.AuthError(f"the token lacks a scope of {needed}", code="auth.scope")
        return found

    def check(self) -> str:
        """Returns `ok`, or what is wrong with the file of tokens and with the identity provider's keys; empty without
        both. May be called in any thread."""
        found = []
        if self._file is not None:
            found.append(self._file.check())
        if self._jwts is not None:
            found.append(self._jwts.check_keys())
        wrong = [each for each in found if each != "ok"]
        if wrong:
            return "; ".join(wrong)
        return "ok" if found else ""

    def close(self) -> None:
        """Closes the connections to the identity provider."""
        if self._source is not None:
            self._source.close()

    def _introspect(self, token: str) -> user.Credential:
        """Returns the credential of a token that the introspection endpoint calls active. Raises AuthError."""
        endpoint = self._settings.introspection
        assert self._source is not None
        assert endpoint is not None
        found = self._source.introspect(token)
        _check_audience(found, self._audience)
        issuer = found.get("iss")
        if not isinstance(issuer, str):
            issuer = endpoint.url
        return claims.credential(found, self._settings, issuer, token)


def _check_names(found: user.User) -> None:
    """Raises AuthError for names that headers, records or rules cannot hold, whatever their source."""
    names = (found.name, *found.groups)
    if len(names) > _MAX_GROUPS or not all(map(_is_usable, names)):
        raise errors.AuthError(
            "the names of the user and the groups cannot be used: too many, too long, or not printable"
        )


def _is_usable(name: str) -> bool:
    has_room = 0 < len(name) <= _MAX_NAME
    return has_room and name.isprintable()


def _check_audience(found: Mapping[str, Any], wanted: Sequence[str]) -> None:
    """Raises AuthError if a token that an endpoint calls active is for another audience."""
    if claims.audiences(found).isdisjoint(wanted):
        expected = " or ".join(wanted)
        raise errors.AuthError(
            "the token is for another audience", remedy=f"its aud must name {expected} (auth.audience)"
        )
