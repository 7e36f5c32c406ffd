"""A server whose machine dies once it has read a POST: nothing that its client sends on that connection is acknowledged
any more. It answers each GET.

with DeadMachine() as machine:
    httpx2.get(f"http://127.0.0.1:{machine.port}/")
"""

from __future__ import annotations

import ctypes
import socket
import struct
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from kubescript_safety.controlplane import startable

__all__ = ["DeadMachine"]

_ATTACH_FILTER: Final = 26
"""SO_ATTACH_FILTER of Linux."""
_DROP: Final = struct.pack("HBBI", 0x06, 0, 0, 0)
"""A program for packets that arrive: `ret #0` drops each of them before TCP sees it."""


class DeadMachine(startable.Startable):
    """The server, at `port` of this machine."""

    def __init__(self) -> None:
        self._closed = closed = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_POST(self) -> None:
                _die(self.connection)
                closed.wait()

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port

    def start(self) -> None:
        """Serves in a thread of its own."""
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Ends it, and its connections."""
        self._closed.set()
        self._server.shutdown()
        self._server.server_close()


def _die(connection: socket.socket) -> None:
    program = ctypes.create_string_buffer(_DROP)
    connection.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, struct.pack("HP", 1, ctypes.addressof(program)))
