"""One pass over bytes for everything that might matter: hyperscan tells where, `masker` decides.

Each pattern that begins with the same hundred words costs 1 to 2 ns a byte, and there are thirty of those. So a first
database has one pattern for what follows such a word in any of them, and a second one, which has them apart, is shown
only what stands before the places that the first one finds.

The databases are compiled in the warm-up, or loaded from the directory where an earlier process has saved them;
hyperscan itself is imported then.
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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kubescript.masker.probes import Probe

if TYPE_CHECKING:
    import hyperscan

__all__ = ["Hit", "RuleError", "Scanner"]

Hit = tuple[int, int]
"""Which probe, and where its match ends."""
_DIGEST_BYTES: Final = 32
_OTHERS: Final = 0o077
"""Rights of anybody but the owner."""
_KEPT: Final = 8
"""Saved databases: two of this version, and those of versions before it."""
_NEAR: Final = 128
"""Bytes before a place of the first database's that the second one is shown."""
_FAR: Final = 8_192
"""And those where it has found nothing in fewer: a name and its value may be far from each other."""
_AT_ONCE: Final = 6
"""Patterns that the first database has as one: of more, hyperscan makes a slow one."""
_by_end = operator.itemgetter(1)


class RuleError(ValueError):
    """A rule or another setting of the operator's is wrong; the text says which and why."""


@dataclass(frozen=True, slots=True)
class _Expression:
    """What hyperscan is given."""

    pattern: str
    id: int
    once: bool = False


class Scanner:
    """Finds candidates. Used from many threads at once."""

    def __init__(self, probes: Sequence[Probe], directory: Path | None = None) -> None:
        self.probes = tuple(probes)
        grouped = [at for at, probe in enumerate(probes) if probe.gate]
        self._many = len(probes)
        """The first id that is no probe's."""
        narrow, wide = (_gates(each for each in probes if bool(each.wide) is is_wide) for is_wide in (False, True))
        self._sure = range(self._many, self._many + len(narrow))
        """Ids of those that find nothing but what the second database finds."""
        gates = [_Expression(pattern, at) for at, pattern in enumerate([*narrow, *wide], self._many)]
        self._first = _Database([*_single(probes), *gates], directory)
        self._second = _Database([_Expression(probes[at].pattern, at) for at in grouped], directory)

    def scan(self, data: bytes, most: int = sys.maxsize) -> list[Hit]:
        """The candidates, in the order of their ends; when there are more than `most`, not all."""
        found = self._first.scan(data, most)
        hits = [hit for hit in found if hit[0] < self._many]
        gates = {end for probe, end in found if probe >= self._many}
        if len(found) > most:
            return found
        if gates:
            hits += self._closer(data, gates, _NEAR)
        missing = {end for probe, end in found if probe in self._sure and end > _NEAR}.difference(map(_by_end, hits))
        if missing:
            hits += self._closer(data, missing, _FAR)
        hits.sort(key=_by_end)  # hyperscan promises no order between patterns
        return hits

    def _closer(self, data: bytes, ends: set[int], reach: int) -> Iterator[Hit]:
        """What the second database finds at these ends."""
        for start, stop in _before(sorted(ends), reach):
            for probe, end in self._second.scan(data[start:stop]):
                if start + end in ends:
                    yield probe, start + end

    def compiled(self) -> None:
        """Compiles or loads the databases."""
        self._first.compiled()
        if len(self._sure):
            self._second.compiled()


def _before(ends: list[int], reach: int) -> Iterator[tuple[int, int]]:
    """The pieces of a text that reach so far before these ends; those that touch are one."""
    start, stop = max(0, ends[0] - reach), ends[0]
    for end in ends[1:]:
        if end - reach > stop:
            yield start, stop
            start = end - reach
        stop = end
    yield start, stop


def _single(probes: Sequence[Probe]) -> list[_Expression]:
    return [_Expression(probe.pattern, at, probe.once) for at, probe in enumerate(probes) if not probe.gate]


def _gates(probes: Iterable[Probe]) -> list[str]:
    """One pattern for several that begin alike."""
    tails: dict[str, list[str]] = {}
    for stem, tail in (probe.gate for probe in probes if probe.gate is not None):
        tails.setdefault(stem, []).append(tail)
    return [
        f"{stem}(?:{'|'.join(dict.fromkeys(some[at : at + _AT_ONCE]))})"
        for stem, some in tails.items()
        for at in range(0, len(some), _AT_ONCE)
    ]


class _Database:
    """Compiled patterns."""

    def __init__(self, expressions: Sequence[_Expression], directory: Path | None) -> None:
        self._expressions = expressions
        self._directory = directory
        """Where the compiled patterns are saved; nothing: nowhere."""
        self._lock = threading.Lock()
        self._compiled: hyperscan.Database | None = None
        self._local = threading.local()

    def scan(self, data: bytes, most: int = sys.maxsize) -> list[Hit]:
        """Which was found, and where it ends; when there are more than `most`, not all."""
        hits: list[Hit] = []

        def on_match(expression: int, _start: int, end: int, _flags: int, _context: object) -> bool | None:
            hits.append((expression, end))
            return len(hits) > most or None

        compiled = self.compiled()
        scratch = getattr(self._local, "scratch", None)
        if scratch is None:
            scratch = self._local.scratch = _scratch(compiled)
        try:
            compiled.scan(data, match_event_handler=on_match, scratch=scratch)
        except Exception:
            if len(hits) <= most:  # hyperscan's way to say that it was stopped
                raise
        return hits

    def compiled(self) -> Any:
        """The database; the first caller compiles it."""
        with self._lock:
            if self._compiled is None:
                saved = _loaded(self._expressions, self._directory)
                self._compiled = saved or _compile(self._expressions, self._directory)
            return self._compiled


def _compile(expressions: Sequence[_Expression], directory: Path | None) -> Any:
    """The database, also saved in the directory; 1.5 s of processor time."""
    import hyperscan

    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    try:
        database.compile(
            expressions=[each.pattern.encode() for each in expressions],
            ids=[each.id for each in expressions],
            flags=[hyperscan.HS_FLAG_DOTALL | hyperscan.HS_FLAG_SINGLEMATCH * each.once for each in expressions],
        )
    except hyperscan.HyperscanError as error:
        raise RuleError(f"a redaction rule cannot be compiled: {error}") from None
    if directory is not None:
        with contextlib.suppress(OSError):  # a full disk, or one that cannot be written: compiled again next time
            _save(directory, _name(expressions), hyperscan.dumpb(database))
    return database


def _scratch(database: Any) -> Any:
    import hyperscan

    return hyperscan.Scratch(database)


# The database on disk holds native tables, so whoever can write it can take over the process that scans with it. It is
# read only from a directory and a file of this user's that nobody else has a right to, and only when it is whole.


def _loaded(expressions: Sequence[_Expression], directory: Path | None) -> Any:
    """The saved database; None when there is none that is whole and ours."""
    import hyperscan

    if directory is None:
        return None
    try:
        data = _read(directory / _name(expressions))
        return hyperscan.loadb(data, hyperscan.HS_MODE_BLOCK) if data else None
    except (OSError, hyperscan.HyperscanError):
        return None


def _name(expressions: Sequence[_Expression]) -> str:
    """The file of these patterns, this hyperscan and this processor."""
    key = hashlib.sha256(repr(expressions).encode())
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
