"""The real Helm, built once from the module beside this file, and the releases that it makes in the tests' cluster."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from pathlib import Path

from tests.controlplane import build, gotool

__all__ = ["program", "run"]

_HERE = Path(__file__).parent
_PACKAGE = "helm.sh/helm/v3/cmd/helm"


def program() -> Path:
    """The program; the first call on a machine builds it, which takes two minutes."""
    parts = [(_HERE / name).read_text() for name in ("go.mod", "go.sum")]
    key = hashlib.sha256("\0".join([*parts, _linker_flags()]).encode()).hexdigest()[:16]
    target = build.cache() / "helm" / key / "helm"
    with build.locked(build.cache() / "helm.lock"):  # several processes of tests want it at the same time
        if not target.exists():
            _build(target)
    return target


def run(kubeconfig: Path, home: Path, *words: str, driver: str = "secret", fails: bool = False) -> str:
    """What Helm prints; `home` holds all that it keeps."""
    done = subprocess.run(
        [str(program()), "--kubeconfig", str(kubeconfig), *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={"HOME": str(home), "HELM_DRIVER": driver, "PATH": os.environ["PATH"]},
    )
    assert (done.returncode != 0) == fails, (words, done.stdout, done.stderr)
    return done.stderr if fails else done.stdout


def _build(target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    go = gotool.find(build.go_version(), build.cache())
    unfinished = target.with_suffix(f".{os.getpid()}")
    command = [str(go), "build", "-trimpath", "-ldflags", _linker_flags(), "-o", str(unfinished), _PACKAGE]
    subprocess.run(command, cwd=_HERE, env={**os.environ, **build.ENVIRONMENT}, check=True)
    unfinished.rename(target)


def _linker_flags() -> str:
    """Strips symbols, and tells Helm its version."""
    found = re.search(r"^\s*(?:require )?helm\.sh/helm/v3 (v\S+)", (_HERE / "go.mod").read_text(), re.MULTILINE)
    assert found, "go.mod pins no Helm"
    return f"-s -w -X helm.sh/helm/v3/internal/version.version={found[1]}"
