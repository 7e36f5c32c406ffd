"""The end of a chain in its file, where the next record continues. The log reads it, and `doctor` checks it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from kubescript.audit import chain, file_checks

__all__ = ["check", "read"]

# These bytes contain the last complete line, even if a torn one follows it.
_END_BYTES: Final = 2 * chain.MAX_LINE
"""How many bytes are read from the end of a file."""


def check(path: Path, key: bytes | None) -> None:
    """Checks whether a chain could continue from the end of the file at `path`, without changing it. Raises
    AuditError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise file_checks.unavailable(path, os.strerror(error.errno or 0), "let the server's user read it") from None
    try:
        read(path, descriptor, os.fstat(descriptor).st_size, key)
    finally:
        os.close(descriptor)


def read(path: Path, descriptor: int, size: int, key: bytes | None) -> tuple[bytes, bool, dict[str, Any] | None]:
    """Returns the bytes after the last newline, whether they are a complete record, and the last complete record if
    any.

    Raises AuditError for an end that cannot result from a crash.
    """
    start = max(0, size - _END_BYTES)
    data = os.pread(descriptor, size - start, start)
    *lines, torn = data.split(b"\n")
    whole = _parse_or_none(torn, key) if torn else None
    last = whole
    if last is None and lines:
        last = _parse_or_none(lines[-1], key)
    is_empty = not lines and not start
    if last is None and not is_empty:
        why = "its last record is damaged, or sealed with another key"
        raise file_checks.unavailable(path, why, "run `kubescript audit verify`, then move the file away")
    return torn, whole is not None, last


def _parse_or_none(line: bytes, key: bytes | None) -> dict[str, Any] | None:
    try:
        return chain.parse(line, key)
    except chain.Damaged:
        return None
