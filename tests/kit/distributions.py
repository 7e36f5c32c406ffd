"""The wheels of the working tree, as a release has them; built once per run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from kubescript_safety.controlplane import build
from tests.kit import paths

__all__ = ["built"]


def built(run_folder: Path) -> list[Path]:
    """The wheels of kubescript and of kubescript-safety; `run_folder` is what all processes of this run share."""
    folder = run_folder / "distributions"
    with build.lock(run_folder / "distributions.lock"):
        if not folder.exists():
            command = [sys.executable, "-m", "scripts.release", str(folder), "changelog", "wheels"]
            subprocess.run(command, cwd=paths.ROOT, check=True, stdout=subprocess.DEVNULL)
    return sorted(folder.glob("*.whl"))
