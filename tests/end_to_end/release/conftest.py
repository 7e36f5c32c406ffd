"""The release that these tests look at: made once, for all processes of a run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubescript_safety.controlplane import build
from scripts.release import registry
from tests.kit import paths

_SECONDS = 900
"""A release takes 90 seconds of an idle processor; the first test that asks for it waits."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Gives the tests of this folder the time that a release takes on a busy machine."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.timeout(_SECONDS))


@pytest.fixture(scope="session")
def dist(run_folder: Path) -> Path:
    """All that `make release` makes, signed with a throw-away key."""
    folder = run_folder / "dist"
    with build.lock(run_folder / "dist.lock"):
        if not (folder / "SHA256SUMS.sigstore.json").exists():
            command = [sys.executable, "-m", "scripts.release", str(folder)]
            environment = {
                name: value for name, value in os.environ.items() if not name.startswith(("COSIGN", "KUBESCRIPT_"))
            }
            kept = {name: os.environ[name] for name in ("KUBESCRIPT_TEST_CACHE",) if name in os.environ}
            # A change is tested before it is committed. A builder of Debian sets the time of its package.
            given = {"KUBESCRIPT_DIRTY": "1", "SOURCE_DATE_EPOCH": "1"}
            subprocess.run(command, cwd=paths.ROOT, env={**environment, **kept, **given}, check=True)
    return folder


@pytest.fixture(scope="module")
def empty_registry() -> Iterator[str]:
    """The address of a registry of images that is empty when a module starts."""
    with registry.serve() as address:
        yield address
