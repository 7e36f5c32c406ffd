"""The routes beside MCP for people and probes: whether the server answers, its description, and its metrics."""

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
from kubescript.transports import authentication, backend, ending, readiness, seats
from kubescript.transports import scope_keys as keys
from kubescript.transports.seat import Seat

__all__ = ["Status"]

_METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
"""Prometheus' text format."""
# Attack: a stranger requests metrics endlessly, where they need no credential.
_METRICS_S: Final = 1.0
"""Seconds for which metrics are cached."""
_READY_S: Final = 5.0
"""Seconds for which an answer about readiness is cached."""
_ENDPOINTS: Final = {
    "health": "/health", "ready": "/ready", "mcp": "/mcp", "sse": "/sse", "sse-status": "/sse-status",
    "messages": "/messages", "tools": "/tools", "info": "/info", "metrics": "/metrics",
}  # fmt: skip
_TRANSPORTS: Final = ("streamable_http", "sse")


class Status:
    """The routes beside MCP."""

    def __init__(
        self, server: backend.Backend, seating: seats.Seats, end: ending.Ending, *, knows_nobody: bool = False
    ) -> None:
        """`knows_nobody` says that no request is from a caller, so that none is told details."""
        self._server = server
        self._knows_nobody = knows_nobody
        self._seats = seating
        self._end = end
        self._ready: tuple[float, readiness.Readiness] | None = None
        self._metrics: tuple[float, bytes] | None = None
        self._asking = anyio.Lock()
        self._thread = anyio.CapacityLimiter(1)
        self._scraping = anyio.Lock()
        self._scraper = anyio.CapacityLimiter(1)

    async def health(self, request: Request) -> Response:
        """Reports that the process answers; gives authenticated callers details."""
        if self._is_stranger(request):
            return JSONResponse({"status": "healthy"})
        try:
            tools = await self._tools(request)
        except errors.Busy:
            # The caller has sent too much, but the process does answer.
            return JSONResponse({"status": "healthy"})
        return JSONResponse(
            {
                "status": "healthy",
                "service": "kubescript",
                "version": kubescript.__version__,
                "timestamp": _now(),
                "mode": "hybrid",
                "transports": _TRANSPORTS,
                "tools": [_summarize(tool) for tool in tools],
            }
        )

    async def ready(self, request: Request) -> Response:
        """Reports whether scripts would be answered, and go on to be."""
        self._end.note_probe()
        if self._end.has_begun:
            return JSONResponse({"status": "ending"}, 503)
        async with self._asking:  # one check answers many probes
            if self._ready is None or time.monotonic() > self._ready[0]:
                found = await anyio.to_thread.run_sync(self._server.ready, limiter=self._thread)
                self._ready = time.monotonic() + _READY_S, found
        _, found = self._ready
        word = "ready" if found.is_ready else "not ready"
        state: dict[str, Any] = {"status": word}
        if not self._is_stranger(request):
            state["checks"] = found.all_checks
        return JSONResponse(state, 200 if found.is_ready else 503)

    async def info(self, request: Request) -> Response:
        """Describes the server; its counts are the caller's own."""
        async with self._seats.take(request.scope) as seat:
            await _count(seat, request)
            tools = await seat.tools()
            streams = seat.sse.count
        own = {name: f"/{name}/" for name in config.ROUTES if self._seats.offers(name)}
        more = {
            "protocolVersion": mcp_types.LATEST_PROTOCOL_VERSION,
            "transports": ("stdio", *_TRANSPORTS),
            "endpoints": _ENDPOINTS | own,
            "capabilities": {"tools": {}, "resources": True, "prompts": True},
            "statistics": {"activeSSEConnections": streams, "availableTools": len(tools)},
        }
        return JSONResponse(self._server.state() | more)

    async def tools(self, request: Request) -> Response:
        """Lists the caller's tools as `tools/list` does."""
        return JSONResponse({"jsonrpc": "2.0", "result": {"tools": await self._tools(request)}})

    async def sse_status(self, request: Request) -> Response:
        """Reports the number of the caller's open streams of the older SSE."""
        async with self._seats.take(request.scope) as seat:
            await _count(seat, request)
            return JSONResponse({"activeConnections": seat.sse.count, "timestamp": _now()})

    async def metrics(self, _request: Request) -> Response:
        """Returns metrics at most a second old, however many requests there are."""
        async with self._scraping:  # one text answers many requests
            if self._metrics is None or time.monotonic() > self._metrics[0]:
                # A text of many series takes a tenth of a second, for which no caller should wait.
                present = self._seats.presence
                text = await anyio.to_thread.run_sync(self._server.scrape, present, limiter=self._scraper)
                self._metrics = time.monotonic() + _METRICS_S, text
        _, text = self._metrics
        return Response(text, media_type=_METRICS_TYPE)

    async def _tools(self, request: Request) -> list[dict[str, Any]]:
        async with self._seats.take(request.scope) as seat:
            await _count(seat, request)
            return await seat.tools()

    def _is_stranger(self, request: Request) -> bool:
        if self._knows_nobody:
            return True
        settings = self._server.settings
        # Only this machine reaches such a server, and none of its callers has a credential.
        if settings.is_local and not settings.knows_callers:
            return False
        return authentication.credential(request.scope) is None


def _now() -> str:
    now = datetime.datetime.now(datetime.UTC)
    return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")


async def _count(seat: Seat, request: Request) -> None:
    length = request.scope.get(keys.LENGTH, 0)
    await seat.share.count(length)


def _summarize(tool: dict[str, Any]) -> dict[str, str]:
    # The first line gives a tool's purpose; the others name clusters, which probes need not see.
    purpose, _, _ = tool["description"].partition("\n")
    return {"name": tool["name"], "description": purpose}
