"""The Helm chart of a release is that of charts/kubescript, with the image of the release."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
import yaml

from scripts.release import chart, publication
from tests.kit import chart as rendering
from tests.kit import helm
from tests.kit.controlplane.server import ControlPlane


@pytest.fixture(scope="module")
def archive(dist: Path) -> Path:
    """The chart."""
    return chart.file(publication.read(), dist)


def test_the_archive_is_the_chart(archive: Path, tmp_path: Path) -> None:
    """All its files and no other; only the name of the image may differ, and a rendered release has it."""
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path, filter="data")
    made, source = tmp_path / "kubescript", chart.SOURCE
    names = {str(path.relative_to(made)) for path in made.rglob("*") if path.is_file()}
    assert names == {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()}
    assert all((made / name).read_bytes() == (source / name).read_bytes() for name in names - {"values.yaml"})
    values, ours = (yaml.safe_load((folder / "values.yaml").read_text()) for folder in (made, source))
    published = publication.read()
    assert values == ours | {"image": ours["image"] | {"repository": published.image}}
    deployment = rendering.by_kind(rendering.render(tmp_path, chart=archive))["Deployment"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"{published.image}:{published.version}"


def test_the_notes_say_that_the_image_is_an_example(
    archive: Path, tmp_path: Path, scratch: ControlPlane, namespace: str
) -> None:
    """Before a person waits for a pod that never starts; the image of a real registry is not remarked on."""
    words = ("install", "kubescript", str(archive), "--namespace", namespace, "--dry-run=server")
    for registry, is_example in (("registry.example.com", True), ("registry.internal", False)):
        told = helm.run(scratch.kubeconfig, tmp_path, *words, "--set", f"image.repository={registry}/kubescript")
        assert ("is an example" in told) == is_example, told
        assert "once the Secret kubescript exists" in told
