"""The files of one chain: FILE.1, FILE.2, … rotated in this order, and FILE, the current one.

The log finds the next name and the last hash here; readers of a chain freeze its files here.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from kubescript.audit import chain

__all__ = [
    "Part",
    "first_record",
    "first_record_of",
    "frozen",
    "identity",
    "is_rotated",
    "last_head",
    "list_rotated",
    "next_name",
    "surplus",
]

# A server holds the lock for a tenth of a millisecond; one that was stopped while holding it must not block readers.
_LOCK_TIMEOUT_S: Final = 2.0
"""Seconds to wait for the lock."""
_LOCK_RETRY_S: Final = 0.001
# Servers remove the oldest files first, and never this many during one read.
_MAX_OPEN_FILES: Final = 256
"""How many rotated files may be held open at a time."""
_READ_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(slots=True)
class Part:
    """One file of a chain, frozen at one moment. Servers may go on writing, rotating and removing files."""

    path: Path
    size: int | None = None
    """The file's size at that moment: later bytes are not read. None: the file is read to its end."""
    stream: BinaryIO | None = None
    """The open file, if it might be removed before it is read."""

    def lines(self) -> Iterator[bytes]:
        """Yields the lines with their newlines, in pieces of at most two records' length. May be called again."""
        with self._open() as stream:
            if stream.seekable():
                stream.seek(0)
            left = self.size
            while True:
                # A stranger's file may contain one endless line.
                most = 2 * chain.MAX_LINE
                if left is not None:
                    most = min(most, left)
                line = stream.readline(most)
                if not line:
                    return
                if left is not None:
                    left -= len(line)
                yield line

    def _open(self) -> contextlib.AbstractContextManager[BinaryIO]:
        """Opens the file, or returns the stream that is already open."""
        if self.stream is None:
            return self.path.open("rb")
        return contextlib.nullcontext(self.stream)


@contextlib.contextmanager
def frozen(path: Path) -> Iterator[list[Part]]:
    """Yields the files of the chain that ends in `path`, oldest first, frozen at one moment. Raises OSError."""
    with contextlib.ExitStack() as held:
        current = _current(path, held)
        try:
            parts = [*_older(path, held), current]
        finally:
            _unlock(current)
        yield parts


def _current(path: Path, held: contextlib.ExitStack) -> Part:
    """Opens and locks FILE itself, so that no server rotates it now."""
    deadline = time.monotonic() + _LOCK_TIMEOUT_S
    while True:
        late = time.monotonic() > deadline
        try:
            stream = path.open("rb")
        except FileNotFoundError:
            # During a rotation, FILE is missing for a moment.
            if late or not list_rotated(path):
                raise
            time.sleep(_LOCK_RETRY_S)
            continue
        status = os.fstat(stream.fileno())
        # A pipe is read as it comes.
        if not stat.S_ISREG(status.st_mode):
            return Part(path, stream=held.enter_context(stream))
        is_locked = _lock_shared(stream, deadline)
        if late or (is_locked and _same(stream, path)):
            size = os.fstat(stream.fileno()).st_size
            return Part(path, size, held.enter_context(stream))
        stream.close()


def _older(path: Path, held: contextlib.ExitStack) -> Iterator[Part]:
    """Yields the rotated files."""
    for number, one in enumerate(list_rotated(path)):
        # Attack: in a stranger's folder such a name belongs to a pipe, which has no end, or to a link to a secret.
        if not stat.S_ISREG(one.lstat().st_mode):
            continue
        if number >= _MAX_OPEN_FILES:
            yield Part(one)
            continue
        stream = held.enter_context(_regular(one))
        yield Part(one, stream=stream)


def _regular(path: Path) -> BinaryIO:
    """Opens a regular file for reading; opening a pipe would wait for a writer. Raises OSError."""
    descriptor = os.open(path, _READ_FLAGS)
    stream = os.fdopen(descriptor, "rb")
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode):
        return stream
    stream.close()
    raise OSError(errno.EINVAL, "is not a regular file", str(path))


def _lock_shared(stream: BinaryIO, deadline: float) -> bool:
    """Locks a file against writers. Returns False when a writer holds it beyond the deadline."""
    while True:
        try:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(_LOCK_RETRY_S)
        except OSError:  # a file system without locks cannot have a second writer either
            return True
        else:
            return True


def _unlock(part: Part) -> None:
    """Lets servers write again."""
    # New lines come after the noted size.
    if part.stream is not None and part.size is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(part.stream, fcntl.LOCK_UN)


def _same(stream: BinaryIO, path: Path) -> bool:
    """Says whether the open file is still the one at `path`: a server may have rotated it."""
    try:
        return os.path.samestat(os.fstat(stream.fileno()), path.stat())
    except FileNotFoundError:
        return False


def list_rotated(path: Path) -> list[Path]:
    """Returns the rotated files, oldest first."""
    numbers = {}
    for one in path.parent.iterdir():
        number = _number(path, one)
        if number:
            numbers[number] = one
    return [numbers[number] for number in sorted(numbers)]


def next_name(path: Path) -> Path:
    """Returns the next name for a full file."""
    number = 1
    before = list_rotated(path)
    if before:
        number += _number(path, before[-1])
    return path.with_name(f"{path.name}.{number}")


def surplus(path: Path, keep: int) -> list[Path]:
    """Returns the oldest rotated files beyond the newest `keep`; 0 keeps all."""
    if not keep:
        return []
    return list_rotated(path)[:-keep]


def first_record(path: Path) -> int | None:
    """Returns the number of the chain's first record; None if there is none."""
    for one in (*list_rotated(path), path):
        number = first_record_of(one)
        if number is not None:
            return number
    return None


def first_record_of(path: Path) -> int | None:
    """Returns the number of the file's first record; None if there is none."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError), _regular(path) as stream:
        line = stream.readline(chain.MAX_LINE)
        record = json.loads(line)
        return int(record["seq"])
    return None


def is_rotated(path: Path, status: os.stat_result) -> bool:
    """Says whether the file with this status is among the rotated ones."""
    for one in list_rotated(path):
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(one.lstat(), status):
                return True
    return False


def last_head(path: Path, key: bytes | None) -> chain.Head:
    """Returns the end of the chain in a rotated file; the beginning of a chain if the file has no record."""
    with _regular(path) as stream:
        size = path.stat().st_size
        stream.seek(max(0, size - 2 * chain.MAX_LINE))
        lines = stream.read().split(b"\n")
    for line in reversed(lines):
        try:
            record = chain.parse(line, key)
        except chain.Damaged:
            continue
        return chain.Head(record["seq"] + 1, record["hash"])
    return chain.Head()


def identity(path: Path, key: bytes | None) -> str:
    """Returns the id of the chain of a rotated file; an empty string if the file has no first record."""
    with _regular(path) as stream:
        return chain.identity(stream.read(chain.FIRST_BYTES), key)


def _number(path: Path, other: Path) -> int:
    """Returns N of FILE.N; 0 for any other name."""
    name, _, number = other.name.rpartition(".")
    is_rotated = name == path.name and re.fullmatch(r"[1-9][0-9]{0,9}", number)
    if not is_rotated:
        return 0
    return int(number)
