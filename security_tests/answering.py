"""An API server that answers whatever a test makes up, for the attacks that no real one would send."""

from __future__ import annotations

import abc
import http
import socket

from tests.kit import listener

__all__ = ["Answering"]

Answer = tuple[int, str, bytes]
"""A status, a content type and a body."""


class Answering(abc.ABC):
    """The server: one request a connection. Its kubeconfig is `recorder.kubeconfig`'s."""

    def __init__(self) -> None:
        self._listener = listener.Listener(self._serve)
        self.port = self._listener.port

    @abc.abstractmethod
    def answer(self, path: str) -> Answer:
        """Returns the answer to a request for this path and query."""

    def close(self) -> None:
        """Answer nobody any more."""
        self._listener.close()

    def _serve(self, sock: socket.socket) -> None:
        with sock, sock.makefile("rb") as stream:
            path = stream.readline().split()[1].decode()
            while stream.readline().strip():
                pass
            status, kind, body = self.answer(path)
            head = (
                f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}\r\n"
                f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            )
            sock.sendall(head.encode() + body)
