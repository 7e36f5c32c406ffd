"""What stands beside MCP for people and probes: whether the server answers, what it is, and its metrics."""

from __future__ import annotations

import datetime
import time
from typing import Any, Final

import anyio
import anyio.to_thread
import mcp_types
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

import kubescript
from kubescript import config, errors
from kubescript.transports import authentication, backend, seats
from kubescript.transports import scope_keys as keys
from kubescript.transports.seat import Seat

__all__ = ["Status"]

_METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
"""Prometheus' text format."""
_METRICS_S: Final = 1.0
"""Seconds for which metrics count. Attack: a stranger that asks without end, where metrics need no credential."""
_READY_S: Final = 5.0
"""Seconds for which an answer about readiness counts."""
_ENDPOINTS: Final = {
    "health": "/health", "ready": "/ready", "mcp": "/mcp", "sse": "/sse", "sse-status": "/sse-status",
    "messages": "/messages", "tools": "/tools", "info": "/info", "metrics": "/metrics",
}  # fmt: skip
_TRANSPORTS: Final = ("streamable_http", "sse")


class Status:
    """What stands beside MCP."""

    def __init__(self, server: backend.Backend, seating: seats.Seats) -> None:
        self._server = server
        self._seats = seating
        self._ready: tuple[float, backend.Readiness] | None = None
        self._metrics: tuple[float, bytes] | None = None
        self._asking = anyio.Lock()
        self._thread = anyio.CapacityLimiter(1)

    async def health(self, request: Request) -> Response:
        """Says that the process answers; tells a known caller more."""
        if self._is_stranger(request):
            return JSONResponse({"status": "healthy"})
        # The first line says what a tool is for; the others name clusters, which a probe need not know.
        try:
            tools = [
                {"name": tool["name"], "description": tool["description"].partition("\n")[0]}
                for tool in await self._tools(request)
            ]
        except errors.Busy:  # the caller has sent too much; the process answers all the same
            return JSONResponse({"status": "healthy"})
        about = {"status": "healthy", "service": "kubescript", "version": kubescript.__version__, "timestamp": _now()}
        return JSONResponse(about | {"mode": "hybrid", "transports": _TRANSPORTS, "tools": tools})

    async def ready(self, request: Request) -> Response:
        """Says whether scripts would be answered."""
        async with self._asking:  # many probes ask once
            if self._ready is None or time.monotonic() > self._ready[0]:
                found = await anyio.to_thread.run_sync(self._server.ready, limiter=self._thread)
                self._ready = time.monotonic() + _READY_S, found
        _, found = self._ready
        word, status = ("ready", 200) if found.is_ready else ("not ready", 503)
        state: dict[str, Any] = {"status": word}
        if not self._is_stranger(request):
            state["checks"] = dict(found.checks)
        return JSONResponse(state, status)

    async def info(self, request: Request) -> Response:
        """Says what the server is; its counts are the caller's own."""
        async with self._seats.take(request.scope) as seat:
            _count(seat, request)
            tools, streams = await seat.tools(), seat.sse.count
        more = {
            "protocolVersion": mcp_types.LATEST_PROTOCOL_VERSION,
            "transports": ("stdio", *_TRANSPORTS),
            "endpoints": _ENDPOINTS | {name: f"/{name}/" for name in config.ROUTES if self._seats.offers(name)},
            "capabilities": {"tools": {}, "resources": True, "prompts": True},
            "statistics": {"activeSSEConnections": streams, "availableTools": len(tools)},
        }
        return JSONResponse(self._server.state() | more)

    async def tools(self, request: Request) -> Response:
        """Lists the caller's tools as `tools/list` does."""
        return JSONResponse({"jsonrpc": "2.0", "result": {"tools": await self._tools(request)}})

    async def sse_status(self, request: Request) -> Response:
        """Says how many streams of the older SSE are open: the caller's own."""
        async with self._seats.take(request.scope) as seat:
            _count(seat, request)
            return JSONResponse({"activeConnections": seat.sse.count, "timestamp": _now()})

    async def metrics(self, _request: Request) -> Response:
        """Returns metrics: those of the last second, however many requests there are."""
        if self._metrics is None or time.monotonic() > self._metrics[0]:
            self._metrics = time.monotonic() + _METRICS_S, self._server.scrape()
        return Response(self._metrics[1], media_type=_METRICS_TYPE)

    async def _tools(self, request: Request) -> list[dict[str, Any]]:
        async with self._seats.take(request.scope) as seat:
            _count(seat, request)
            return await seat.tools()

    def _is_stranger(self, request: Request) -> bool:
        settings = self._server.settings
        is_open = settings.is_local and not settings.knows_callers
        return not is_open and authentication.credential(request.scope) is None


def _now() -> str:
    now = datetime.datetime.now(datetime.UTC)
    return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _count(seat: Seat, request: Request) -> None:
    seat.share.count(request.scope.get(keys.LENGTH, 0))
