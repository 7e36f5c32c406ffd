"""Limits on HTTP connections, so that no client can shut the others out: how long a connection may wait for its client,
how many connections may be open, and how many received bytes are held. `serving` gives `protocol` to uvicorn, which has
no such limits.

A connection waits for its client between requests, until a request has arrived completely, and while the client does
not read its answer. A request that is being answered never counts as waiting. When there are too many connections,
those that have waited longest are closed first, so that a request that arrives at once (a probe of /health) always
finds room. When too many bytes of incomplete requests are held, the largest request of the caller that sends the most
is ended; all unauthenticated clients together count as one caller.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import resource
import socket
import sys
import termios
import time
from collections.abc import Callable
from typing import Any, ClassVar, Final

import h11
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http import h11_impl

from kubescript import config, errors
from kubescript.transports import ending, received, retained, waiting
from kubescript.transports import scope_keys as keys

__all__ = ["BACKLOG", "MAX_HEAD", "Connection", "Server", "most", "protocol"]

# Attack: a client that sends a byte every second would keep its connection for ever.
WAIT_S: Final = 15.0
"""Seconds for a whole request, counted from the end of the previous one."""
_ROOM: Final = 64
"""How many connections there may be beyond the sessions' streams and the scripts, for probes and for requests that are
answered at once."""
BACKLOG: Final = 64
"""How many connections asyncio accepts before it serves one."""
_SPARE_DESCRIPTORS: Final = 512
"""Descriptors for workers, API connections and files, and for accepted connections that still await closing: up to four
times the backlog."""
_MAX_CALLERS: Final = 1_000
"""How many callers may have a seat at the same time; the next one gets 503."""
# Usually two connections are open.
_FILES_OF_CALLER: Final = 4
"""Descriptors for one caller's kept connections to clusters."""
_FEWEST: Final = 32
"""The minimum number of connections, and of callers, even where the process has too few descriptors for them."""
# Attack: clients never read their answers. The kernel's default is up to 4 MiB for each: 543 MiB.
_UNREAD: Final = 128 << 10
"""How many bytes of an answer the kernel buffers for a client; Linux takes twice as many."""
_QUEUE: Final = 2048
"""How many connections the kernel queues until we accept them."""
# A token has up to 16 KiB.
MAX_HEAD: Final = 32 << 10
"""The maximum size in bytes of a request's head, and of requests that a client sends before its answer arrives."""
# Attack: a client sends 50,000 headers in one piece, and h11 counts them only 0.3 s later.
_PIECE: Final = 16 << 10
"""How many bytes are parsed at a time."""
_WHOLE: Final = frozenset({h11.DONE, h11.MUST_CLOSE})
"""The client's states once its request has arrived completely."""
_UNANSWERED: Final = frozenset({h11.IDLE, h11.SEND_RESPONSE})
"""Our states before an answer has begun."""
_LAST_S: Final = 5
"""The last seconds of a server that ends, in which scripts may end but no longer begin."""
_LONG_HEAD: Final = b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


def most(settings: config.Settings) -> tuple[int, int]:
    """Returns the maximum numbers of connections and of callers; raises the process's descriptor limit where it is too
    low."""
    # Attack: a client sends 1,100 half requests, which take every descriptor, so that /health is not answered.
    sandbox = settings.sandbox
    # Each session may keep a stream open and each script its call; all other requests are answered at once. Among
    # several callers, each takes at most half of the connections (`seats`).
    routes = [route for route in config.ROUTES if settings.list_toolsets(route)]
    sessions = settings.http.max_sessions * (len(routes) + 1)
    callers = 0
    if settings.knows_callers:
        sessions *= 2
        callers = _MAX_CALLERS
    wanted = sessions + sandbox.max_scripts + sandbox.max_queue + _ROOM
    files = callers * _FILES_OF_CALLER
    soft = _descriptors(wanted + files + _SPARE_DESCRIPTORS) - _SPARE_DESCRIPTORS
    # The other half is for the callers' connections to clusters.
    room = soft // 2 if callers else soft
    connections = max(_FEWEST, min(wanted, room))
    kept_callers = (soft - connections) // _FILES_OF_CALLER
    return connections, max(_FEWEST, min(_MAX_CALLERS, kept_callers))


