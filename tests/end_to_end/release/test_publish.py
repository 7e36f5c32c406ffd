"""`make publish`, at a registry on this machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import kubescript
from scripts.release import tools
from tests.kit import helm, paths

VERSION = kubescript.__version__


def verify(key: Path, image: str) -> subprocess.CompletedProcess[str]:
    """Verifies the signature of an image as docs/releasing.md tells."""
    command = [str(tools.program("cosign")), "verify", "--key", str(key), "--insecure-ignore-tlog", image]
    return subprocess.run(command, capture_output=True, text=True)


def publish(dist: Path, image: str) -> subprocess.CompletedProcess[str]:
    """Publishes a release, without a key."""
    command = [sys.executable, "-m", "scripts.release.publish", str(dist)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COSIGN")}
    environment["KUBESCRIPT_IMAGE"] = image
    return subprocess.run(command, cwd=paths.ROOT, env=environment, capture_output=True, text=True)


def write(file: Path, text: str) -> None:
    """Replaces a file of `linked`; the release that it shares its bytes with stays as it is."""
    file.unlink()
    file.write_text(text)


def change_the_image(dist: Path) -> None:
    """The index of the layout after the checksums were signed."""
    index = dist / "image" / "index.json"
    write(index, index.read_text() + " ")


def sign_the_sums_alone(dist: Path) -> None:
    """The checksums anew, by a key that did not sign the image."""
    for name in ("SHA256SUMS.sigstore.json", "cosign.pub"):
        (dist / name).unlink()
    key = dist.parent / "other"
    make = [str(tools.program("cosign")), "generate-key-pair", "--output-key-prefix", str(key)]
    environment = {**os.environ, "COSIGN_PASSWORD": ""}
    subprocess.run(make, env=environment, check=True, capture_output=True)
    sign = [sys.executable, "-m", "scripts.release", str(dist), "signature"]
    environment |= {"COSIGN_KEY": str(key.with_suffix(".key")), "KUBESCRIPT_DIRTY": "1"}
    subprocess.run(sign, cwd=paths.ROOT, env=environment, check=True, capture_output=True)


def remove_the_chart(dist: Path) -> None:
    """As if the version had been raised since."""
    (dist / f"kubescript-{VERSION}.tgz").unlink()


@pytest.fixture
def linked(dist: Path, tmp_path: Path) -> Path:
    """The release, in a folder that a test changes."""
    return shutil.copytree(dist, tmp_path / "dist", copy_function=os.link)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (change_the_image, "does not have the files that its SHA256SUMS names"),
        (sign_the_sums_alone, "are not both signed by the signer"),
        (remove_the_chart, "the sources are of"),
    ],
)
def test_what_was_not_signed_is_not_published(
    linked: Path, empty_registry: str, change: Callable[[Path], None], reason: str
) -> None:
    """The refusal comes before the first push."""
    change(linked)
    done = publish(linked, f"{empty_registry}/other/kubescript")
    assert done.returncode == 1
    assert reason in done.stderr
    catalog = [str(tools.program("crane")), "catalog", empty_registry]
    assert "other/" not in subprocess.run(catalog, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    ("image", "reason"),
    [
        ("registry.invalid/team/kubescript", "the key COSIGN_KEY did not sign"),
        ("registry.example.com/kubescript", "is an example"),
    ],
)
def test_a_throw_away_key_and_an_example_reach_no_other_machine(dist: Path, image: str, reason: str) -> None:
    """Without KUBESCRIPT_IMAGE, no password is offered to the example's host."""
    done = publish(dist, image)
    assert done.returncode == 1
    assert reason in done.stderr


def test_a_published_version_is_not_replaced(dist: Path, empty_registry: str) -> None:
    """The other image keeps its tag; the same release is published elsewhere."""
    tag = f"{empty_registry}/taken/kubescript:{VERSION}"
    append = [
        str(tools.program("crane")),
        "append",
        "--new_layer",
        str(dist / f"kubescript-{VERSION}.tgz"),
        "--new_tag",
        tag,
    ]
    subprocess.run(append, check=True, capture_output=True)
    done = publish(dist, tag.removesuffix(f":{VERSION}"))
    assert done.returncode == 1
    assert "is never replaced" in done.stderr


def test_image_and_chart_are_pushed_and_the_image_is_signed(dist: Path, empty_registry: str, tmp_path: Path) -> None:
    """The image has the digest of the layout and verifies by the key of the release and no other; Helm finds the chart."""
    name = f"{empty_registry}/team/kubescript"
    done = publish(dist, name)
    assert done.returncode == 0, done.stderr
    image = done.stdout.strip()
    (described,) = json.loads((dist / "image" / "index.json").read_text())["manifests"]
    assert image == f"{name}@{described['digest']}"
    digest = [str(tools.program("crane")), "digest", f"{name}:{VERSION}"]
    assert subprocess.run(digest, check=True, capture_output=True, text=True).stdout.strip() == described["digest"]
    assert verify(dist / "cosign.pub", image).returncode == 0
    other = tmp_path / "cosign"
    make = [str(tools.program("cosign")), "generate-key-pair", "--output-key-prefix", str(other)]
    subprocess.run(make, env={**os.environ, "COSIGN_PASSWORD": ""}, check=True, capture_output=True)
    assert verify(other.with_suffix(".pub"), image).returncode != 0
    chart = helm.run(
        tmp_path / "none",
        tmp_path,
        "show",
        "chart",
        f"oci://{empty_registry}/team/charts/kubescript",
        "--version",
        VERSION,
        "--plain-http",
    )
    assert f"version: {VERSION}" in chart
