"""cluster_list: the clusters of a server, and stats of those that answer while others are dead."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.kit import clients, listener, paths, patience, tools
from tests.kit.controlplane.fixture import facts
from tests.kit.controlplane.server import ControlPlane

CONFIG = """
kubeconfig = "{kubeconfig}"
context = "prod-eu"
log_level = "error"
[limits]
default_timeout_ms = 300000
patience_ms = {patience_ms}
[contexts.prod-eu]
[contexts.demo]
snapshot = "{demo}"
[contexts.stranger]
[contexts.wrong]
[contexts.dead]
[contexts.silent]
"""
DEMO = paths.ROOT / "src/kubescript/cli/demo.tar.gz"
NAMES = ["prod-eu", "demo", "stranger", "wrong", "dead", "silent"]


@pytest.fixture(scope="module")
def call(kubeconfig: Path, control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A server of a live cluster, a saved one, two that refuse us and two that do not answer."""
    folder = tmp_path_factory.mktemp("clusters")
    control_plane.kubeconfig_for("passer-by")
    live = {"server": control_plane.url, "certificate-authority": str(kubeconfig.parent / "ca.crt")}
    silent = listener.Listener(_read)
    contexts: dict[str, tuple[dict[str, str], dict[str, str]]] = {
        "prod-eu": (live, _user(kubeconfig.parent, "admin")),
        "stranger": (live, _user(kubeconfig.parent, "passer-by")),
        "wrong": (live, {"token": "not-the-token"}),
        "dead": ({"server": f"http://127.0.0.1:{clients.free_port()}"}, {}),
        "silent": ({"server": f"http://127.0.0.1:{silent.port}"}, {}),
    }
    written = {
        "clusters": [{"name": name, "cluster": server} for name, (server, _) in contexts.items()],
        "users": [{"name": name, "user": user} for name, (_, user) in contexts.items()],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in contexts],
    }
    (folder / "kubeconfig").write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **written}))
    config = folder / "kubescript.toml"
    patience_ms = min(patience.scaled_ms(3_000), 8_000)
    config.write_text(CONFIG.format(kubeconfig=folder / "kubeconfig", demo=DEMO, patience_ms=patience_ms))
    with contextlib.closing(silent), tools.calling("--config", str(config)) as made:
        yield made


def _read(sock: socket.socket) -> None:
    """Takes the request and says nothing, until the other side hangs up."""
    while sock.recv(65_536):
        pass


def _user(folder: Path, name: str) -> dict[str, str]:
    return {"client-certificate": f"{folder / name}.crt", "client-key": f"{folder / name}.key"}


def test_the_clusters_are_listed_without_asking_any(call: tools.Call) -> None:
    """The default one is marked; each name serves as `cluster`."""
    head, *lines = tools.text(call("cluster_list")).splitlines()
    assert head.startswith("6 cluster(s)")
    assert lines == ["prod-eu (default)", *NAMES[1:]]
    listed = json.loads(tools.text(call("cluster_list", format="json")))
    assert listed == [{"name": name, "default": name == "prod-eu"} for name in NAMES]
    table = tools.text(call("cluster_list", format="table")).splitlines()
    assert table[0].split() == ["NAME", "DEFAULT"] and table[1].split() == ["prod-eu", "*"]
    assert "node-a1" in tools.text(call("kubectl_top_nodes", cluster="demo"))


def test_stats_of_those_that_answer(call: tools.Call) -> None:
    """A dead, a silent and two refusing clusters are named with the reason; the others have their figures."""
    result = call("cluster_list", format="json", includeStats=True)
    listed = {each["name"]: each for each in json.loads(clients.text(result).splitlines()[0])}
    assert list(listed) == NAMES
    for name in ("prod-eu", "demo"):
        stats = {key: listed[name][key] for key in ("version", "nodes", "ready", "pods")}
        assert stats == {"version": "v1.36.3", "nodes": facts.NODES, "ready": facts.NODES - 1, "pods": facts.PODS}
    assert "cannot be reached" in listed["dead"]["error"]
    assert "did not begin to answer in time" in listed["silent"]["error"]
    assert listed["wrong"]["error"] == "Unauthorized"
    # RBAC refuses a stranger everything but the version.
    assert listed["stranger"]["version"] == "v1.36.3" and "nodes" not in listed["stranger"]
    assert listed["stranger"]["incomplete"].startswith("nodes is forbidden")


def test_stats_as_text(call: tools.Call) -> None:
    """For a reader, in full and as a table."""
    text = clients.text(call("cluster_list", includeStats=True))
    assert f"prod-eu (default)\n  version v1.36.3, nodes 6, ready 5, pods {facts.PODS}\n" in text
    assert "wrong\n  cannot be asked: Unauthorized\n" in text
    assert "stranger\n  version v1.36.3\n  not everything could be read: nodes is forbidden" in text
    rows = clients.text(call("cluster_list", includeStats=True, format="table")).splitlines()
    assert rows[0].split() == ["NAME", "DEFAULT", "VERSION", "NODES", "READY", "PODS", "ERROR", "INCOMPLETE"]
    assert rows[1].split() == ["prod-eu", "*", "v1.36.3", "6", "5", str(facts.PODS), "-", "-"]


def test_one_cluster_is_listed_too(kubeconfig: Path) -> None:
    """Under the name of its context, which `cluster` takes as well."""
    with tools.calling("--kubeconfig", str(kubeconfig)) as call:
        assert tools.text(call("cluster_list")).splitlines()[1:] == ["test (default)"]
        assert not call("kubectl_cluster_info", cluster="test").is_error
        unknown = call("kubectl_cluster_info", cluster="prod")
        assert unknown.is_error and "test" in clients.text(unknown)