def _descriptors(wanted: int) -> int:
    """Returns how many descriptors the process may have, `wanted` at most, and raises its soft limit if needed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return soft


def protocol(most: int, wait_s: float = WAIT_S) -> type[Connection]:
    """Returns a class of connections, at most `most` of which may be open at the same time."""
    # uvicorn takes a class, so the limit is an attribute of one.
    members = {"waiting": waiting.Waiting(most, wait_s)}
    return type("LimitedConnection", (Connection,), members)


class Server(uvicorn.Server):
    """uvicorn's server, with a longer queue in the kernel than asyncio accepts at once. It shuts down once balancers
    know, and without waiting for clients that neither send nor read."""

    def __init__(
        self,
        options: uvicorn.Config,
        on_start: Callable[[], None] = lambda: None,
        drain: Callable[[], None] = lambda: None,
        refuse: Callable[[], None] = lambda: None,
        end: ending.Ending | None = None,
    ) -> None:
        """`on_start` is called once the server listens, `drain` when it stops to listen, and `refuse` shortly before
        it ends. `end` knows the balancers."""
        super().__init__(options)
        self._on_start = on_start
        self._drain = drain
        self._refuse = refuse
        self._end = end or ending.Ending()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts to listen, and calls `on_start`."""
        await super().startup(sockets=sockets)
        for listener in sockets or ():
            listener.listen(_QUEUE)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _UNREAD)
        if self.started:
            self._on_start()

    def end_certified(self) -> None:
        """Ends the connections of clients with certificates, because their CAs have changed."""
        # Attack: a client whose CA was removed keeps its connection busy for ever.
        for connection in list(self.server_state.connections):
            if isinstance(connection, Connection) and connection.has_certificate:
                connection.end()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Ends the connections that wait for their clients, and lets requests that have arrived be answered."""
        began = time.monotonic()
        await self._end.announce(lambda: self.force_exit)
        self._drain()
        for connection in list(self.server_state.connections):
            if isinstance(connection, Connection) and connection in connection.waiting:
                connection.end()
        grace = self.config.timeout_graceful_shutdown
        if grace is not None:
            left = self.config.timeout_graceful_shutdown = grace - round(time.monotonic() - began)
            asyncio.get_running_loop().call_later(left - _LAST_S, self._refuse)
        await super().shutdown(sockets=sockets)


class _Told:
    """An application that adds what is known about a connection to the scope of each of its requests."""

    def __init__(self, app: Any, known: dict[str, object]) -> None:
        self._app = app
        self._known = known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        scope.update(self._known)
        await self._app(scope, receive, send)


class Connection(h11_impl.H11Protocol):
    """One HTTP connection, which is closed when it waits too long for its client."""

    waiting: ClassVar[waiting.Waiting]
    has_certificate = False
    """Whether the client has presented a certificate, which OpenSSL has verified."""
    owner = ""
    """The authenticated sender of the request that is arriving; empty for a stranger."""
    _timer: asyncio.TimerHandle | None = None
    _is_lost = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in uvicorn
        """Takes a new connection."""
        super().connection_made(transport)
        self.conn._receive_buffer = self._received = received.Received()  # h11 does not limit these bytes
        secure = transport.get_extra_info("ssl_object")
        certificate = secure.getpeercert() if secure is not None else None
        self.has_certificate = bool(certificate)
        self._unread = contextlib.ExitStack()
        known = {keys.CERTIFICATE: certificate} if certificate else {}
        self.app = _Told(self.app, {keys.CONNECTION: self, **known})
        self.waiting.open(self)
        self._judge()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forgets the connection."""
        self._is_lost = True
        self._unread.close()
        self._stop_timer()
        self.waiting.close(self)
        super().connection_lost(exc)

    def count(self, budget: retained.Budget, size: int) -> None:
        """Counts `size` bytes that are about to be sent, plus those that the client has not read, until the next count
        or the connection's end. Ends the connection where there is no room, now or when others need it."""
        self._unread.close()
        if self._is_lost:
            return
        size += self._measure_unread()
        # The connection's request already counts as that much. A quiet stream never makes way.
        if size <= retained.REQUEST:
            return
        try:
            kept = budget.keep(size, self.end)
        except errors.Busy:
            self.end()
        else:
            self._unread.callback(budget.forget, kept)

    async def drain(self, budget: retained.Budget) -> None:
        """Returns when the kernel has taken most of the bytes sent, and then counts those that the client has not yet
        read."""
        await self.flow.drain()
        self.count(budget, 0)

    def _measure_unread(self) -> int:
        sock = self.transport.get_extra_info("socket")
        if sock is None or sock.fileno() < 0:  # it has ended, but `connection_lost` has not been called yet
            return 0
        with contextlib.suppress(OSError):
            queued = fcntl.ioctl(sock, termios.TIOCOUTQ, bytes(4))
            return self.transport.get_write_buffer_size() + int.from_bytes(queued, sys.byteorder)
        return 0

    def data_received(self, data: bytes) -> None:
        """Takes a piece of a request."""
        for start in range(0, len(data), _PIECE):
            if self.transport.is_closing():
                break
            super().data_received(data[start : start + _PIECE])
            if len(self.conn.trailing_data[0]) > MAX_HEAD:
                self._refuse_head()
        self._judge()
        if self in self.waiting and self.conn.our_state in _UNANSWERED:
            self.waiting.hold(self, len(data))

    def send_400_response(self, msg: str) -> None:
        """Refuses bytes that are not a request."""
        # Attack: a client cuts its body short after the answer, which each time put a stack trace in the log.
        if self._received.has_long_head:
            self._refuse_head()
        elif self.conn.our_state in _UNANSWERED:
            if self.cycle is not None:  # it would send an answer as well
                self.cycle.disconnected = True
            super().send_400_response(msg)
        else:
            self.transport.close()

    def _refuse_head(self) -> None:
        if self.conn.our_state is h11.IDLE:
            self.transport.write(_LONG_HEAD)
        self.transport.close()

    def on_response_complete(self) -> None:
        """Goes on to the next request."""
        self.owner = ""
        self.waiting.release(self)
        super().on_response_complete()
        self._judge()

    def pause_writing(self) -> None:
        """Notes that the client has stopped reading."""
        super().pause_writing()
        self._judge()

    def resume_writing(self) -> None:
        """Notes that the client is reading again."""
        super().resume_writing()
        self._judge()

    def end(self) -> None:
        """Ends the connection at once, even if bytes are still to be sent."""
        self._stop_timer()
        self.transport.abort()

    def _judge(self) -> None:
        """Starts or stops the timer for how long the connection may wait."""
        is_whole = self.conn.their_state in _WHOLE
        if is_whole and not self.flow.write_paused and not self.transport.is_closing():
            self._stop_timer()
            self.waiting.remove(self)
        elif self._timer is None:
            self._timer = self.loop.call_later(self.waiting.wait_s, self.end)
            self.waiting.add(self)

    def _stop_timer(self) -> None:
        timer: Any = self._timer
        self._timer = None
        if timer is not None:
            timer.cancel()
