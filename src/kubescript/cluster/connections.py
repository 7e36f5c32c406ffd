"""urllib3 connections that another thread can cut at any moment.

While connecting, before the head of an answer, inside its body.

urllib3's own time limits count from byte to byte, so a server that sends a byte a second is waited for without end; and
its `shutdown()` exists only once there is an answer. Here every call has a `Line`: it knows the socket the call is
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

__all__ = ["POOL_CLASSES", "Line"]

_here = threading.local()
"""The line of the call this thread is performing; urllib3 offers no way to hand it through."""


class Line:
    """What one call holds on to: at most one socket, or name look-up, at a time, and the reason it was cut, if it
    was."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.reused = False
        """The request went out on a kept-alive connection, which the server may have closed in the same moment."""
        self._lock = threading.Lock()
        self._grip: _Grip | _Resolving | None = None
        self.reason = ""
        """Why it was cut: "timeout", "patience", "cancelled" or "closed"; empty while it is whole."""

    @property
    def remaining(self) -> float:
        """Seconds left, never less than a millisecond: urllib3 takes zero for an error."""
        return max(0.001, self.deadline - time.monotonic())

    def cut(self, reason: str) -> None:
        """End any read or write of this call now. The first reason stays."""
        with self._lock:
            self.reason = self.reason or reason
            grip = self._grip
        if grip is not None:
            grip.cut(self)

    def hold(self, grip: _Grip | _Resolving | None, *, reused: bool = False) -> None:
        """The socket in use from now on; cut at once when the line already is."""
        with self._lock:
            self._grip, self.reused = grip, reused
        if grip is not None:
            grip.owner = self
            if self.reason:
                grip.cut(self)

    def __enter__(self) -> Self:
        _here.line = self
        return self

    def __exit__(self, *_exc: object) -> None:
        _here.line = None


class _Grip:
    """A second descriptor of a connection's socket.

    The first is swallowed by TLS and may be closed, and its number taken by another file, in the moment somebody wants
    to shut it down; this one belongs to us.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock.dup()
        self._lock = threading.Lock()
        self.owner: Line | None = None
        """The call in whose name it may be cut: the connection may meanwhile serve another."""

    def cut(self, line: Line) -> None:
        with self._lock, contextlib.suppress(OSError):
            if self.owner is line:
                self._sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with self._lock:
            self._sock.close()


class _Resolving:
    """A name being looked up, in a thread of its own: the C library waits for a dead name server for up to minutes,
    and nobody can wake it. Held by a line as a socket is; cutting it leaves the thread to its end."""

    def __init__(self, host: str, port: int | None) -> None:
        self.owner: Line | None = None
        self._host, self._port = host, port
        self._found: queue.SimpleQueue[list[Any] | Exception | None] = queue.SimpleQueue()

    def cut(self, line: Line) -> None:
        if self.owner is line:
            self._found.put(None)

    def answer(self) -> list[Any]:
        """The addresses. Raises what getaddrinfo raises, or TimeoutError when the line was cut."""
        with contextlib.suppress(socket.gaierror):
            return self._look_up(socket.AI_NUMERICHOST)
        threading.Thread(target=self._work, name="kubescript-resolver", daemon=True).start()
        found = self._found.get()
        if found is None:
            raise TimeoutError("cut while the name was looked up")
        if isinstance(found, Exception):
            raise found
        return found

    def _work(self) -> None:
        try:
            self._found.put(self._look_up(0))
        except Exception as error:  # told to the one who waits
            self._found.put(error)

    def _look_up(self, flags: int) -> list[Any]:
        return socket.getaddrinfo(self._host, self._port, 0, socket.SOCK_STREAM, 0, flags)


class _Grippable(HTTPConnection):
    """A connection that reports its socket to the line of the thread that uses it."""

    _grip: _Grip | None = None
    _used = False

    def _new_conn(self) -> socket.socket:
        """Connect as urllib3 does, but to a socket that can be cut while it connects."""
        failure: OSError | None = None
        for family, kind, number, _, address in self._resolve():
            sock = socket.socket(family, kind, number)
            try:
                return self._connected(sock, address)
            except OSError as error:
                failure = error
                sock.close()
        if isinstance(failure, TimeoutError):
            raise exceptions.ConnectTimeoutError(self, f"no connection within {self.timeout} s") from failure
        raise exceptions.NewConnectionError(self, f"cannot connect: {failure}") from failure

    def _resolve(self) -> list[Any]:
        asked = _Resolving(self._dns_host, self.port)
        line: Line | None = getattr(_here, "line", None)
        if line is not None:
            line.hold(asked)
        try:
            return asked.answer()
        except (socket.gaierror, UnicodeError) as error:
            raise exceptions.NameResolutionError(self.host, self, socket.gaierror(str(error))) from error

    def _connected(self, sock: socket.socket, address: Any) -> socket.socket:
        for option in self.socket_options or ():
            sock.setsockopt(*option)
        sock.settimeout(self.timeout)
        self._drop_grip()
        self._grip = _Grip(sock)
        self._report(reused=False)
        sock.connect(address)
        return sock

    def putrequest(self, *args: Any, **kwargs: Any) -> None:
        if self.sock is not None:
            self._report(reused=self._used)
        self._used = True
        super().putrequest(*args, **kwargs)

    def close(self) -> None:
        super().close()
        self._used = False
        self._drop_grip()

    def _drop_grip(self) -> None:
        grip, self._grip = self._grip, None
        if grip is not None:
            grip.close()

    def _report(self, *, reused: bool) -> None:
        line: Line | None = getattr(_here, "line", None)
        if line is not None:
            line.hold(self._grip, reused=reused)


class _GrippableTLS(_Grippable, HTTPSConnection):
    """The same over TLS, which wraps the socket after `_new_conn`."""


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Grippable


class _PoolTLS(HTTPSConnectionPool):
    ConnectionCls = _GrippableTLS


POOL_CLASSES: Final[dict[str, type[HTTPConnectionPool]]] = {"http": _Pool, "https": _PoolTLS}
"""For `PoolManager.pool_classes_by_scheme`."""
