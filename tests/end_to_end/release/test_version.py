"""One file of the repository holds the version, and all that a release holds tells it."""

from __future__ import annotations

import json
import subprocess
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import yaml

import kubescript

VERSION = kubescript.__version__


def read_member(archive: Path, name: str) -> bytes:
    """A file of a zip or tar archive."""
    if zipfile.is_zipfile(archive):
        return zipfile.ZipFile(archive).read(name)
    with tarfile.open(archive) as opened:
        member = opened.extractfile(name)
        assert member is not None
        return member.read()


def read_json(content: bytes) -> Any:
    """What JSON says."""
    return json.loads(content)


def test_every_artefact_has_the_version(dist: Path) -> None:
    """Each says it in its own place, and the program prints it."""
    metadata = [
        read_member(dist / f"{name}-{VERSION}-py3-none-any.whl", f"{name}-{VERSION}.dist-info/METADATA").decode()
        for name in ("kubescript", "kubescript_safety")
    ]
    assert all(f"\nVersion: {VERSION}\n" in text for text in metadata)
    chart = yaml.safe_load(read_member(dist / f"kubescript-{VERSION}.tgz", "kubescript/Chart.yaml"))
    assert {chart["version"], str(chart["appVersion"])} == {VERSION}
    for manifest in (
        (dist / "server.json").read_bytes(),
        read_member(dist / f"kubescript-{VERSION}.mcpb", "manifest.json"),
        (dist / "manifests" / "gemini-extension.json").read_bytes(),
    ):
        assert read_json(manifest)["version"] == VERSION
    (described,) = read_json((dist / "image" / "index.json").read_bytes())["manifests"]
    index = read_json((dist / "image" / "blobs" / described["digest"].replace(":", "/")).read_bytes())
    assert index["annotations"]["org.opencontainers.image.version"] == VERSION
    assert yaml.safe_load((dist / "kubescript.yaml").read_text())["spec"]["version"] == f"v{VERSION}"
    assert VERSION in (dist / "kubescript.rb").read_text()
    program = dist / f"kubescript-{VERSION}-linux-x86_64.pex"
    printed = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert printed.stdout == f"kubescript, version {VERSION}\n"
