"""Debian's packages, unpacked into a folder: nothing is installed, and nobody has to be root."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

__all__ = ["Missing", "unpack"]

NONE: Final = re.compile(r"(?!)")


class Missing(RuntimeError):
    """The packages cannot be had on this machine."""


def unpack(packages: tuple[str, ...], root: Path, *, left_out: re.Pattern[str] = NONE, complete: str = "") -> None:
    """Unpacks these packages and what they depend on and this machine has not.

    `complete` is one of Debian's architectures: its packages are unpacked, whatever this machine has, and the root says
    which. `left_out` matches the start of the names of archives that are not unpacked. Raises Missing.
    """
    if not shutil.which("apt-get"):
        raise Missing(f"this machine has no apt-get, which fetches {', '.join(packages)}")
    with tempfile.TemporaryDirectory(prefix="kubescript-packages-") as name:
        try:
            for archive in _fetch(packages, Path(name), complete=complete):
                if left_out.match(archive.name):
                    continue
                _unpack(archive, root)
                if complete:
                    _record(archive, root)
        except subprocess.CalledProcessError as error:
            raise Missing(f"{', '.join(packages)} cannot be had from Debian: {error.stderr or error}") from None


def _fetch(packages: tuple[str, ...], folder: Path, *, complete: str) -> list[Path]:
    """The archives, by apt with lists of its own."""
    for part in ("lists/partial", "archives/partial"):
        (folder / part).mkdir(parents=True)
    (folder / "status").touch()
    options: dict[str, object] = {
        "Dir::State::Lists": folder / "lists",
        "Dir::Cache": folder,
        "Dir::Cache::Archives": folder / "archives",
        "Debug::NoLocking": 1,  # locking is for root, and nothing is installed
        "APT::Sandbox::User": "",  # the user _apt may not write here
    }
    if complete:
        options["Dir::State::status"] = folder / "status"
        options["APT::Architecture"] = options["APT::Architectures"] = complete
    apt = ["apt-get", "-qq"]
    for key, value in options.items():
        apt += ["-o", f"{key}={value}"]
    install = ["install", "--reinstall", "--download-only", "--yes", "--no-install-recommends", *packages]
    # Another source of the machine may be dead; whether Debian's was reached shows in the second command.
    subprocess.run([*apt, "update"], check=False, capture_output=True)
    subprocess.run([*apt, *install], check=True, capture_output=True, text=True)
    return sorted((folder / "archives").glob("*.deb"))


def _unpack(archive: Path, root: Path) -> None:
    """Unpacks one archive; where the root has a link to a folder, tar must not replace it."""
    root.mkdir(parents=True, exist_ok=True)
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE) as files:
        extract = ["tar", "--extract", "--keep-directory-symlink", "--no-same-owner", "--directory", str(root)]
        subprocess.run(extract, stdin=files.stdout, check=True, capture_output=True, text=True)
    if files.returncode:
        raise subprocess.CalledProcessError(files.returncode, files.args)


def _record(archive: Path, root: Path) -> None:
    """Writes what the archive says of itself into var/lib/dpkg/status.d, where scanners of images without dpkg look."""
    records = root / "var/lib/dpkg/status.d"
    records.mkdir(parents=True, exist_ok=True)
    fields = subprocess.run(["dpkg-deb", "--field", archive], check=True, capture_output=True, text=True).stdout
    name = archive.name.split("_")[0]
    (records / name).write_text(fields)
    with tempfile.TemporaryDirectory() as control:
        subprocess.run(["dpkg-deb", "--control", archive, control], check=True, capture_output=True, text=True)
        shutil.copyfile(Path(control) / "md5sums", records / f"{name}.md5sums")
