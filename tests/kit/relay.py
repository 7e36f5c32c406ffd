"""A relay before PostgreSQL, as to one that is far away: each of its answers arrives late."""

from __future__ import annotations

import contextlib
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.kit import postgres

__all__ = ["delaying"]

_SOCKET: Final = ".s.PGSQL.5432"


@contextlib.contextmanager
def delaying(server: postgres.Postgres, delay_s: float) -> Iterator[str]:
    """Yields the URL of a new, empty schema of a server, whose every answer takes `delay_s` seconds longer."""
    with tempfile.TemporaryDirectory(prefix="kubescript-pg-") as folder, socket.socket(socket.AF_UNIX) as taking:
        taking.bind(f"{folder}/{_SOCKET}")
        taking.listen()
        threading.Thread(target=_relay, args=(taking, server.folder / _SOCKET, delay_s), daemon=True).start()
        yield server.database().replace(str(server.folder), folder)
        taking.shutdown(socket.SHUT_RDWR)


def _relay(taking: socket.socket, to: Path, delay_s: float) -> None:
    with contextlib.suppress(OSError):  # closed
        while True:
            near, _ = taking.accept()
            far = socket.socket(socket.AF_UNIX)
            far.connect(str(to))
            threading.Thread(target=_pump, args=(near, far, 0.0), daemon=True).start()
            threading.Thread(target=_pump, args=(far, near, delay_s), daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket, delay_s: float) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            time.sleep(delay_s)
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_RDWR)
