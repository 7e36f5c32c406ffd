"""Checks where audit files may be, and opens them: only their owner may write, and no link on the path may be
changeable by others.

A process that can write to the file can rewrite the whole chain, so others must not be able to. The log, the store and
`doctor` check their paths here.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kubescript import errors, private_files

__all__ = [
    "check",
    "check_folder",
    "check_space",
    "key_warning",
    "make_folder",
    "open_append",
    "read_key",
    "unavailable",
]

# A shorter key weakens HMAC (RFC 2104).
_MIN_KEY_BYTES: Final = 32
"""The output size of HMAC-SHA256."""
# Enough for a few thousand records.
_MIN_FREE_BYTES: Final = 1 << 20
"""How many bytes must be free on the disk."""
_DISK_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
# With O_NONBLOCK, opening a pipe does not wait for a reader.
_APPEND_FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def unavailable(path: Path, why: str, remedy: str) -> errors.AuditError:
    """Returns an error with a message for the model and a remedy for the operator."""
    return errors.AuditError(
        "the audit record cannot be written, so the answer is withheld; tell the operator of this server",
        remedy=f"{path}: {why}; {remedy}",
    )


def _unavailable(path: Path, error: OSError, remedy: str) -> errors.AuditError:
    """Returns such an error for a system error."""
    why = os.strerror(error.errno or 0)
    return unavailable(path, why, remedy)


@contextlib.contextmanager
def _translate_errors() -> Iterator[None]:
    """Turns the error about a path that is not private into an AuditError."""
    try:
        yield
    except private_files.NotPrivate as error:
        raise unavailable(error.path, error.why, error.remedy) from None


def open_append(path: Path) -> int:
    """Returns a descriptor that appends to `path`; a new file is readable only by its owner. Raises AuditError."""
    with _translate_errors():
        private_files.check_links(path)
    try:
        descriptor = os.open(path, _APPEND_FLAGS, 0o600)
    except OSError as error:
        remedy = "create the folder and let the server's user write to it; the file must not be a symbolic link"
        raise _unavailable(path, error, remedy) from None
    try:
        # The open file is checked, not its name, which may point elsewhere by now.
        with _translate_errors():
            private_files.check_status(path, os.fstat(descriptor))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def check(path: Path) -> None:
    """Checks whether `open_append` would succeed, without creating the file. Raises AuditError."""
    with _translate_errors():
        private_files.check_links(path)
    try:
        status = path.lstat()
    except FileNotFoundError:
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise unavailable(path, "cannot be made", "let the server's user write to its folder") from None
        return
    except OSError as error:
        raise _unavailable(path, error, "let the server's user look there") from None
    with _translate_errors():
        private_files.check_status(path, status)
    if not os.access(path, os.W_OK):
        raise unavailable(path, "cannot be written", "let the server's user write to it")


def check_space(path: Path) -> None:
    """Checks whether the disk has space for some more records. Raises AuditError.

    An unnamed file is made beside `path` and disappears when closed, so this also respects quotas.
    """
    try:
        descriptor = os.open(path.parent, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, _MIN_FREE_BYTES)
        finally:
            os.close(descriptor)
    except OSError as error:
        # Not every file system supports unnamed files; then its own count of free bytes decides.
        if error.errno not in _DISK_FULL and _free_bytes(path.parent) >= _MIN_FREE_BYTES:
            return
        why = f"the disk has less than {_MIN_FREE_BYTES >> 10} KiB left"
        raise unavailable(path, why, "free some space") from None


def _free_bytes(path: Path) -> int:
    """Returns how many bytes an unprivileged user can still write."""
    status = os.statvfs(path)
    return status.f_bavail * status.f_frsize


def make_folder(path: Path) -> None:
    """Creates the folder `path` for its owner alone. Raises AuditError."""
    with _translate_errors():
        private_files.make_folder(path)


def check_folder(path: Path) -> None:
    """Checks whether `path` is a folder like those that `make_folder` creates. Raises AuditError."""
    with _translate_errors():
        private_files.check_folder(path)


def read_key(path: Path | None) -> bytes | None:
    """Returns the chain's key. Raises AuditError."""
    if path is None:
        return None
    try:
        key = path.read_bytes().strip()
    except OSError as error:
        raise _unavailable(path, error, "check audit.key_file") from None
    if len(key) < _MIN_KEY_BYTES:
        remedy = "make one: (umask 077; openssl rand -hex 32 > FILE)"
        raise unavailable(path, f"has fewer than {_MIN_KEY_BYTES} bytes", remedy)
    return key


def key_warning(path: Path | None) -> str:
    """Returns a warning about a key that others can read; empty when they cannot."""
    if path is None or not path.stat().st_mode & 0o007:
        return ""
    return f"every user of this machine can read the key {path} and forge the record with it: chmod 600"
