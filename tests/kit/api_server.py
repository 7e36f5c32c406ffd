"""An API server on a port of this machine that answers what a test has written down, byte by byte.

server = Server()
server.steps = [whole(b"{}", "429 Too Many Requests", "Retry-After: 0"), then(head(length=100), hang_up)]
cluster = live.Live(kubeconfig(folder, server.url))
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tests.kit import listener

TOKEN: Final = "sekret-token-0123456789"
OK: Final = b'{"kind":"PodList","items":[]}'


def head(status: str = "200 OK", *extra: str, length: int | None = None) -> bytes:
    """The head of an answer."""
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", *extra]
    if length is not None:
        lines.append(f"Content-Length: {length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def whole(body: bytes = OK, status: str = "200 OK", *extra: str) -> bytes:
    """An answer."""
    return head(status, *extra, length=len(body)) + body


CHUNKED: Final = head("200 OK", "Transfer-Encoding: chunked")

Step = Callable[[socket.socket], None]


class Server:
    """Answers each request with the next step of its script, then with `answer` for ever, which is OK if no test changes
    it; remembers what it was sent."""

    def __init__(self, tls: ssl.SSLContext | None = None, port: int = 0) -> None:
        self.tls = tls
        self.steps: list[Step | bytes] = []
        self.answer: Step | bytes = whole()
        self.requests: list[str] = []
        self._open: list[socket.socket] = []
        self._listener = listener.Listener(self._serve, port)
        self.port = self._listener.port

    @property
    def connections(self) -> int:
        """How many it has taken."""
        return len(self._open)

    @property
    def tokens(self) -> set[str]:
        """The values of the Authorization headers that it was sent."""
        lines = "".join(self.requests).split("\r\n")
        return {line.partition(": ")[2] for line in lines if line.lower().startswith("authorization: ")}

    @property
    def url(self) -> str:
        """Where it is."""
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def _serve(self, sock: socket.socket) -> None:
        self._open.append(sock.dup())
        with self.tls.wrap_socket(sock, server_side=True) if self.tls else sock as stream:
            while text := self._read_head(stream):
                self.requests.append(text)
                step = self.steps.pop(0) if self.steps else self.answer
                if isinstance(step, bytes):
                    stream.sendall(step)
                else:
                    step(stream)

    @staticmethod
    def _read_head(sock: socket.socket) -> str:
        data = b""
        while b"\r\n\r\n" not in data:
            piece = sock.recv(65536)
            if not piece:
                return ""
            data += piece
        return data.decode()

    def close(self) -> None:
        """Wake every thread, each of which closes its own socket: closed under it, its number may be another's, and
        OpenSSL would read that other's bytes."""
        self._listener.close()
        for sock in self._open:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()


def then(first: bytes, step: Step) -> Step:
    """Sends something, and goes on."""

    def run(sock: socket.socket) -> None:
        sock.sendall(first)
        step(sock)

    return run


def hang_up(sock: socket.socket) -> None:
    """Ends the connection."""
    sock.shutdown(socket.SHUT_RDWR)
    sock.close()


def kubeconfig(
    folder: Path, url: str, *, cluster: Mapping[str, object] | None = None, user: Mapping[str, object] | None = None
) -> Path:
    """A file with one context of this server."""
    path = folder / "config"
    path.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "c", "cluster": {"server": url, **(cluster or {})}}],
        "users": [{"name": "u", "user": user if user is not None else {"token": TOKEN}}],
        "contexts": [{"name": "test", "context": {"cluster": "c", "user": "u", "namespace": "shop"}}],
    }))  # fmt: skip
    return path
