"""One pass over bytes for all candidates: hyperscan finds the places, `masker` decides.

Each pattern that begins with the same hundred words takes 1 to 2 ns per byte, and there are thirty of them. So a first
database has one pattern that covers what may follow such a word. A second one has the thirty patterns separately, and
scans only the bytes before the places that the first one finds.

The databases are compiled in the warm-up, or loaded from the directory where an earlier process has saved them;
hyperscan itself is imported then.
"""

from __future__ import annotations

import bisect
import contextlib
import functools
import hashlib
import itertools
import operator
import os
import platform
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from kubescript_masking.rules.probes import Probe, RuleError

__all__ = ["Hit", "Scanner"]

Hit = tuple[int, int]
"""A probe's number, and where its match ends."""
_DIGEST_BYTES: Final = 32
_OTHERS: Final = 0o077
"""The rights of all users except the owner."""
_KEPT: Final = 8
"""How many saved databases are kept: two of this version, and those of earlier versions."""
_NEAR: Final = 128
"""How many bytes before a place that the first database found the second one scans."""
# A name and its value may be far apart.
_FAR: Final = 8_192
"""How many bytes the second database scans where it finds nothing in fewer."""
_APART: Final = b"\n{}\n"
"""What stands between such pieces, which are scanned at once; few patterns match across it."""
# hyperscan makes larger groups slow.
_AT_ONCE: Final = 6
"""How many patterns the first database joins into one."""
_by_end = operator.itemgetter(1)


_Expression = tuple[int, str, bool]
"""Input to hyperscan: an id, a pattern, and whether one hit is enough."""


class Scanner:
    """Finds candidates. Only one thread at a time may use it."""

    def __init__(self, probes: Sequence[Probe], directory: Path | None = None) -> None:
        self.probes = tuple(probes)
        self.ids = [probe.id for probe in probes]
        alone: list[_Expression] = []
        grouped: list[_Expression] = []
        for at, probe in enumerate(probes):
            expressions = grouped if probe.stem else alone
            expressions.append((at, probe.pattern, probe.once))
        # With patterns joined and no line rescanned, logs take 9 to 17 ns per byte instead of 14 to 37; those of Java
        # take 40 instead of 119.
        with_stem = [probe for probe in probes if probe.stem]
        for at, gate in enumerate(_join(with_stem), len(probes)):
            alone.append((at, gate, False))
        self._first = _Database(alone, directory)
        self._second = _Database(grouped, directory)

    def scan(self, data: bytes, most: int = sys.maxsize) -> list[Hit]:
        """Returns the candidates, ordered by their ends; not all of them when there are more than `most`."""
        found = self._first.scan(data, most)
        if len(found) > most:
            return found
        count = len(self.probes)
        hits = [hit for hit in found if hit[0] < count]
        gates = {end for gate, end in found if gate >= count}
        if gates:
            near = list(self._look_closer(data, gates, _NEAR))
            seen = {end for _, end in near}
            missed = {end for end in gates if end > _NEAR and end not in seen}
            hits += near
            hits += self._look_closer(data, missed, _FAR) if missed else ()
        hits.sort(key=_by_end)  # hyperscan promises no order between patterns
        return hits

    def _look_closer(self, data: bytes, ends: set[int], reach: int) -> Iterator[Hit]:
        """Yields the second database's hits at these ends."""
        pieces = list(_before(sorted(ends), reach))
        # Scanned one by one, 85 places in a block of a Java log take 7.2 ns a byte; joined they take 6.1.
        joined = _APART.join([data[start:stop] for start, stop in pieces])
        sizes = [stop - start + len(_APART) for start, stop in pieces]
        limits = list(itertools.accumulate(sizes))
        for probe, joined_end in self._second.scan(joined):
            at = bisect.bisect_left(limits, joined_end)
            _, stop = pieces[at]
            joined_stop = limits[at] - len(_APART)
            end = joined_end - joined_stop + stop
            if end in ends:
                yield probe, end

    def prepare(self) -> None:
        """Compiles or loads the databases. Raises RuleError."""
        for database in (self._first, self._second):
            if database.expressions:
                _ = database.tables


def _before(ends: list[int], reach: int) -> Iterator[tuple[int, int]]:
    """Yields the pieces of a text that reach this far before these ends; adjacent ones are joined."""
    if not ends:
        return
    start, stop = max(0, ends[0] - reach), ends[0]
    for end in ends[1:]:
        begin = end - reach
        if begin > stop:
            yield start, stop
            start = begin
        stop = end
    yield start, stop


