"""One HTTP connection of a command, which takes requests in and sends answers out. `proxy` answers them.

h11 reads HTTP. Each request becomes a call in the broker's format, and the broker checks the rest.
"""

from __future__ import annotations

import contextlib
import json
import socket
import time
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, Protocol

import h11
import msgspec

from kubescript import errors, types
from kubescript.commands import protobuf
from kubescript.wire import exchanges

__all__ = ["Answer", "Connection", "call", "failure", "is_about_request", "is_read"]

_MAX_HEAD: Final = 64 * 1024
_MAX_BODY: Final = 3 << 20
"""The maximum size of a body in bytes, the same as that of an API server."""
_SMALL_BODY: Final = 64 * 1024
"""The largest body, in bytes, that any number of connections may have at once; larger ones are read one at a time."""
# A review of rights has a few hundred bytes. Attack: a command sends 3 MiB of empty fields, which took 2.7 s to read.
_MAX_PROTOBUF: Final = 16 * 1024
_MAX_PARAMETERS: Final = 64
_CHUNK: Final = 64 * 1024
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
"""The HTTP statuses by the first part of an error's code; errors with any other code are about the cluster."""
_REVIEWS: Final = frozenset(
    {"authentication.k8s.io", "authorization.k8s.io", "authorization.openshift.io", "security.openshift.io"}
)
"""Groups whose reviews are only questions: they are created, but nothing is stored."""
_REASON: Final = {HTTPStatus.FORBIDDEN: "Forbidden", HTTPStatus.BAD_REQUEST: "BadRequest"}


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one request."""

    status: int
    response: types.Response
    """The response, whose chunks are the body."""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


def failure(code: str, message: str, *, closes: bool = False) -> Answer:
    """Returns an error in the format of an API server. With `closes`, it is the connection's last answer."""
    family, _, _ = code.partition(".")
    status = _STATUS.get(family, HTTPStatus.SERVICE_UNAVAILABLE)
    # `oc` shows the message of a Status.
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"{code}: {message}",
        "reason": _REASON.get(status, "ServiceUnavailable"),
        "code": status,
    }
    content = json.dumps(body).encode()
    response = types.Response(status, "", "application/json", iter([content]), lambda: None)
    headers = {"connection": "close"} if closes else {}
    return Answer(status, response, headers=headers)


def is_about_request(code: str) -> bool:
    """Says whether an error is about the request rather than about the cluster."""
    family, _, _ = code.partition(".")
    return family in _STATUS


