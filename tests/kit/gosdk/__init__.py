"""A client of the Go SDK, built once from the module beside this file."""

from __future__ import annotations

from pathlib import Path

from tests.kit import gomodule

__all__ = ["program"]


def program() -> Path:
    """The program; the first call on a machine builds it, which takes half a minute."""
    return gomodule.program(Path(__file__).parent)
