"""TLS handshakes, which wait for their clients like half-sent requests: they have a deadline, and the oldest are ended
when there are too many connections. asyncio's own handshakes are not counted, and have a minute each."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from kubescript.transports import http_connections, tls

__all__ = ["Handshake", "make_factory"]


def make_factory(
    protocol: type[http_connections.Connection], certificates: tls.Certificates
) -> Callable[..., asyncio.Protocol]:
    """Returns a factory of protocols for uvicorn, for plain connections that are upgraded to TLS."""

    def make(**given: Any) -> Handshake:
        return Handshake(protocol, certificates, given)

    return make


class Handshake(asyncio.Protocol):
    """A TCP connection until its TLS handshake is done. The `Connection` that serves its requests then replaces it."""

    owner = ""

    def __init__(
        self, protocol: type[http_connections.Connection], certificates: tls.Certificates, given: dict[str, Any]
    ) -> None:
        """`given` contains uvicorn's arguments for a connection."""
        self._protocol = protocol
        self._certificates = certificates
        self._context = certificates.context
        self._generation = certificates.generation
        self._given = given
        self._others = given["server_state"].connections
        self._connection: http_connections.Connection | None = None
        self._arrived = b""
        self._is_lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begins the handshake."""
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()
        self._transport = transport
        self._others.add(self)
        self._protocol.waiting.open(self)
        self._protocol.waiting.add(self)
        self._task = asyncio.get_running_loop().create_task(self._run())

    def data_received(self, data: bytes) -> None:
        """Keeps bytes that arrive with the end of the handshake."""
        self._arrived += data

    def connection_lost(self, exc: Exception | None) -> None:
        """Notes that the client has left."""
        self._is_lost = True
        if self._connection is not None:
            self._connection.connection_lost(exc)

    def end(self) -> None:
        """Ends the connection at once."""
        self._transport.abort()

    shutdown = end
    """The name by which uvicorn calls it on all connections when the server ends."""

    async def _run(self) -> None:
        try:
            secure = await self._start_tls()
        finally:
            self._others.discard(self)
            self._protocol.waiting.close(self)
        if secure is None or self._is_lost or self._is_distrusted(secure):
            self._transport.abort()
            return
        self._connection = connection = self._protocol(**self._given)
        secure.set_protocol(connection)
        connection.connection_made(secure)
        if self._arrived:
            connection.data_received(self._arrived)

    def _is_distrusted(self, secure: asyncio.Transport) -> bool:
        """Says whether the client's certificate was verified with CAs that have since changed."""
        # Attack: a client begins a handshake before its CA is removed, and completes it afterwards.
        is_old = self._generation != self._certificates.generation
        return is_old and bool(secure.get_extra_info("peercert"))

    async def _start_tls(self) -> asyncio.Transport | None:
        """Returns the connection within TLS; None if the handshake fails or takes too long."""
        wait_s = self._protocol.waiting.wait_s
        loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError):  # includes ssl.SSLError and TimeoutError
            # asyncio returns None if the connection was aborted during the handshake.
            return await loop.start_tls(
                self._transport, self, self._context, server_side=True, ssl_handshake_timeout=wait_s
            )
        return None
