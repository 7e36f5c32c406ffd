"""The peer server and the tokenizer, from npm at the versions of `package-lock.json`, installed once per version into
the cache."""

from __future__ import annotations

import functools
import hashlib
import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks import report
from tests.controlplane import build

__all__ = ["count_tokens", "peer"]

_HERE = Path(__file__).parent
_FILES = ("package.json", "package-lock.json")


def peer() -> str:
    """The peer's program, without the Node wrapper that would sit between it and us. Raises Unavailable."""
    found = sorted(_modules().glob("kubernetes-mcp-server-*-*/bin/kubernetes-mcp-server-*"))
    if not found:
        raise report.Unavailable("npm has no kubernetes-mcp-server for this machine")
    return str(found[0])


def count_tokens(texts: Sequence[str]) -> list[int]:
    """How many o200k tokens each text has. Raises Unavailable."""
    command = [_tool("node"), str(_HERE / "tokens.cjs"), str(_modules())]
    done = subprocess.run(command, input=json.dumps(list(texts)), capture_output=True, text=True, check=True)
    counts: list[int] = json.loads(done.stdout)
    return counts


@functools.cache
def _modules() -> Path:
    """The installed packages; the first call for a lock file installs them."""
    digest = hashlib.sha256(b"".join((_HERE / name).read_bytes() for name in _FILES)).hexdigest()[:16]
    folder = build.cache() / "npm" / digest
    if not folder.exists():
        _install(folder)
    return folder / "node_modules"


def _install(folder: Path) -> None:
    npm = _tool("npm")
    folder.parent.mkdir(parents=True, exist_ok=True)
    half_done = Path(tempfile.mkdtemp(prefix="installing-", dir=folder.parent))
    try:
        for name in _FILES:
            shutil.copy(_HERE / name, half_done)
        command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        done = subprocess.run(command, cwd=half_done, capture_output=True, text=True, check=False)
        if done.returncode:
            raise report.Unavailable(f"npm ci failed: {done.stderr[-300:].strip()}")
        half_done.rename(folder)  # a folder with its final name is complete
    finally:
        shutil.rmtree(half_done, ignore_errors=True)


def _tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise report.Unavailable(f"{name} is not installed")
    return found
