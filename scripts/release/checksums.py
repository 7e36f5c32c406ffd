"""The checksums of a release's files, in the form of `sha256sum`."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

from scripts.release import publication, signature

__all__ = ["NAME", "compute", "make", "read"]

NAME: Final = "SHA256SUMS"
_AFTER: Final = frozenset({NAME, f"{NAME}.sigstore.json", signature.PUBLIC_KEY})
"""What is written after the checksums, or holds them."""


def make(published: publication.Publication, dist: Path) -> None:
    """Writes SHA256SUMS."""
    (dist / NAME).write_text(compute(dist), encoding="utf-8")


def read(dist: Path) -> str:
    """Returns what SHA256SUMS says."""
    return (dist / NAME).read_text(encoding="utf-8")


def compute(dist: Path) -> str:
    """Returns what SHA256SUMS has to say: a line for each file under `dist`, in the order of their names."""
    files = {path.relative_to(dist).as_posix(): path for path in dist.rglob("*") if path.is_file()}
    names = sorted(set(files) - _AFTER)
    return "".join(f"{_checksum(files[name])}  {name}\n" for name in names)


def _checksum(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
