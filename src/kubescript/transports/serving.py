"""Serves clients over stdio, or over one port for streamable HTTP, the older SSE and the other routes.

The command line calls `serve`. A request passes Host and Origin checks, authentication and limits on its body, and then
reaches its caller's seat.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import logging
import os
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread

from kubescript import config, errors
from kubescript.transports import backend, exposure

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

    from kubescript.transports import ending, seats

__all__ = ["Announce", "serve"]

log = logging.getLogger(__name__)

Announce = Callable[[str], None]
"""Takes the server's URL as soon as clients can connect; over stdio an empty string."""

_Reload = Callable[[config.Settings], Awaitable[None]]
"""Applies other settings from now on. Raises ConfigError, and changes nothing, when they cannot take effect."""
# Kubernetes kills the process after 30 seconds.
_GRACE_S: Final = 25
"""Seconds after SIGTERM in which requests may be answered."""


async def serve(
    server: backend.Backend, announce: Announce | None = None, reread: backend.Reread | None = None
) -> None:
    """Serves until the client hangs up (stdio) or a signal ends the process (http). `announce` shows a person where the
    server listens; without it, the URL is logged. At SIGHUP `reread` returns the new settings. Raises ConfigError."""
    exposure.check(server.settings)
    _tell(exposure.find(server.settings))
    if server.settings.transport == "http":
        await _serve_http(server, announce, reread)
    else:
        if announce is not None:
            announce("")
        await _serve_stdio(server, reread)


async def _serve_stdio(server: backend.Backend, reread: backend.Reread | None) -> None:
    # Each transport loads only its own stack.
    from mcp.server.stdio import stdio_server

    from kubescript.transports import unreadable

    served = server.operator.server()

    async def reload(settings: config.Settings) -> None:
        operator, adopt = await anyio.to_thread.run_sync(server.prepare, settings)
        adopt()
        await served.replace(operator.offer())

    async with stdio_server() as (read, write), anyio.create_task_group() as tasks:
        tasks.start_soon(_reload_on_sighup, reread, reload)
        options = served.mcp.create_initialization_options()
        await served.mcp.run(unreadable.Answering(read, write), write, options)
        tasks.cancel_scope.cancel()


async def _serve_http(server: backend.Backend, announce: Announce | None, reread: backend.Reread | None) -> None:
    from sse_starlette import sse

    from kubescript.transports import bodies, ending, handshake, http_connections, seats, tls
    from kubescript_sandbox import unused_memory

    unused_memory.limit_arenas()
    # At SIGTERM this feature would cut off pending answers; `seats.drain` ends the streams that have none.
    sse.AppStatus.enable_automatic_graceful_drain = False
    settings = server.settings
    certificates = None
    if settings.tls.cert_file is not None:
        certificates = tls.Certificates(settings.tls)
    with _listener(settings.host, settings.port, "--port") as listener, contextlib.ExitStack() as closing:
        url = settings.http.url or _url(listener, settings)
        most, callers = http_connections.most(settings)
        end = ending.Ending()
        seating = seats.Seats(server, bodies.MAX_BODY, most, callers, end)
        protocol: Any = http_connections.protocol(most)
        if certificates is not None:
            protocol = handshake.make_factory(protocol, certificates)
        options = _make_options(_build_application(server, seating, url, closing, end), protocol)
        monitors = _open_monitoring(server, seating, end, closing)

        async def reload(settings: config.Settings) -> None:
            exposure.check(settings)
            before = set(exposure.find(server.settings))
            await seating.reload(settings)
            _tell(danger for danger in exposure.find(settings) if danger not in before)

        # Only once uvicorn has started: an earlier Ctrl-C would end it with a stack trace in the log.
        def on_start() -> None:
            if announce is None:
                _log_url(server, url)
            else:
                announce(url)

        _end_on_sigterm()
        serving = http_connections.Server(options, on_start, seating.drain, server.drain, end)
        async with anyio.create_task_group() as tasks:
            if certificates is not None:
                tasks.start_soon(certificates.watch, serving.end_certified)
            tasks.start_soon(_reload_on_sighup, reread, reload)
            if monitors is not None:
                tasks.start_soon(monitors)
            await serving.serve([listener])
            tasks.cancel_scope.cancel()


def _open_monitoring(
    server: backend.Backend, seating: seats.Seats, end: ending.Ending, closing: contextlib.ExitStack
) -> Callable[[], Coroutine[Any, Any, None]] | None:
    """Listens at the port for metrics and probes. Returns what serves it; None if there is none. Raises ConfigError."""
    from kubescript.transports import http_connections, monitoring, status

    settings = server.settings
    if settings.http.metrics_port is None:
        return None
    host = settings.http.metrics_host or settings.host
    listener = closing.enter_context(_listener(host, settings.http.metrics_port, "http.metrics_port"))
    beside = status.Status(server, seating, end, knows_nobody=True)
    protocol = http_connections.protocol(monitoring.MOST, monitoring.WAIT_S)
    options = _make_options(monitoring.application(beside), protocol)
    return functools.partial(monitoring.serve, listener, options)


