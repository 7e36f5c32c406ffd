"""Two wheels are built from this repository: the server's holds nothing of the benchmark, and the benchmark's only that."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kit import paths

SERVER: Final = paths.ROOT
BENCHMARK: Final = SERVER / "src" / "kubescript_safety"
PACKAGES: Final = {SERVER: {"kubescript", "kubescript_masking", "kubescript_sandbox"}, BENCHMARK: {"kubescript_safety"}}


def read_project(folder: Path) -> dict[str, Any]:
    """The table `project` of a distribution."""
    project: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    return project


@pytest.mark.parametrize("folder", PACKAGES, ids=lambda folder: folder.name)
def test_a_wheel_holds_every_file_of_its_packages_and_no_other_package(folder: Path, tmp_path: Path) -> None:
    """What git keeps under src is in the wheel of its house, beside the license."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=folder, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    packed = {name for name in names if ".dist-info/" not in name}
    assert {name.partition("/")[0] for name in packed} == PACKAGES[folder]
    kept = subprocess.run(
        ["git", "ls-files", *PACKAGES[folder]], cwd=SERVER / "src", check=True, capture_output=True, text=True
    )
    assert set(kept.stdout.splitlines()) - packed - {"kubescript_safety/pyproject.toml"} == set()
    assert any(Path(name).name == "LICENSE" for name in names)


def test_the_benchmark_needs_the_server_of_its_own_version() -> None:
    """It reads modules of kubescript that promise nothing to other versions."""
    server, benchmark = read_project(SERVER), read_project(BENCHMARK)
    assert benchmark["version"] == server["version"]
    assert f"kubescript=={server['version']}" in benchmark["dependencies"]


def test_each_program_comes_with_its_own_wheel() -> None:
    """The server's wheel does not bring the benchmark's command."""
    assert {name for folder in PACKAGES for name in read_project(folder)["scripts"]} == {
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
    for line in read_project(BENCHMARK)["dependencies"]:
        name = line.split(">=")[0]
        assert name not in known or known[name] == line
