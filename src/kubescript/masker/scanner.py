"""One pass over bytes for everything that might matter: hyperscan tells where, `readers` and `masker` decide.

The database is compiled in the warm-up, or loaded from the directory where an earlier process has saved it; hyperscan
itself is imported then.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import operator
import os
import platform
import stat
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kubescript.masker.failures import RuleError
from kubescript.masker.probes import Probe

if TYPE_CHECKING:
    import hyperscan

__all__ = ["Hit", "Scanner"]

Hit = tuple[int, int]
"""Which probe, and where its match ends."""
_DIGEST_BYTES: Final = 32
_OTHERS: Final = 0o077
"""Rights of anybody but the owner."""
_KEPT: Final = 4
"""Saved databases: of this version and of those before it."""
_by_end = operator.itemgetter(1)


class Scanner:
    """Finds candidates. Used from many threads at once."""

    def __init__(self, probes: Sequence[Probe], directory: Path | None = None) -> None:
        self.probes = tuple(probes)
        self._directory = directory
        """Where the compiled database is saved; nothing: nowhere."""
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
                saved = _loaded(self.probes, self._directory)
                self._database = saved or _compile(self.probes, self._directory)
            return self._database


def _compile(probes: Sequence[Probe], directory: Path | None) -> Any:
    """The database, also saved in the directory; 1.5 s of processor time."""
    import hyperscan

    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    try:
        database.compile(
            expressions=[probe.pattern.encode() for probe in probes],
            ids=list(range(len(probes))),
            flags=[hyperscan.HS_FLAG_DOTALL | hyperscan.HS_FLAG_SINGLEMATCH * probe.once for probe in probes],
        )
    except hyperscan.HyperscanError as error:
        raise RuleError(f"a redaction rule cannot be compiled: {error}") from None
    if directory is not None:
        with contextlib.suppress(OSError):  # a full disk, or one that cannot be written: compiled again next time
            _save(directory, _name(probes), hyperscan.dumpb(database))
    return database


def _scratch(database: Any) -> Any:
    import hyperscan

    return hyperscan.Scratch(database)


# The database on disk holds native tables, so whoever can write it can take over the process that scans with it. It is
# read only from a directory and a file of this user's that nobody else has a right to, and only when it is whole.


def _loaded(probes: Sequence[Probe], directory: Path | None) -> Any:
    """The saved database; None when there is none that is whole and ours."""
    import hyperscan

    if directory is None:
        return None
    try:
        data = _read(directory / _name(probes))
        return hyperscan.loadb(data, hyperscan.HS_MODE_BLOCK) if data else None
    except (OSError, hyperscan.HyperscanError):
        return None


def _name(probes: Sequence[Probe]) -> str:
    """The file of these patterns, this hyperscan and this processor."""
    key = hashlib.sha256(repr([(probe.pattern, probe.once) for probe in probes]).encode())
    version = importlib.metadata.version("hyperscan")
    key.update(f"{version} {platform.machine()} {_processor()}".encode())
    return f"{key.hexdigest()[:32]}.hsdb"


def _processor() -> str:
    """What it can do, as Linux tells it; nothing elsewhere."""
    with contextlib.suppress(OSError), Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
        return next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return ""


def _read(file: Path) -> bytes:
    if not _is_ours(os.lstat(file.parent)):
        return b""
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as opened:
        status = os.fstat(descriptor)
        if not (_is_ours(status) and stat.S_ISREG(status.st_mode)):
            return b""
        data = opened.read()
    digest, database = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    return database if hashlib.sha256(database).digest() == digest else b""


def _is_ours(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & _OTHERS


def _save(directory: Path, name: str, database: bytes) -> None:
    """Writes a file that is whole or not there, and removes the oldest beside it."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_ours(os.lstat(directory)):
        return
    descriptor, draft = tempfile.mkstemp(dir=directory)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(hashlib.sha256(database).digest() + database)
        Path(draft).replace(directory / name)
    except OSError:
        with contextlib.suppress(OSError):
            Path(draft).unlink()
        raise
    saved = sorted(directory.glob("*.hsdb"), key=lambda one: one.stat().st_mtime, reverse=True)
    for old in saved[_KEPT:]:
        old.unlink(missing_ok=True)
