"""Fixtures that every test may ask for. The control plane starts only when a test asks, and once per run."""

from __future__ import annotations

import contextlib
import decimal
import itertools
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kubescript_safety.controlplane import live
from kubescript_sandbox.host import executor
from tests.kit import debian, helm, kubectl, postgres, stage
from tests.kit.controlplane import cluster, fixture, shared
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Writer
from tests.kit.engines.alertmanager import Alertmanager
from tests.kit.engines.loki import Loki
from tests.kit.engines.prometheus import Prometheus


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
def control_plane(run_folder: Path, run_process: int) -> ControlPlane:
    """The API server with the broken fixture, shared by the whole run: tests read it, or write where no other looks."""
    return shared.attach("broken", run_folder, run_process)


@pytest.fixture(scope="session")
def written(run_folder: Path, run_process: int) -> ControlPlane:
    """Another one with the broken fixture, for tests that also write to it: counts of its objects are not to be trusted."""
    return shared.attach("written", run_folder, run_process)


@pytest.fixture(scope="session")
def scratch(run_folder: Path, run_process: int) -> ControlPlane:
    """An API server with nothing in it, shared by the whole run: a test writes into a `namespace` of its own."""
    return shared.attach("scratch", run_folder, run_process)


@pytest.fixture(scope="module")
def namespace(scratch: ControlPlane, request: pytest.FixtureRequest) -> str:
    """A namespace of the module's own on `scratch`."""
    name = f"{Path(str(request.node.path)).stem.removeprefix('test_').replace('_', '-')}-{secrets.token_hex(3)}"
    Writer(scratch.kubeconfig).create_all([[{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}]])
    return name


@pytest.fixture(scope="session")
def own_plane() -> Iterator[ControlPlane]:
    """An API server of this process: a test that stops it starts it again."""
    with ControlPlane() as plane:
        yield plane


@pytest.fixture(scope="session")
def kubectl_program() -> Path:
    """The real kubectl, for tests that need no API server."""
    return kubectl.program()


@pytest.fixture(scope="session")
def helm_program() -> Path:
    """The real Helm."""
    return helm.program()


@pytest.fixture(scope="session")
def live_programs() -> None:
    """What a cluster with rollouts is made of, for tests whose programs start one: see `programs`."""


@pytest.fixture(scope="session")
def live_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[live.Cluster]:
    """A cluster of our own in which rollouts happen, shared by the whole run: each test has namespaces of its own."""
    with live.Cluster(tmp_path_factory.mktemp("live")) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def kubeconfig(request: pytest.FixtureRequest) -> Path:
    """The administrator's kubeconfig of a cluster with the broken fixture loaded; see `fixture.facts`."""
    # Asked for by name, so that no server is started when the environment names another cluster.
    elsewhere = cluster.elsewhere()
    if elsewhere is None:
        plane: ControlPlane = request.getfixturevalue("control_plane")
        return plane.kubeconfig
    fixture.load(elsewhere)
    return elsewhere


@pytest.fixture(scope="session")
def postgresql() -> Iterator[postgres.Postgres]:
    """A PostgreSQL of our own, shared by the whole run: who kills it starts it again."""
    try:
        server = postgres.Postgres()
    except debian.Missing as error:
        pytest.skip(f"NOTHING IS TESTED WITH POSTGRESQL: {error}")
    with server:
        yield server


@pytest.fixture
def prometheus3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Prometheus]]:
    """Starts a real Prometheus with what `engines.prometheus.Prometheus` takes; it ends with the test."""
    with contextlib.ExitStack() as stack:
        yield lambda **given: stack.enter_context(Prometheus(tmp_path_factory.mktemp("prometheus"), **given))


@pytest.fixture
def alertmanager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Alertmanager]:
    """A real Alertmanager without alerts, which ends with the test."""
    with Alertmanager(tmp_path_factory.mktemp("alertmanager")) as server:
        yield server


@pytest.fixture
def loki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loki]:
    """A real Loki without lines, which ends with the test."""
    with Loki(tmp_path_factory.mktemp("loki")) as server:
        yield server


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def new_database(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Names a new place for plans with each call: a file for SQLite, or a database of a real PostgreSQL."""
    if request.param == "postgresql":
        server: postgres.Postgres = request.getfixturevalue("postgresql")
        return server.database
    names = (str(tmp_path / f"state-{number}" / "plans.db") for number in itertools.count())
    return lambda: next(names)
