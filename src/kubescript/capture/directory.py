"""A folder that appears atomic or not at all, with files that only their owner can read."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from kubescript import errors

__all__ = ["Directory", "atomic", "open_private"]


@contextlib.contextmanager
def atomic(out: Path) -> Iterator[Directory]:
    """A folder that becomes `out` at the end of the block; nothing is left behind when the block fails.

    Raises ConfigError when `out` exists or cannot be written (disk full included).
    """
    if out.exists():
        raise errors.ConfigError(f"{out} exists already; choose another name or remove it")
    try:
        folder = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    except OSError as error:
        raise errors.ConfigError(f"cannot write in {out.parent}: {error.strerror}") from None
    try:
        yield Directory(folder)
        folder.rename(out)
    except OSError as error:
        raise errors.ConfigError(f"the snapshot could not be written: {error.strerror}; nothing was kept") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Directory:
    """Files in folders below one."""

    def __init__(self, path: Path) -> None:
        self._folder = path

    def write(self, path: tuple[str, ...], data: bytes) -> None:
        """Write one file."""
        with open_private(self.file(*path)) as stream:
            stream.write(data)

    def file(self, *parts: str) -> Path:
        """A file below the folder. Names come from the API server, which is not trusted to stay inside it."""
        if any(part in {"", ".", ".."} or "/" in part or "\0" in part for part in parts):
            raise errors.ClusterError(f"the API server named {'/'.join(parts)[:200]!r}, which cannot be a file name")
        folder = self._folder
        for part in parts[:-1]:
            folder /= part
            folder.mkdir(mode=0o700, exist_ok=True)
        return folder / parts[-1]


def open_private(file: Path) -> IO[bytes]:
    """A new file that only its owner can read; an existing one is an error, not followed."""
    return os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
