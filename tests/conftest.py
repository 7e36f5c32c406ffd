"""Fixtures that every test may ask for. The control plane starts only when a test asks, and once per run."""

from __future__ import annotations

import decimal
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubescript.executor import executor
from tests import stage
from tests.controlplane import build, cluster, fixture
from tests.controlplane.server import ControlPlane


def pytest_collection_finish(session: pytest.Session) -> None:
    """Builds the programs before any test's time limit runs: the first build on a machine takes minutes."""
    wanted = {name for item in session.items for name in getattr(item, "fixturenames", ())}
    ours = "control_plane" in wanted or ("kubeconfig" in wanted and not cluster.elsewhere())
    if ours and not session.config.option.collectonly:
        build.programs()


@pytest.fixture(autouse=True)
def _arithmetic() -> Iterator[None]:
    """Scripts that run in the test's process and set the decimal context leave it as it was."""
    with decimal.localcontext():
        yield


@pytest.fixture(scope="module")
def pool() -> Iterator[executor.Executor]:
    """Real workers, started once; every test proves that they still work."""
    with stage.opened() as pool:
        yield pool


@pytest.fixture
def bench(pool: executor.Executor) -> stage.Bench:
    """Workers with a stage of their own."""
    return stage.Bench(pool)


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    """A Kubernetes API server of our own, shared by the whole run: who stops it starts it again."""
    with ControlPlane() as plane:
        yield plane


@pytest.fixture(scope="session")
def kubeconfig(request: pytest.FixtureRequest) -> Path:
    """The administrator's kubeconfig of a cluster with the broken fixture loaded; see `fixture.facts`."""
    # Asked for by name, so that no server is started when the environment names another cluster.
    path = cluster.elsewhere() or request.getfixturevalue("control_plane").kubeconfig
    fixture.load(path)
    return path
