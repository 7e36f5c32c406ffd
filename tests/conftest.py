"""Fixtures that every test may ask for. The control plane starts only when a test asks, and once per run."""

from __future__ import annotations

import decimal
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kubescript.executor import executor
from kubescript_safety.controlplane import build, live
from tests.kit import debian, postgres, stage
from tests.kit.controlplane import cluster, fixture
from tests.kit.controlplane.server import ControlPlane


def pytest_collection_finish(session: pytest.Session) -> None:
    """Builds the programs before any test's time limit runs: the first build on a machine takes minutes."""
    wanted = {name for item in session.items for name in getattr(item, "fixturenames", ())}
    ours = "control_plane" in wanted or ("kubeconfig" in wanted and not cluster.elsewhere())
    if ours and not session.config.option.collectonly:
        build.programs()
    if not wanted.isdisjoint({"live_cluster", "live_programs"}) and not session.config.option.collectonly:
        live.build_programs()


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
def live_programs() -> None:
    """What a cluster with rollouts is made of, for tests whose programs start one: see `pytest_collection_finish`."""


@pytest.fixture(scope="session")
def live_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[live.Cluster]:
    """A cluster of our own in which rollouts happen, shared by the whole run: each test has namespaces of its own."""
    with live.Cluster(tmp_path_factory.mktemp("live")) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def kubeconfig(request: pytest.FixtureRequest) -> Path:
    """The administrator's kubeconfig of a cluster with the broken fixture loaded; see `fixture.facts`."""
    # Asked for by name, so that no server is started when the environment names another cluster.
    path = cluster.elsewhere() or request.getfixturevalue("control_plane").kubeconfig
    fixture.load(path)
    return path


@pytest.fixture(scope="session")
def postgresql() -> Iterator[postgres.Postgres]:
    """A PostgreSQL of our own, shared by the whole run: who kills it starts it again."""
    try:
        server = postgres.Postgres()
    except debian.Missing as error:
        pytest.skip(f"NOTHING IS TESTED WITH POSTGRESQL: {error}")
    with server:
        yield server


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def new_database(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Names a new place for plans with each call: a file for SQLite, or a database of a real PostgreSQL."""
    if request.param == "postgresql":
        server: postgres.Postgres = request.getfixturevalue("postgresql")
        return server.database
    names = (str(tmp_path / f"state-{number}" / "plans.db") for number in itertools.count())
    return lambda: next(names)
