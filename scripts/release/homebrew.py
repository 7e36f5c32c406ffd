"""The formula by which Homebrew on Linux installs the file with all dependencies."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from scripts.release import pex, publication, templates

__all__ = ["make"]

_FORMULA: Final = "kubescript.rb"


def make(published: publication.Publication, dist: Path) -> None:
    """Writes the formula into `dist`, from the files of both processors that are there."""
    sums = {f"{it}_sha256": templates.sha256(pex.file(published, dist, it)) for it in pex.PROCESSORS}
    templates.fill(published, publication.PACKAGING / _FORMULA, dist / _FORMULA, **sums)
