"""One control plane with the corpus' own cluster, a snapshot of it, and one server for each, for the whole corpus."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit import clients
from tests.kit.controlplane.server import ControlPlane
from tests.live.zero_shot import fixture
from tests.live.zero_shot.answers import Cluster
from tests.live.zero_shot.asking import Ask


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    """A control plane of our own: the one that other tests share has other facts."""
    with fixture.start() as plane:
        fixture.load(plane)
        yield plane


@pytest.fixture(scope="session")
def kubeconfig(control_plane: ControlPlane) -> Path:
    """The administrator's kubeconfig of the corpus' cluster."""
    return control_plane.kubeconfig


@pytest.fixture(scope="session")
def cluster(kubeconfig: Path) -> Cluster:
    """The cluster through the official client."""
    return Cluster(kubeconfig)


@pytest.fixture(scope="session")
def saved(kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cluster, saved as a user saves it."""
    out = tmp_path_factory.mktemp("snapshot") / "saved"
    command = [
        clients.KUBESCRIPT,
        "snapshot",
        str(out),
        "--logs",
        "300",
        "--kubeconfig",
        str(kubeconfig),
        "--log-level",
        "warning",
    ]
    subprocess.run(command, check=True, timeout=240)
    return out


@pytest.fixture(scope="session")
def live(kubeconfig: Path) -> Iterator[Ask]:
    """Asks the live cluster."""
    with clients.asking("--kubeconfig", str(kubeconfig)) as ask:
        yield ask


@pytest.fixture(scope="session")
def snapshot(saved: Path) -> Iterator[Ask]:
    """Asks the snapshot."""
    with clients.asking("--snapshot", str(saved)) as ask:
        yield ask


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many scripts of each style were right."""
    right: Counter[str] = Counter()
    every: Counter[str] = Counter()
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            if group := dict(report.user_properties).get("zero-shot"):
                every[group] += 1
                right[group] += outcome == "passed"
    for group in sorted(every):
        terminalreporter.write_line(f"zero-shot {group}: {right[group]} of {every[group]} scripts right")
