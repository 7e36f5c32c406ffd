"""The wheels of the working tree, as a release has them, built once per run; and an older wheel, built once per machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Final

from kubescript_safety.controlplane import build
from tests.kit import paths

__all__ = ["built", "built_before", "install"]

OLD: Final = "52e129f7"
"""The last commit of version 0.1.0."""


def built(run_folder: Path) -> list[Path]:
    """The wheels of kubescript and of kubescript-safety; `run_folder` is what all processes of this run share."""
    folder = run_folder / "distributions"
    with build.lock(run_folder / "distributions.lock"):
        if not folder.exists():
            command = [sys.executable, "-m", "scripts.release", str(folder), "changelog", "wheels"]
            # A change is tested before it is committed.
            environment = {**os.environ, "KUBESCRIPT_DIRTY": "1"}
            subprocess.run(command, cwd=paths.ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    return sorted(folder.glob("*.whl"))


def built_before() -> Path:
    """The wheel of kubescript 0.1.0."""
    folder = build.cache() / "wheels" / OLD
    with build.lock(build.cache() / "wheels.lock"):
        if not folder.exists():
            folder.parent.mkdir(parents=True, exist_ok=True)
            half_done = Path(tempfile.mkdtemp(prefix="building-", dir=folder.parent))
            try:
                _build_old(half_done)
                # A folder with its final name is complete.
                (half_done / "dist").rename(folder)
            finally:
                shutil.rmtree(half_done, ignore_errors=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _build_old(folder: Path) -> None:
    archive = subprocess.run(["git", "archive", OLD], cwd=paths.ROOT, check=True, stdout=subprocess.PIPE)
    (folder / "tree").mkdir()
    subprocess.run(["tar", "--extract", "--directory", folder / "tree"], input=archive.stdout, check=True)
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(folder / "dist")]
    subprocess.run([*command, str(folder / "tree")], check=True, stdout=subprocess.DEVNULL)


def install(wheel: Path, venv: Path) -> Path:
    """Puts a wheel of kubescript into a venv, in place of another one; returns the command. What kubescript depends on is
    taken from the Python that runs the tests."""
    if not venv.exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
        (packages,) = venv.glob("lib/python3*/site-packages")
        # Read as a path only, so that the .pth file of the working tree in that folder is not.
        (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    pip = [sys.executable, "-m", "pip", "--python", str(venv / "bin/python"), "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--no-index", "--force-reinstall", str(wheel)], check=True)
    return venv / "bin/kubescript"
