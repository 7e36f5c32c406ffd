"""Clusters that the objects of a hub name: as objects come, change and go, so do the clusters, without a restart."""

from __future__ import annotations

import contextlib
import json
import re
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import anyio
import pytest
import yaml

from kubescript import app
from tests.kit import clients, cluster_api, commands, paths, patience
from tests.kit.controlplane.server import ControlPlane
from tests.kit.hub import MANAGED_CLUSTER, PROFILE, Hub, definition

pytestmark = pytest.mark.cluster

AVAILABLE = {
    "type": "ManagedClusterConditionAvailable",
    "status": "True",
    "reason": "ManagedClusterAvailable",
    "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


@pytest.fixture(scope="module")
def hub(scratch: ControlPlane, namespace: str) -> Hub:
    return Hub(scratch.kubeconfig, namespace)


RULES: Final = re.compile(r"```yaml\n# ([a-z-]+): [^\n]*\n(.*?)```", re.DOTALL)


class Server:
    """A server of a fleet."""

    def __init__(self, opened: app.Application) -> None:
        self._opened = opened

    def members(self) -> dict[str, Mapping[str, str]]:
        """The clusters found, with their labels."""
        return {name: dict(member.labels) for name, member in self._opened.fleet.members().items()}

    def ask(self, name: str) -> str:
        """What a script on a cluster is refused, and as whom."""

        async def ask() -> str:
            async with clients.joined(self._opened) as client:
                return clients.text(await clients.evaluate(client, f"k8s.context({name!r}).coreV1().list_node()"))

        return anyio.run(ask)


@contextlib.contextmanager
def serving(hub: Hub, folder: Path, source: str, **settings: str) -> Iterator[Server]:
    """A server whose fleet is found with the rights that the documentation names and no others."""
    rules = dict(RULES.findall((paths.ROOT / "docs/fleet.md").read_text()))[source]
    given = yaml.safe_load(rules.replace("[kubescript]", json.dumps([settings.get("managed_service_account")])))
    hub.bind(source, given, in_all="namespace" not in settings)
    kubeconfig = folder / f"{source}.kubeconfig"
    kubeconfig.write_text(json.dumps(hub.member(source)))
    file = folder / "kubescript.yaml"
    file.write_text(json.dumps({"fleet": {"source": source, "kubeconfig": str(kubeconfig), **settings}}))
    with clients.application(["--toolsets", "code", "--config", str(file)]) as opened:
        yield Server(opened)


def test_a_secret_each_is_a_cluster(hub: Hub, tmp_path: Path) -> None:
    """It may be in any key if there is but one; labels and tokens change, and the cluster goes with its Secret."""
    selected = {"fleet": hub.namespace}
    hub.put(hub.secret("other", {"kubeconfig": hub.member("other")}, {}))
    eu = hub.secret("eu", {"kubeconfig": hub.member("eu"), "note": "x"}, selected | {"env": "prod"})
    hub.put(eu)
    selector = f"fleet={hub.namespace}"
    with serving(hub, tmp_path, "secrets", namespace=hub.namespace, label_selector=selector) as found:
        assert found.members() == {"eu": selected | {"env": "prod"}}
        assert f"system:serviceaccount:{hub.namespace}:eu" in found.ask("eu")
        hub.put(hub.secret("us", {"any": hub.member("us")}, selected))
        patience.until(lambda: list(found.members()) == ["eu", "us"])
        hub.put(hub.secret("eu", {"kubeconfig": hub.member("second")}, selected | {"env": "dev"}))
        patience.until(lambda: found.members()["eu"]["env"] == "dev")
        assert f"system:serviceaccount:{hub.namespace}:second" in found.ask("eu")
        hub.remove(eu)
        patience.until(lambda: list(found.members()) == ["us"])


def test_a_provisioned_cluster_of_cluster_api_is_a_cluster(hub: Hub, tmp_path: Path) -> None:
    """Where all namespaces are watched, the namespace is part of its name."""
    hub.put(cluster_api.definition())
    spec = {"controlPlaneEndpoint": {"host": "10.0.0.1", "port": 6443}}
    web = {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Cluster",
        "metadata": {"name": "web", "namespace": hub.namespace, "labels": {"env": "prod"}},
        "spec": spec,
        "status": {"phase": "Provisioning"},
    }
    hub.put(web)
    contract = {"cluster.x-k8s.io/cluster-name": "web"}
    hub.put(hub.secret("web-ca", {"tls.crt": "x", "tls.key": "y"}, contract))
    with serving(hub, tmp_path, "cluster-api", namespace=hub.namespace) as found:
        assert found.members() == {}
        hub.put(hub.secret("web-kubeconfig", {"value": hub.member("web")}, contract))
        hub.put(web | {"status": {"phase": "Provisioned"}})
        patience.until(lambda: found.members() == {"web": {"env": "prod"}})
        assert f"system:serviceaccount:{hub.namespace}:web" in found.ask("web")
        with serving(hub, tmp_path, "cluster-api", label_selector="env=prod") as everywhere:
            assert f"{hub.namespace}.web" in everywhere.members()
        hub.put(web | {"status": {"phase": "Deleting"}})
        patience.until(lambda: found.members() == {})


def test_an_available_managed_cluster_is_a_cluster(hub: Hub, tmp_path: Path) -> None:
    """The token is that of the ManagedServiceAccount of the settings, from the cluster's own namespace."""
    hub.put(definition(MANAGED_CLUSTER, "ManagedCluster", namespaced=False))
    selected = {"cluster.open-cluster-management.io/clusterset": hub.namespace}
    section = hub.cluster()
    spec = {
        "hubAcceptsClient": True,
        "managedClusterClientConfigs": [{"url": section["server"], "caBundle": section["certificate-authority-data"]}],
    }
    managed = {
        "apiVersion": MANAGED_CLUSTER,
        "kind": "ManagedCluster",
        "metadata": {"name": hub.namespace, "labels": selected},
        "spec": spec,
        "status": {"conditions": [AVAILABLE]},
    }
    hub.put(managed)
    account = f"scripts-{secrets.token_hex(3)}"
    settings = {
        "source": "open-cluster-management",
        "managed_service_account": account,
        "label_selector": f"cluster.open-cluster-management.io/clusterset={hub.namespace}",
    }
    with serving(hub, tmp_path, **settings) as found:
        assert found.members() == {}
        hub.put(hub.secret(account, {"token": hub.token(account), "ca.crt": "unused"}, {}))
        patience.until(lambda: found.members() == {hub.namespace: selected})
        assert f"system:serviceaccount:{hub.namespace}:{account}" in found.ask(hub.namespace)
        hub.put(managed | {"spec": spec | {"hubAcceptsClient": False}})
        patience.until(lambda: found.members() == {})


def test_a_cluster_profile_is_a_cluster(hub: Hub, tmp_path: Path) -> None:
    """Its credentials are a kubeconfig, or a token for the server that its status names, in a Secret that names it."""
    hub.put(definition(PROFILE, "ClusterProfile", namespaced=True))
    for name, field in (("a", "accessProviders"), ("b", "credentialProviders"), ("c", "accessProviders")):
        provider = {"name": "secretreader", "cluster": hub.cluster()}
        hub.put({
            "apiVersion": PROFILE,
            "kind": "ClusterProfile",
            "metadata": {"name": name, "namespace": hub.namespace, "labels": {"env": name}},
            "spec": {"clusterManager": {"name": "test"}},
            "status": {field: [{"name": "other", "cluster": {"server": "https://10.0.0.9"}}, provider]},
        })  # fmt: skip
    with serving(hub, tmp_path, "cluster-profiles", namespace=hub.namespace) as found:
        assert found.members() == {}
        hub.put(hub.secret("of-a", {"token": hub.token("a")}, {"x-k8s.io/cluster-profile": "a"}))
        hub.put(hub.secret("of-b", {"token": hub.token("b")}, {"x-k8s.io/cluster-profile": "b"}))
        hub.put(hub.secret("of-c", {"Config": hub.member("c")}, {"x-k8s.io/cluster-profile": "c"}))
        patience.until(lambda: found.members() == {name: {"env": name} for name in "abc"})
        for name in "abc":
            assert f"system:serviceaccount:{hub.namespace}:{name}" in found.ask(name)
        second = hub.secret("a-second", {"Config": hub.member("stranger")}, {"x-k8s.io/cluster-profile": "c"})
        hub.put(second)
        patience.until(lambda: list(found.members()) == ["a", "b"])  # nothing says which of two is meant
        hub.remove(second)
        patience.until(lambda: list(found.members()) == ["a", "b", "c"])
        assert f"system:serviceaccount:{hub.namespace}:c" in found.ask("c")


def test_doctor_says_which_right_is_missing(hub: Hub, tmp_path: Path) -> None:
    """And how many clusters are found once it is there; of one that may do nothing, the role that it lacks."""
    kubeconfig, file = tmp_path / "kubeconfig", tmp_path / "kubescript.yaml"
    kubeconfig.write_text(json.dumps(hub.member("doctor")))
    named = {"source": "secrets", "kubeconfig": str(kubeconfig), "label_selector": "fleet=none"}
    file.write_text(json.dumps({"fleet": named}))
    done = commands.run("doctor", "--config", str(file), environment=commands.BARE)
    assert done.returncode == 1
    assert f"RBAC does not let this server list and watch secrets in namespace {hub.namespace}" in done.stdout
    hub.bind("doctor", [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["list", "watch"]}], in_all=False)
    done = commands.run("doctor", "--config", str(file), environment=commands.BARE)
    assert done.returncode == 0 and "secrets: 0 clusters were found" in done.stdout
    hub.put(hub.secret("poor", {"kubeconfig": hub.member("poor")}, {"fleet": "none"}))
    done = commands.run("doctor", "--config", str(file), environment=commands.BARE)
    assert done.returncode == 0 and "secrets: 1 cluster was found" in done.stdout
    assert "WARNING poor: found" in done.stdout and f" --serviceaccount={hub.namespace}:poor\n" in done.stdout
