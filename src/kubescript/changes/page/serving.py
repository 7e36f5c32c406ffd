"""The port on which the approval page is served, and the headers of its answers."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from typing import Final

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kubescript import errors
from kubescript.transports import http_connections

__all__ = ["Headers", "serve"]

_HEADERS: Final = (
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (b"x-frame-options", b"DENY"),
    (b"x-content-type-options", b"nosniff"),
    # With no-referrer, a browser would send the forms with `Origin: null`, as a page of another site can.
    (b"referrer-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_CONNECTIONS: Final = 64


def serve(application: ASGIApp, port: int = 0) -> tuple[str, Callable[[], None]]:
    """Serves the application on a loopback port, in a thread; 0 picks a free port. Returns its URL and a function that
    stops it. Raises PlanError when the port is not available."""
    try:
        listener = socket.create_server(("127.0.0.1", port), backlog=http_connections.BACKLOG)
    except OSError as error:
        raise errors.PlanError(
            f"the page for approvals cannot use port {port}: {os.strerror(error.errno or 0)}",
            code="plan.page",
            remedy="choose another with plans.port; 0 picks a free one",
        ) from None
    options = uvicorn.Config(
        application,
        http=http_connections.protocol(_CONNECTIONS),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=1,
    )
    started = threading.Event()
    server = http_connections.Server(options, on_start=started.set)

    def run() -> None:
        try:
            server.run([listener])
        finally:
            started.set()

    thread = threading.Thread(target=run, name="approvals", daemon=True)
    thread.start()
    started.wait()

    def close() -> None:
        server.should_exit = True
        thread.join()
        listener.close()

    return f"http://127.0.0.1:{listener.getsockname()[1]}", close


class Headers:
    """An application whose answers no other site can frame, read or keep, and whose queries are not logged."""

    def __init__(self, application: ASGIApp) -> None:
        self._app = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
                # At this point the server writes its access log, which must not contain keys.
                scope["query_string"] = b""
            await send(message)

        await self._app(scope, receive, with_headers)
