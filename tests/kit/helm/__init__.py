"""The real Helm, built once from the module beside this file, and the releases that it makes in the tests' cluster."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.kit import gomodule

__all__ = ["program", "run"]

_HERE = Path(__file__).parent
_PACKAGE = "helm.sh/helm/v3/cmd/helm"


def program() -> Path:
    """The program; the first call on a machine builds it, which takes two minutes."""
    return gomodule.program(_HERE, _PACKAGE, _linker_flags())


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


def _linker_flags() -> str:
    """Strips symbols, and tells Helm its version."""
    return f"-s -w -X helm.sh/helm/v3/internal/version.version=v{gomodule.version(_HERE, 'helm.sh/helm/v3')}"