class Answers(Protocol):
    """A handler of requests."""

    @property
    def seconds_left(self) -> float:
        """How many seconds are left until an answer is no longer needed."""

    @property
    def large_body(self) -> contextlib.AbstractContextManager[object]:
        """A lock that a connection holds while it has a large body."""

    def charge(self, seconds: float) -> None:
        """Counts processor time spent on reading. Raises OSError when the total exceeds the limit."""

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Returns the answer to one request, whose body must be read or closed."""

    def reading(self, response: types.Response) -> contextlib.AbstractContextManager[None]:
        """Lets a body be read within the block; it may be closed before the block ends."""


class Connection:
    """One connection, which carries one request after another."""

    def __init__(self, sock: socket.socket, answers: Answers) -> None:
        self._socket = sock
        self._answers = answers
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_MAX_HEAD)

    def serve(self) -> None:
        """Answers requests until the peer closes. Raises OSError and h11.ProtocolError."""
        while True:
            event = self._next()
            if not isinstance(event, h11.Request):
                return
            method = event.method.decode("ascii")
            target = event.target.decode("ascii")
            headers = {name.decode("ascii"): value.decode("latin-1") for name, value in event.headers}
            # Attack: a command sends 32 bodies of 3 MiB at once, each of which takes 11 MiB while it waits for the
            # cluster.
            room = contextlib.nullcontext() if _has_small_body(headers) else self._answers.large_body
            with room:
                body = self._body()
                answer = self._answers.answer(method, target, headers, body)
            self._write(answer)
            is_complete = self._http.our_state is h11.DONE and self._http.their_state is h11.DONE
            if not is_complete:
                return
            self._http.start_next_cycle()

    def _next(self) -> h11.Event | type[h11.NEED_DATA | h11.PAUSED]:
        """Returns the next part of a request, once it has arrived."""
        # Attack: a command sends 3 MiB in chunks of one byte, which took 13 s of the host's processor, or a head of
        # 16,000 lines, which took 54 ms.
        began = time.thread_time()
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._socket.settimeout(self._answers.seconds_left)
            data = self._socket.recv(_CHUNK)
            self._http.receive_data(data)
        self._answers.charge(time.thread_time() - began)
        return event

    def _body(self) -> bytes:
        """Returns the body of a request. Raises h11.RemoteProtocolError if it is too large."""
        parts = bytearray()
        while isinstance(event := self._next(), h11.Data):
            parts += event.data
            if len(parts) > _MAX_BODY:
                raise h11.RemoteProtocolError("the body is too large")
        return bytes(parts)

    def _write(self, answer: Answer) -> None:
        """Sends an answer; if its body breaks off, the connection ends."""
        named = {**answer.headers, "content-type": answer.content_type}
        # A warning may contain any character, but h11 takes only ASCII strings, or bytes.
        headers = [(name.encode(), value.encode("latin-1", "replace")) for name, value in named.items()]
        try:
            with self._answers.reading(answer.response):
                head = h11.Response(status_code=answer.status, headers=headers)
                self._send(head)
                for chunk in answer.response.chunks:
                    self._send(h11.Data(data=bytes(chunk)))
                self._send(h11.EndOfMessage())
        except errors.KubescriptError:
            # The body has broken off, so this response must too.
            self._http.send_failed()

    def _send(self, event: h11.Event) -> None:
        data = self._http.send(event) or b""
        self._socket.settimeout(self._answers.seconds_left)
        self._socket.sendall(data)


def _has_small_body(headers: Mapping[str, str]) -> bool:
    """Says whether the headers announce a body small enough for any number of connections at once."""
    if "transfer-encoding" in headers:
        return False
    return int(headers.get("content-length", "0")) <= _SMALL_BODY


def call(method: str, target: str, headers: Mapping[str, str], body: bytes, secret: str) -> exchanges.Call:
    """Returns the broker's call for a request. Raises RequestError; the broker checks the rest."""
    if method not in _METHODS:
        raise errors.RequestError(f"{method[:20]} is no method of an API server", code="request.method")
    path, _, query = target.partition("?")
    root, *segments = (urllib.parse.unquote(segment) for segment in path.split("/"))
    # Attack: another process finds the proxy's address, and sends requests in the command's place.
    if root or segments[:1] != [secret]:
        raise errors.RequestError("this address is not the cluster's", code="request.path")
    segments = segments[1:]
    parameters = _parameters(query)
    content_type, body = _json_body(headers.get("content-type", ""), body)
    fields = {
        "method": method,
        "path": segments,
        "query": parameters,
        "content_type": content_type,
        "accept": _accept(headers.get("accept", ""), segments),
    }
    found = msgspec.convert(fields, exchanges.Call)
    if not body:
        return found
    return msgspec.structs.replace(found, body=msgspec.Raw(body))


def _parameters(query: str) -> list[tuple[str, str]]:
    """Returns the parameters of a query. Raises RequestError."""
    try:
        pairs = urllib.parse.parse_qsl(query, keep_blank_values=True, max_num_fields=_MAX_PARAMETERS, errors="strict")
    except ValueError:
        raise errors.RequestError("the query cannot be read", code="request.query") from None
    # This drops --request-timeout: the command's own deadline counts.
    return [(name, value) for name, value in pairs if name != "timeout"]


def is_read(asked: exchanges.Call) -> bool:
    """Says whether a call only reads: it gets something, or asks about a user's rights."""
    if asked.method == "GET":
        return True
    if asked.method != "POST" or asked.path[:1] != ("apis",):
        return False
    if _REVIEWS.isdisjoint(asked.path[1:2]):
        return False
    return asked.path[-1].endswith("reviews")


def _json_body(content_type: str, body: bytes) -> tuple[str, bytes]:
    """Returns the broker's name for the content type, and the body in JSON. Raises RequestError."""
    media_type, _, _ = content_type.partition(";")
    name = media_type.strip().lower()
    if name == protobuf.CONTENT_TYPE and 0 < len(body) <= _MAX_PROTOBUF:
        try:
            document = protobuf.to_json(body)
            return "json", json.dumps(document).encode()
        except protobuf.UnknownMessageError as error:
            name = f"protobuf ({error})"
    if body and name not in _CONTENT_TYPES:
        raise errors.RequestError(
            f"bodies are JSON here, not {name[:200]}: kubectl writes it as protobuf since 1.35; patch or scale what is "
            "there, or have a person run the command",
            code="request.body",
        )
    return _CONTENT_TYPES.get(name, "json"), body


def _accept(accept: str, segments: list[str]) -> exchanges.Accept:
    """Returns the requested representation; any that the broker does not support becomes JSON."""
    if segments[-3:-2] == ["pods"] and segments[-1] == "log":
        return "text"
    if "as=APIGroupDiscoveryList" in accept:
        return "discovery"
    if "as=Table" in accept:
        return "table"
    if "as=PartialObjectMetadata" in accept:
        return "metadata"
    return "json"
