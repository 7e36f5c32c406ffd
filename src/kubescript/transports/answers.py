"""An answer to a client, whose bytes count in a budget until the client has read them."""

from __future__ import annotations

from starlette.types import Message, Send

from kubescript.transports import http_connections, retained

__all__ = ["Answer"]


class Answer:
    """An answer to a client, which may be cut off."""

    def __init__(self, send: Send, connection: http_connections.Connection, copies: int = 1) -> None:
        """`copies` is how many copies of the answer are held while it waits for its client."""
        self._send = send
        self._connection = connection
        self._copies = copies
        self.has_begun = False
        self.budget: retained.Budget | None = None
        """The budget of the person whom the answer is for, once the person is known."""
        self._is_whole = False

    async def send(self, message: Message) -> None:
        """Sends a part."""
        self.has_begun = True
        self._is_whole = message["type"] == "http.response.body" and not message.get("more_body", False)
        if self.budget is None:
            await self._send(message)
            return
        # Attack: clients do not read their answers. The answer that has waited longest for its client makes room for
        # others.
        self._connection.count(self.budget, self._copies * len(message.get("body", b"")))
        await self._send(message)
        await self._connection.drain(self.budget)

    async def end(self) -> None:
        """Ends the answer."""
        if not self._is_whole:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
