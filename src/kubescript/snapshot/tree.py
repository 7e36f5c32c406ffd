"""A folder whose files may come from a stranger, and the only way to open them. Every reader of a saved cluster uses
it."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

__all__ = ["MIB", "Name", "Refused", "Tree"]

MIB: Final = 1 << 20
Name = tuple[str, ...]
"""The path of a file below the folder."""

_FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# O_NONBLOCK: opening a pipe that has just replaced a file would wait for a writer.
_FILE_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# As in the kernel. Attack: a link refers to itself.
_MAX_LINKS: Final = 40
"""How many links one name may lead through."""
_MAX_DEPTH: Final = 32
_MAX_FILES: Final = 1_000_000


class Refused(OSError):
    """A file that exists but may not be read; `why` gives the reason."""

    def __init__(self, why: str) -> None:
        super().__init__(errno.EACCES, why)
        self.why = why


@dataclass(frozen=True)
class Tree:
    """A folder. Its own path is the operator's and may lead through links."""

    path: Path

    def files(self) -> list[Name]:
        """Returns everything below that is not a folder, in order; folders behind links are not entered.

        Raises Refused when there are too many entries or they are nested too deeply, and OSError.
        """
        found: list[Name] = []
        count = 0
        root = os.open(self.path, _FOLDER_FLAGS)
        try:
            for folder, folders, names, _ in os.fwalk(".", dir_fd=root, follow_symlinks=False):
                parts = Path(folder).parts
                count += len(folders) + len(names)
                if len(parts) > _MAX_DEPTH:
                    raise Refused(f"it holds folders more than {_MAX_DEPTH} deep")
                if count > _MAX_FILES:
                    raise Refused(f"it holds more than {_MAX_FILES} files and folders")
                found += [(*parts, name) for name in names]
        finally:
            os.close(root)
        return sorted(found)

    def read(self, name: Name, most: int) -> bytes:
        """Returns the content of a file of at most `most` bytes. Raises OSError."""
        with self.open(name, most) as stream:
            data = stream.read(most + 1)
        if len(data) > most:  # it has grown since it was opened
            raise _too_large(most)
        return data

    def open(self, name: Name, most: int) -> BinaryIO:
        """Opens a regular file of at most `most` bytes. Raises OSError."""
        descriptor = self._descend(name)
        stream = os.fdopen(descriptor, "rb")
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode) and status.st_size <= most:
            return stream
        stream.close()
        if stat.S_ISREG(status.st_mode):
            raise _too_large(most)
        raise _no_file()

    def _descend(self, name: Name) -> int:
        """Opens a file, one path component at a time, so that no link leads out of the folder. Raises OSError."""
        # Each name is looked up in a folder that is held open, never by the kernel's own walk over links. So a link
        # that replaces a folder or a file at this moment is an error. openat2 does the same with RESOLVE_BENEATH, but
        # gVisor and older container runtimes lack it.
        folders = [os.open(self.path, _FOLDER_FLAGS)]
        pending = list(reversed(name))
        links = 0
        try:
            while pending:
                part = pending.pop()
                if part == "..":
                    _leave(folders)
                    continue
                mode = os.stat(part, dir_fd=folders[-1], follow_symlinks=False).st_mode
                if stat.S_ISLNK(mode):
                    links += 1
                    pending += reversed(_link(part, folders[-1], links))
                elif pending and stat.S_ISDIR(mode):
                    folders.append(os.open(part, _FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=folders[-1]))
                elif pending:
                    raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
                elif stat.S_ISREG(mode):
                    return os.open(part, _FILE_FLAGS, dir_fd=folders[-1])
            raise _no_file()
        finally:
            for descriptor in folders:
                os.close(descriptor)


def _leave(folders: list[int]) -> None:
    """Goes up one folder. Raises Refused at the top."""
    if len(folders) == 1:
        raise _leads_out()
    os.close(folders.pop())


def _link(name: str, folder: int, links: int) -> list[str]:
    """Returns the names that a link points to. Raises Refused when they lead out of the folder."""
    target = os.readlink(name, dir_fd=folder)
    if links > _MAX_LINKS:
        raise Refused("it is a link that leads through too many others")
    if target.startswith("/"):
        raise _leads_out()
    return [part for part in target.split("/") if part not in {"", "."}]


def _leads_out() -> Refused:
    return Refused("it is a link that leads out of the snapshot's folder")


def _no_file() -> Refused:
    return Refused("it is not a regular file")


def _too_large(most: int) -> Refused:
    return Refused(f"it is larger than {most // MIB} MiB")
