"""The file itself: appended to under a lock by any number of threads and processes, so that the chain stays one.

Each append takes the file's lock, finds the end of the chain (another process may have moved it), and writes one whole
line with one system call. What a crash tore is found by the next append, left where it is, and named in a record. A
file that is full is set aside, and the next one goes on with its last hash.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import logging
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import kubescript
from kubescript import errors
from kubescript.audit import chain, paths, rotation

__all__ = ["AuditLog", "check_end"]

log = logging.getLogger(__name__)

_END_BYTES: Final = 2 * chain.MAX_LINE
_LOCK_TIMEOUT_S: Final = 10.0
_LOCK_RETRY_S: Final = 0.0005
"""A record takes a tenth of that."""
_REMEDY: Final = "free some space, or check the disk"


class AuditLog:
    """One audit file. Used from many threads at once."""

    def __init__(self, path: Path, *, max_bytes: int = 0, keep: int = 0, key: bytes | None = None) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self._keep = keep
        self._key = key
        self._lock = threading.RLock()
        self._descriptor: int | None = None
        self._size = -1
        self._head = chain.Head()
        self._lost_records = 0
        self._missing_head: chain.Head | None = None
        """The last record we saw, when the chain no longer holds it."""

    @property
    def head(self) -> chain.Head:
        """The end of the chain as this process last saw it."""
        return self._head

    def check(self) -> None:
        """Open the file if it is not. Raises AuditError when that cannot be done; what was to come counts as lost."""
        try:
            with self._locked_file():
                pass
        except errors.AuditError:
            with self._lock:
                self._lost_records += 1
            raise

    def append(self, fields: dict[str, Any], *, sync: bool = True) -> None:
        """Write one record; with `sync`, return when it is on the disk. Raises AuditError; nothing was written then."""
        try:
            with self._locked_file() as descriptor:
                self._prepare_end(descriptor)
                self._write(fields)
                waiting = os.dup(self._descriptor or descriptor) if sync else None
            if waiting is not None:
                _sync(waiting)
        except OSError as error:
            with self._lock:
                self._lost_records += 1
            raise paths.unavailable(self.path, os.strerror(error.errno or 0), _REMEDY) from None
        except errors.AuditError:
            with self._lock:
                self._lost_records += 1
            raise

    def close(self) -> None:
        """Give the file up; a later append opens it again."""
        with self._lock:
            if self._descriptor is not None:
                os.close(self._descriptor)
            self._descriptor, self._size = None, -1

    @contextlib.contextmanager
    def _locked_file(self) -> Iterator[int]:
        """The file at `path`, locked for this thread alone."""
        with self._lock:
            descriptor = self._lock_current_file()
            try:
                yield descriptor
            finally:
                if self._descriptor is not None:
                    fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def _lock_current_file(self) -> int:
        """Lock the file that is at `path` now: another process may have set aside the one that was."""
        while True:
            if self._descriptor is None:
                self._descriptor, self._size = paths.open_append(self.path), -1
            self._lock_file(self._descriptor)
            if _is_same_file(self._descriptor, self.path):
                return self._descriptor
            self._check_replaced(os.fstat(self._descriptor))
            self.close()

    def _lock_file(self, descriptor: int) -> None:
        """Take the file's lock; another server that was stopped while it held it must not stop this one for ever."""
        deadline = time.monotonic() + _LOCK_TIMEOUT_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    why = "another process keeps it locked"
                    raise paths.unavailable(self.path, why, f"see who: fuser {self.path}") from None
                time.sleep(_LOCK_RETRY_S)
            else:
                return

    def _prepare_end(self, descriptor: int) -> None:
        """Find the end of the chain, mend it and set the file aside where it must be."""
        size = os.fstat(descriptor).st_size
        if size != self._size:
            self._catch_up(descriptor, size)
        if self._max_bytes and self._size >= self._max_bytes:
            self._rotate(descriptor)
        if self._lost_records:
            lost, self._lost_records = self._lost_records, 0
            try:
                self._write({"type": "gap", "records": lost, "time": chain.now()})
            except OSError:
                self._lost_records = lost
                raise

    def _check_replaced(self, old: os.stat_result) -> None:
        """The file we wrote is no longer at its place. Set aside, it is one of FILE.N. When it has no name at all, or
        one elsewhere, and the chain that is there begins before our last record, that one is gone."""
        if not old.st_nlink:
            first = rotation.first_record(self.path)
        else:
            first = None if rotation.is_rotated(self.path, old) else rotation.first_record_of(self.path)
        if first is not None and first < self._head.seq:
            self._missing_head = self._head

    def _check_changed(self, descriptor: int, size: int) -> None:
        """Others may have appended to the file, but where we stopped must still stand what we wrote."""
        if size < self._size:  # nobody cuts what is written: a torn write is taken back before the lock is let go
            self._missing_head = self._head
        tail = f'"hash":"{self._head.hash}"}}\n'.encode()
        if len(tail) <= self._size <= size and os.pread(descriptor, len(tail), self._size - len(tail)) != tail:
            self._missing_head = self._head

    def _record_missing(self) -> None:
        """On record and in the log, which is kept elsewhere: nobody else knows of that hash."""
        if self._missing_head is None:
            return
        lost = self._missing_head
        number = lost.seq - 1
        text = "audit %s was replaced: record %d, hash %s, is gone"
        log.error(text, self.path, number, lost.hash, extra={"event": "audit.replaced"})
        self._write({"type": "replaced", "time": chain.now(), "record": number, "head": lost.hash})
        self._missing_head = None

    def _catch_up(self, descriptor: int, size: int) -> None:
        """Go on where the file ends, whoever wrote it; what a crash tore is ended by a newline and named."""
        self._check_changed(descriptor, size)
        torn, whole, last = _read_end(self.path, descriptor, size, self._key)
        before = rotation.rotated(self.path) if last is None else []
        if last is not None:
            self._continue_from(chain.Head(last["seq"] + 1, last["hash"]))
        else:
            self._continue_from(rotation.last_head(before[-1], self._key) if before else chain.Head())
        self._size = size
        if torn:
            self._append(b"\n")
        if torn and not whole:
            digest = hashlib.sha256(torn).hexdigest()
            self._write({"type": "repair", "time": chain.now(), "torn_bytes": len(torn), "torn_sha256": digest})
        if last is None:
            self._write_first_record(before[-1].name if before else "")
        self._record_missing()

    def _continue_from(self, head: chain.Head) -> None:
        """Go on from the chain's end, unless it has less than we have seen, as after `rm`, `mv` or `: >`: what is gone
        must show as missing. Servers that set files aside leave an end that is no less."""
        if head.seq >= self._head.seq:
            self._head = head
        else:
            self._missing_head = self._head

    def _write_first_record(self, previous: str) -> None:
        """The first record of a file: it carries the last hash of the one before, as every record does."""
        self._write({
            "type": "file", "format": chain.FORMAT, "keyed": self._key is not None, "time": chain.now(),
            "previous": previous, "kubescript": kubescript.__version__,
        })  # fmt: skip
        _sync(os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))  # a name is data, too

    def _rotate(self, descriptor: int) -> None:
        """Move the full file out of the way and open the next, which nobody else can have locked before us but to write
        the same first record."""
        os.fdatasync(descriptor)
        self.path.rename(rotation.next_name(self.path))
        for old in rotation.surplus(self.path, self._keep):
            old.unlink(missing_ok=True)
        self.close()
        descriptor = self._lock_current_file()
        self._catch_up(descriptor, os.fstat(descriptor).st_size)

    def _write(self, fields: dict[str, Any]) -> None:
        line, head = chain.seal(fields, self._head, self._key)
        if len(line) > chain.MAX_LINE:
            raise paths.unavailable(self.path, "a record is too long", "report this")
        self._append(line)
        self._head = head

    def _append(self, data: bytes) -> None:
        """Write all of `data` or none. Raises OSError."""
        assert self._descriptor is not None
        try:
            written = os.write(self._descriptor, data)
            if written < len(data):
                written += os.write(self._descriptor, data[written:])  # says why there is no room for the rest
            if written < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            with contextlib.suppress(OSError):  # an append-only file stays torn, and is mended by the next append
                os.ftruncate(self._descriptor, self._size)
            self._size = -1
            raise
        self._size += written


