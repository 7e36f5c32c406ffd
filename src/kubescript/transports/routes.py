"""The web application: MCP over streamable HTTP and the older SSE, and routes for people and probes."""

from __future__ import annotations

import urllib.parse
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import anyio
import anyio.to_thread
import mcp_types
from mcp_types import version
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Message, Receive, Scope, Send

from kubescript import config, errors
from kubescript.transports import (
    answers,
    backend,
    ending,
    endpoints,
    retained,
    seats,
    status,
    unreadable,
)
from kubescript.transports import scope_keys as keys
from kubescript.transports.seat import Seat

__all__ = ["OPEN", "application"]

OPEN: Final = frozenset({"/health", "/healthz", "/ready", "/readyz"})
"""Paths for probes, which have no token."""
_STATUS: Final = {"auth.access": 403, "busy.rate": 429, "config.invalid": 500}
"""HTTP statuses by the error's code; for all others the server is unavailable."""
_UNAVAILABLE: Final = -32_000
"""The first of the codes that JSON-RPC leaves to servers: a later request may be answered."""
_CODES: Final = {403: mcp_types.INVALID_REQUEST, 500: mcp_types.INTERNAL_ERROR}
"""JSON-RPC's codes by the HTTP status."""
# As text, as an event and as bytes to send.
_COPIES: Final = 3
"""How many copies of an answer are held while it waits for its client."""
_not_served: Final = PlainTextResponse("Not Found: its toolset is not on", 404)
_long_initialize: Final = JSONResponse(
    {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": mcp_types.INVALID_REQUEST, "message": retained.LONG_INITIALIZE},
    },
    413,
)
_Serve = Callable[[Seat, Scope, Receive, Send], Awaitable[None]]


class _Seated:
    """An endpoint that serves callers at their seats."""

    def __init__(self, seating: seats.Seats, serve: _Serve, route: str = "") -> None:
        self._seats = seating
        self._serve = serve
        self._route = route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if self._route and not self._seats.offers(self._route):
            await _not_served(scope, receive, send)
            return
        answer = answers.Answer(send, scope[keys.CONNECTION], _COPIES)
        try:
            async with self._seats.take(scope, self._route) as seat:
                await seat.share.count(scope.get(keys.LENGTH, 0))
                answer.budget = seat.share.budget
                scope[keys.PART] = seat.part(scope)
                with self._seats.stream() if scope["method"] == "GET" else anyio.CancelScope():
                    await self._serve(seat, scope, receive, answer.send)
        except (errors.AuthError, errors.Busy, errors.ConfigError) as error:
            # The caller may have lost the seat during the answer.
            if answer.has_begun:
                await answer.end()
                return
            refusal = _write_refusal(error)
            await refusal(scope, receive, send)


def _write_refusal(error: errors.KubescriptError) -> Response:
    status = _STATUS.get(error.code, 503)
    headers = {}
    if status in {429, 503}:
        headers["retry-after"] = "5"
    fault = {"code": _CODES.get(status, _UNAVAILABLE), "message": error.message}
    body = {"jsonrpc": "2.0", "id": None, "error": fault}
    return JSONResponse(body, status, headers)


async def _streamable_http(seat: Seat, scope: Scope, receive: Receive, send: Send) -> None:
    if seat.is_stateless:
        # Attack: a client sends a session's id, which a server without sessions never verifies.
        scope["headers"] = [pair for pair in scope["headers"] if pair[0] != b"mcp-session-id"]
    headers = dict(reversed(scope["headers"]))  # of two, the SDK reads the first
    # A client that neither has a session nor reads streams, such as curl or Dify, sends one request and expects one
    # answer.
    reads_streams = b"mcp-session-id" in headers or b"text/event-stream" in headers.get(b"accept", b"")
    is_plain = scope["method"] == "POST" and not reads_streams
    if scope["method"] == "POST":
        is_long = scope.get(keys.LENGTH, 0) > retained.MAX_INITIALIZE
        if is_long and not is_plain and not seat.is_stateless and _opens_session(headers):
            await _long_initialize(scope, receive, send)
            return
        message = await receive()  # the whole body; see `bodies.WholeBodies`
        refused = unreadable.refusal(message.get("body", b""))
        if refused is not None:
            await JSONResponse(refused.model_dump(exclude_unset=True), 400)(scope, receive, send)
            return
        receive = _put_back(message, receive)
        del message  # frees the body while the answer waits for its client
    if is_plain:
        others = [pair for pair in scope["headers"] if pair[0] != b"accept"]
        scope["headers"] = [*others, (b"accept", b"application/json")]
        await seat.plain.handle_request(scope, receive, send)
        return
    with scope[keys.PART].using(headers.get(b"mcp-session-id", b"").decode("latin-1")):
        await seat.sessions.handle_request(scope, receive, send)


