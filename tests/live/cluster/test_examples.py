"""Every example runs: on the broken cluster, on one whose objects are half filled, and on saved ones."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import mcp_types
import pytest

from kubescript import config
from tests.kit import clients, paths
from tests.kit.controlplane.fixture import messy
from tests.kit.controlplane.server import ControlPlane

Ask = Callable[[str], mcp_types.CallToolResult]
"""Runs a script on a server and returns its answer."""

EXAMPLES = paths.ROOT / "examples"

EXPECTED = {
    "crashloops.py": '"why":"OOMKilled"',
    "node_pressure.py": "DiskPressure",
    "cluster_admins.py": "system:masters",
    "expiring_certificates.py": "payments/portal-tls",
    "warnings.py": "BackOff",
    "api_resources.py": "example.com/v1",
}


def test_every_example_has_an_expectation() -> None:
    """A new example comes with what its answer must contain."""
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(EXPECTED) == set(HALF_FILLED)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_example_runs(name: str, kubeconfig: Path) -> None:
    """The example's answer on the broken cluster contains what it is there to find."""
    done = subprocess.run(
        [clients.KUBESCRIPT, "run", str(EXAMPLES / name), "--kubeconfig", str(kubeconfig)],
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert EXPECTED[name] in done.stdout
    assert done.stderr == ""


HALF_FILLED = {
    "crashloops.py": '"pod":"messy/crash-without-last"',
    "node_pressure.py": "lost {'cpu': '?', 'memory': '?'}  Ready=Unknown",
    "cluster_admins.py": '{"binding":"nobody","subjects":[]}',
    "expiring_certificates.py": '["messy/never-seen","Unknown",null]',
    "warnings.py": '[1,null,null,"messy",""]',
    "api_resources.py": '["cert-manager.io/v1","Certificate"]',
}
"""What the examples find where objects have no status, no spec, no reason, and where a group's server is down."""


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Ask]]:
    """Servers of a cluster of half-filled objects, of its snapshot, and of files written by hand."""
    saved, bare = tmp_path_factory.mktemp("saved") / "messy", tmp_path_factory.mktemp("bare")
    (bare / "all.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": BARE}))
    with ControlPlane() as plane, contextlib.ExitStack() as servers:
        messy.load(plane.kubeconfig)
        live = ("--kubeconfig", str(plane.kubeconfig))
        subprocess.run(
            [clients.KUBESCRIPT, "snapshot", str(saved), *live], check=True, capture_output=True, timeout=240
        )
        flags = {"live": live, "saved": ("--snapshot", str(saved)), "bare": ("--snapshot", str(bare))}
        yield {source: servers.enter_context(clients.asking(*flags[source])) for source in flags}


@pytest.mark.parametrize("source", ["live", "saved"])
@pytest.mark.parametrize("name", HALF_FILLED)
def test_the_example_runs_on_half_filled_objects(name: str, source: str, plane: dict[str, Ask]) -> None:
    """No example counts on a field that a real cluster may leave out."""
    result = plane[source]((EXAMPLES / name).read_text())
    assert not result.is_error, clients.text(result)
    assert HALF_FILLED[name] in clients.text(result)


BARE: list[dict[str, object]] = [
    {"apiVersion": version, "kind": kind, "metadata": {"name": "bare", "namespace": namespace}, **fields}
    for version, kind, namespace, fields in (
        ("v1", "Pod", "messy", {"spec": {}, "status": {}}),
        ("v1", "Node", "", {"spec": {}, "status": {}}),
        ("v1", "Event", "messy", {"involvedObject": {}}),
        ("cert-manager.io/v1", "Certificate", "messy", {}),
        ("cert-manager.io/v1", "Certificate", "shop", {"spec": None, "status": None}),
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", {"roleRef": {}}),
    )
]
"""Objects with less in them than an API server would take, as files for a post-mortem may have been cut down."""


@pytest.mark.parametrize("name", HALF_FILLED)
def test_the_example_runs_on_objects_that_were_cut_down(name: str, plane: dict[str, Ask]) -> None:
    """Saved objects of which hardly more than the names were kept make no example fail."""
    result = plane["bare"]((EXAMPLES / name).read_text())
    assert not result.is_error, clients.text(result)


def test_the_example_configuration_is_valid() -> None:
    """examples/kubescript.toml is read without complaint and means what it says."""
    settings = config.load({}, EXAMPLES / "kubescript.toml")
    assert settings.toolsets == ("code",)
    assert settings.strict
    assert settings.denied_resources[1].group == ""
