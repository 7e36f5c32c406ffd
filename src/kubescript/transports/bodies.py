"""Passes requests on once they have arrived completely, and refuses those that are too large. `http_connections` limits
how long that may take, and how much is held until then.
"""

from __future__ import annotations

from typing import Final

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kubescript.transports import retained
from kubescript.transports import scope_keys as keys

__all__ = ["MAX_BODY", "WholeBodies"]

# A script of 256 KiB takes at most six times that as JSON.
MAX_BODY: Final = 2 << 20
"""The maximum size of a request in bytes."""
# A call has about ten values.
_MAX_VALUES: Final = 10_000
"""The maximum number of values in one request's JSON."""
_MAX_MESSAGE: Final = 512 << 10
"""The maximum size in bytes of a message to a stream of the older SSE, which is accepted before the stream reads it."""
_MAX_OTHER: Final = 16 << 10
"""The maximum size in bytes of a body that is never read."""
_too_large: Final = PlainTextResponse("the request is too large", 413, {"connection": "close"})


class WholeBodies:
    """An application that passes requests on once they have arrived completely. A client that leaves earlier gets
    nothing."""

    # Attack: clients cut bodies short. The SDK logs a stack trace for each, and hundreds per second fill the log.

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = bytearray()
        most = self._find_most(scope)
        more = True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > most:
                await _too_large(scope, receive, send)
                return
        # Attack: a client sends two MiB of empty lists, whose decoding takes a second and 200 MiB.
        content = bytes(body)
        body.clear()
        weight = retained.weight(content, _MAX_VALUES)
        if weight is None:
            await _too_large(scope, receive, send)
            return
        scope[keys.LENGTH] = len(content)
        scope[keys.WEIGHT] = weight
        first: list[Message] = [{"type": "http.request", "body": content, "more_body": False}]
        del content  # a stream may stay open for hours

        async def whole() -> Message:
            if first:
                return first.pop()
            return await receive()

        await self._app(scope, whole, send)

    @staticmethod
    def _find_most(scope: Scope) -> int:
        if scope["method"] != "POST":
            return _MAX_OTHER
        if scope["path"].startswith("/messages"):
            return _MAX_MESSAGE
        return MAX_BODY
