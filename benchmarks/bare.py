"""The bare GET: what the network and the API server cost, whoever asks. Reads the bytes of an answer and looks at none
of them.

One kept-alive HTTP/1.1 connection over TLS, as kubescript has, but not a line of an HTTP library.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import socket
import ssl
import subprocess
import time
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import clusters

__all__ = ["Connection", "connected", "curl"]

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
        head, _, rest = bytes(self._buffer[:size]).partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"not the answer that was asked for: {head[:200]!r}")
        length = re.search(rb"\r\ncontent-length: (\d+)", head, re.IGNORECASE)
        left = int(length[1]) - len(rest) if length else None
        end = rest[-len(_END) :]
        while left if left is not None else end != _END:
            got = self._sock.recv_into(self._buffer)
            if not got:
                raise RuntimeError("the answer broke off")
            size += got
            left = left - got if left is not None else None
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
    headers = [f"Host: {url.netloc}", *_headers(settings)]
    with (
        socket.create_connection((url.hostname, url.port or 443)) as plain,
        context.wrap_socket(plain, server_hostname=url.hostname) as sock,
    ):
        yield Connection(sock, "\r\n".join(headers))


def curl(kubeconfig: Path) -> Callable[[str], float] | None:
    """A function that gives the seconds curl needs for a path, its start and handshake left out; None where there is no
    curl."""
    program = shutil.which("curl")
    if program is None:
        return None
    settings = clusters.configuration(kubeconfig)
    options = {
        "cacert": settings.ssl_ca_cert,
        "cert": settings.cert_file,
        "key": settings.key_file,
        "user-agent": "bare",  # to a browser's or curl's own name the API server sends indented JSON, twice as long
        "output": "/dev/null",
        "write-out": "%{http_code} %{time_total} %{time_pretransfer}",
    }
    lines = [f'{name} = "{value}"' for name, value in options.items() if value]
    lines += [f'header = "{each}"' for each in _headers(settings)]

    def get(path: str) -> float:
        # on standard input: a command line, with its token, is everybody's to read
        given = "\n".join([*lines, f'url = "{settings.host}{path}"'])
        command = [program, "--silent", "--http1.1", "--config", "-"]
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
        status, total, before = done.stdout.split()
        if status != "200":
            raise RuntimeError(f"curl got {status} for {path}")
        # Without the connection, which the others have too.
        return float(total) - float(before)

    return get


def _headers(settings: Any) -> list[str]:
    token = settings.auth_settings().get("BearerToken", {}).get("value")
    return [
        "Accept: application/json",
        "Accept-Encoding: identity",
        *([f"Authorization: {token}"] if token else []),
    ]
