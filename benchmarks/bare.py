"""The bare GET: what the network and the API server cost, whoever asks. Reads the bytes of an answer and looks at none of them.

One kept-alive HTTP/1.1 connection over TLS, as kubescript has, but not a line of an HTTP library.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

from benchmarks import clusters

__all__ = ["Connection", "connected"]

_BUFFER = 1 << 20
_END = b"\r\n0\r\n\r\n"
"""Ends a chunked body; the API server sends long lists so."""


class Connection:
    """Asks for lists with the credentials of a kubeconfig."""

    def __init__(self, sock: ssl.SSLSocket, head: str) -> None:
        self._sock = sock
        self._head = head
        self._buffer = bytearray(_BUFFER)

    def get(self, path: str) -> tuple[float, int]:
        """Seconds until the last byte was read, and how many bytes came."""
        request = f"GET {path} HTTP/1.1\r\n{self._head}\r\n\r\n".encode()
        started = time.perf_counter()
        self._sock.sendall(request)
        size = self._sock.recv_into(self._buffer)
        head = bytes(self._buffer[:size])
        if not head.startswith(b"HTTP/1.1 200") or b"transfer-encoding: chunked" not in head.lower():
            raise RuntimeError(f"not the answer this client can read: {head[:200]!r}")
        end = head[-len(_END) :]
        while end != _END:
            got = self._sock.recv_into(self._buffer)
            if not got:
                raise RuntimeError("the answer broke off")
            size += got
            end = (end + self._buffer[max(0, got - len(_END)) : got])[-len(_END) :]
        return time.perf_counter() - started, size


@contextlib.contextmanager
def connected(kubeconfig: Path) -> Iterator[Connection]:
    """A connection, open and past its handshake."""
    settings = clusters.configuration(kubeconfig)
    url = urllib.parse.urlsplit(settings.host)
    context = ssl.create_default_context(cafile=settings.ssl_ca_cert)
    if settings.cert_file:
        context.load_cert_chain(settings.cert_file, settings.key_file)
    assert url.hostname is not None
    headers = [f"Host: {url.netloc}", "Accept: application/json", "Accept-Encoding: identity"]
    token = settings.auth_settings().get("BearerToken", {}).get("value")
    headers += [f"Authorization: {token}"] if token else []
    with (
        socket.create_connection((url.hostname, url.port or 443)) as plain,
        context.wrap_socket(plain, server_hostname=url.hostname) as sock,
    ):
        yield Connection(sock, "\r\n".join(headers))
