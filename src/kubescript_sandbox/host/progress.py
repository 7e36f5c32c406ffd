"""Limits how often a script's progress is passed on to the client: the newest of many reports, and always the last.

Attack: a script sends ten thousand reports in a second, each of which would be masked and sent separately.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from kubescript_sandbox.wire import protocol

__all__ = ["Deliver", "Reports"]

Deliver = Callable[[protocol.Progress], None]

_BURST: Final = 10
"""How many reports are passed on at once; later ones are limited to `_PER_SECOND`."""
_PER_SECOND: Final = 4.0


class Reports:
    """One script's reports. `deliver` is called in the script's thread, or in a timer's thread for a report that had to
    wait, because the script may not report again for a long time."""

    def __init__(self, deliver: Deliver) -> None:
        self._deliver = deliver
        self._newest: protocol.Progress | None = None
        self._allowed = float(_BURST)
        self._counted = time.monotonic()
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._failure: Exception | None = None

    def add(self, report: protocol.Progress) -> None:
        """Takes a report, which replaces the waiting one. Raises the exception that delivering an earlier one
        raised."""
        with self._lock:
            self._newest = report
            if self._timer is None:
                self._send_or_wait()

    def send(self) -> None:
        """Passes on the waiting report, the last one of a script that has ended."""
        with self._lock:
            self._send()

    def close(self) -> None:
        """Drops the waiting report; waits for the one that is being passed on."""
        with self._lock:
            self._newest = None
            if self._timer is not None:
                self._timer.cancel()

    def _send_or_wait(self) -> None:
        now = time.monotonic()
        self._allowed = min(_BURST, self._allowed + (now - self._counted) * _PER_SECOND)
        self._counted = now
        if self._allowed >= 1:
            self._allowed -= 1
            self._send()
        else:
            self._timer = threading.Timer((1 - self._allowed) / _PER_SECOND, self._send_late)
            self._timer.daemon = True
            self._timer.start()

    def _send_late(self) -> None:
        with self._lock:
            self._timer = None
            try:
                self._send_or_wait()
            except Exception as error:  # only the script's thread can end the script
                self._failure = error

    def _send(self) -> None:
        report, self._newest = self._newest, None
        if self._failure is not None:
            raise self._failure
        if report is not None:
            self._deliver(report)
