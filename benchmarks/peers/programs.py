"""The peers' programs, at the versions that this folder pins, installed once per version into the cache."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import report
from kubescript_safety.controlplane import build
from tests.kit import helm, kubectl, npm

__all__ = ["kubectl_mcp_server", "kubernetes_mcp_server", "mcp_server_kubernetes", "path", "version"]

_HERE = Path(__file__).parent
_REQUIREMENTS = _HERE / "requirements.txt"


def kubernetes_mcp_server() -> list[str]:
    """Its program for this machine, without the Node wrapper that would sit between it and us. Raises Unavailable."""
    found = sorted(_modules().glob("kubernetes-mcp-server-*-*/bin/kubernetes-mcp-server-*"))
    if not found:
        raise report.Unavailable("npm has no kubernetes-mcp-server for this machine")
    return [str(found[0])]


def mcp_server_kubernetes() -> list[str]:
    """Node.js and its script. Raises Unavailable."""
    script = _modules() / "mcp-server-kubernetes" / "dist" / "index.js"
    return [str(npm.node()), str(script)]


def kubectl_mcp_server() -> list[str]:
    """Its script in an environment of its own. Raises Unavailable."""
    return [str(_environment() / "bin" / "kubectl-mcp")]


def version(name: str) -> str:
    """The version of a peer that this folder pins."""
    packages = json.loads((_HERE / "package.json").read_text())["dependencies"]
    if name in packages:
        return str(packages[name])
    found = re.search(rf"^{re.escape(name)}==(\S+)$", _REQUIREMENTS.read_text(), re.MULTILINE)
    assert found, f"{_REQUIREMENTS} pins no {name}"
    return found[1]


def path() -> str:
    """A PATH that begins with the kubectl and the Helm of the tests: two of the peers start them."""
    programs = [kubectl.program(), helm.program()]
    return os.pathsep.join([*(str(program.parent) for program in programs), os.environ["PATH"]])


def _modules() -> Path:
    try:
        return npm.modules(_HERE)
    except npm.Missing as error:
        raise report.Unavailable(str(error)) from None


@functools.cache
def _environment() -> Path:
    """A virtual environment with what `requirements.txt` pins."""
    digest = hashlib.sha256(_REQUIREMENTS.read_bytes()).hexdigest()[:16]
    folder = build.cache() / "kubectl-mcp-server" / digest
    with build.lock(build.cache() / "kubectl-mcp-server.lock"):
        if not (folder / "complete").exists():
            _install(folder)
    return folder


def _install(folder: Path) -> None:
    # Its scripts name the folder, so that it cannot be renamed once it is complete: a file says so.
    shutil.rmtree(folder, ignore_errors=True)
    print(f"installing {_REQUIREMENTS} into {folder}", file=sys.stderr, flush=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-deps"]
    with tempfile.TemporaryFile("w+") as errors:
        done = subprocess.run([*pip, "--requirement", str(_REQUIREMENTS)], stderr=errors, check=False)
        errors.seek(0)
        if done.returncode:
            raise report.Unavailable(f"pip install failed: {errors.read()[-300:].strip()}")
    (folder / "complete").touch()
