"""urllib3 connections that another thread can abort at any moment: while connecting, before an answer's headers, or
inside its body. Called by `live`, `http` and `credentials`.

urllib3's own time limits restart with each byte, so a server that sends one byte a second would keep a call forever;
and its `shutdown()` exists only once there is an answer. Here every call has an `Exchange`, which tracks the call's
current socket and shuts it down when the deadline passes or the call is cancelled.
"""

from __future__ import annotations

import contextlib
import math
import queue
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, Final, Self

from urllib3 import exceptions
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from kubescript.cluster import sockets, timers

__all__ = ["MAX_IDLE_S", "POOL_CLASSES", "Exchange", "LateError"]

# API servers close a connection after 90 idle seconds.
MAX_IDLE_S: Final = 80.0
"""How many seconds after its last request a connection may be reused."""
# A stopped process may continue between two pieces, and the rest then stays unsent.
_PIECE_BYTES: Final = 64 * 1024
"""How many bytes of a body are sent after one look at the clock."""
_LEAST_DELIVERY_S: Final = 1.0
"""How many seconds the kernel tries at least to deliver what was sent."""
_UNLIMITED: Final = 0
"""For the kernel: its own limit, of about 15 minutes."""
# Holds the exchange that this thread performs, because urllib3 cannot pass it on to a connection.
_thread = threading.local()


class LateError(Exception):
    """The time in which the request may be sent is over."""


class Exchange:
    """One request and its answer, which another thread may abort.

    It holds at most one socket or name lookup at a time, and the reason for an abort.
    """

    def __init__(
        self,
        deadline: float,
        send_by: float = math.inf,
        is_withdrawn: Callable[[], bool] = bool,
        peer: str = "the API server",
    ) -> None:
        """`peer` is what messages call the other side; `send_by` is when the last byte may be sent, on the clock
        `timers.uptime`; `is_withdrawn` is asked right before the first one."""
        self.deadline = deadline
        self.peer = peer
        self.is_unsent = True
        """Whether no byte of the request has been sent."""
        self._send_by = send_by
        self._is_withdrawn = is_withdrawn
        self._has_begun = False
        # True when the request was sent on a kept-alive connection, which the server may have closed at that moment.
        self.reused = False
        self._lock = threading.Lock()
        self._target: _DuplicateSocket | _NameLookup | None = None
        self.abort_reason = ""
        """The reason for the abort: "timeout", "patience", "cancelled" or "closed"; empty if there was none."""

    @property
    def remaining(self) -> float:
        """Seconds until the deadline, at least a millisecond."""
        left = self.deadline - time.monotonic()
        # urllib3 treats a timeout of zero as an error.
        return max(0.001, left)

    @property
    def seconds_to_send(self) -> float:
        """Seconds until it is too late to send; infinite if it never is."""
        return self._send_by - timers.uptime()

    def abort(self, reason: str) -> None:
        """Ends any read or write of this call now. The first reason is kept."""
        with self._lock:
            self.abort_reason = self.abort_reason or reason
            target = self._target
        if target is not None:
            target.abort(self)

    def attach(self, target: _DuplicateSocket | _NameLookup | None, *, reused: bool = False) -> None:
        """Sets the call's current socket or lookup; aborts it if the exchange is already aborted."""
        with self._lock:
            self._target = target
            self.reused = reused
        if target is None:
            return
        target.owner = self
        # The reason is read after `owner` is set, to repeat an abort that came in between and found no owner.
        if self.abort_reason:
            target.abort(self)

    def begin(self) -> None:
        """Marks the bytes that follow as those of the request; earlier ones open a proxy's tunnel."""
        self._has_begun = True

    def check_sending(self) -> None:
        """Notes that bytes of the request are sent now. Raises LateError when that is too late."""
        if not self._has_begun:
            return
        # Attack: another server took over the plan of this request although by this machine's clock it could not yet.
        if self.is_unsent and self._is_withdrawn():
            raise LateError
        # Attack: this process was stopped here, or the machine slept, while another server took over its plan.
        if timers.uptime() > self._send_by:
            raise LateError
        self.is_unsent = False

    def __enter__(self) -> Self:
        _thread.exchange = self
        return self

    def __exit__(self, *_exc: object) -> None:
        _thread.exchange = None


class _DuplicateSocket:
    """A second descriptor of a connection's socket, through which another thread can shut it down."""

    # TLS takes over the first descriptor. While another thread shuts it down, it may be closed and its number reused
    # for another file. The duplicate belongs to us alone.

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock.dup()
        self._lock = threading.Lock()
        self.owner: Exchange | None = None
        """The exchange that may abort the socket; the connection may serve another exchange later."""

    def abort(self, exchange: Exchange) -> None:
        """Shuts the socket down, unless another exchange uses it now."""
        with self._lock, contextlib.suppress(OSError):
            if self.owner is exchange:
                self._sock.shutdown(socket.SHUT_RDWR)

    def limit_delivery(self, seconds: float) -> None:
        """Has the kernel drop what it cannot deliver in this time, but in no less than a second."""
        # Attack: the network fails at this moment, and when it works again after minutes, the kernel sends the request
        # once more, although this program has given up on it.
        milliseconds = _UNLIMITED if seconds == math.inf else int(1000 * max(_LEAST_DELIVERY_S, seconds))
        with self._lock:
            self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)

    def close(self) -> None:
        """Closes the duplicate; the connection's own descriptor stays open."""
        with self._lock:
            self._sock.close()


