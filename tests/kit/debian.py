"""Programs of Debian's packages, unpacked once per machine into the tests' cache."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Final

from kubescript_safety.controlplane import build
from scripts import debian

__all__ = ["Missing", "libraries", "unpacked"]

LIBRARIES: Final = ("usr/lib/*-linux-gnu*", "lib/*-linux-gnu*")
Missing = debian.Missing


def unpacked(name: str, *packages: str, without: re.Pattern[str] = debian.NONE) -> Path:
    """The root of what these packages hold, and of what they need and this machine lacks.

    It is kept under `name`, once per machine; delete the folder to get newer packages. Packages whose names match
    `without` are left out. Raises Missing.
    """
    folder = build.cache() / name
    with build.lock(build.cache() / f"{name}.lock"):
        if not folder.exists():
            print(f"fetching {' '.join(packages)} (once; kept in {folder})", flush=True)
            half_done = Path(tempfile.mkdtemp(prefix="unpacking-", dir=folder.parent))
            try:
                debian.unpack(packages, half_done / "root", left_out=without)
                _relink(half_done / "root")
                # A folder with its final name is complete.
                (half_done / "root").rename(folder)
            finally:
                shutil.rmtree(half_done, ignore_errors=True)
    return folder


def libraries(root: Path) -> str:
    """The folders of the libraries under `root`, as LD_LIBRARY_PATH names them."""
    return ":".join(str(path) for pattern in LIBRARIES for path in sorted(root.glob(pattern)))


def _relink(root: Path) -> None:
    """Makes the links that begin at the machine's root begin at this one."""
    for path in root.rglob("*"):
        if path.is_symlink() and os.readlink(path).startswith("/"):
            target = root / os.readlink(path).lstrip("/")
            if os.path.lexists(target):
                path.unlink()
                path.symlink_to(os.path.relpath(target, path.parent))