def _join(probes: Sequence[Probe]) -> Iterator[str]:
    """Yields patterns, each of which joins several that begin alike."""
    for at in range(0, len(probes), _AT_ONCE):
        some = probes[at : at + _AT_ONCE]
        stem = some[0].stem
        wide = [probe.wide or probe.pattern for probe in some]
        # hyperscan missed a pattern of such a group in 10 of 1,500 texts made from it; a test compares all with `re`.
        tails = dict.fromkeys(pattern.removeprefix(stem) for pattern in wide)
        yield f"{stem}(?:{'|'.join(tails)})"


class _Database:
    """Compiled patterns."""

    def __init__(self, expressions: Sequence[_Expression], directory: Path | None) -> None:
        self.expressions = expressions
        self._directory = directory
        """Where the compiled patterns are saved; None: nowhere."""

    def scan(self, data: bytes, most: int = sys.maxsize) -> list[Hit]:
        """Returns the hits; not all of them when there are more than `most`."""
        hits: list[Hit] = []

        # hyperscan calls this function once per hit, and stops when it returns true.
        def on_match(expression: int, _start: int, end: int, _flags: int, _context: object) -> bool | None:
            hits.append((expression, end))
            return len(hits) > most or None

        database, scratch = self.tables
        try:
            database.scan(data, match_event_handler=on_match, scratch=scratch)
        except Exception:
            if len(hits) <= most:  # hyperscan raises when it was stopped
                raise
        return hits

    @functools.cached_property
    def tables(self) -> tuple[Any, Any]:
        """The database and its scratch memory. Raises RuleError."""
        # This import happens in the warm-up, which compiles or loads the databases.
        import hyperscan

        saved = _load(self.expressions, self._directory)
        database = saved or _compile(self.expressions, self._directory)
        return database, hyperscan.Scratch(database)


def _compile(expressions: Sequence[_Expression], directory: Path | None) -> Any:
    """Compiles the database, which takes 1.5 s of processor time, and saves it in the directory."""
    import hyperscan

    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    ids, patterns, single = zip(*expressions, strict=True)
    flags = [hyperscan.HS_FLAG_DOTALL | hyperscan.HS_FLAG_SINGLEMATCH * once for once in single]
    try:
        database.compile(expressions=[pattern.encode() for pattern in patterns], ids=ids, flags=flags)
    except hyperscan.HyperscanError as error:
        raise RuleError(f"a redaction rule cannot be compiled: {error}") from None
    if directory is not None:
        with contextlib.suppress(OSError):  # the disk is full or read-only: the database is compiled again next time
            _save(directory / _name(expressions), hyperscan.dumpb(database))
    return database


def _load(expressions: Sequence[_Expression], directory: Path | None) -> Any:
    """Returns the saved database; None unless it is whole, owned by this user and made for this processor."""
    import hyperscan

    if directory is None:
        return None
    try:
        data = _read(directory / _name(expressions))
        return hyperscan.loadb(data, hyperscan.HS_MODE_BLOCK) if data else None
    except (OSError, hyperscan.HyperscanError):
        return None


def _name(expressions: Sequence[_Expression]) -> str:
    """Returns the file name for these patterns and this hyperscan."""
    import hyperscan

    # The tables are native: another version or processor needs its own.
    version = vars(hyperscan)["__version__"]  # importlib.metadata would read every package's folder for it: 40 ms
    key = f"{expressions} {version} {platform.machine()}"
    digest = hashlib.sha256(key.encode()).hexdigest()
    return f"{digest[:32]}.hsdb"


def _read(file: Path) -> bytes:
    """Returns the saved database; empty unless it is whole and only this user can write it."""
    # Attack: a user who can write the file takes over the process that scans with it, because it contains native
    # tables.
    folder = os.lstat(file.parent)
    if not _is_ours(folder):
        return b""
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as opened:
        status = os.fstat(descriptor)
        is_file = stat.S_ISREG(status.st_mode)
        if not is_file or not _is_ours(status):
            return b""
        data = opened.read()
    digest, database = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    is_whole = hashlib.sha256(database).digest() == digest
    return database if is_whole else b""


def _is_ours(status: os.stat_result) -> bool:
    """Says whether a file or folder is owned by this user and closed to all others."""
    if status.st_uid != os.geteuid():
        return False
    return not status.st_mode & _OTHERS


def _save(file: Path, database: bytes) -> None:
    """Writes a file, and removes the oldest ones beside it."""
    folder = file.parent
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_ours(os.lstat(folder)):
        return
    digest = hashlib.sha256(database).digest()
    # The file is written atomically: another process may read it at the same time.
    descriptor, draft = tempfile.mkstemp(dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(digest + database)
        Path(draft).replace(file)
    except OSError:
        Path(draft).unlink(missing_ok=True)
        raise
    saved = list(folder.glob("*.hsdb"))
    saved.sort(key=lambda one: one.stat().st_mtime, reverse=True)
    for old in saved[_KEPT:]:
        old.unlink(missing_ok=True)
