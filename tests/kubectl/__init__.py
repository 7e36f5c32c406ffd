"""The real kubectl, built once from the module beside this file, of the version of the API server that tests start."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

from tests.controlplane import build, gotool

__all__ = ["program"]

_HERE = Path(__file__).parent


def program() -> Path:
    """The program; the first call on a machine builds it, which takes a minute."""
    parts = [(_HERE / name).read_text() for name in ("main.go", "go.mod", "go.sum")]
    key = hashlib.sha256("\0".join([*parts, build.linker_flags()]).encode()).hexdigest()[:16]
    target = build.cache() / "kubectl" / key / "kubectl"
    with build.locked(build.cache() / "kubectl.lock"):  # several processes of tests want it at the same time
        if not target.exists():
            _build(target)
    return target


def _build(target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    go = gotool.find(build.go_version(), build.cache())
    unfinished = target.with_suffix(f".{os.getpid()}")
    command = [str(go), "build", "-trimpath", "-ldflags", build.linker_flags(), "-o", str(unfinished), "."]
    subprocess.run(command, cwd=_HERE, env={**os.environ, **build.ENVIRONMENT}, check=True)
    unfinished.rename(target)