def _make_options(app: ASGIApp, protocol: Any) -> uvicorn.Config:
    """Returns uvicorn's settings for our application and our HTTP protocol."""
    import uvicorn

    from kubescript.transports import http_connections

    return uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        h11_max_incomplete_event_size=2 * http_connections.MAX_HEAD,  # our limit, with 431, applies first
        backlog=http_connections.BACKLOG,
        log_config=None,
        lifespan="on",  # a server without its seats must end, not look healthy
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_S,
    )


async def _reload_on_sighup(reread: backend.Reread | None, reload: _Reload) -> None:
    """Reloads at each SIGHUP. Returns at once where signals cannot be handled, or without `reread`."""
    if reread is None or threading.current_thread() is not threading.main_thread():
        return
    with anyio.open_signal_receiver(signal.SIGHUP) as signals:
        async for _ in signals:
            await _try_reload(reread, reload)


async def _try_reload(reread: backend.Reread, reload: _Reload) -> None:
    try:
        settings = await anyio.to_thread.run_sync(reread)
        await reload(settings)
    except errors.KubescriptError as error:
        log.warning(
            "the configuration is not reloaded, and all is as before: %s",
            error.message,
            extra={"event": "reload.refused", **error.log_fields},
        )
    except Exception:  # any other error in the new configuration must not end the server
        log.exception("the configuration is not reloaded", extra={"event": "reload.refused"})
    else:
        log.info("the configuration is reloaded", extra={"event": "reload.done"})


def _build_application(
    server: backend.Backend, seating: seats.Seats, url: str, closing: contextlib.ExitStack, end: ending.Ending
) -> ASGIApp:
    """Returns the web application behind its checks, the cheapest check first."""
    from kubescript.auth import access_rules, authenticator
    from kubescript.transports import authentication, beside, bodies, endpoints, guard, monitoring, routes

    settings = server.settings
    app: ASGIApp = bodies.WholeBodies(routes.application(server, seating, url, end))
    page: ASGIApp | None = None
    if settings.knows_callers:
        resources = [endpoints.resource(url, path) for path in ("", *endpoints.PATHS)]
        verifier = authenticator.Authenticator(settings, resources, lambda: server.operator.contexts.reviewer.cluster)
        closing.callback(verifier.close)
        server.verifier = verifier
        open_paths = routes.OPEN | ({"/metrics"} if settings.http.open_metrics else frozenset())
        resource = url if settings.auth.issuer is not None else ""
        app = authentication.Authentication(
            app,
            verifier,
            lambda caller: access_rules.reduce(server.settings, caller),
            url=resource,
            scopes=settings.auth.scopes,
            open_paths=open_paths,
        )
        page = server.page(verifier, url)
    if page is not None:
        app = beside.Beside(app, page)
    # Attack: a web page on this machine reads the routes beside MCP.
    anywhere = frozenset() if settings.is_local else routes.OPEN
    guarded = guard.Guard(app, settings.http, anywhere, settings.scheme)
    return monitoring.Refusals(guarded, routes.OPEN, server.note_refusal)


def _tell(dangers: Iterable[exposure.Danger]) -> None:
    for danger in dangers:
        log.warning("%s", danger.text, extra={"event": danger.event})


def _url(listener: socket.socket, settings: config.Settings) -> str:
    """Returns the URL where clients find the server: with port 0 only the listener knows the port."""
    host = settings.host
    if ":" in host:
        host = f"[{host}]"
    _, port, *_ = listener.getsockname()
    return f"{settings.scheme}://{host}:{port}/mcp"


def _log_url(server: backend.Backend, url: str) -> None:
    names = ", ".join(filter(None, server.operator.contexts.list_names()))
    toolsets = ", ".join(server.settings.toolsets)
    log.info(
        "listening at %s; clusters: %s; toolsets: %s",
        url,
        names or "not known before the first call",
        toolsets or "none",
        extra={"event": "http.listening"},
    )


def _listener(host: str, port: int, setting: str) -> socket.socket:
    """Returns the listening socket. Raises ConfigError when the port is unavailable; `setting` chooses it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        why = f"cannot be used: {os.strerror(error.errno or 0)}"
        if error.errno == errno.EADDRINUSE:
            why = "is in use"
        raise errors.ConfigError(
            f"port {port} of {host} {why}", remedy=f"choose another with {setting}; 0 picks a free one"
        ) from None
    # asyncio sets this only for sockets with an explicit protocol. Without it, each answer on a kept connection waits
    # 40 ms for the client's delayed acknowledgement of the answer's head.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _end_on_sigterm() -> None:
    """Makes SIGTERM end the server as Ctrl-C does."""
    # When uvicorn is done it raises the received signal again; SIGTERM would then kill the process before the last
    # traces are sent.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
