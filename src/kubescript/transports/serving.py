"""How clients reach the server: stdio, or streamable HTTP at /mcp on loopback with Host and Origin checks.

Beside it stand /health for probes, /info for people and /metrics for Prometheus. The command line calls `serve`.
"""

from __future__ import annotations

import errno
import functools
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from mcp.server.lowlevel import server as lowlevel

from kubescript import config, contexts, errors

if TYPE_CHECKING:
    from starlette.applications import Starlette

__all__ = ["Announce", "Scrape", "State", "serve"]

log = logging.getLogger(__name__)

State = Callable[[], dict[str, object]]
"""Returns what /info answers."""
Scrape = Callable[[], bytes]
"""Returns what /metrics answers."""

Announce = Callable[[str], None]
"""Is told the server's URL as soon as clients can connect; nothing over stdio."""

_METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
"""Prometheus' text format."""
_MAX_BODY: Final = 2 << 20
"""Bytes of a request: a script of 256 KiB takes at most six times that as JSON."""
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_ALLOWED_HOSTS: Final = ("127.0.0.1:*", "localhost:*", "[::1]:*")
_ALLOWED_ORIGINS: Final = tuple(f"http://{host}" for host in _ALLOWED_HOSTS)


async def serve(
    server: lowlevel.Server[Any],
    settings: config.Settings,
    state: State,
    scrape: Scrape | None = None,
    clusters: contexts.Contexts | None = None,
    announce: Announce | None = None,
) -> None:
    """Serves until the client hangs up (stdio) or a signal ends the process (http). The names of `clusters` are for the
    log, unless `announce` tells a person."""
    if settings.transport == "http":
        names = clusters.names if clusters is not None else ()
        await _serve_http(server, settings, state, scrape, announce or functools.partial(_log_url, settings, names))
    else:
        if announce is not None:
            announce("")
        await _serve_stdio(server)


async def _serve_stdio(server: lowlevel.Server[Any]) -> None:
    # Each transport loads only its own stack.
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


async def _serve_http(
    server: lowlevel.Server[Any],
    settings: config.Settings,
    state: State,
    scrape: Scrape | None,
    announce: Announce,
) -> None:
    import uvicorn

    from kubescript.transports import connections, guard

    if settings.host not in _LOOPBACK:
        raise errors.ConfigError(
            f"host {settings.host} is not a loopback address: the http transport has no authentication yet, "
            "so it serves 127.0.0.1, localhost and ::1 only"
        )
    app = _application(server, settings.http, state, scrape)
    options = uvicorn.Config(
        guard.Guard(connections.WholeBodies(app, _MAX_BODY)),
        http=connections.protocol(connections.most(settings)),
        ws="none",
        backlog=connections.BACKLOG,
        log_config=None,
        timeout_graceful_shutdown=5,
    )
    with _listener(settings) as listener:
        _end_on_sigterm()
        # Not before uvicorn has started: a Ctrl-C that came first would end it with a stack trace in the log.
        on_start = functools.partial(announce, _url(listener, settings))
        await connections.Server(options, on_start).serve([listener])


def _url(listener: socket.socket, settings: config.Settings) -> str:
    """Returns where clients find the server: with port 0 nobody else knows it."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{listener.getsockname()[1]}/mcp"


def _log_url(settings: config.Settings, clusters: Sequence[str], url: str) -> None:
    log.info(
        "listening at %s; clusters: %s; toolsets: %s",
        url,
        ", ".join(filter(None, clusters)) or "not known before the first call",
        ", ".join(settings.toolsets) or "none",
        extra={"event": "http.listening"},
    )


def _listener(settings: config.Settings) -> socket.socket:
    """Returns the listening socket. Raises ConfigError when the port cannot be had."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=2048)
    except OSError as error:
        why = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used: {os.strerror(error.errno or 0)}"
        raise errors.ConfigError(
            f"port {settings.port} of {settings.host} {why}", remedy="choose another with --port; 0 picks a free one"
        ) from None


def _end_on_sigterm() -> None:
    """Makes SIGTERM end the server as Ctrl-C does.

    When uvicorn is done it raises the signal it got once more; SIGTERM would then kill the process before the last
    traces are sent.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))


def _application(server: lowlevel.Server[Any], limits: config.Http, state: State, scrape: Scrape | None) -> Starlette:
    """Returns the web application: /mcp and what stands beside it. `guard` checks Host and Origin before each."""
    from mcp.server import transport_security
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    allowed = transport_security.TransportSecuritySettings(
        enable_dns_rebinding_protection=True, allowed_hosts=[*_ALLOWED_HOSTS], allowed_origins=[*_ALLOWED_ORIGINS]
    )

    async def health(_request: Request) -> Response:
        return JSONResponse({"status": "healthy"})

    async def info(_request: Request) -> Response:
        return JSONResponse(state())

    async def metrics(_request: Request) -> Response:
        return Response(scrape() if scrape is not None else b"", media_type=_METRICS_TYPE)

    return server.streamable_http_app(
        streamable_http_path="/mcp",
        transport_security=allowed,
        session_idle_timeout=limits.session_idle_s,
        max_sessions=limits.max_sessions,
        max_request_body_size=_MAX_BODY,
        custom_starlette_routes=[
            Route("/health", health),
            Route("/healthz", health),
            Route("/info", info),
            Route("/metrics", metrics),
        ],
    )
