"""The real kubectl, built once from the module beside this file, of the version of the API server that tests start."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path
from typing import Final

from kubescript_safety.controlplane import build
from tests.kit import gomodule

__all__ = ["answer", "program"]

_NOWHERE: Final = {"HOME": "/nonexistent", "KUBECTL_KUBERC": "false"}


def program() -> Path:
    """The program; the first call on a machine builds it, which takes a minute."""
    return gomodule.program(Path(__file__).parent, linker_flags=build.linker_flags())


def answer(*arguments: str) -> str:
    """What the program says without a cluster and a home, which is always the same: it is kept beside the program."""
    name = hashlib.sha256("\0".join(arguments).encode()).hexdigest()[:32]
    kept = program().with_name("answers") / name
    if not kept.exists():
        command = [str(program()), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=_NOWHERE, timeout=120, check=False)
        assert done.returncode in {0, 1}, (arguments, done)
        kept.parent.mkdir(exist_ok=True)
        unfinished = kept.with_suffix(f".{os.getpid()}")
        unfinished.write_text(done.stdout + done.stderr)
        unfinished.rename(kept)
    return kept.read_text()
