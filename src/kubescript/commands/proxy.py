"""The only way out of the process of `oc`: each of its HTTP requests becomes a call of the broker, under its policy.

What sends the requests is a program that a caller's arguments steer, so it is treated as hostile. h11 reads HTTP; the
broker reads the rest, and asks the cluster in words of its own.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import json
import logging
import socket
import threading
import time
import urllib.parse
from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

import h11
import msgspec

from kubescript import errors, types
from kubescript.commands import process, protobuf
from kubescript.executor import conversation
from kubescript.wire import protocol

__all__ = ["Proxy"]

log = logging.getLogger(__name__)

_MAX_CONNECTIONS: Final = 32
_MAX_HEAD: Final = 64 * 1024
_MAX_BODY: Final = 3 << 20
"""Bytes: an API server's own limit."""
_MAX_PARAMETERS: Final = 64
_CHUNK: Final = 64 * 1024
_END_S: Final = 2.0
"""Seconds that a thread may take to end."""
_PAUSE_S: Final = 0.05
_METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
_CONTENT_TYPES: Final = {
    "": "json",
    "application/json": "json",
    "application/json-patch+json": "json-patch",
    "application/merge-patch+json": "merge-patch",
    "application/strategic-merge-patch+json": "strategic-merge-patch",
    "application/apply-patch+yaml": "apply-patch",
}
_STATUS: Final = {"policy": HTTPStatus.FORBIDDEN, "writes": HTTPStatus.FORBIDDEN, "request": HTTPStatus.BAD_REQUEST}
"""By the branch of an error's code; others are about the cluster."""
_REASON: Final = {HTTPStatus.FORBIDDEN: "Forbidden", HTTPStatus.BAD_REQUEST: "BadRequest"}


class Proxy:
    """Answers the requests of one process. Each connection has a thread."""

    def __init__(self, way_out: process.WayOut, job: conversation.Job, deadline: float) -> None:
        """`job` says what answers calls, and with which limits; `deadline` is the command's end (time.monotonic)."""
        self._listener = way_out.listener
        self._secret = way_out.secret
        self._job = job
        self._deadline = deadline
        self._context = contextvars.copy_context()
        """With the token of the request that is being answered."""
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._responses: list[types.Response] = []
        """Those that are being read."""
        self._has_ended = False
        self._running = 0
        self.calls = 0
        self.bytes = 0
        self.faults: dict[str, str] = {}
        """Why there was no answer of the cluster: a message for each code that is not about the request."""

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        """Within it, requests are answered. Those that are not at its end are given up; then nothing is left of it."""
        accepting = threading.Thread(target=self._accept, name="kubescript-proxy", daemon=True)
        accepting.start()
        try:
            yield
        finally:
            self._end()
            for thread in (accepting, *self._threads):
                thread.join(_END_S)

    def _end(self) -> None:
        with self._lock:
            self._has_ended = True
            sockets, responses, is_waiting = list(self._open), list(self._responses), self._running
        for sock in (self._listener, *sockets):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for response in responses:  # of a watch, which would go on until the deadline
            response.close()
        if is_waiting:
            self._job.cancellation.cancel()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:  # `_end` has shut it down, or no descriptor is free for a while
                if self._has_ended:
                    return
                time.sleep(_PAUSE_S)
                continue
            self._began(sock)

    def _began(self, sock: socket.socket) -> None:
        """Begins to serve a connection, unless there are too many."""
        serve = functools.partial(self._context.copy().run, self._serve, sock)
        thread = threading.Thread(target=serve, name="kubescript-proxy", daemon=True)
        with self._lock:
            has_room = len(self._open) < _MAX_CONNECTIONS and not self._has_ended
            if has_room:
                self._open.add(sock)
                self._threads.append(thread)
        try:
            if has_room:
                thread.start()
            else:
                sock.close()
        except RuntimeError:  # the kernel starts no more threads
            self._forget(sock)
            with self._lock:
                self._threads.remove(thread)
            sock.close()

    def _serve(self, sock: socket.socket) -> None:
        try:
            with sock:
                _Connection(sock, self).serve()
        except (OSError, h11.ProtocolError):  # it has gone, or speaks no HTTP
            pass
        except Exception:
            log.exception("a request of a command failed", extra={"event": "proxy.bug"})
        finally:
            self._forget(sock)

    def _forget(self, sock: socket.socket) -> None:
        with self._lock:
            self._open.discard(sock)

    @contextlib.contextmanager
    def reading(self, response: types.Response) -> Iterator[None]:
        """Within it, an answer is read, unless the command ends."""
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
        """Seconds until the command's deadline."""
        return max(0.001, self._deadline - time.monotonic())

    def answer(self, method: str, target: str, headers: dict[str, str], body: bytes) -> _Answer:
        """Returns the answer to one request, whose body must be read or closed."""
        try:
            call = _call(method, target, headers, body, self._secret)
        except errors.RequestError as error:
            return _Answer.failed(error.code, error.message)
        except Exception:  # without an answer `oc` would ask again and again
            log.exception("a request of a command failed", extra={"event": "proxy.bug"})
            return _Answer.failed("internal", "kubescript failed; see its log")
        with self._lock:
            self.calls += 1
            is_over = self.calls > self._job.limits.api_calls
        if is_over:
            return _Answer.failed("limit.calls", f"more than {self._job.limits.api_calls} API calls")
        reply, response = self._asked(call)
        if response is None:
            fault = reply.fault or protocol.ScriptFault("internal", "there is no answer")
            if fault.code.partition(".")[0] not in _STATUS:
                self.faults[fault.code] = fault.message
            return _Answer.failed(fault.code, fault.message)
        return _Answer(reply.status, reply.content_type, reply.headers, response)

    def _asked(self, call: protocol.Call) -> tuple[protocol.Reply, types.Response | None]:
        with self._lock:
            self._running += 1
        try:
            return self._job.on_call(call, self.seconds_left)
        finally:
            with self._lock:
                self._running -= 1

    def take(self, size: int) -> None:
        """Counts bytes of answers. Raises LimitExceeded."""
        with self._lock:
            self.bytes += size
            is_over = self.bytes > self._job.limits.response_bytes
        if is_over:
            raise errors.LimitExceeded("the answers are larger than limits.response_mib", code="limit.bytes")


