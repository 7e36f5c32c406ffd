"""The cluster on which the chart is installed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubescript_safety.controlplane import live
from tests.kit import chart, kubeconform, kubectl


@pytest.fixture(scope="package")
def administrator(live_cluster: live.Cluster) -> chart.Kubectl:
    """Runs kubectl on a cluster with controllers, a scheduler and simulated kubelets."""

    def run(*words: str, text: str = "") -> str:
        command = [str(kubectl.program()), "--kubeconfig", str(live_cluster.plane.kubeconfig), *words]
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout

    return run


@pytest.fixture(scope="package")
def custom_resources(administrator: chart.Kubectl) -> Iterator[None]:
    """The kinds of the Gateway API and of Prometheus' operator, while these tests run."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": kubeconform.definitions()})
    administrator("create", "--filename=-", text=text)
    administrator("wait", "--for=condition=Established", "--filename=-", text=text)
    yield
    administrator("delete", "--filename=-", text=text)


@pytest.fixture(scope="package")
def schemas(live_cluster: live.Cluster, custom_resources: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What kubeconform checks by."""
    folder = tmp_path_factory.mktemp("schemas")
    kubeconform.write_schemas(live_cluster.plane.kubeconfig, folder)
    return folder
