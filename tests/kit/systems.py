"""Root file systems of Linux distributions with little in them, made once per machine out of their own packages.

Only root can make them. Nothing is installed on the machine itself.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kubescript_safety.controlplane import build
from tests.kit import debian

__all__ = ["DEBIAN_12", "SYSTEMS", "System", "root"]

PACKAGES: Final = ("ca-certificates", "libseccomp2", "libstdc++6", "pipx", "python3-venv")
"""What docs/install.md has a user install, and the authorities that every machine with a browser has."""
OPTIONS: Final = (
    'Acquire::Check-Valid-Until "false"',  # a mirror may stand still
    'Acquire::AllowInsecureRepositories "true"',  # Debian has no package with the keys of Ubuntu
    'APT::Get::AllowUnauthenticated "true"',
)


@dataclass(frozen=True, slots=True)
class System:
    """One release of a distribution."""

    name: str
    suite: str
    """The release's name in the archive."""
    components: str
    python: str
    """Its own Python, as major.minor."""


DEBIAN_12: Final = System("Debian 12", "bookworm", "main", "3.11")
SYSTEMS: Final = (
    DEBIAN_12,
    System("Ubuntu 24.04", "noble", "main,universe", "3.12"),
    System("Debian 13", "trixie", "main", "3.13"),
    System("Ubuntu 26.04", "resolute", "main,universe", "3.14"),
)


def root(system: System) -> Path:
    """The folder of the system's root, which nothing may change. Raises debian.Missing."""
    parts = [system.suite, system.components, *PACKAGES, *OPTIONS]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    folder = build.cache() / "systems" / f"{system.suite}-{key}"
    with build.lock(build.cache() / "systems.lock"):
        if not folder.exists():
            print(f"making the root of {system.name} (once; kept in {folder})", flush=True)
            folder.parent.mkdir(parents=True, exist_ok=True)
            half_done = Path(tempfile.mkdtemp(prefix="making-", dir=folder.parent))
            try:
                _make(system, half_done / "root")
                # A folder with its final name is complete.
                (half_done / "root").rename(folder)
            finally:
                shutil.rmtree(half_done, ignore_errors=True)
    return folder


def _make(system: System, folder: Path) -> None:
    program = debian.unpacked("mmdebstrap", "mmdebstrap") / "usr/bin/mmdebstrap"
    command = [str(program), "--quiet", "--mode=root", "--format=directory", "--variant=minbase"]
    command += [f"--aptopt={option}" for option in OPTIONS]
    command += [f"--components={system.components}", f"--include={','.join(PACKAGES)}", system.suite, str(folder)]
    # mmdebstrap knows the archive of each suite.
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    made = subprocess.run(command, env=environment, capture_output=True, text=True)
    if made.returncode:
        raise debian.Missing(f"{system.name} cannot be had from its archive: {made.stderr[-2000:]}")
