"""Unpacks a saved cluster's archive, .tar.gz or .zip, into a folder. Called by `saved_cluster`.

An archive may come from a stranger. Of a tar archive, `tarfile` parses only each entry's header: its archive reader
holds extended headers of any size in memory, and takes quadratic time for some.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final

__all__ = ["UnpackError", "unpack"]

# How many bytes, and how many files and folders, an archive may unpack to. Attack: a decompression bomb fills the disk.
_MAX_UNPACKED: Final = 8 * 1024**3
_MAX_ENTRIES: Final = 500_000
_MAX_DEPTH: Final = 32
_BLOCK: Final = 512
"""The size of a tar block in bytes: headers take one, and contents are padded to a multiple."""
_CHUNK: Final = 256 * 1024
# The longest names have 4 KiB.
_MAX_EXTENDED: Final = 64 * 1024
"""The maximum size of an extended header in bytes."""
_OPENERS: Final[dict[bytes, Any]] = {b"\x1f\x8b\x08": gzip.open, b"BZh": bz2.open, b"\xfd7z": lzma.open}
# Attack: with the other methods, zipfile's pieces can decompress without bound.
_ZIP_METHODS: Final = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_BROKEN: Final = (
    OSError, EOFError, ValueError, NotImplementedError, RuntimeError,
    tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, zlib.error,
)  # fmt: skip
"""Exceptions for damaged archives; zipfile raises RuntimeError for one with a password."""


class UnpackError(Exception):
    """The archive is damaged, or contains unsupported entries; its text says which."""


def unpack(path: Path, folder: Path) -> None:
    """Unpacks the archive's plain files. Raises UnpackError."""
    target = _Target(folder)
    try:
        if zipfile.is_zipfile(path):
            _unpack_zip(path, target)
        else:
            _unpack_tar(path, target)
    except _BROKEN as error:
        raise UnpackError(f"is not a readable .tar.gz or .zip archive ({type(error).__name__})") from None


class _Target:
    """The folder being filled, and the remaining room."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._room = _MAX_UNPACKED
        self._entries = 0

    def skip(self, size: int) -> None:
        """Counts unpacked bytes that are not kept. Raises UnpackError."""
        self._room -= size
        if self._room < 0:
            raise UnpackError(f"unpacks to more than {_MAX_UNPACKED >> 30} GiB")

    def add(self, name: str, pieces: Iterator[bytes] | None) -> None:
        """Writes a file, or creates a folder when there are no pieces. Raises UnpackError."""
        file = self._place(name)
        if pieces is None:
            file.mkdir(parents=True, exist_ok=True)
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("wb") as out:
            for piece in pieces:
                self.skip(len(piece))
                out.write(piece)

    def _place(self, name: str) -> Path:
        """Returns the path to unpack a file to. Raises UnpackError for a name that leads out of the folder."""
        self._entries += 1
        if self._entries > _MAX_ENTRIES:
            raise UnpackError(f"holds more than {_MAX_ENTRIES} files and folders")
        # The folder was empty and links are never unpacked, so a name without `..` stays below it.
        parts = [part for part in name.split("/") if part not in {"", "."}]
        if name.startswith("/") or ".." in parts or "\0" in name or len(parts) > _MAX_DEPTH:
            raise UnpackError(f"holds a name that leads out of it or too deep: {name[:200]!r}")
        return self._folder.joinpath(*parts)


def _unpack_zip(path: Path, target: _Target) -> None:
    with zipfile.ZipFile(path) as bundle:
        for entry in bundle.infolist():
            if entry.compress_type not in _ZIP_METHODS:
                raise UnpackError(f"packs {entry.filename[:200]!r} by a method other than deflate")
            if entry.is_dir():
                target.add(entry.filename, None)
                continue
            with bundle.open(entry) as source:
                target.add(entry.filename, iter(lambda: source.read(_CHUNK), b""))


def _unpack_tar(path: Path, target: _Target) -> None:
    with path.open("rb") as file:
        magic = file.read(3)
    opener = _OPENERS.get(magic, open)
    with opener(path, "rb") as stream:
        for entry in _entries(stream, target):
            if not entry.isdir():
                target.add(entry.name, _exactly(stream, entry.size))
                _discard(stream, -entry.size % _BLOCK, target)
            else:
                target.add(entry.name, None)


def _entries(stream: IO[bytes], target: _Target) -> Iterator[tarfile.TarInfo]:
    """Yields each file and folder while the stream is at its content. Raises UnpackError for links and devices."""
    extended: dict[str, str] = {}
    is_empty = True
    while block := stream.read(_BLOCK):
        if not any(block) and not is_empty:
            return
        target.skip(len(block))
        entry = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        is_empty = False
        _check_size(entry)
        if entry.type in (tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE):
            target.skip(_pad(entry.size))
            extended |= _read_extended(stream, entry)
        elif entry.type == tarfile.XGLTYPE:
            _discard(stream, _pad(entry.size), target)
        else:
            entry.name = extended.get("path", entry.name)
            entry.size = int(extended.get("size", entry.size))
            extended = {}
            _check_size(entry)
            if entry.type not in (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE):
                raise UnpackError(f"holds {entry.name[:200]!r}, which is not a regular file")
            yield entry
    if is_empty:
        raise UnpackError("is empty")


def _check_size(entry: tarfile.TarInfo) -> None:
    # Attack: a negative size reads all the rest into memory, or leads back to the same header forever.
    if entry.size < 0:
        raise UnpackError(f"gives {entry.name[:200]!r} a negative size")


def _read_extended(stream: IO[bytes], entry: tarfile.TarInfo) -> dict[str, str]:
    """Reads the next entry's name, and perhaps size, if its own header has no room for them."""
    if entry.size > _MAX_EXTENDED:
        raise UnpackError("holds an extended header that is too long")
    padded = b"".join(_exactly(stream, _pad(entry.size)))
    data = padded[: entry.size]
    if entry.type == tarfile.GNUTYPE_LONGNAME:
        name = data.rstrip(b"\0")
        return {"path": name.decode("utf-8", "surrogateescape")}
    return dict(_records(data))


def _records(data: bytes) -> Iterator[tuple[str, str]]:
    """Yields the path and size in a pax header, whose records are `<length> <key>=<value>` and a line break."""
    position = 0
    while position < len(data):
        end = data.index(b" ", position, position + 6)
        length = int(data[position:end])
        record = data[end + 1 : position + length]
        if not record.endswith(b"\n"):  # this also refuses records that would lead back
            raise UnpackError("holds an extended header that is damaged")
        key, _, value = record[:-1].partition(b"=")
        if key.startswith(b"GNU.sparse."):
            raise UnpackError("holds a sparse file")
        if key in {b"path", b"size"}:
            yield key.decode(), value.decode("utf-8", "surrogateescape")
        position += length


def _exactly(stream: IO[bytes], size: int) -> Iterator[bytes]:
    """Yields the next `size` bytes. Raises EOFError when there are fewer."""
    while size:
        piece = stream.read(min(size, _CHUNK))
        if not piece:
            raise EOFError
        size -= len(piece)
        yield piece


def _pad(size: int) -> int:
    """Returns the bytes that a file occupies in whole blocks."""
    return size + -size % _BLOCK


def _discard(stream: IO[bytes], size: int, target: _Target) -> None:
    """Skips bytes of the stream. They count as unpacked."""
    for piece in _exactly(stream, size):
        target.skip(len(piece))