def check_end(path: Path, key: bytes | None) -> None:
    """Whether a chain could go on from the end of the file that is at `path`; it is not touched. Raises AuditError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise paths.unavailable(path, os.strerror(error.errno or 0), "let the server's user read it") from None
    try:
        _read_end(path, descriptor, os.fstat(descriptor).st_size, key)
    finally:
        os.close(descriptor)


def _read_end(path: Path, descriptor: int, size: int, key: bytes | None) -> tuple[bytes, bool, dict[str, Any] | None]:
    """What stands behind the last newline, whether that is a whole record, and the last whole record, if there is any.
    Raises AuditError for an end that no crash has made."""
    start = max(0, size - _END_BYTES)
    *lines, torn = os.pread(descriptor, size - start, start).split(b"\n")
    whole = _parse_or_none(torn, key) if torn else None
    last = whole or (_parse_or_none(lines[-1], key) if lines else None)
    if last is None and (lines or start):
        why = "its last record is damaged, or sealed with another key"
        raise paths.unavailable(path, why, "run `kubescript audit verify`, then move the file away")
    return torn, whole is not None, last


def _parse_or_none(line: bytes, key: bytes | None) -> dict[str, Any] | None:
    try:
        return chain.parse(line, key)
    except chain.Damaged:
        return None


def _sync(descriptor: int) -> None:
    try:
        os.fdatasync(descriptor)
    finally:
        os.close(descriptor)


def _is_same_file(descriptor: int, path: Path) -> bool:
    try:
        there = path.lstat()
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(descriptor), there)
