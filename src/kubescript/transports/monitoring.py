"""What is watched of the http transport: how many requests it refuses; and the port of `http.metrics_port`, which
serves /metrics, /health and /ready for Prometheus and for probes without authentication.

Whoever reaches that port is a stranger. A connection gets one answer, and few connections are taken in a second. Those
that wait are the kernel's, so that a flood here costs the callers' port next to nothing.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.server import ServerState

from kubescript.telemetry import labels
from kubescript.transports import status

if TYPE_CHECKING:
    import uvicorn

__all__ = ["MOST", "WAIT_S", "Refusals", "application", "serve"]

MOST: Final = 16
"""How many connections may wait for their clients; then the one that has waited longest is closed."""
WAIT_S: Final = 5.0
"""Seconds for a whole request, and for reading its answer."""
# Attack: a stranger opens connections without end, and each takes time from the callers.
_PAUSE_S: Final = 0.02
"""Seconds between two connections."""

_Answer = Callable[[Request], Awaitable[Response]]


class Refusals:
    """An application that counts the requests which another one refuses."""

    def __init__(self, app: ASGIApp, probes: frozenset[str], note: Callable[[int], None]) -> None:
        """`probes` are the paths whose answers are no refusals, and `note` takes each refusal's HTTP status."""
        self._app = app
        self._probes = probes
        self._note = note

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] != "http" or scope["path"] in self._probes:
            await self._app(scope, receive, send)
            return

        async def count(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] in labels.REFUSALS:
                self._note(message["status"])
            await send(message)

        await self._app(scope, receive, count)


def application(beside: status.Status) -> _Application:
    """Returns the application of these routes."""
    return _Application(
        {
            "/metrics": beside.metrics,
            "/health": beside.health,
            "/healthz": beside.health,
            "/ready": beside.ready,
            "/readyz": beside.ready,
        }
    )


class _Application:
    """Answers each request by its path, and then ends its connection."""

    def __init__(self, answers: dict[str, _Answer]) -> None:
        self._answers = answers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        answer = self._answers.get(scope["path"])
        response: Response
        if answer is None:
            response = PlainTextResponse("Not Found", 404)
        elif scope["method"] not in {"GET", "HEAD"}:
            response = PlainTextResponse("Method Not Allowed", 405, {"allow": "GET, HEAD"})
        else:
            response = await answer(Request(scope))
        response.headers["connection"] = "close"
        await response(scope, receive, send)


async def serve(listener: socket.socket, options: uvicorn.Config) -> None:
    """Takes connections until it is cancelled. `options` name the application and the protocol."""
    loop = asyncio.get_running_loop()
    listener.setblocking(False)
    options.load()
    state = ServerState()
    protocol: Any = options.http_protocol_class

    def connect() -> asyncio.Protocol:
        made: asyncio.Protocol = protocol(config=options, server_state=state, app_state={})
        return made

    while True:
        try:
            connection, _ = await loop.sock_accept(listener)
            await loop.connect_accepted_socket(connect, connection)
        except OSError:  # the client has gone, or the process has no descriptor left
            pass
        await asyncio.sleep(_PAUSE_S)
