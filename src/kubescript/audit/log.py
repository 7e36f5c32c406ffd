"""The audit file. Any number of threads and processes append to it under a lock, so that it stays one chain.

The recorder appends here. Each append takes the file's lock, finds the end of the chain (another process may have moved
it), and writes one whole line with one system call. If a crash has torn a line, the next append leaves it in place and
adds a record about it. A full file is rotated, and the next one continues from its last hash.
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
from kubescript.audit import chain, chain_end, file_checks, rotation

__all__ = ["AuditLog"]

log = logging.getLogger(__name__)

_LOCK_TIMEOUT_S: Final = 10.0
# Writing a record takes a tenth of this interval.
_LOCK_RETRY_S: Final = 0.0005
"""Seconds between two attempts to lock the file."""
_REMEDY: Final = "free some space, or check the disk"


class AuditLog:
    """One audit file. Safe for use from many threads."""

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
        """The chain's end as this process last saw it, when the chain no longer contains it."""

    @property
    def head(self) -> chain.Head:
        """The end of the chain as this process last saw it."""
        return self._head

    def check(self) -> None:
        """Opens the file if it is closed. Raises AuditError on failure; the next record then counts as lost."""
        try:
            with self._hold_file():
                pass
        except errors.AuditError:
            with self._lock:
                self._lost_records += 1
            raise

    def identity(self) -> str:
        """Returns the id of the chain that the next record continues. Raises AuditError."""
        # The file is asked each time. Attack: another file is put in its place while this server runs.
        try:
            with self._hold_file() as descriptor:
                self._prepare_end(descriptor)
                return self._read_identity(descriptor)
        except OSError as error:
            raise file_checks.unavailable(self.path, os.strerror(error.errno or 0), _REMEDY) from None

    def append(self, fields: dict[str, Any], *, sync: bool = True, identity: str = "") -> chain.Head:
        """Writes one record, and returns the chain's end behind it; with `sync`, once it is on disk. With an
        `identity`, writes only to the chain of that id. Raises AuditError on failure."""
        waiting = None
        try:
            with self._hold_file() as descriptor:
                self._prepare_end(descriptor)
                if identity:
                    self._check_identity(descriptor, identity)
                self._write(fields)
                head = self._head
                if sync:
                    waiting = os.dup(self._descriptor or descriptor)
            # The wait for the disk is outside the lock, so that others can write during it.
            if waiting is not None:
                _sync(waiting)
        except OSError as error:
            with self._lock:
                self._lost_records += 1
            raise file_checks.unavailable(self.path, os.strerror(error.errno or 0), _REMEDY) from None
        except errors.AuditError:
            with self._lock:
                self._lost_records += 1
            raise
        return head

    def close(self) -> None:
        """Closes the file; a later append opens it again."""
        with self._lock:
            if self._descriptor is not None:
                os.close(self._descriptor)
            self._descriptor = None
            self._size = -1

    @contextlib.contextmanager
    def _hold_file(self) -> Iterator[int]:
        """Yields the file at `path`, locked for this thread alone."""
        with self._lock:
            descriptor = self._lock_current_file()
            try:
                yield descriptor
            finally:
                if self._descriptor is not None:
                    fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def _lock_current_file(self) -> int:
        """Locks the file that is now at `path`: another process may have rotated the previous one."""
        while True:
            if self._descriptor is None:
                self._descriptor = file_checks.open_append(self.path)
                self._size = -1
            self._lock_file(self._descriptor)
            if _is_same_file(self._descriptor, self.path):
                return self._descriptor
            self._check_replaced(os.fstat(self._descriptor))
            self.close()

    def _lock_file(self, descriptor: int) -> None:
        """Takes the file's lock, or gives up after a while. Raises AuditError."""
        # A server that was stopped while holding the lock must not block this one forever.
        deadline = time.monotonic() + _LOCK_TIMEOUT_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    why = "another process keeps it locked"
                    raise file_checks.unavailable(self.path, why, f"see who: fuser {self.path}") from None
                time.sleep(_LOCK_RETRY_S)
            else:
                return

    def _read_identity(self, descriptor: int) -> str:
        """Returns the id of the chain. Raises AuditError or OSError."""
        beginning = os.pread(self._descriptor or descriptor, chain.FIRST_BYTES, 0)
        found = chain.identity(beginning, self._key)
        if not found:
            raise file_checks.unavailable(self.path, "it has no first record", "run `kubescript audit verify`")
        return found

    def _check_identity(self, descriptor: int, identity: str) -> None:
        """Raises AuditError or OSError unless the chain has this id."""
        # Attack: the file is moved while a plan is applied, and the rest of the plan is on a record without its
        # approval.
        if self._read_identity(descriptor) != identity:
            raise errors.AuditError(
                "another record is in the place of the audit record to which this belongs, so it is not done; tell the "
                "operator of this server",
                remedy=f"{self.path}: put the file with the chain {identity} back",
            )

    def _prepare_end(self, descriptor: int) -> None:
        """Prepares the file for the next record: finds the end of the chain, rotates a full file, records a gap."""
        size = os.fstat(descriptor).st_size
        if size != self._size:
            self._catch_up(descriptor, size)
        if self._max_bytes and self._size >= self._max_bytes:
            self._rotate(descriptor)
        if self._lost_records:
            self._record_gap()

    def _record_gap(self) -> None:
        """Records how many records could not be written. Raises OSError; they then still count as lost."""
        lost, self._lost_records = self._lost_records, 0
        fields = {"type": "gap", "records": lost, "time": chain.now()}
        try:
            self._write(fields)
        except OSError:
            self._lost_records = lost
            raise

    def _check_replaced(self, old: os.stat_result) -> None:
        """Notes a missing record when the file we wrote is no longer at `path` and was not merely rotated."""
        # If the old file was deleted or moved elsewhere, and the chain at `path` begins before our last record, that
        # record is gone.
        first = None
        if not old.st_nlink:
            first = rotation.first_record(self.path)
        elif not rotation.is_rotated(self.path, old):
            first = rotation.first_record_of(self.path)
        if first is not None and first < self._head.seq:
            self._missing_head = self._head

    def _check_changed(self, descriptor: int, size: int) -> None:
        """Notes a missing record when our last line is no longer where we wrote it."""
        # No server truncates complete records: a torn write is undone before the lock is released.
        if size < self._size:
            self._missing_head = self._head
            return
        expected = f'"hash":"{self._head.hash}"}}\n'.encode()
        if self._size < len(expected):
            return
        start = self._size - len(expected)
        if os.pread(descriptor, len(expected), start) != expected:
            self._missing_head = self._head

    def _record_missing(self) -> None:
        """Records a missing record, and logs its hash, which no file here contains any more."""
        if self._missing_head is None:
            return
        lost = self._missing_head
        number = lost.seq - 1
        text = "audit %s was replaced: record %d, hash %s, is gone"
        log.error(text, self.path, number, lost.hash, extra={"event": "audit.replaced"})
        fields = {"type": "replaced", "time": chain.now(), "record": number, "head": lost.hash}
        self._write(fields)
        self._missing_head = None

    def _catch_up(self, descriptor: int, size: int) -> None:
        """Continues at the end of the file, even if another process wrote it. Ends a torn line with a newline and adds
        a record about it."""
        self._check_changed(descriptor, size)
        torn, whole, last = chain_end.read(self.path, descriptor, size, self._key)
        previous = None
        if last is not None:
            self._continue_from(chain.Head(last["seq"] + 1, last["hash"]))
        else:
            head = chain.Head()
            previous = _last(rotation.list_rotated(self.path))
            if previous is not None:
                head = rotation.last_head(previous, self._key)
            self._continue_from(head)
        self._size = size
        if torn:
            self._append(b"\n")
        if torn and not whole:
            self._record_repair(torn)
        if last is None:
            self._write_first_record(previous)
        self._record_missing()

    def _record_repair(self, torn: bytes) -> None:
        """Records the length and hash of a torn line, so that `verify` does not report it as changed."""
        fields = {
            "type": "repair",
            "time": chain.now(),
            "torn_bytes": len(torn),
            "torn_sha256": hashlib.sha256(torn).hexdigest(),
        }
        self._write(fields)

    def _continue_from(self, head: chain.Head) -> None:
        """Continues from the end of the chain, unless it has fewer records than this process has seen."""
        # After `rm`, `mv` or `: >`, the lost records must show as missing. Rotation never shortens the chain.
        if head.seq >= self._head.seq:
            self._head = head
        else:
            self._missing_head = self._head

    def _write_first_record(self, previous: Path | None) -> None:
        """Writes the first record of a file; like every record, it contains the hash of the previous one. The id of the
        chain is that of the previous file."""
        chain_id = ""
        if previous is not None:
            chain_id = rotation.identity(previous, self._key)
        self._write(
            {
                "type": "file",
                "format": chain.FORMAT,
                "chain": chain_id or chain.new_id(),
                "keyed": self._key is not None,
                "time": chain.now(),
                "previous": previous.name if previous else "",
                "kubescript": kubescript.__version__,
            }
        )
        # The file's name is on disk only once its folder is.
        _sync(os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))

    def _rotate(self, descriptor: int) -> None:
        """Sets the full file aside and opens the next."""
        os.fdatasync(descriptor)
        self.path.rename(rotation.next_name(self.path))
        for old in rotation.surplus(self.path, self._keep):
            old.unlink(missing_ok=True)
        self.close()
        # Another process may lock the new file first, but only to write the same first record.
        descriptor = self._lock_current_file()
        size = os.fstat(descriptor).st_size
        self._catch_up(descriptor, size)

    def _write(self, fields: dict[str, Any]) -> None:
        """Writes one record at the end of the chain. Raises AuditError or OSError; the end then does not move."""
        line, head = chain.seal(fields, self._head, self._key)
        if len(line) > chain.MAX_LINE:
            raise file_checks.unavailable(self.path, "a record is too long", "report this")
        self._append(line)
        self._head = head

    def _append(self, data: bytes) -> None:
        """Writes all of `data` or none. Raises OSError."""
        assert self._descriptor is not None
        try:
            written = os.write(self._descriptor, data)
            if written < len(data):
                # A short write gives no reason; writing the rest raises the actual error.
                written += os.write(self._descriptor, data[written:])
            if written < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            # An append-only file (chattr +a) cannot be truncated: it stays torn, and the next append repairs it.
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
            self._size = -1
            raise
        self._size += written


def _last(files: list[Path]) -> Path | None:
    """Returns the newest rotated file; None if there is none."""
    return files[-1] if files else None


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