def _opens_session(headers: Mapping[bytes, bytes]) -> bool:
    """Says whether a request can only be the `initialize` of a session."""
    spoken = headers.get(b"mcp-protocol-version", b"").decode("latin-1")
    has_handshake = not spoken or spoken in version.HANDSHAKE_PROTOCOL_VERSIONS
    return has_handshake and b"mcp-session-id" not in headers


def _put_back(first: Message, receive: Receive) -> Receive:
    """Returns a `receive` that returns the first message again."""
    again = [first]

    async def replay() -> Message:
        return again.pop() if again else await receive()

    return replay


async def _sse(seat: Seat, scope: Scope, receive: Receive, send: Send) -> None:
    await seat.sse.stream(scope, receive, send)


async def _messages(seat: Seat, scope: Scope, receive: Receive, send: Send) -> None:
    await seat.sse.post(scope, receive, send)


def application(server: backend.Backend, seating: seats.Seats, url: str, end: ending.Ending) -> Starlette:
    """Returns the application; `url` is its address for clients."""
    beside = status.Status(server, seating, end)
    own = [Route(path, _Seated(seating, _streamable_http, route)) for path, route in endpoints.PATHS.items()]
    routes: list[BaseRoute] = [
        Route("/mcp", _Seated(seating, _streamable_http)),
        *own,
        Route("/sse", _Seated(seating, _sse), methods=["GET"]),
        Route("/messages", _Seated(seating, _messages), methods=["POST"]),
        Route("/messages/", _Seated(seating, _messages), methods=["POST"]),
        *(Route(path, beside.health) for path in ("/health", "/healthz")),
        *(Route(path, beside.ready) for path in ("/ready", "/readyz")),
        Route("/info", beside.info),
        Route("/tools", beside.tools),
        Route("/sse-status", beside.sse_status),
        Route("/metrics", beside.metrics),
        *_metadata(server.settings, seating, url),
    ]
    handlers: Any = dict.fromkeys((errors.AuthError, errors.Busy, errors.ConfigError), _handle_error)
    return Starlette(routes=routes, lifespan=lambda _: seating.run(), exception_handlers=handlers)


def _handle_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, errors.KubescriptError)
    return _write_refusal(error)


def _metadata(settings: config.Settings, seating: seats.Seats, url: str) -> list[Route]:
    """Returns the routes from which clients learn the issuer of accepted tokens (RFC 9728): under each resource's path,
    and at the root."""
    auth = settings.auth
    if auth.issuer is None:
        return []
    root = _Metadata(auth, seating, url)
    routes = [Route(endpoints.METADATA, root.answer)]
    for path in ("", *endpoints.PATHS):
        resource = endpoints.resource(url, path)
        own = _Metadata(auth, seating, resource, endpoints.PATHS.get(path, ""))
        where = urllib.parse.urlsplit(endpoints.metadata(url, path))
        routes.append(Route(where.path, own.answer))
    return routes


class _Metadata:
    """The metadata of one resource."""

    def __init__(self, auth: config.Auth, seating: seats.Seats, resource: str, route: str = "") -> None:
        self._seats = seating
        self._route = route
        self._document: dict[str, Any] = {
            "resource": resource,
            "authorization_servers": [auth.issuer],
            "bearer_methods_supported": ["header"],
            "resource_name": "kubescript",
        }
        if auth.scopes:
            self._document["scopes_supported"] = auth.scopes

    async def answer(self, _request: Request) -> Response:
        """Answers every client, including web pages."""
        if self._route and not self._seats.offers(self._route):
            return _not_served
        return JSONResponse(
            self._document, headers={"access-control-allow-origin": "*", "cache-control": "max-age=300"}
        )
