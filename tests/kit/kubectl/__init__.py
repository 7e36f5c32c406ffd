"""The real kubectl, built once from the module beside this file, of the version of the API server that tests start."""

from __future__ import annotations

from pathlib import Path

from kubescript_safety.controlplane import build
from tests.kit import gomodule

__all__ = ["program"]


def program() -> Path:
    """The program; the first call on a machine builds it, which takes a minute."""
    return gomodule.program(Path(__file__).parent, linker_flags=build.linker_flags())
