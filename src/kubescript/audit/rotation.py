"""The files of one chain: FILE.1, FILE.2, … set aside in this order, and FILE, which is written."""

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
    "is_rotated",
    "last_head",
    "next_name",
    "rotated",
    "surplus",
]

_LOCK_TIMEOUT_S: Final = 2.0
"""A server holds the lock for a tenth of a millisecond; one stopped while it held it stops no reader."""
_LOCK_RETRY_S: Final = 0.001
_MAX_OPEN_FILES: Final = 256
"""Files that are held open at a time; more are never removed while they are read but by hand."""
_READ_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(slots=True)
class Part:
    """One file of a chain as it was at one moment: servers may write, set aside and remove meanwhile."""

    path: Path
    size: int | None = None
    """Bytes it had then; what is written later is not read. None: to its end."""
    stream: BinaryIO | None = None
    """Open when it might be removed meanwhile."""

    def lines(self) -> Iterator[bytes]:
        """The lines with their newlines; none is longer than two records. May be read again."""
        with self.path.open("rb") if self.stream is None else contextlib.nullcontext(self.stream) as stream:
            if stream.seekable():
                stream.seek(0)
            left = self.size
            while line := stream.readline(2 * chain.MAX_LINE if left is None else min(2 * chain.MAX_LINE, left)):
                left = None if left is None else left - len(line)
                yield line


@contextlib.contextmanager
def frozen(path: Path) -> Iterator[list[Part]]:
    """The files of the chain that ends in `path`, oldest first, as they are at one moment. Raises OSError."""
    with contextlib.ExitStack() as held:
        current = _current(path, held)
        try:
            parts = [*_older(path, held), current]
        finally:
            _unlock(current)
        yield parts


def _current(path: Path, held: contextlib.ExitStack) -> Part:
    """FILE itself, locked, so that nobody sets it aside just now; a pipe is read as it comes."""
    deadline = time.monotonic() + _LOCK_TIMEOUT_S
    while True:
        late = time.monotonic() > deadline
        try:
            stream = path.open("rb")
        except FileNotFoundError:  # between two files of a server there is none for a moment
            if late or not rotated(path):
                raise
            time.sleep(_LOCK_RETRY_S)
            continue
        found = os.fstat(stream.fileno())
        if not stat.S_ISREG(found.st_mode):
            return Part(path, stream=held.enter_context(stream))
        if (_locked(stream, deadline) and _same(stream, path)) or late:
            return Part(path, os.fstat(stream.fileno()).st_size, held.enter_context(stream))
        stream.close()


def _older(path: Path, held: contextlib.ExitStack) -> Iterator[Part]:
    """Those set aside that can be read to their end: in a stranger's folder a pipe or a link to a secret may have the
    name of one."""
    for number, one in enumerate(rotated(path)):
        if not stat.S_ISREG(one.lstat().st_mode):
            continue
        if number >= _MAX_OPEN_FILES:
            yield Part(one)
            continue
        yield Part(one, stream=held.enter_context(_regular(one)))


def _regular(path: Path) -> BinaryIO:
    """A file that has an end, open for reading: a pipe would wait for a writer. Raises OSError."""
    stream = os.fdopen(os.open(path, _READ_FLAGS), "rb")
    if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        return stream
    stream.close()
    raise OSError(errno.EINVAL, "is no regular file", str(path))


def _locked(stream: BinaryIO, deadline: float) -> bool:
    while True:
        try:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(_LOCK_RETRY_S)
        except OSError:  # a file system without locks has no second writer either
            return True
        else:
            return True


def _unlock(part: Part) -> None:
    if part.stream is not None and part.size is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(part.stream, fcntl.LOCK_UN)


def _same(stream: BinaryIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(stream.fileno()), path.stat())
    except FileNotFoundError:
        return False


def rotated(path: Path) -> list[Path]:
    """The full ones, oldest first."""
    found = {number: one for one in path.parent.iterdir() if (number := _number(path, one))}
    return [found[number] for number in sorted(found)]


def next_name(path: Path) -> Path:
    """What the full file becomes."""
    before = rotated(path)
    number = int(before[-1].suffix[1:]) + 1 if before else 1
    return path.with_name(f"{path.name}.{number}")


def surplus(path: Path, keep: int) -> list[Path]:
    """Those that are too many."""
    return rotated(path)[:-keep] if keep else []


def first_record(path: Path) -> int | None:
    """The number of the first record there is; None when there is none."""
    found = map(first_record_of, (*rotated(path), path))
    return next((number for number in found if number is not None), None)


def first_record_of(path: Path) -> int | None:
    """The number of the first record of one file; None when it has none."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError), _regular(path) as stream:
        return int(json.loads(stream.readline(chain.MAX_LINE))["seq"])
    return None


def is_rotated(path: Path, found: os.stat_result) -> bool:
    """Whether this is one of the full ones, whoever moved it there."""
    for one in rotated(path):
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(one.lstat(), found):
                return True
    return False


def last_head(path: Path, key: bytes | None) -> chain.Head:
    """The end of the chain in a file that was set aside; the beginning when it has none."""
    with _regular(path) as stream:
        stream.seek(max(0, path.stat().st_size - 2 * chain.MAX_LINE))
        lines = stream.read().split(b"\n")
    for line in reversed(lines):
        try:
            record = chain.parse(line, key)
        except chain.Damaged:
            continue
        return chain.Head(record["seq"] + 1, record["hash"])
    return chain.Head()


def _number(path: Path, other: Path) -> int:
    """N of FILE.N; 0 for every other name."""
    name, _, number = other.name.rpartition(".")
    return int(number) if name == path.name and re.fullmatch(r"[1-9][0-9]{0,9}", number) else 0
