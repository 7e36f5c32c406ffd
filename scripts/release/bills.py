"""Bills of what a release is made of, as CycloneDX: one of each distribution, with its extras for users."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from importlib import metadata
from pathlib import Path

from scripts.release import dependencies, publication

__all__ = ["make"]


def make(published: publication.Publication, dist: Path) -> None:
    """Writes NAME.cdx.json for each wheel of `dist`; the same bytes each time."""
    wheels = dependencies.read(dist)
    for name in wheels:
        with tempfile.TemporaryDirectory() as folder:
            python = _environment(Path(folder), dependencies.closure(name, wheels))
            project = _project(Path(folder) / "pyproject.toml", wheels[name])
            bill = _bill(python, project)
        bill["metadata"]["component"]["purl"] = f"pkg:pypi/{name}@{wheels[name].version}"
        text = json.dumps(bill, indent=2, sort_keys=True)
        (dist / f"{name}.cdx.json").write_text(f"{text}\n", encoding="utf-8")


def _environment(folder: Path, contents: dependencies.Wheels) -> Path:
    """An environment with the metadata of these distributions, which is all that a bill is made from."""
    venv.create(folder, symlinks=True, with_pip=False)
    (packages,) = folder.glob("lib/python3*/site-packages")
    for name, distribution in contents.items():
        target = packages / f"{name.replace('-', '_')}-{distribution.version}.dist-info"
        target.mkdir()
        (target / "METADATA").write_text(distribution.read_text("METADATA") or "", encoding="utf-8")
    return folder / "bin" / "python"


def _project(file: Path, wheel: metadata.Distribution) -> Path:
    """The wheel as the project that the bill is about."""
    lines = [
        "[project]",
        f'name = "{wheel.metadata["Name"]}"',
        f'version = "{wheel.version}"',
        f"description = {json.dumps(wheel.metadata['Summary'])}",
        f'license = "{wheel.metadata["License-Expression"]}"',
        f"dependencies = {json.dumps(wheel.requires)}",
    ]
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def _bill(python: Path, project: Path) -> dict[str, dict[str, dict[str, str]]]:
    """What the CycloneDX tool makes of an environment, and finds valid."""
    command = [sys.executable, "-m", "cyclonedx_py", "environment", "--validate", "--output-reproducible"]
    options = ["--mc-type", "application", "--pyproject", str(project), str(python)]
    done = subprocess.run([*command, *options], check=True, stdout=subprocess.PIPE)
    bill: dict[str, dict[str, dict[str, str]]] = json.loads(done.stdout)
    return bill
