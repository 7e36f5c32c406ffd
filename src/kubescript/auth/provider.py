"""An identity provider over HTTPS: its metadata, keys and introspection of opaque tokens. Blocking; `authenticator`
calls it in separate threads."""

from __future__ import annotations

import contextlib
import json
import re
import ssl
import time
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import httpx2

from kubescript import config, errors
from kubescript.config import named_files

__all__ = ["Provider", "read_secret", "tls_context"]

_METADATA: Final = (".well-known/openid-configuration", ".well-known/oauth-authorization-server")
_SCHEMES: Final = ("https://", "http://")
_TIMEOUT_S: Final = 5.0
"""Seconds for a whole answer."""
_MAX_BYTES: Final = 1 << 20
_FRESH_S: Final = 300.0
"""Seconds after which an endpoint is looked up again."""
_CODE: Final = re.compile(r"[a-z_]{1,40}")
"""An error's code, such as `invalid_grant` (RFC 6749)."""


class Provider:
    """The HTTP client for one server's provider."""

    def __init__(self, settings: config.Auth) -> None:
        """Raises ConfigError when a file named in the settings cannot be read."""
        self._settings = settings
        self.tls = tls_context(settings.ca_file)
        self._client = httpx2.Client(verify=self.tls, timeout=_TIMEOUT_S, follow_redirects=False)
        self._endpoints: dict[str, tuple[float, str]] = {}
        """The endpoints by name, each with the time at which it is looked up again."""
        self._secret = ""
        endpoint = settings.introspection
        if endpoint is not None:
            self._secret = read_secret(endpoint.client_secret_file, "auth.introspection.client_secret_file")

    def keys(self, issuer: str) -> Mapping[str, Any]:
        """Returns the issuer's key set (RFC 7517). Raises AuthError when it cannot be fetched."""
        (url,) = self.urls(issuer, "jwks_uri")
        request = self._client.build_request("GET", url)
        return self._json(request)

    def urls(self, issuer: str, *names: str) -> tuple[str, ...]:
        """Returns the URLs under these names in the issuer's metadata. Raises AuthError if it lacks one."""
        base = issuer.rstrip("/")
        for path in _METADATA:
            request = self._client.build_request("GET", f"{base}/{path}")
            metadata = self._json(request, needed=False)
            found = [metadata.get(name) for name in names]
            named = str(metadata.get("issuer", ""))
            # Attack: a proxy or a wrong setting leads to another issuer's metadata.
            if named.rstrip("/") == base and all(isinstance(url, str) and url.startswith(_SCHEMES) for url in found):
                return tuple(map(str, found))
        needed = " and ".join(names)
        raise errors.AuthError(
            f"the identity provider does not say its {needed}",
            code="auth.unavailable",
            remedy=f"{issuer} must serve {_METADATA[0]} with its own issuer and {needed}",
        )

    def endpoint(self, issuer: str, name: str) -> str:
        """Returns the URL under this name in the issuer's metadata, which is valid for a while. Raises AuthError."""
        # Attack: strangers begin log-ins, each of which would cause a request to the provider.
        until, url = self._endpoints.get(name, (0.0, ""))
        if time.monotonic() >= until:
            (url,) = self.urls(issuer, name)
            self._endpoints[name] = (time.monotonic() + _FRESH_S, url)
        return url

    def grant(self, url: str, client: tuple[str, str], fields: Mapping[str, str], refusal: str) -> Mapping[str, Any]:
        """Returns the answer of a token endpoint to a client with this id and secret; the secret is empty for a client
        that has none, or that has it among the fields. Raises AuthError with the text `refusal` (auth.token) when the
        provider refuses the fields."""
        client_id, secret = client
        asked = self._client.build_request("POST", url, data={"client_id": client_id, **fields})
        if secret:
            asked = next(httpx2.BasicAuth(client_id, secret).auth_flow(asked))
        return self._json(asked, refusal=refusal)

    def introspect(self, token: str) -> Mapping[str, Any]:
        """Returns the endpoint's claims about a token. Raises AuthError when it is not active, or there is no
        answer."""
        endpoint = self._settings.introspection
        assert endpoint is not None
        asked = self._client.build_request(
            "POST", endpoint.url, data={"token": token, "token_type_hint": "access_token"}
        )
        signed = next(httpx2.BasicAuth(endpoint.client_id, self._secret).auth_flow(asked))
        claims = self._json(signed)
        if claims.get("active") is not True:
            raise errors.AuthError("the token is not active")
        return claims

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()

    def _json(self, asked: httpx2.Request, *, needed: bool = True, refusal: str = "") -> Mapping[str, Any]:
        """Returns the object in the answer to a request; an empty one if there is none and it is not `needed`. With
        `refusal`, that is the error if the request itself is refused."""
        found = None
        host = asked.url.host
        try:
            status, body = self._send(asked)
            if status == HTTPStatus.OK:
                found = json.loads(body)
        except (httpx2.HTTPError, ValueError, RecursionError) as error:
            kind = type(error).__name__
            raise _unavailable(f"{kind} at {host}") from None
        if isinstance(found, dict):
            return found
        # Attack: a stranger sends made-up codes. A provider that refuses them can be asked.
        if refusal and _is_refused(status):
            raise errors.AuthError(f"{refusal}{_error_code(body)}", remedy=f"{host} answers {status}")
        if needed:
            raise _unavailable(f"{host} answers {status}")
        return {}

    def _send(self, asked: httpx2.Request) -> tuple[int, bytes]:
        """Returns the status and at most a MiB of body. Raises HTTPError, and ValueError for more."""
        # The client's timeout applies to each read separately. Attack: a provider sends a byte every few seconds.
        end = time.monotonic() + _TIMEOUT_S
        answer = self._client.send(asked, stream=True)
        with contextlib.closing(answer):
            body = b""
            for chunk in answer.iter_bytes():
                body += chunk
                if len(body) > _MAX_BYTES or time.monotonic() > end:
                    raise ValueError
            return answer.status_code, body


def tls_context(ca_file: Path | None) -> ssl.SSLContext:
    """Returns a context that verifies servers with these CAs, or the system's. Raises ConfigError."""
    # REQUESTS_CA_BUNDLE is never used. Without the setting, SSL_CERT_FILE replaces the system's CAs.
    if ca_file is not None:
        named_files.read(ca_file, "auth.ca_file")
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ValueError):
        raise errors.ConfigError(f"auth.ca_file: {ca_file} has no certificate in PEM") from None


def _is_refused(status: int) -> bool:
    """Says whether the same request would be refused at any time."""
    is_about_request = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
    return is_about_request and status != HTTPStatus.TOO_MANY_REQUESTS


def _error_code(body: bytes) -> str:
    """Returns the error's code in the answer of a token endpoint, in brackets; empty if there is none."""
    try:
        code = json.loads(body).get("error")
    except (ValueError, RecursionError, AttributeError):
        return ""
    # Attack: the provider repeats a token, or words for the model, in place of a code.
    is_code = isinstance(code, str) and _CODE.fullmatch(code) is not None
    return f" ({code})" if is_code else ""


def _unavailable(why: str) -> errors.AuthError:
    return errors.AuthError(
        "the identity provider cannot be asked now; try again",
        code="auth.unavailable",
        remedy=f"check that it answers this server: {why}",
    )


def read_secret(path: Path, setting: str) -> str:
    """Returns the secret in the file that a setting names. Raises ConfigError, also if there is none in it."""
    secret = named_files.read_text(path, setting).strip()
    if not secret:
        raise errors.ConfigError(f"{setting}: {path} is empty")
    return secret
