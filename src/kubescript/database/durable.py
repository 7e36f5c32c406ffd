"""Connections to an SQLite file that keep what was committed."""

from __future__ import annotations

import sqlite3
import time
from typing import Final

__all__ = ["connect"]

_BUSY_TIMEOUT_S: Final = 10.0
_PAUSE_S: Final = 0.01


def connect(address: str) -> sqlite3.Connection:
    """Returns a connection that keeps committed data even when the machine loses power. Raises OperationalError."""
    connection = sqlite3.connect(
        address,
        uri=True,
        timeout=_BUSY_TIMEOUT_S,
        isolation_level=None,  # `writing` begins transactions
        check_same_thread=False,
    )
    _write_ahead(connection)
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Has the database write a log ahead of its pages. Raises OperationalError."""
    # When several processes open a new file at once, SQLite refuses this to all but one of them, and does not wait.
    gives_up = time.monotonic() + _BUSY_TIMEOUT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > gives_up:
                raise
            time.sleep(_PAUSE_S)
        else:
            return
