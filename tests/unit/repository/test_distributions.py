"""Two wheels are built from this repository: the server's holds nothing of the benchmark, and the benchmark's only that."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any, Final

import pytest

import kubescript
from tests.kit import paths

SERVER: Final = paths.ROOT
BENCHMARK: Final = SERVER / "src" / "kubescript_safety"
PACKAGES: Final = {SERVER: {"kubescript", "kubescript_masking", "kubescript_sandbox"}, BENCHMARK: {"kubescript_safety"}}


NOT_IN_A_WHEEL: Final = {f"kubescript_safety/{name}" for name in ("pyproject.toml", "hatch_build.py", "LICENSE")}
"""Of the second distribution's folder: how it is built, and the license, which a wheel has beside its metadata."""


def read_project(folder: Path) -> dict[str, Any]:
    """The table `project` of a distribution."""
    project: dict[str, Any] = read_file(folder)["project"]
    return project


def read_file(folder: Path) -> dict[str, Any]:
    """The project's file of a distribution."""
    return tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))


def build(folder: Path, target: Path) -> zipfile.ZipFile:
    """Builds the wheel of a distribution."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    (wheel,) = target.glob("*.whl")
    return zipfile.ZipFile(wheel)


@pytest.mark.parametrize("folder", PACKAGES, ids=lambda folder: folder.name)
def test_a_wheel_holds_every_file_of_its_packages_and_no_other_package(folder: Path, tmp_path: Path) -> None:
    """What git keeps under src is in the wheel of its house, beside the license."""
    names = build(folder, tmp_path).namelist()
    packed = {name for name in names if ".dist-info/" not in name}
    assert {name.partition("/")[0] for name in packed} == PACKAGES[folder]
    kept = subprocess.run(
        ["git", "ls-files", *PACKAGES[folder]], cwd=SERVER / "src", check=True, capture_output=True, text=True
    )
    assert set(kept.stdout.splitlines()) - packed - NOT_IN_A_WHEEL == set()
    assert any(Path(name).name == "LICENSE" for name in names)


def test_the_benchmark_needs_the_server_of_its_own_version(tmp_path: Path) -> None:
    """It reads modules of kubescript that promise nothing to other versions. One file holds the version of both."""
    wheel = build(BENCHMARK, tmp_path)
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    lines = wheel.read(name).decode().splitlines()
    assert f"Version: {kubescript.__version__}" in lines
    assert f"Requires-Dist: kubescript=={kubescript.__version__}" in lines
    assert f"kubescript_safety-{kubescript.__version__}.dist-info/METADATA" == name


def test_both_have_one_license() -> None:
    """The second distribution's sdist holds a copy, as it holds no file from outside its folder."""
    assert (BENCHMARK / "LICENSE").read_bytes() == (SERVER / "LICENSE").read_bytes()


def test_each_program_comes_with_its_own_wheel() -> None:
    """The server's wheel does not bring the benchmark's command."""
    assert {name for folder in PACKAGES for name in read_project(folder)["scripts"]} == {
        "kubectl-kubescript",
        "kubescript",
        "kubescript-safety",
    }
    assert "kubescript-safety" in read_project(BENCHMARK)["scripts"]
    assert "safety" not in read_project(SERVER)["optional-dependencies"]


def test_a_dependency_of_both_has_the_same_bounds() -> None:
    """One environment holds both."""
    server = read_project(SERVER)
    optional = {line for lines in server["optional-dependencies"].values() for line in lines}
    known = {line.split(">=")[0].split("[")[0]: line for line in [*server["dependencies"], *optional]}
    for line in read_file(BENCHMARK)["tool"]["hatch"]["metadata"]["hooks"]["custom"]["dependencies"]:
        name = line.split(">=")[0]
        assert name not in known or known[name] == line