class _NameLookup:
    """A host name being looked up in a separate thread. An exchange holds a lookup as it holds a socket."""

    # The C library may wait minutes for a dead name server, and nothing can interrupt it. An abort wakes the caller and
    # lets the thread finish alone.

    def __init__(self, host: str, port: int | None) -> None:
        self.owner: Exchange | None = None
        self._host = host
        self._port = port
        self._outcome: queue.SimpleQueue[list[Any] | Exception | None] = queue.SimpleQueue()
        """Addresses, the lookup's error, or None after an abort."""

    def abort(self, exchange: Exchange) -> None:
        """Wakes the caller of `addresses`."""
        if self.owner is exchange:
            self._outcome.put(None)

    def addresses(self) -> list[Any]:
        """Returns the addresses. Raises what getaddrinfo raises, or TimeoutError when the exchange was aborted."""
        # A numeric address needs no name server, and no thread.
        with contextlib.suppress(socket.gaierror):
            return self._look_up(socket.AI_NUMERICHOST)
        thread = threading.Thread(target=self._run, name="kubescript-resolver", daemon=True)
        thread.start()
        outcome = self._outcome.get()
        if outcome is None:
            raise TimeoutError("aborted while the name was looked up")
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def _run(self) -> None:
        try:
            self._outcome.put(self._look_up(0))
        except Exception as error:  # raised again by `addresses`, in the call's thread
            self._outcome.put(error)

    def _look_up(self, flags: int) -> list[Any]:
        return socket.getaddrinfo(
            self._host,
            self._port,
            family=socket.AF_UNSPEC,
            type=socket.SOCK_STREAM,
            proto=0,
            flags=flags,
        )


class _AbortableConnection(HTTPConnection):
    """A connection that attaches its socket to the current thread's exchange."""

    _duplicate: _DuplicateSocket | None = None
    _used = False
    _last_use = 0.0

    @property
    def is_connected(self) -> bool:
        """Whether the connection can serve the next call; the pool asks this."""
        # After a laptop's sleep, or a firewall's timeout, a connection looks alive but never answers.
        return timers.uptime() - self._last_use < MAX_IDLE_S and super().is_connected

    def _new_conn(self) -> socket.socket:
        """Connects as urllib3 does, with a socket that can be aborted while it connects."""
        failure: OSError | None = None
        for family, kind, number, _, address in self._resolve():
            sock = socket.socket(family, kind, number)
            try:
                return self._connect_to(sock, address)
            except OSError as error:
                failure = error
                sock.close()
        if isinstance(failure, TimeoutError):
            raise exceptions.ConnectTimeoutError(self, f"no connection within {self.timeout} s") from failure
        raise exceptions.NewConnectionError(self, f"cannot connect: {failure}") from failure

    def _resolve(self) -> list[Any]:
        """Returns the host's addresses. Raises urllib3's error for a name that does not resolve."""
        lookup = _NameLookup(self._dns_host, self.port)
        exchange: Exchange | None = getattr(_thread, "exchange", None)
        if exchange is not None:
            exchange.attach(lookup)
        try:
            return lookup.addresses()
        except (socket.gaierror, UnicodeError) as error:
            cause = socket.gaierror(str(error))
            raise exceptions.NameResolutionError(self.host, self, cause) from error

    def _connect_to(self, sock: socket.socket, address: Any) -> socket.socket:
        """Connects one socket. It is attached first, so that connecting can be aborted."""
        for option in self.socket_options or ():
            sock.setsockopt(*option)
        sock.settimeout(self.timeout)
        self._close_duplicate()
        self._duplicate = _DuplicateSocket(sock)
        sockets.OPEN.add()
        self._attach(reused=False)
        sock.connect(address)
        return sock

    def putrequest(self, *args: Any, **kwargs: Any) -> None:
        """Attaches a kept-alive socket to the exchange that now uses it."""
        exchange: Exchange | None = getattr(_thread, "exchange", None)
        if exchange is not None:
            exchange.begin()
        if self.sock is not None:
            self._attach(reused=self._used)
        self._used = True
        self._last_use = timers.uptime()
        super().putrequest(*args, **kwargs)

    def send(self, data: Any) -> None:
        """Sends a part of the request, unless it is too late for that. Raises LateError."""
        # Connecting and the handshake take time, so they come before the last look at the clock.
        if self.sock is None:
            self.connect()
        exchange: Exchange | None = getattr(_thread, "exchange", None)
        for start in range(0, len(data), _PIECE_BYTES):
            if exchange is not None:
                exchange.check_sending()
                if self._duplicate is not None:
                    self._duplicate.limit_delivery(exchange.seconds_to_send)
            super().send(data[start : start + _PIECE_BYTES])

    def close(self) -> None:
        """Closes both descriptors of the socket."""
        super().close()
        self._used = False
        self._close_duplicate()

    def _close_duplicate(self) -> None:
        duplicate = self._duplicate
        self._duplicate = None
        if duplicate is not None:
            duplicate.close()
            sockets.OPEN.remove()

    def _attach(self, *, reused: bool) -> None:
        exchange: Exchange | None = getattr(_thread, "exchange", None)
        if exchange is not None:
            exchange.attach(self._duplicate, reused=reused)


class _AbortableTLSConnection(_AbortableConnection, HTTPSConnection):
    """The same connection over TLS, which wraps the socket after `_new_conn`."""


class _Pool(HTTPConnectionPool):
    ConnectionCls = _AbortableConnection


class _TLSPool(HTTPSConnectionPool):
    ConnectionCls = _AbortableTLSConnection


POOL_CLASSES: Final[dict[str, type[HTTPConnectionPool]]] = {"http": _Pool, "https": _TLSPool}
"""The value for `PoolManager.pool_classes_by_scheme`."""
