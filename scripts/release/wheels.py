"""Wheels and source distributions of `kubescript` and `kubescript-safety`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

from scripts.release import publication

__all__ = ["make"]

PROJECTS: Final = (".", "src/kubescript_safety")


def make(published: publication.Publication, dist: Path) -> None:
    """Builds the sdist and the wheel of each distribution into `dist`."""
    for project in PROJECTS:
        folder = publication.REPOSITORY / project
        command = [sys.executable, "-m", "build", "--no-isolation", "--sdist", "--wheel", "--outdir", str(dist)]
        subprocess.run([*command, str(folder)], check=True)
