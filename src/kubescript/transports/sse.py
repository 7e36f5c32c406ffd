"""The transport of protocol version 2024-11-05, for clients such as n8n: GET /sse, and POST /messages?sessionId=….

The SDK's transport does the work. The stream also gets the other events in the contract of such servers: `connected`,
and `ping` where the SDK sends a comment.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import time
import urllib.parse
from typing import Any, Final

import anyio
import anyio.lowlevel
from mcp.server import sse
from mcp.server.lowlevel import server as lowlevel
from mcp.shared.message import SessionMessage
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from kubescript.transports import retained, unreadable
from kubescript.transports import scope_keys as keys

__all__ = ["LegacySse"]

_PATH: Final = "/messages"
_INVALID_SESSION: Final = -32000
_ENDPOINT: Final = re.compile(rb"session_id=([0-9a-f]{32})")
_PING: Final = b": ping"


class LegacySse:
    """The streams of one caller."""

    def __init__(self, server: lowlevel.Server[Any], streams: set[object], most: int, max_body: int) -> None:
        """`streams` has the caller's streams at all seats, of which there may be `most`."""
        self._server = server
        self._streams = streams
        self._most = most
        self._transport = sse.SseServerTransport(_PATH, max_request_body_size=max_body)
        self._sessions: dict[str, contextlib.ExitStack] = {}
        """The streams by session, each with the count of its last message: the SDK keeps a message until the next one
        arrives.
        """

    @property
    def count(self) -> int:
        """The number of open streams."""
        return len(self._sessions)

    async def stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one stream, until its client leaves."""
        if len(self._streams) >= self._most:
            await _error(503, "Too many open sessions", -32603)(scope, receive, send)
            return
        opened = _Stream(send, self._sessions)
        self._streams.add(opened)
        try:
            async with self._transport.connect_sse(scope, receive, opened.send) as (read, write):
                answers = _Answers(write)
                messages = _Paced(read, answers)
                await self._server.run(messages, answers, self._server.create_initialization_options())
        finally:
            self._streams.discard(opened)
            self._sessions.pop(opened.session, contextlib.ExitStack()).close()

    async def post(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Takes one message for a stream. Raises Busy."""
        query = scope["query_string"].decode("latin-1")
        given = urllib.parse.parse_qs(query)
        named = given.get("sessionId") or given.get("session_id") or [""]
        session = named[0]
        if len(named) != 1 or session not in self._sessions:
            await _error(404, "Invalid session", _INVALID_SESSION)(scope, receive, send)
            return
        part: retained.Part = scope[keys.PART]
        counted = contextlib.ExitStack()
        counted.enter_context(part.budget.holding(part.size))
        self._sessions[session].close()
        self._sessions[session] = counted
        handle = session.encode()
        digest = hashlib.sha256(handle).hexdigest()
        # A name, not the handle: with the handle, another client could join the session.
        scope[keys.SESSION] = digest[:16]
        scope["query_string"] = b"session_id=" + handle
        # The stream may end while the message waits for it; by then the client has its 202.
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._transport.handle_post_message(scope, receive, send)


class _Answers(unreadable.Stream):
    """The messages to a client, as the SDK sends them."""

    def __init__(self, write: Any) -> None:
        super().__init__(write)
        self._waiting = 0
        self._all_left = anyio.Event()

    async def send(self, message: SessionMessage) -> None:
        """Returns once the previous message has been sent."""
        self._waiting += 1
        try:
            await self._stream.send(message)
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._all_left.set()
                self._all_left = anyio.Event()

    async def leave(self) -> None:
        """Returns once no message waits."""
        while self._waiting:
            await self._all_left.wait()


class _Paced(unreadable.Answering):
    """The messages from a client. The next one is not read while answers wait for the client."""

    # Attack: a client sends requests that are refused before they are counted, and reads the answers slowly. A message
    # that is not read here is an unfinished request, and counts as one.

    def __init__(self, read: Any, answers: _Answers) -> None:
        super().__init__(read, answers)
        self._answers = answers

    async def receive(self) -> SessionMessage | Exception:
        """Returns the next message. Raises the stream's exceptions."""
        await self._answers.leave()
        message = await super().receive()
        await anyio.lowlevel.checkpoint()  # the previous request may be refused only now
        await self._answers.leave()
        return message


class _Stream:
    """The messages to one client, with the events of the contract."""

    def __init__(self, send: Send, sessions: dict[str, contextlib.ExitStack]) -> None:
        self._send = send
        self._sessions = sessions
        self.session = ""
        """The id of the session; empty until the client has been told of it."""

    async def send(self, message: Message) -> None:
        """Passes on a message of the transport."""
        body = message.get("body", b"")
        if message["type"] == "http.response.body" and body:
            message = {**message, "body": self._rewrite(body)}
        await self._send(message)

    def _rewrite(self, body: bytes) -> bytes:
        if body.startswith(_PING):
            now_ms = int(time.time() * 1000)
            return _event("ping", json.dumps({"timestamp": now_ms}))
        if self.session:
            return body
        found = _ENDPOINT.search(body)
        assert found is not None, "the SDK's first event names the session"
        self.session = found[1].decode()
        self._sessions[self.session] = contextlib.ExitStack()
        endpoint = f"{_PATH}?sessionId={self.session}"
        connected = json.dumps({"sessionId": self.session, "messageEndpoint": endpoint})
        # Go's SDK expects `endpoint` first.
        return _event("endpoint", endpoint) + _event("connected", connected)


def _event(name: str, data: str) -> bytes:
    return f"event: {name}\r\ndata: {data}\r\n\r\n".encode()


def _error(status: int, message: str, code: int) -> JSONResponse:
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
    return JSONResponse(body, status)
