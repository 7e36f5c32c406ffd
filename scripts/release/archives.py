"""Archives that always have the same bytes: no time, no user, files in the order of their names."""

from __future__ import annotations

import gzip
import tarfile
from collections.abc import Mapping
from pathlib import Path

__all__ = ["write"]


def write(target: Path, files: Mapping[str, Path]) -> None:
    """Writes a .tar.gz of these files, which are given by their names in it. A file that may be executed stays so."""
    with (
        target.open("wb") as raw,
        # Level 1: what is large in these archives is compressed already.
        gzip.GzipFile("", "wb", 1, raw, mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as archive,
    ):
        for name, source in sorted(files.items()):
            status = source.stat()
            entry = tarfile.TarInfo(name)
            entry.size = status.st_size
            entry.mode = 0o755 if status.st_mode & 0o100 else 0o644
            with source.open("rb") as opened:
                archive.addfile(entry, opened)
