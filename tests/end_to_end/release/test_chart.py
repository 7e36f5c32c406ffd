"""The Helm chart: what the real Helm makes of it is what examples/kubernetes has, and what a real API server takes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubescript import config
from scripts.release import chart, publication
from tests.kit import helm, kubectl, paths
from tests.kit.controlplane.server import ControlPlane

Objects = dict[str, dict[str, Any]]
_EXAMPLE = paths.ROOT / "examples" / "kubernetes" / "kubescript.yaml"
_DIGEST = f"sha256:{'a' * 64}"
_OTHER = (
    "secret=,rbac.clusterRole=,serviceAccount.create=false,serviceAccount.name=default,"
    f"image.digest={_DIGEST},image.pullSecrets[0]=registry"
)


@pytest.fixture(scope="module")
def archive(dist: Path) -> Path:
    """The chart."""
    return chart.file(publication.read(), dist)


def rendered(archive: Path, home: Path, namespace: str, *flags: str, release: str = "kubescript") -> str:
    """The manifests of a release."""
    words = ("template", release, str(archive), "--namespace", namespace, "--kube-version", "1.30.0", *flags)
    return helm.run(home / "none", home, *words)


def by_kind(text: str) -> Objects:
    """Kind -> its object."""
    return {each["kind"]: each for each in yaml.safe_load_all(text) if each}


def bare(each: dict[str, Any]) -> dict[str, Any]:
    """An object without what only Helm adds, and without the image and its settings, which the tests look at alone."""
    found: dict[str, Any] = json.loads(json.dumps(each))
    found["metadata"].pop("labels", None)
    found.pop("data", None)
    for labels in _labels(found):
        for name in ("instance", "version", "managed-by"):
            labels.pop(f"app.kubernetes.io/{name}", None)
    if found["kind"] == "Deployment":
        template = found["spec"]["template"]
        template["metadata"].pop("annotations", None)
        for key in ("image", "imagePullPolicy"):
            template["spec"]["containers"][0].pop(key, None)
    return found


def _labels(each: dict[str, Any]) -> list[dict[str, str]]:
    spec = each.get("spec", {})
    selectors = [spec.get("podSelector", {}), spec.get("selector", {})]
    found = [one.get("matchLabels", one) for one in selectors]
    return [*found, spec.get("template", {}).get("metadata", {}).get("labels", {})]


def settings(objects: Objects, folder: Path) -> config.Settings:
    """The settings of the ConfigMap, as a server reads them."""
    file = folder / "kubescript.toml"
    file.write_text(objects["ConfigMap"]["data"]["server.toml"])
    return config.load({}, file)


def test_the_chart_makes_the_example(archive: Path, tmp_path: Path) -> None:
    """Both ways into a cluster are one: the same objects, the same settings, and an image of the same version."""
    ours, example = by_kind(rendered(archive, tmp_path, "kubescript")), by_kind(_EXAMPLE.read_text())
    example.pop("Namespace")
    assert {kind: bare(each) for kind, each in ours.items()} == {kind: bare(each) for kind, each in example.items()}
    assert settings(ours, tmp_path).model_dump() == settings(example, tmp_path).model_dump()
    published = publication.read()
    (container,) = ours["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"{published.image}:{published.version}"


def check_accepted(scratch: ControlPlane, text: str) -> None:
    """Fails if the API server refuses an object, or does not know a field."""
    command = [str(kubectl.program()), "--kubeconfig", str(scratch.kubeconfig), "create", "--validate=strict"]
    command += ["--dry-run=server", "--output=name", "--filename=-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("release", ["kubescript", "my.app", "a" * 53])
def test_an_api_server_takes_what_it_makes(
    archive: Path, tmp_path: Path, scratch: ControlPlane, namespace: str, release: str
) -> None:
    """No field is unknown or wrong, also for names of releases that Helm takes and a Service does not."""
    text = rendered(archive, tmp_path, namespace, release=release)
    check_accepted(scratch, text)


def test_names_that_look_like_numbers_stay_names(
    archive: Path, tmp_path: Path, scratch: ControlPlane, namespace: str
) -> None:
    """Those of the role, the account and the secret."""
    values = "rbac.clusterRole=123,serviceAccount.name=456,secret=789"
    text = rendered(archive, tmp_path, namespace, "--set-string", values)
    check_accepted(scratch, text)
    assert by_kind(text)["ClusterRoleBinding"]["roleRef"]["name"] == "123"


def test_a_person_may_choose(archive: Path, tmp_path: Path, scratch: ControlPlane, namespace: str) -> None:
    """Another account, no role, no tokens, and an image by digest."""
    text = rendered(archive, tmp_path, namespace, "--set", _OTHER)
    check_accepted(scratch, text)
    objects = by_kind(text)
    assert {"ServiceAccount", "ClusterRoleBinding"}.isdisjoint(objects)
    spec = objects["Deployment"]["spec"]["template"]["spec"]
    assert spec["containers"][0]["image"] == f"{publication.read().image}@{_DIGEST}"
    assert {volume["name"] for volume in spec["volumes"]} == {"config", "tmp"}
    assert settings(objects, tmp_path).auth.tokens_file is None


_REFUSED = {
    "resource.limits.memory=1Gi": "additional properties 'resource' not allowed",
    "networkPolicy=null": "missing property 'networkPolicy'",
    "networkPolicy.clients=null": "missing property 'clients'",
    "networkPolicy.clients.kubescript-clients=null": "minProperties: got 0, want 1",
}


@pytest.mark.parametrize("value", _REFUSED)
def test_a_value_that_would_do_harm_is_refused(value: str, archive: Path, tmp_path: Path) -> None:
    """A typo, or a list of clients without one, which would let each namespace in; the next command works."""
    words = ("template", "kubescript", str(archive), "--kube-version", "1.30.0")
    refused = helm.run(tmp_path / "none", tmp_path, *words, "--set", value, fails=True)
    assert _REFUSED[value] in refused
    assert "kind: Deployment" in helm.run(tmp_path / "none", tmp_path, *words)


def test_the_notes_say_that_the_image_is_an_example(
    archive: Path, tmp_path: Path, scratch: ControlPlane, namespace: str
) -> None:
    """Before a person waits for a pod that never starts; the image of a real registry is not remarked on."""
    words = ("install", "kubescript", str(archive), "--namespace", namespace, "--dry-run=server")
    for registry, is_example in (("registry.example.com", True), ("registry.internal", False)):
        told = helm.run(scratch.kubeconfig, tmp_path, *words, "--set", f"image.repository={registry}/kubescript")
        assert ("is an example" in told) == is_example, told
