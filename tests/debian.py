"""Programs of Debian's packages, unpacked into the tests' cache: nothing is installed, and nobody has to be root."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.controlplane import build

__all__ = ["Missing", "libraries", "unpacked"]

LIBRARIES: Final = ("usr/lib/*-linux-gnu*", "lib/*-linux-gnu*")


class Missing(RuntimeError):
    """The packages cannot be had on this machine."""


def unpacked(name: str, *packages: str, without: str = "/") -> Path:
    """The root of what these packages hold, and of what they need and this machine lacks.

    It is kept under `name`, once per machine; delete the folder to get newer packages. Files of packages whose names
    begin with `without` are left out. Raises Missing.
    """
    folder = build.cache() / name
    with build.locked(build.cache() / f"{name}.lock"):
        if not folder.exists():
            print(f"fetching {' '.join(packages)} (once; kept in {folder})", flush=True)
            half_done = Path(tempfile.mkdtemp(prefix="unpacking-", dir=folder.parent))
            try:
                _unpack_into(half_done, packages, without)
                # A folder with its final name is complete.
                (half_done / "root").rename(folder)
            except (OSError, subprocess.CalledProcessError) as error:
                details = getattr(error, "stderr", None) or error
                raise Missing(f"Debian's packages {' '.join(packages)} cannot be had: {details}") from None
            finally:
                shutil.rmtree(half_done, ignore_errors=True)
    return folder


def libraries(root: Path) -> str:
    """The folders of the libraries under `root`, as LD_LIBRARY_PATH names them."""
    return ":".join(str(path) for pattern in LIBRARIES for path in sorted(root.glob(pattern)))


def _unpack_into(folder: Path, packages: tuple[str, ...], without: str) -> None:
    """Fetches the packages by apt with lists of its own, and unpacks them."""
    archives = folder / "archives"
    for name in ("lists/partial", "archives/partial", "root"):
        (folder / name).mkdir(parents=True)
    options: Mapping[str, object] = {
        "Dir::State::Lists": folder / "lists",
        "Dir::Cache": folder,
        "Dir::Cache::Archives": archives,
        "Debug::NoLocking": 1,  # locking is for root, and nothing is installed
        "APT::Sandbox::User": "",  # the user _apt may not write here
    }
    apt = ["apt-get", "-qq", *(word for name, value in options.items() for word in ("-o", f"{name}={value}"))]
    install = ["install", "--download-only", "--yes", "--no-install-recommends", *packages]
    # Another source of the machine may be dead; whether Debian's was reached shows in the second command.
    subprocess.run([*apt, "update"], check=False, capture_output=True)
    subprocess.run([*apt, *install], check=True, capture_output=True, text=True)
    for package in sorted(archives.glob("*.deb")):
        if not package.name.startswith(without):
            subprocess.run(
                ["dpkg", "-x", str(package), str(folder / "root")], check=True, capture_output=True, text=True
            )
    _relink(folder / "root")


def _relink(root: Path) -> None:
    """Makes the links that begin at the machine's root begin at this one."""
    for path in root.rglob("*"):
        if path.is_symlink() and os.readlink(path).startswith("/"):
            target = root / os.readlink(path).lstrip("/")
            if os.path.lexists(target):
                path.unlink()
                path.symlink_to(os.path.relpath(target, path.parent))
