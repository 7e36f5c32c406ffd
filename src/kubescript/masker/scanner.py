"""One pass over bytes for everything that might matter: hyperscan tells where, `readers` and `masker` decide.

The database is compiled in the warm-up; hyperscan itself is imported then.
"""

from __future__ import annotations

import operator
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kubescript import errors
from kubescript.masker.probes import Probe

if TYPE_CHECKING:
    import hyperscan

__all__ = ["Hit", "Scanner"]

Hit = tuple[int, int]
"""Which probe, and where its match ends."""
_by_end = operator.itemgetter(1)


class Scanner:
    """Finds candidates. Used from many threads at once."""

    def __init__(self, probes: Sequence[Probe]) -> None:
        self.probes = tuple(probes)
        self._lock = threading.Lock()
        self._database: hyperscan.Database | None = None
        self._local = threading.local()

    def scan(self, data: bytes, most: int = sys.maxsize) -> list[Hit]:
        """The candidates, in the order of their ends; when there are more than `most`, not all."""
        hits: list[Hit] = []

        def on_match(probe: int, _start: int, end: int, _flags: int, _context: object) -> bool | None:
            hits.append((probe, end))
            return len(hits) > most or None

        database = self.compiled()
        scratch = getattr(self._local, "scratch", None)
        if scratch is None:
            scratch = self._local.scratch = _scratch(database)
        try:
            database.scan(data, match_event_handler=on_match, scratch=scratch)
        except Exception:
            if len(hits) <= most:  # hyperscan's way to say that it was stopped
                raise
        hits.sort(key=_by_end)  # hyperscan promises no order between patterns
        return hits

    def compiled(self) -> Any:
        """The database; the first caller compiles it."""
        with self._lock:
            if self._database is None:
                self._database = _compile(self.probes)
            return self._database


def _compile(probes: Sequence[Probe]) -> Any:
    import hyperscan

    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    try:
        database.compile(
            expressions=[probe.pattern.encode() for probe in probes],
            ids=list(range(len(probes))),
            flags=[hyperscan.HS_FLAG_DOTALL] * len(probes),
        )
    except hyperscan.HyperscanError as error:
        raise errors.ConfigError(f"a redaction rule cannot be compiled: {error}") from None
    return database


def _scratch(database: Any) -> Any:
    import hyperscan

    return hyperscan.Scratch(database)
