"""How clients reach the server: stdio, or streamable HTTP at /mcp on loopback with Host and Origin checks."""

from __future__ import annotations

from typing import Any, Final

from mcp.server.lowlevel import server as lowlevel

from kubescript import config, errors

__all__ = ["serve"]

_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})


async def serve(server: lowlevel.Server[Any], settings: config.Settings) -> None:
    """Serve until the client hangs up (stdio) or the process is told to end (http)."""
    if settings.transport == "http":
        await _serve_http(server, settings)
    else:
        await _serve_stdio(server)


async def _serve_stdio(server: lowlevel.Server[Any]) -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


async def _serve_http(server: lowlevel.Server[Any], settings: config.Settings) -> None:
    import uvicorn

    if settings.host not in _LOOPBACK:
        raise errors.ConfigError(
            f"host {settings.host} is not a loopback address: the http transport has no authentication yet, "
            "so it serves 127.0.0.1, localhost and ::1 only"
        )
    app = server.streamable_http_app(
        streamable_http_path="/mcp", host=settings.host
    )  # loopback: Host and Origin are checked
    options = uvicorn.Config(app, host=settings.host, port=settings.port, log_config=None, timeout_graceful_shutdown=5)
    await uvicorn.Server(options).serve()
