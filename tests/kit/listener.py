"""A socket on the loopback whose connections a test serves in its own way."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Final

__all__ = ["Listener"]


class Listener:
    """Takes connections, and serves each in a thread of its own, until it is closed."""

    def __init__(self, serve: Callable[[socket.socket], None], port: int = 0) -> None:
        """`serve` owns the connection; an OSError ends it quietly: the other side may hang up at any time."""
        self._serve = serve
        self._socket = socket.create_server(("127.0.0.1", port))
        self.port: Final[int] = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Takes no more connections."""
        self._socket.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = self._socket.accept()
                threading.Thread(target=self._run, args=(sock,), daemon=True).start()

    def _run(self, sock: socket.socket) -> None:
        with contextlib.suppress(OSError):
            self._serve(sock)
