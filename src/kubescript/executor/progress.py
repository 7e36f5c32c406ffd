"""How often a script's progress is passed on to the client: the newest of many reports, and always the last.

Attack: a script reports ten thousand times in a second, and each report is masked and sent on its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from kubescript.wire import protocol

__all__ = ["Deliver", "Reports"]

Deliver = Callable[[protocol.Progress], None]

_BURST: Final = 10
"""Reports that are passed on at once; then so many a second."""
_PER_SECOND: Final = 4.0


class Reports:
    """The reports of one script. Not thread-safe."""

    def __init__(self, deliver: Deliver) -> None:
        self._deliver = deliver
        self._newest: protocol.Progress | None = None
        self._allowed = float(_BURST)
        self._counted = time.monotonic()

    def add(self, report: protocol.Progress) -> None:
        """Takes a report in the place of the one that still waits."""
        self._newest = report
        self.send_due()

    def send_due(self) -> None:
        """Passes on the report that waits, if it is time."""
        if self._newest is None:
            return
        now = time.monotonic()
        self._allowed = min(_BURST, self._allowed + (now - self._counted) * _PER_SECOND)
        self._counted = now
        if self._allowed >= 1:
            self._allowed -= 1
            self.send()

    def send(self) -> None:
        """Passes on the report that waits: the last of a script that has ended."""
        report, self._newest = self._newest, None
        if report is not None:
            self._deliver(report)
