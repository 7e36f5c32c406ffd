"""A folder that appears complete or not at all. Only the owner can read its files. `capture` writes to it."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from kubescript import errors

__all__ = ["Directory", "atomic", "open_private"]


@contextlib.contextmanager
def atomic(out: Path) -> Iterator[Directory]:
    """Makes a folder that becomes `out` at the end of the block; if the block fails, nothing is left behind.

    Raises ConfigError when `out` exists or cannot be written (disk full included).
    """
    if out.exists():
        raise errors.ConfigError(f"{out} exists already; choose another name or remove it")
    # The name is chosen before the block that removes the folder: a SIGTERM right after mkdtemp would leave it behind.
    folder = out.with_name(f".{out.name}.{secrets.token_hex(8)}")
    try:
        _make(folder)
        yield Directory(folder)
        folder.rename(out)
    except OSError as error:
        raise errors.ConfigError(f"the snapshot could not be written: {error.strerror}; nothing was kept") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _make(folder: Path) -> None:
    """Makes a folder that only its owner can read. Raises ConfigError."""
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise errors.ConfigError(f"cannot write in {folder.parent}: {error.strerror}") from None


class Directory:
    """The files and folders below one folder."""

    def __init__(self, path: Path) -> None:
        self._folder = path

    def write(self, path: tuple[str, ...], data: bytes) -> None:
        """Writes one file."""
        file = self.file(*path)
        with open_private(file) as stream:
            stream.write(data)

    def file(self, *parts: str) -> Path:
        """Returns the path of a file below the folder, and creates its parent folders.

        Raises ClusterError for a name that leads out of the folder.
        """
        # Attack: the API server sends a name such as `..`, which would lead out of the folder.
        for part in parts:
            if part in {"", ".", ".."} or "/" in part or "\0" in part:
                name = "/".join(parts)[:200]
                raise errors.ClusterError(f"the API server named {name!r}, which cannot be a file name")
        *folders, name = parts
        folder = self._folder
        for part in folders:
            folder /= part
            folder.mkdir(mode=0o700, exist_ok=True)
        return folder / name


def open_private(file: Path) -> IO[bytes]:
    """Opens a new file that only its owner can read."""
    # With O_EXCL an existing file is an error, and a symbolic link is not followed.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    descriptor = os.open(file, flags, 0o600)
    return os.fdopen(descriptor, "wb")
