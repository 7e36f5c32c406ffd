"""What a release is built from: the commit that it names, by the Python that constraints.txt is for."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Final

from scripts.release import publication

__all__ = ["check"]

_PYTHON: Final = (3, 11)
"""Markers are evaluated by the Python that builds: a later one leaves out packages that this one needs."""


def check() -> None:
    """Ends the program when a release of these sources would not be that of their commit.

    KUBESCRIPT_DIRTY=1 lets a changed tree be built, to try it; another Python is refused all the same.
    """
    if sys.version_info[:2] != _PYTHON:
        wanted = ".".join(map(str, _PYTHON))
        sys.exit(
            f"this Python is {sys.version.split()[0]}, and a release is built by {wanted}: "
            f"remove .venv, and run make release PYTHON=python{wanted}"
        )
    # Hatchling would take the date of all files from it. Debian's and Nix' builders set it.
    os.environ.pop("SOURCE_DATE_EPOCH", None)
    if os.environ.get("KUBESCRIPT_DIRTY") != "1" and (changed := _list_changes()):
        sys.exit(
            "these files are not as the commit has them, and would be in a release that names it:\n"
            f"{changed}Commit or remove them. To try a release with them, set KUBESCRIPT_DIRTY=1; do not publish it"
        )


def _list_changes() -> str:
    """Files that differ from the commit or that git does not know, a line each. Ignored ones are in no package."""
    command = ["git", "-C", str(publication.REPOSITORY), "status", "--porcelain"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
