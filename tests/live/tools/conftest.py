"""What the files about tools share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit import tools
from tests.kit.controlplane import shared


@pytest.fixture(scope="session")
def printed_cluster(run_folder: Path, run_process: int) -> Path:
    """The kubeconfig of the broken cluster with objects in every state that is printed, which tests only read."""
    return shared.attach("printed", run_folder, run_process).kubeconfig


@pytest.fixture(scope="session")
def saved_without_secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cluster of the demo, saved again by an operator who denies Secrets."""
    return tools.saved_without_secrets(tmp_path_factory.mktemp("saved"))
