"""The only way out of the process of `oc`: each of its HTTP requests becomes a call of the broker, under its policy.

A caller's arguments steer the program that sends the requests, so that program is treated as hostile.
"""

from __future__ import annotations

import contextlib
import contextvars
import logging
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Final

import h11

from kubescript import errors, types
from kubescript.commands import confined_process, http_connection
from kubescript.wire import exchanges
from kubescript_sandbox.wire import protocol

__all__ = ["Proxy"]

log = logging.getLogger(__name__)

_MAX_CONNECTIONS: Final = 32
# Attack: a program keeps sending requests, each of which costs the host more than its sender.
_SPARE: Final = 16
"""How many requests beyond the limit still get an answer, which says that the limit was exceeded."""
# A thousand requests of `oc` take 0.03 s.
_READING_S: Final = 2.0
"""How many seconds of the host's processor time reading a command's requests may take."""
_END_S: Final = 2.0
"""How many seconds all threads of a command together may take to end."""
_PAUSE_S: Final = 0.05
# `oc` takes a watch or a log that breaks off to be complete, and would succeed before it is killed.
_GRACE_S: Final = 5.0
"""By how many seconds answers outlive the command's deadline."""


class Proxy:
    """A server for the requests of one process. Each connection has a thread."""

    def __init__(
        self, way_out: confined_process.WayOut, job: types.Job, deadline: float, *, may_write: bool = False
    ) -> None:
        """`job` handles calls, and holds their limits; `deadline` is the command's end (time.monotonic). Without
        `may_write`, no write reaches the broker, whatever the cluster's own mode."""
        self._may_write = may_write
        self._listener = way_out.listener
        self._secret = way_out.secret
        self._job = job
        self._deadline = deadline
        self._context = contextvars.copy_context()
        """The context with the token of the request that is being answered."""
        self.large_body = threading.Lock()
        """Held by the one connection that has a large body, until its request is answered."""
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._threads: set[threading.Thread] = set()
        self._responses: list[types.Response] = []
        """Responses that are being read."""
        self._has_ended = False
        self._read_s = 0.0
        self._running = 0
        self._connections = 0
        self.calls = 0
        """How many requests there were, including refused ones."""
        self.faults: dict[str, str] = {}
        """Errors that are not about the request: a message for each code."""

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        """Answers requests until the block ends, and then gives up those that are still unanswered."""
        accepting = threading.Thread(target=self._accept, name="kubescript-proxy", daemon=True)
        accepting.start()
        try:
            yield
        finally:
            self._end()
            gives_up = time.monotonic() + _END_S
            for thread in (accepting, *tuple(self._threads)):
                if thread.ident is not None:  # otherwise the thread could not be started
                    left = gives_up - time.monotonic()
                    thread.join(max(0.0, left))

    def _shut(self) -> None:
        """Takes no more connections or requests."""
        with self._lock:
            self._has_ended = True
            sockets = list(self._open)
        for sock in (self._listener, *sockets):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def _end(self) -> None:
        """Ends all answers, and cancels calls that are still running."""
        self._shut()
        with self._lock:
            responses = list(self._responses)
            running = self._running
        # Otherwise, a watch would go on until the deadline.
        for response in responses:
            response.close()
        if running:
            self._job.cancellation.cancel()

    def _accept(self) -> None:
        """Takes connections until the command ends."""
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:  # `_end` has shut down the listener, or no descriptor is free now
                if self._has_ended:
                    return
                time.sleep(_PAUSE_S)
                continue
            self._begin(sock)

    def _begin(self, sock: socket.socket) -> None:
        """Starts to serve a connection, unless there are too many."""
        self._connections += 1
        most = self._job.limits.api_calls
        if self._connections > most + _SPARE:
            self._give_up(f"{most} connections")
        # A context runs in one thread at a time, so each thread has its own copy.
        context = self._context.copy()
        thread = threading.Thread(target=context.run, args=(self._serve, sock), name="kubescript-proxy", daemon=True)
        with self._lock:
            has_room = len(self._open) < _MAX_CONNECTIONS and not self._has_ended
            if has_room:
                self._open.add(sock)
                self._threads.add(thread)
        try:
            if has_room:
                thread.start()
            else:
                sock.close()
        except RuntimeError:  # the kernel starts no more threads
            self._forget(sock, thread)
            sock.close()

    def _serve(self, sock: socket.socket) -> None:
        """Answers the requests of one connection; logs exceptions that no request should cause."""
        try:
            with sock:
                http_connection.Connection(sock, self).serve()
        except (OSError, h11.ProtocolError):  # the peer is gone, or does not speak HTTP
            pass
        except Exception:
            log.exception("a request of a command failed", extra={"event": "proxy.bug"})
        finally:
            self._forget(sock, threading.current_thread())

    def _forget(self, sock: socket.socket, thread: threading.Thread) -> None:
        with self._lock:
            self._open.discard(sock)
            self._threads.discard(thread)

    @contextlib.contextmanager
    def reading(self, response: types.Response) -> Iterator[None]:
        """Lets an answer be read within the block, unless the command ends."""
        with self._lock:
            self._responses.append(response)
            has_ended = self._has_ended
        try:
            if has_ended:
                response.close()
            yield
        finally:
            response.close()
            with self._lock:
                self._responses.remove(response)

    @property
    def seconds_left(self) -> float:
        """How many seconds are left until answers are given up; `_end` gives them up sooner, once the command is killed
        at its deadline."""
        left = self._deadline + _GRACE_S - time.monotonic()
        return max(0.001, left)

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> http_connection.Answer:
        """Returns the answer to one request, whose body must be read or closed."""
        most = self._job.limits.api_calls
        with self._lock:
            self.calls += 1
            beyond = self.calls - most
        if beyond > _SPARE:
            self._give_up(f"{most} requests")
        if beyond > 0:
            self._job.on_refused("limit.calls")
            return http_connection.failure("limit.calls", f"more than {most} API calls", closes=True)
        try:
            call = http_connection.call(method, target, headers, body, self._secret)
        except errors.RequestError as error:
            return http_connection.failure(error.code, error.message, closes=True)
        except Exception:  # without an answer, `oc` would retry again and again
            log.exception("a request of a command failed", extra={"event": "proxy.bug"})
            return http_connection.failure("internal", "kubescript failed; see its log")
        if not self._may_write and not http_connection.is_read(call):
            return http_connection.failure("policy.read_only", "command lines only read here (openshift.allow_write)")
        return self._perform(call)

    def _perform(self, call: exchanges.Call) -> http_connection.Answer:
        """Returns the broker's answer to a call that may be sent."""
        reply, response = self._ask(call)
        if response is not None:
            content_type = reply.content_type or "application/json"
            return http_connection.Answer(reply.status, response, content_type, reply.headers)
        fault = reply.fault or protocol.ScriptFault("internal", "there is no answer")
        # Errors about a request are in the command's own output anyway.
        if not http_connection.is_about_request(fault.code):
            self.faults[fault.code] = fault.message
        return http_connection.failure(fault.code, fault.message)

    def charge(self, seconds: float) -> None:
        """Counts processor time spent on reading requests. Raises OSError when the total exceeds the limit."""
        with self._lock:
            self._read_s += seconds
            is_beyond = self._read_s > _READING_S
        if is_beyond:
            self._give_up(f"{_READING_S:g} s in which its requests are read")
            raise ConnectionAbortedError

    def _give_up(self, limit: str) -> None:
        """Cuts the command off from the cluster, because it did not stop at its limit."""
        self.faults["limit.calls"] = f"the command went on at its limit of {limit}"
        self._shut()

    def _ask(self, call: exchanges.Call) -> tuple[exchanges.Reply, types.Response | None]:
        """Passes a call to the broker, unless the command has ended."""
        with self._lock:
            # Attack: a command sends a write after its deadline, or after a cancellation.
            if self._has_ended or time.monotonic() >= self._deadline:
                fault = protocol.ScriptFault("cancelled", "the command has ended")
                return exchanges.Reply(0, fault=fault), None
            self._running += 1
        try:
            return self._job.on_call(call, self.seconds_left)
        finally:
            with self._lock:
                self._running -= 1
