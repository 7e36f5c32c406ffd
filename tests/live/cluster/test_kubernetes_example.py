"""The manifests of examples/kubernetes are what a real API server takes, under its strictest rules for pods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from kubernetes import client, utils

from tests.kit import paths
from tests.kit.controlplane import official_client
from tests.kit.controlplane.server import ControlPlane

MANIFEST = paths.ROOT / "examples" / "kubernetes" / "kubescript.yaml"
NAMESPACE = "kubescript"
IN_EARNEST = {"Namespace", "ServiceAccount"}
"""Kinds without which the API server does not look at the others."""


def manifests() -> list[Any]:
    """The objects, in their order."""
    return list(yaml.safe_load_all(MANIFEST.read_text()))


@pytest.fixture
def api(control_plane: ControlPlane) -> Iterator[Any]:
    """The official client; the example's namespace is gone afterwards."""
    api = official_client.connect(control_plane.kubeconfig)
    yield api
    core: Any = client.CoreV1Api(api)
    core.delete_namespaced_service_account(NAMESPACE, NAMESPACE)
    core.delete_namespace(NAMESPACE)
    core.replace_namespace_finalize(NAMESPACE, {"metadata": {"name": NAMESPACE}, "spec": {"finalizers": []}})


def test_the_example_is_taken_and_its_pod_is_a_restricted_one(api: Any) -> None:
    """No field is unknown or wrong, and a pod of the Deployment may run where only restricted pods may."""
    create: Any = utils.create_from_yaml
    for manifest in manifests():
        tried = {} if manifest["kind"] in IN_EARNEST else {"dry_run": "All"}
        create(api, yaml_objects=[manifest], field_validation="Strict", **tried)
    (template,) = [each["spec"]["template"] for each in manifests() if each["kind"] == "Deployment"]
    pod = {"metadata": {"name": "kubescript", **template["metadata"]}, "spec": template["spec"]}
    core: Any = client.CoreV1Api(api)
    taken = core.create_namespaced_pod(NAMESPACE, pod, dry_run="All", field_validation="Strict")
    assert taken.spec.security_context.run_as_user == 65532
    pod["spec"]["containers"][0]["securityContext"].pop("capabilities")
    with pytest.raises(client.ApiException, match="restricted"):
        core.create_namespaced_pod(NAMESPACE, pod, dry_run="All")


def test_the_example_names_one_port_and_one_pod() -> None:
    """The Service and the rules of the network find the pod, and the port that it serves."""
    kinds = {each["kind"]: each for each in manifests()}
    template = kinds["Deployment"]["spec"]["template"]
    (container,) = template["spec"]["containers"]
    assert container["ports"] == [{"name": "http", "containerPort": 8080}]
    assert "port: 8080" in kinds["ConfigMap"]["data"]["server.yaml"]
    assert kinds["Service"]["spec"]["ports"][0]["targetPort"] == "http"
    assert kinds["NetworkPolicy"]["spec"]["ingress"][0]["ports"][0]["port"] == "http"
    labels = template["metadata"]["labels"]
    assert kinds["Service"]["spec"]["selector"] == labels
    assert kinds["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == labels
