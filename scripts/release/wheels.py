"""Wheels and source distributions of `kubescript` and `kubescript-safety`: the same bytes from the same sources."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

from scripts.release import publication

__all__ = ["make"]

PROJECTS: Final = (".", "src/kubescript_safety")


def make(published: publication.Publication, dist: Path) -> None:
    """Builds the sdist of each distribution, and the wheel from the sdist, into `dist`.

    Hatchling gives all files one date, so two builds have the same bytes. What a package index would refuse, or a
    wheel that installs more than its packages, stops the release.
    """
    for project in PROJECTS:
        _run("build", "--no-isolation", "--outdir", str(dist), str(publication.REPOSITORY / project))
    wheels = [str(wheel) for wheel in sorted(dist.glob("*.whl"))]
    sdists = [str(sdist) for sdist in sorted(dist.glob("kubescript*.tar.gz"))]
    _run("twine", "check", "--strict", *wheels, *sdists)
    _run("check_wheel_contents", *wheels)


def _run(module: str, *arguments: str) -> None:
    subprocess.run([sys.executable, "-m", module, *arguments], check=True)
