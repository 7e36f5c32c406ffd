"""TLS in front of a server on this machine that has none."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from pathlib import Path
from typing import Any

from kubescript_safety.controlplane import pki
from tests.kit import listener

__all__ = ["Relay"]


class Relay:
    """TLS before a server that has none. `certificates` are those that clients have shown, one a connection."""

    def __init__(self, port: int, folder: Path, authority: pki.Authority) -> None:
        authority.serving(["localhost"], ["127.0.0.1"]).write(folder, "far")
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(folder / "far.crt", folder / "far.key")
        self._tls.load_verify_locations(folder / "ca.crt")
        self._tls.verify_mode = ssl.CERT_OPTIONAL
        self._to = port
        self.certificates: list[Any] = []
        self._listener = listener.Listener(self._serve)
        self.port = self._listener.port

    def close(self) -> None:
        """Takes no more connections."""
        self._listener.close()

    def _serve(self, sock: socket.socket) -> None:
        with self._tls.wrap_socket(sock, server_side=True) as near:
            self.certificates.append(near.getpeercert())
            with socket.create_connection(("127.0.0.1", self._to)) as far:
                answers = threading.Thread(target=_pump, args=(far, near), daemon=True)
                answers.start()
                _pump(near, far)


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_RDWR)
