"""`make publish`, at a registry on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import kubescript
from scripts.release import tools
from tests.kit import helm, paths

VERSION = kubescript.__version__


def verify(key: Path, image: str) -> subprocess.CompletedProcess[str]:
    """Verifies the signature of an image as docs/releasing.md tells."""
    command = [str(tools.program("cosign")), "verify", "--key", str(key), "--insecure-ignore-tlog", image]
    return subprocess.run(command, capture_output=True, text=True)


def test_image_and_chart_are_pushed_and_the_image_is_signed(dist: Path, empty_registry: str, tmp_path: Path) -> None:
    """The image has the digest of the layout and verifies by the key of the release and no other; Helm finds the chart."""
    name = f"{empty_registry}/team/kubescript"
    publish = [sys.executable, "-m", "scripts.release.publish", str(dist)]
    done = subprocess.run(
        publish, cwd=paths.ROOT, env={**os.environ, "KUBESCRIPT_IMAGE": name}, capture_output=True, text=True
    )
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
