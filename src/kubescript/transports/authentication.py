"""Passes on requests of authenticated callers, and tells the others how to log in (RFC 6750, RFC 9728)."""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import anyio
import anyio.lowlevel
from mcp.server.auth.middleware import bearer_auth
from mcp.server.auth.provider import AccessToken
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kubescript import errors
from kubescript.auth import authenticator, opaque, user
from kubescript.transports import endpoints
from kubescript.transports import scope_keys as keys

__all__ = ["Authentication", "credential"]

log = logging.getLogger(__name__)

_STATUS: Final = {"auth.token": 401, "auth.scope": 403, "auth.access": 403, "auth.unavailable": 503}
_ERROR: Final = {401: "invalid_token", 403: "insufficient_scope", 503: "temporarily_unavailable"}
_UNQUOTED: Final = re.compile(r"[^ !#-\[\]-~]")
"""Characters that RFC 6750 forbids in a description."""
_VERIFIED_S: Final = opaque.KNOWN_S
"""Seconds after which a stream's credential is verified again."""


class Authentication:
    """An application that passes on requests of authenticated callers, and all requests to the `open_paths`."""

    def __init__(
        self,
        app: ASGIApp,
        verifier: authenticator.Authenticator,
        reduced: Callable[[user.User], user.User],
        *,
        url: str,
        scopes: Sequence[str],
        open_paths: frozenset[str],
    ) -> None:
        """Callers that are `reduced` to the same user share sessions. `url` is that of /mcp if clients can log in, else
        empty; `scopes` are those that a token needs."""
        self._app = app
        self._verifier = verifier
        self._reduced = reduced
        self._url = url
        self._scopes = " ".join(scopes)
        self._open_paths = open_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] != "http" or self._is_open(scope):
            await self._app(scope, receive, send)
            return
        try:
            found = await self._credential(scope)
        except errors.AuthError as error:
            await self._refusal(error, scope["path"])(scope, receive, send)
            return
        scope[keys.CREDENTIAL] = found
        scope[keys.CONNECTION].owner = found.user.person
        scope["user"] = _sdk_user(self._reduced(found.user))
        if scope["method"] == "GET":
            stream = _Stream(send, lambda: self._credential(scope))
            await stream.serve(self._app, scope, receive)
        else:
            await self._app(scope, receive, send)

    def _is_open(self, scope: Scope) -> bool:
        """Says whether a request needs no credential. With one, the open paths answer in more detail."""
        path: str = scope["path"]
        # The purpose of this path is to tell clients without a token where they get one (RFC 9728).
        if path.startswith(endpoints.METADATA):
            return True
        names = (name for name, _ in scope["headers"])
        has_credential = keys.CERTIFICATE in scope or b"authorization" in names
        return path in self._open_paths and not has_credential

    async def _credential(self, scope: Scope) -> user.Credential:
        """Returns the credential of a request. Raises AuthError."""
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        # Two readers might each choose a different one.
        if len(given) > 1:
            raise errors.AuthError("more than one Authorization header")
        if given:
            scheme, _, token = given[0].decode("latin-1").partition(" ")
            if scheme.lower() != "bearer":
                raise errors.AuthError("the Authorization header has no bearer token")
            return await self._verifier.bearer(token.strip())
        if keys.CERTIFICATE in scope:
            return self._verifier.certificate(scope[keys.CERTIFICATE])
        raise errors.AuthError("no token")

    def _refusal(self, error: errors.AuthError, path: str) -> Response:
        if error.remedy:
            log.warning("a request is refused: %s", error.message, extra=error.log_fields)
        status = _STATUS.get(error.code, 401)
        name = _ERROR[status]
        text = _UNQUOTED.sub("?", error.message)
        headers = {"cache-control": "no-store"}
        if status == 503:
            headers["retry-after"] = "5"
        else:
            headers["www-authenticate"] = self._challenge(name, text, path)
        body = json.dumps({"error": name, "error_description": text})
        return Response(body, status, headers, "application/json")

    def _challenge(self, name: str, text: str, path: str) -> str:
        parts = ['realm="kubescript"']
        if self._url:
            parts = [f'resource_metadata="{endpoints.metadata(self._url, path)}"']
        if self._scopes:
            parts.append(f'scope="{self._scopes}"')
        if text != "no token":  # RFC 6750: a request without a credential gets no error code
            parts += [f'error="{name}"', f'error_description="{text}"']
        return f"Bearer {', '.join(parts)}"


class _Stream:
    """One stream's messages, passed on while its caller's credential is valid. A ping passes through every 15 seconds,
    so an idle stream ends as well."""

    # Attack: a client opens a stream before its token is revoked, and listens for days.

    def __init__(self, send: Send, verify: Callable[[], Awaitable[object]]) -> None:
        """`verify` raises AuthError once the credential is no longer valid."""
        self._send = send
        self._verify = verify
        self._verified = time.monotonic()
        self._has_begun = False
        self._scope = anyio.CancelScope()

    async def serve(self, app: ASGIApp, scope: Scope, receive: Receive) -> None:
        """Runs the application; ends the stream when the credential is no longer valid."""
        with self._scope:
            await app(scope, receive, self._pass_on)
        if self._scope.cancelled_caught and self._has_begun:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _pass_on(self, message: Message) -> None:
        if time.monotonic() - self._verified > _VERIFIED_S:
            await self._verify_again()
        self._has_begun = True
        await self._send(message)

    async def _verify_again(self) -> None:
        try:
            await self._verify()
        except errors.AuthError as error:
            log.info("a stream has ended: %s", error.message, extra={"event": "stream.ended", "code": error.code})
            self._scope.cancel()
            await anyio.lowlevel.checkpoint()
        self._verified = time.monotonic()


def credential(scope: Scope) -> user.Credential | None:
    """Returns the credential of a request; None if none is needed."""
    found: user.Credential | None = scope.get(keys.CREDENTIAL)
    return found


def _sdk_user(caller: user.User) -> bearer_auth.AuthenticatedUser:
    """Returns the user in the SDK's form. The SDK binds sessions to users, and treats users that differ in any field as
    different."""
    known = AccessToken(token="", client_id=caller.key, scopes=sorted(caller.scopes))
    return bearer_auth.AuthenticatedUser(known)
