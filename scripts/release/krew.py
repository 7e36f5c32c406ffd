"""kubectl's plug-in: an archive for each processor, and the manifest by which krew installs it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from scripts.release import archives, pex, publication, templates

__all__ = ["MANIFEST", "archive", "make"]

MANIFEST: Final = "kubescript.yaml"
_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
"""Processor -> its name in Go, and so in krew."""


def make(published: publication.Publication, dist: Path) -> None:
    """Writes archives and manifest into `dist`, from the files of both processors that are there."""
    sums = {}
    for processor, architecture in _ARCHITECTURES.items():
        target = archive(published, dist, architecture)
        program = pex.file(published, dist, processor)
        archives.write(target, {"kubectl-kubescript": program, "LICENSE": publication.REPOSITORY / "LICENSE"})
        sums[f"{architecture}_sha256"] = templates.sha256(target)
    templates.fill(published, publication.PACKAGING / MANIFEST, dist / MANIFEST, **sums)


def archive(published: publication.Publication, dist: Path, architecture: str) -> Path:
    """Returns the path of the archive for `amd64` or `arm64`."""
    return dist / f"kubectl-kubescript-{published.version}-linux-{architecture}.tar.gz"
