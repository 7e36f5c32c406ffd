"""The sessions of one seat over streamable HTTP. Streams of a session can be resumed, other replicas know of it, and a
request for a session that is not here hears where it was."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TYPE_CHECKING, Any, Final

import anyio
import mcp_types
from mcp.server import streamable_http, streamable_http_manager
from mcp.server.auth.middleware import bearer_auth
from mcp.server.lowlevel import server as lowlevel
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from kubescript import errors
from kubescript.transports import stream_events, unreadable

if TYPE_CHECKING:
    from kubescript.transports import peers

__all__ = ["Sessions"]

_WHERE: Final = {
    "ended": "Session not found: it was at another replica of this server, which has ended; start a new one "
    "(initialize)",
    "elsewhere": "Session not found: it is at another replica of this server, which the balancer has not asked; start "
    "a new one (initialize)",
}


class _Inlet(unreadable.Stream):
    """The stream on which a session gets its client's messages. What arrives once the session has ended is dropped."""

    async def send(self, message: Any) -> None:
        """Delivers a message, unless the session has ended."""
        # A client whose call has timed out says so, and ends its session at the same moment. The SDK would log two
        # stack traces, and answer the message twice.
        with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            await self._stream.send(message)


class _Transport(streamable_http.StreamableHTTPServerTransport):
    """The transport of one session."""

    @contextlib.asynccontextmanager
    async def connect(self) -> AsyncGenerator[Any]:
        """Yields the streams of the session's messages to and from the server."""
        async with super().connect() as streams:
            inlet: Any = _Inlet(self._read_stream_writer)
            self._read_stream_writer = inlet
            yield streams


class Sessions(streamable_http_manager.StreamableHTTPSessionManager):
    """Sessions whose streams can be resumed, each with separate events."""

    def __init__(
        self,
        server: lowlevel.Server[Any],
        events: stream_events.Events,
        here: set[object],
        beyond: peers.Endpoint | None,
        **limits: Any,
    ) -> None:
        """The events of all sessions are kept together. `here` has the caller's sessions at all seats of this replica,
        and `beyond` knows those at other replicas; None where there are none."""
        super().__init__(server, **limits)
        self._events = events
        self._here = here
        self._beyond = beyond

    @contextlib.asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Serves sessions inside the block."""
        async with super().run():
            try:
                yield
            finally:
                for session in self._server_instances:
                    self._forget(session)

    def _forget(self, session: str) -> None:
        self._here.discard(session)
        if self._beyond is not None and session in self._server_instances:
            self._beyond.end(session)

    def _admit_session(
        self, requestor: bearer_auth.AuthorizationContext | None
    ) -> streamable_http.StreamableHTTPServerTransport | None:
        if self.max_sessions is not None and len(self._here) >= self.max_sessions:
            return None
        self.event_store = self._events.open_store()  # for the session that begins now
        transport = super()._admit_session(requestor)
        if transport is not None:
            transport.__class__ = _Transport  # the SDK takes no class of transports
            self._here.add(transport.mcp_session_id)
        return transport

    async def _serve_opening_request(
        self,
        http_transport: streamable_http.StreamableHTTPServerTransport,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        session = http_transport.mcp_session_id or ""
        others = len(self._here) - 1
        may_begin = False
        try:
            may_begin = self._beyond is None or await self._beyond.begin(session, others)
        finally:
            if not may_begin:  # also one whose request is cancelled while the database is asked
                await self._discard_session(session, http_transport)
        if not may_begin:
            raise errors.Busy("you have too many sessions at this server; end some of them")
        await super()._serve_opening_request(http_transport, scope, receive, send)

    async def _discard_session(self, session_id: str, transport: streamable_http.StreamableHTTPServerTransport) -> None:
        self._forget(session_id)
        await super()._discard_session(session_id, transport)

    async def _handle_stateful_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        handles = [value.decode("latin-1") for name, value in scope["headers"] if name == b"mcp-session-id"]
        if self._beyond is not None and handles and handles[0] not in self._server_instances:
            found = await self._beyond.find(handles[0])
            if found != "unknown":
                fault = {"code": mcp_types.INVALID_REQUEST, "message": _WHERE[found]}
                refusal = JSONResponse({"jsonrpc": "2.0", "id": None, "error": fault}, 404)
                await refusal(scope, receive, send)
                return
        await super()._handle_stateful_request(scope, receive, send)
