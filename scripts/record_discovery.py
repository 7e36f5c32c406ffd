"""Writes tests/kit/discovery/recorded.json: what kube-apiserver of each supported Kubernetes version serves, from the
discovery documents in the Go module of its release. Run at development time, when a version comes or goes.

    python -m scripts.record_discovery [--check]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from kubescript_safety.controlplane import build, gotool
from tests.kit.discovery import recording

VERSIONS: Final = ("v1.29.6", "v1.30.14", "v1.31.14", "v1.32.13", "v1.33.13", "v1.34.4", "v1.35.4", "v1.36.3")
"""The newest release of each minor version that the proxy of Go modules has."""


def main() -> None:
    """Writes the recording, or checks that it is current."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if the recording is out of date")
    arguments = parser.parse_args()
    text = recording.encode(_record())
    if arguments.check:
        sys.exit(text != recording.FILE.read_text())
    recording.FILE.write_text(text)


def _record() -> recording.Recording:
    groups: dict[str, list[str]] = {}
    resources: dict[str, dict[str, list[str]]] = {}
    for version in VERSIONS:
        documents = _fetch(version)
        groups[version] = ["v1", *_group_versions(documents)]
        for group_version in groups[version]:
            for entry in _read(documents, group_version):
                name = f"{group_version} {entry['name']}"
                row = json.dumps(recording.shorten(entry), separators=(",", ":"))
                resources.setdefault(name, {}).setdefault(row, []).append(version)
    return recording.Recording(groups, resources)


def _fetch(version: str) -> Path:
    """Returns the folder of discovery documents of a release; downloads its module."""
    go = gotool.find(build.go_version(), build.cache())
    command = [str(go), "mod", "download", "-json", f"k8s.io/kubernetes@{version}"]
    environment = {**os.environ, "GOWORK": "off"}
    done = subprocess.run(command, cwd=build.cache(), env=environment, check=True, capture_output=True)
    folder: str = json.loads(done.stdout)["Dir"]
    return Path(folder) / "api" / "discovery"


def _group_versions(documents: Path) -> list[str]:
    """Returns the versions of all groups in the server's order; each group's preferred version comes first."""
    listed: dict[str, Any] = json.loads((documents / "apis.json").read_text())
    found = []
    for group in listed["groups"]:
        preferred = group["preferredVersion"]["groupVersion"]
        others = [each["groupVersion"] for each in group["versions"] if each["groupVersion"] != preferred]
        found += [preferred, *others]
    return found


def _read(documents: Path, group_version: str) -> list[dict[str, Any]]:
    path = f"apis/{group_version}" if "/" in group_version else f"api/{group_version}"
    name = path.replace("/", "__")
    listed: dict[str, Any] = json.loads((documents / f"{name}.json").read_text())
    entries: list[dict[str, Any]] = listed["resources"]
    return entries


if __name__ == "__main__":
    main()