class _Answer:
    """The answer to one request."""

    def __init__(self, status: int, content_type: str, headers: dict[str, str], response: types.Response) -> None:
        self.status = status
        self.headers = {**headers, "content-type": content_type or "application/json"}
        self.response = response

    @classmethod
    def failed(cls, code: str, message: str) -> _Answer:
        """Returns an error as an API server gives it, so that `oc` shows its text."""
        status = _STATUS.get(code.partition(".")[0], HTTPStatus.SERVICE_UNAVAILABLE)
        body = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": f"{code}: {message}",
            "reason": _REASON.get(status, "ServiceUnavailable"),
            "code": status,
        }
        chunks = iter([json.dumps(body).encode()])
        return cls(status, "", {}, types.Response(status, "", "application/json", chunks, lambda: None))


class _Connection:
    """One connection, request after request."""

    def __init__(self, sock: socket.socket, proxy: Proxy) -> None:
        self._socket = sock
        self._proxy = proxy
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_MAX_HEAD)

    def serve(self) -> None:
        """Answers requests until the peer closes. Raises OSError and h11.ProtocolError."""
        while True:
            event = self._next()
            if not isinstance(event, h11.Request):
                return
            method, target = event.method.decode("ascii"), event.target.decode("ascii")
            headers = {name.decode("ascii"): value.decode("latin-1") for name, value in event.headers}
            self._write(self._proxy.answer(method, target, headers, self._body()))
            if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
                return
            self._http.start_next_cycle()

    def _next(self) -> h11.Event | type[h11.NEED_DATA | h11.PAUSED]:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._socket.settimeout(self._proxy.seconds_left)
            self._http.receive_data(self._socket.recv(_CHUNK))
        return event

    def _body(self) -> bytes:
        parts = bytearray()
        while isinstance(event := self._next(), h11.Data):
            parts += event.data
            if len(parts) > _MAX_BODY:
                raise h11.RemoteProtocolError("the body is too large")
        return bytes(parts)

    def _write(self, answer: _Answer) -> None:
        headers = list(answer.headers.items())
        try:
            with self._proxy.reading(answer.response):
                self._send(h11.Response(status_code=answer.status, headers=headers))
                for chunk in answer.response.chunks:
                    self._proxy.take(len(chunk))
                    self._send(h11.Data(data=bytes(chunk)))
                self._send(h11.EndOfMessage())
        except errors.KubescriptError:  # the body has broken off, and so does this one
            self._http.send_failed()

    def _send(self, event: h11.Event) -> None:
        self._socket.settimeout(self._proxy.seconds_left)
        self._socket.sendall(self._http.send(event) or b"")


def _call(method: str, target: str, headers: dict[str, str], body: bytes, secret: str) -> protocol.Call:
    """Returns the broker's call for a request. Raises RequestError; the broker checks all the rest."""
    if method not in _METHODS:
        raise errors.RequestError(f"{method[:20]} is no method of an API server", code="request.method")
    path, _, query = target.partition("?")
    root, prefix, *segments = (urllib.parse.unquote(segment) for segment in path.split("/"))
    if root or prefix != secret:
        raise errors.RequestError("this address is not the cluster's", code="request.path")
    try:
        options = urllib.parse.parse_qsl(query, keep_blank_values=True, max_num_fields=_MAX_PARAMETERS, errors="strict")
    except ValueError:
        raise errors.RequestError("the query cannot be read", code="request.query") from None
    content_type, body = _json_body(headers.get("content-type", ""), body)
    fields = {
        "method": method,
        "path": segments,
        # --request-timeout: the command's own deadline counts.
        "query": [(key, value) for key, value in options if key != "timeout"],
        "content_type": content_type,
        "accept": _accept(headers.get("accept", ""), segments),
    }
    call = msgspec.convert(fields, protocol.Call)
    return msgspec.structs.replace(call, body=msgspec.Raw(body)) if body else call


def _json_body(content_type: str, body: bytes) -> tuple[str, bytes]:
    """Returns the broker's name of the content type, and the body in JSON. Raises RequestError."""
    name = content_type.partition(";")[0].strip().lower()
    if name == protobuf.CONTENT_TYPE and body:
        try:
            return "json", json.dumps(protobuf.to_json(body)).encode()
        except protobuf.UnknownMessageError as error:
            name = f"protobuf ({error})"
    if body and name not in _CONTENT_TYPES:
        raise errors.RequestError(
            f"bodies are JSON here, not {name[:200]}: kubectl writes it as protobuf since 1.35; patch or scale what is "
            "there, or have a person run the command",
            code="request.body",
        )
    return _CONTENT_TYPES.get(name, "json"), body


def _accept(accept: str, segments: list[str]) -> protocol.Accept:
    """Returns the representation that is asked for; whatever the broker does not know comes as JSON."""
    if segments[-3:-2] == ["pods"] and segments[-1] == "log":
        return "text"
    if "as=APIGroupDiscoveryList" in accept:
        return "discovery"
    if "as=Table" in accept:
        return "table"
    return "metadata" if "as=PartialObjectMetadata" in accept else "json"
