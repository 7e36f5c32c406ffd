"""urllib3 connections that another thread can cut at any moment.

While connecting, before the head of an answer, inside its body.

urllib3's own time limits count from byte to byte, so a server that sends a byte a second is waited for without end; and
its `shutdown()` exists only once there is an answer. Here every call has a `Exchange`: it knows the socket the call is
using right now, and cuts it when the deadline passes or somebody cancels. Called by `live` alone.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from typing import Any, Final, Self

from urllib3 import exceptions
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

__all__ = ["POOL_CLASSES", "Exchange"]

_thread = threading.local()
"""The exchange of the call this thread is performing; urllib3 offers no way to hand it through."""


class Exchange:
    """What one call holds on to: at most one socket, or name look-up, at a time, and the reason it was cut, if it
    was."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.reused = False
        """The request went out on a kept-alive connection, which the server may have closed in the same moment."""
        self._lock = threading.Lock()
        self._target: _DuplicateSocket | _NameLookup | None = None
        self.abort_reason = ""
        """Why it was cut: "timeout", "patience", "cancelled" or "closed"; empty while it is whole."""

    @property
    def remaining(self) -> float:
        """Seconds left, never less than a millisecond: urllib3 takes zero for an error."""
        return max(0.001, self.deadline - time.monotonic())

    def abort(self, reason: str) -> None:
        """End any read or write of this call now. The first reason stays."""
        with self._lock:
            self.abort_reason = self.abort_reason or reason
            target = self._target
        if target is not None:
            target.abort(self)

    def attach(self, target: _DuplicateSocket | _NameLookup | None, *, reused: bool = False) -> None:
        """The socket in use from now on; cut at once when the exchange already is."""
        with self._lock:
            self._target, self.reused = target, reused
        if target is not None:
            target.owner = self
            if self.abort_reason:
                target.abort(self)

    def __enter__(self) -> Self:
        _thread.exchange = self
        return self

    def __exit__(self, *_exc: object) -> None:
        _thread.exchange = None


class _DuplicateSocket:
    """A second descriptor of a connection's socket.

    The first is swallowed by TLS and may be closed, and its number taken by another file, in the moment somebody wants
    to shut it down; this one belongs to us.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock.dup()
        self._lock = threading.Lock()
        self.owner: Exchange | None = None
        """The call in whose name it may be cut: the connection may meanwhile serve another."""

    def abort(self, exchange: Exchange) -> None:
        with self._lock, contextlib.suppress(OSError):
            if self.owner is exchange:
                self._sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with self._lock:
            self._sock.close()


class _NameLookup:
    """A name being looked up, in a thread of its own: the C library waits for a dead name server for up to minutes,
    and nobody can wake it. Held by a exchange as a socket is; cutting it leaves the thread to its end."""

    def __init__(self, host: str, port: int | None) -> None:
        self.owner: Exchange | None = None
        self._host, self._port = host, port
        self._outcome: queue.SimpleQueue[list[Any] | Exception | None] = queue.SimpleQueue()

    def abort(self, exchange: Exchange) -> None:
        if self.owner is exchange:
            self._outcome.put(None)

    def addresses(self) -> list[Any]:
        """The addresses. Raises what getaddrinfo raises, or TimeoutError when the exchange was cut."""
        with contextlib.suppress(socket.gaierror):
            return self._look_up(socket.AI_NUMERICHOST)
        threading.Thread(target=self._run, name="kubescript-resolver", daemon=True).start()
        outcome = self._outcome.get()
        if outcome is None:
            raise TimeoutError("cut while the name was looked up")
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def _run(self) -> None:
        try:
            self._outcome.put(self._look_up(0))
        except Exception as error:  # told to the one who waits
            self._outcome.put(error)

    def _look_up(self, flags: int) -> list[Any]:
        return socket.getaddrinfo(self._host, self._port, 0, socket.SOCK_STREAM, 0, flags)


class _AbortableConnection(HTTPConnection):
    """A connection that reports its socket to the exchange of the thread that uses it."""

    _duplicate: _DuplicateSocket | None = None
    _used = False

    def _new_conn(self) -> socket.socket:
        """Connect as urllib3 does, but to a socket that can be cut while it connects."""
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
        lookup = _NameLookup(self._dns_host, self.port)
        exchange: Exchange | None = getattr(_thread, "exchange", None)
        if exchange is not None:
            exchange.attach(lookup)
        try:
            return lookup.addresses()
        except (socket.gaierror, UnicodeError) as error:
            raise exceptions.NameResolutionError(self.host, self, socket.gaierror(str(error))) from error

    def _connect_to(self, sock: socket.socket, address: Any) -> socket.socket:
        for option in self.socket_options or ():
            sock.setsockopt(*option)
        sock.settimeout(self.timeout)
        self._close_duplicate()
        self._duplicate = _DuplicateSocket(sock)
        self._attach(reused=False)
        sock.connect(address)
        return sock

    def putrequest(self, *args: Any, **kwargs: Any) -> None:
        if self.sock is not None:
            self._attach(reused=self._used)
        self._used = True
        super().putrequest(*args, **kwargs)

    def close(self) -> None:
        super().close()
        self._used = False
        self._close_duplicate()

    def _close_duplicate(self) -> None:
        duplicate, self._duplicate = self._duplicate, None
        if duplicate is not None:
            duplicate.close()

    def _attach(self, *, reused: bool) -> None:
        exchange: Exchange | None = getattr(_thread, "exchange", None)
        if exchange is not None:
            exchange.attach(self._duplicate, reused=reused)


class _AbortableTLSConnection(_AbortableConnection, HTTPSConnection):
    """The same over TLS, which wraps the socket after `_new_conn`."""


class _Pool(HTTPConnectionPool):
    ConnectionCls = _AbortableConnection


class _TLSPool(HTTPSConnectionPool):
    ConnectionCls = _AbortableTLSConnection


POOL_CLASSES: Final[dict[str, type[HTTPConnectionPool]]] = {"http": _Pool, "https": _TLSPool}
"""For `PoolManager.pool_classes_by_scheme`."""
