"""`make publish`, at a registry on this machine."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import kubescript
from scripts.release import tools
from tests.kit import helm, paths

VERSION = kubescript.__version__


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an empty registry."""
    disk = tmp_path_factory.mktemp("registry")
    command = [str(tools.program("crane")), "registry", "serve", "--address", "127.0.0.1:0", "--disk", str(disk)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as served:
        assert served.stderr is not None
        try:
            line = next(line for line in served.stderr if "port" in line)
            port = re.findall(r"\d+", line)[-1]
            yield f"localhost:{port}"
        finally:
            with contextlib.suppress(ProcessLookupError):
                served.kill()


def verify(key: Path, image: str) -> subprocess.CompletedProcess[str]:
    """Verifies the signature of an image as docs/releasing.md tells."""
    command = [str(tools.program("cosign")), "verify", "--key", str(key), "--insecure-ignore-tlog", image]
    return subprocess.run(command, capture_output=True, text=True)


def test_image_and_chart_are_pushed_and_the_image_is_signed(dist: Path, registry: str, tmp_path: Path) -> None:
    """The image has the digest of the layout and verifies by the key of the release and no other; Helm finds the chart."""
    name = f"{registry}/team/kubescript"
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
        f"oci://{registry}/team/charts/kubescript",
        "--version",
        VERSION,
        "--plain-http",
    )
    assert f"version: {VERSION}" in chart
