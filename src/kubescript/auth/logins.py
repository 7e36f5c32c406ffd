"""Logs people in at the identity provider: OpenID Connect's authorization code flow with PKCE.

What belongs to one log-in (`state`, `nonce`, PKCE's verifier) is derived from one secret, which the person's browser
keeps in a cookie until it comes back. So nothing is kept here, and any replica can finish what another one has begun.
"""

from __future__ import annotations

import base64
import hashlib
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kubescript import config, errors
from kubescript.auth import claims, codes, jwts, provider, user

__all__ = ["Logins"]

_REFUSAL: Final = "the identity provider does not take the answer of this log-in; begin again"
_NOT_OURS: Final = "this log-in was not begun in this browser, or has been finished already; begin again"


class Logins:
    """The log-ins by one client of one issuer. Its methods block, and raise AuthError."""

    def __init__(
        self, settings: config.Auth, login: config.Login, verifier: jwts.Verifier, source: provider.Provider
    ) -> None:
        """Raises ConfigError when the client's secret cannot be read."""
        self._settings = settings
        self._login = login
        self._verifier = verifier
        self._source = source
        self._secret = ""
        if login.client_secret_file is not None:
            self._secret = provider.read_secret(login.client_secret_file, "plans.login.client_secret_file")

    def begin(self, secret: str, back: str) -> str:
        """Returns the URL at which a person logs in; `back` is where the browser is sent then."""
        url = self._source.endpoint(self._verifier.issuer, "authorization_endpoint")
        challenge = hashlib.sha256(_derive(secret, "verifier").encode()).digest()
        scopes = dict.fromkeys(("openid", *self._login.scopes, *self._settings.scopes))
        query = urllib.parse.urlencode({
            "response_type": "code",
            "client_id": self._login.client_id,
            "redirect_uri": back,
            "scope": " ".join(scopes),
            "state": _derive(secret, "state"),
            "nonce": _derive(secret, "nonce"),
            "code_challenge": _encode(challenge),
            "code_challenge_method": "S256",
        })  # fmt: skip
        joint = "&" if "?" in url else "?"
        return f"{url}{joint}{query}"

    def read_code(self, secret: str, answer: Mapping[str, str]) -> str:
        """Returns the code in an answer to this log-in; `answer` has the parameters with which the browser has come
        back. Asks nobody."""
        # Attack: a page of another site finishes its own owner's log-in in this browser.
        if not secret or not codes.is_equal(answer.get("state", ""), _derive(secret, "state")):
            raise errors.AuthError(_NOT_OURS)
        # Attack: the answer is another provider's (RFC 9207).
        if answer.get("iss", self._verifier.issuer) != self._verifier.issuer:
            raise errors.AuthError("the answer is not the identity provider's")
        code = answer.get("code", "")
        if not code:
            raise errors.AuthError("the identity provider has not logged you in")
        return code

    def finish(self, secret: str, back: str, code: str) -> user.Credential:
        """Returns the credential of the person who has logged in."""
        found = self._exchange(secret, back, code)
        token = found.get("id_token")
        if not isinstance(token, str):
            raise errors.AuthError("the identity provider gives no ID token", remedy="the client needs scope openid")
        told = self._verify(token, _derive(secret, "nonce"))
        scope = found.get("scope")
        # An ID token has no scopes; the answer names those that were granted, unless they are as requested (RFC 6749).
        granted = scope if isinstance(scope, str) else " ".join(self._settings.scopes)
        return claims.of_login({**told, "scope": granted}, self._settings, self._verifier.issuer)

    def _exchange(self, secret: str, back: str, code: str) -> Mapping[str, Any]:
        url = self._source.endpoint(self._verifier.issuer, "token_endpoint")
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": back,
            "code_verifier": _derive(secret, "verifier"),
        }
        return self._source.grant(url, (self._login.client_id, self._secret), fields, _REFUSAL)

    def _verify(self, token: str, nonce: str) -> dict[str, Any]:
        """Returns the claims of an ID token that belongs to this log-in."""
        if self._verifier.wants_keys(token):
            self._verifier.fetch_keys()
        told = self._verifier.read(token, (self._login.client_id,))
        # Attack: an ID token of another log-in, or for another client of the same provider, is passed off as this one.
        if not codes.is_equal(told.get("nonce"), nonce) or not self._is_for_us(told):
            raise errors.AuthError(_NOT_OURS)
        return told

    def _is_for_us(self, told: Mapping[str, Any]) -> bool:
        """Says whether a token was made for this client, and not for another one that shares its audience."""
        own = self._login.client_id
        audience: str | Sequence[str] = told["aud"]
        is_shared = not isinstance(audience, str) and len(audience) > 1
        if is_shared or "azp" in told:
            return bool(told.get("azp") == own)
        return True


def _derive(secret: str, name: str) -> str:
    return _encode(codes.derive(secret, name))


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
