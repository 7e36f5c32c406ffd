"""One seat for each caller: his MCP server, and the transports through which he reaches it.

A caller comes with a request, gets a seat, and loses it when he has been away for as long as a session may be idle.
Sessions, streams, events and limits belong to the seat, so no handle of one caller means anything in another's.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

import anyio
import anyio.abc
import anyio.to_thread
from mcp.server import streamable_http_manager
from mcp.server.lowlevel import server as lowlevel

from kubescript import config, errors
from kubescript.auth import access, user
from kubescript.broker import rate
from kubescript.transports import backend, events, sse

__all__ = ["Seat", "Seats"]

log = logging.getLogger(__name__)

_MOST: Final = 1_000
"""Callers that have a seat at the same time."""
_LOOK_S: Final = 15.0
"""Seconds until it is looked again for seats that nobody uses."""
_NOBODY: Final = ""


class Seat:
    """What one caller reaches."""

    def __init__(self, limits: config.Http, max_body: int, keep: _Token) -> None:
        self.token = keep
        self.requests = rate.Rate(limits.requests_per_minute)
        self.users = 0
        """Requests and streams that are being served."""
        self.left = time.monotonic()
        """When the last one ended."""
        self.tenant: backend.Tenant | None = None
        self._limits = limits
        self._max_body = max_body
        self._closed = anyio.Event()

    async def open(self, tenant: backend.Tenant, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        """Serves the caller until `close` is called."""
        self.tenant = tenant
        server = await anyio.to_thread.run_sync(tenant.server)
        self.server: lowlevel.Server[Any] = server
        limits, body = self._limits, self._max_body
        manager = streamable_http_manager.StreamableHTTPSessionManager
        if limits.stateless:
            self.sessions = manager(server, stateless=True, max_request_body_size=body)
        else:
            self.sessions = manager(
                server,
                event_store=events.Events(),
                session_idle_timeout=limits.session_idle_s,
                max_sessions=limits.max_sessions,
                max_request_body_size=body,
            )
        self.plain = manager(server, stateless=True, json_response=True, max_request_body_size=body)
        """For clients that send one request and read one answer."""
        self.sse = sse.LegacySse(server, limits.max_sessions, body)
        try:
            async with self.sessions.run(), self.plain.run():
                task_status.started()
                await self._closed.wait()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(tenant.close)

    async def tools(self) -> list[dict[str, Any]]:
        """Returns the definitions of the caller's tools, as JSON."""
        assert self.tenant is not None
        found = await anyio.to_thread.run_sync(self.tenant.tools)
        return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in found]

    def close(self) -> None:
        """Ends the seat's sessions."""
        self._closed.set()


class _Token:
    """The newest token of a caller, for calls that are made with it."""

    def __init__(self) -> None:
        self._credential: user.Credential | None = None

    def update(self, credential: user.Credential) -> None:
        """Keeps a token that is valid for longer."""
        known = self._credential
        lasts = credential.expires or float("inf")
        if known is None or lasts >= (known.expires or float("inf")):
            self._credential = credential

    def __call__(self) -> str:
        """Returns the token; empty when there is none, or none that is still valid."""
        known = self._credential
        if known is None or (known.expires is not None and known.expires <= time.time()):
            return ""
        return known.token


class Seats:
    """The seats of one server. One event loop uses it."""

    def __init__(self, server: backend.Backend, max_body: int) -> None:
        self._server = server
        self._max_body = max_body
        self._seats: dict[str, Seat] = {}
        self._opening = anyio.Lock()
        self._tasks: anyio.abc.TaskGroup | None = None
        self._streams: set[anyio.CancelScope] = set()

    @property
    def streams(self) -> int:
        """Open streams of all callers' legacy SSE."""
        return sum(seat.sse.count for seat in self._seats.values())

    @contextlib.asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Serves callers."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            if not self._server.settings.knows_callers:
                await self._opened(_NOBODY, self._server.operator, _Token())
            tasks.start_soon(self._tidy)
            yield
            for seat in self._seats.values():
                seat.close()
            tasks.cancel_scope.cancel()

    @contextlib.asynccontextmanager
    async def taken(self, credential: user.Credential | None) -> AsyncIterator[Seat]:
        """Yields the seat of who sends a request. Raises AuthError when he may have none, and Busy."""
        seat = self._seats[_NOBODY] if credential is None else await self._of(credential)
        seat.users += 1
        try:
            yield seat
        finally:
            seat.users -= 1
            seat.left = time.monotonic()

    @contextlib.contextmanager
    def stream(self) -> Iterator[None]:
        """Within it, a stream is ended by `drain`."""
        with anyio.CancelScope() as scope:
            self._streams.add(scope)
            try:
                yield
            finally:
                self._streams.discard(scope)

    def drain(self) -> None:
        """Ends streams on which no call is answered: their clients come again."""
        for scope in list(self._streams):
            scope.cancel()

    async def _of(self, credential: user.Credential) -> Seat:
        key = credential.user.key
        async with self._opening:
            seat = self._seats.get(key)
            if seat is None:
                settings = access.narrowed(self._server.settings, credential.user)
                self._make_room()
                token = _Token()
                tenant = await anyio.to_thread.run_sync(self._server.tenant, credential.user, settings, token)
                seat = await self._opened(key, tenant, token)
        seat.token.update(credential)
        return seat

    async def _opened(self, key: str, tenant: backend.Tenant, token: _Token) -> Seat:
        assert self._tasks is not None
        seat = Seat(self._server.settings.http, self._max_body, token)
        await self._tasks.start(seat.open, tenant)
        self._seats[key] = seat
        return seat

    def _make_room(self) -> None:
        """Ends the seat that nobody has used for longest where there are too many. Raises Busy."""
        if len(self._seats) < _MOST:
            return
        idle = [(seat.left, key) for key, seat in self._seats.items() if not seat.users]
        if not idle:
            raise errors.Busy("too many callers are connected; try again in a few minutes")
        self._end(min(idle)[1])

    async def _tidy(self) -> None:
        """Ends seats that nobody uses."""
        while True:
            await anyio.sleep(_LOOK_S)
            before = time.monotonic() - self._server.settings.http.session_idle_s
            for key, seat in list(self._seats.items()):
                if key != _NOBODY and not seat.users and seat.left < before:
                    self._end(key)

    def _end(self, key: str) -> None:
        self._seats.pop(key).close()
