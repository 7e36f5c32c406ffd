"""How clients reach the server: stdio, or streamable HTTP at /mcp on loopback with Host and Origin checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from mcp.server.lowlevel import server as lowlevel

from kubescript import config, errors

if TYPE_CHECKING:
    from starlette.applications import Starlette

__all__ = ["State", "serve"]

State = Callable[[], dict[str, object]]
"""What /info tells."""

_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_HOSTS: Final = ("127.0.0.1:*", "localhost:*", "[::1]:*")
_ORIGINS: Final = tuple(f"http://{host}" for host in _HOSTS)


async def serve(server: lowlevel.Server[Any], settings: config.Settings, state: State) -> None:
    """Serve until the client hangs up (stdio) or the process is told to end (http)."""
    if settings.transport == "http":
        await _serve_http(server, settings, state)
    else:
        await _serve_stdio(server)


async def _serve_stdio(server: lowlevel.Server[Any]) -> None:
    from mcp.server.stdio import stdio_server  # each transport loads only its own stack

    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


async def _serve_http(server: lowlevel.Server[Any], settings: config.Settings, state: State) -> None:
    import uvicorn

    if settings.host not in _LOOPBACK:
        raise errors.ConfigError(
            f"host {settings.host} is not a loopback address: the http transport has no authentication yet, "
            "so it serves 127.0.0.1, localhost and ::1 only"
        )
    app = _application(server, state)
    options = uvicorn.Config(app, host=settings.host, port=settings.port, log_config=None, timeout_graceful_shutdown=5)
    await uvicorn.Server(options).serve()


def _application(server: lowlevel.Server[Any], state: State) -> Starlette:
    """/mcp for MCP clients, /health for probes, /info for people; Host and Origin are checked on each."""
    from mcp.server import transport_security
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    allowed = transport_security.TransportSecuritySettings(
        enable_dns_rebinding_protection=True, allowed_hosts=[*_HOSTS], allowed_origins=[*_ORIGINS]
    )
    guard = transport_security.TransportSecurityMiddleware(allowed)  # the SDK puts it before /mcp only

    async def health(request: Request) -> Response:
        return await guard.validate_request(request) or JSONResponse({"status": "healthy"})

    async def info(request: Request) -> Response:
        return await guard.validate_request(request) or JSONResponse(state())

    return server.streamable_http_app(
        streamable_http_path="/mcp",
        transport_security=allowed,
        custom_starlette_routes=[Route("/health", health), Route("/info", info)],
    )
