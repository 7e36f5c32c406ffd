"""kubectl's plug-in, as krew installs it from the release, under the real kubectl."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import kubescript
from scripts.release import krew, publication, tools
from tests.kit import clients, kubectl

_ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]


@pytest.fixture(scope="module")
def environment(dist: Path, run_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A home in which the real krew has installed the plug-in, offline."""
    home = tmp_path_factory.mktemp("krew")
    path = f"{home}/krew/bin:{kubectl.program().parent}:{os.environ['PATH']}"
    variables = {"HOME": str(home), "KREW_ROOT": str(home / "krew"), "PATH": path}
    variables |= {"PEX_ROOT": str(run_folder / "pex"), "XDG_CACHE_HOME": clients.CACHE}
    archive = krew.archive(publication.read(), dist, _ARCHITECTURE)
    command = [str(tools.program("krew")), "install", f"--manifest={dist / krew.MANIFEST}", f"--archive={archive}"]
    subprocess.run(command, env=variables, check=True)
    return variables


def run(environment: dict[str, str], *arguments: str, code: int = 0) -> str:
    """What kubectl prints."""
    done = subprocess.run(["kubectl", *arguments], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done
    return done.stdout + done.stderr


def test_kubectl_runs_a_script_on_the_cluster_of_its_kubeconfig(environment: dict[str, str], kubeconfig: Path) -> None:
    """`kubectl kubescript run` asks the cluster that `kubectl get` asks."""
    here = {**environment, "KUBECONFIG": str(kubeconfig)}
    nodes = run(here, "get", "nodes", "--output", "name").splitlines()
    answer = run(here, "kubescript", "run", "-c", "len(k8s.coreV1().list_node())")
    assert (answer, len(nodes) > 0) == (f"{len(nodes)}\n", True)


def test_what_it_says_is_what_a_person_types(environment: dict[str, str]) -> None:
    """Version, usage and hints name `kubectl kubescript`."""
    assert run(environment, "kubescript", "--version") == f"kubescript, version {kubescript.__version__}\n"
    assert "Try 'kubectl kubescript run --help' for help." in run(environment, "kubescript", "run", code=2)
    assert "kubescript" in run(environment, "plugin", "list")
