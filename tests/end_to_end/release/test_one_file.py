"""The file with all dependencies, for each processor, as a person downloads it."""

from __future__ import annotations

import json
import os
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

import kubescript
from scripts.release import pex, publication
from tests.kit import clients

PYTHONS = ("311", "312", "313", "314")


@pytest.mark.parametrize("processor", pex.PROCESSORS)
def test_the_file_has_a_wheel_for_each_python(dist: Path, processor: str) -> None:
    """What is compiled is there four times, for this processor alone; what runs it is what the wheel's metadata say."""
    with zipfile.ZipFile(pex.file(publication.read(), dist, processor)) as opened:
        about: dict[str, Any] = json.loads(opened.read("PEX-INFO"))
    names = list(about["distributions"])
    for compiled in ("hyperscan", "google_re2", "isal", "orjson", "pydantic_core"):
        tags = {name.split("-cp")[1][:3] for name in names if name.startswith(f"{compiled}-")}
        assert tags == set(PYTHONS), compiled
    others = set(pex.PROCESSORS) - {processor}
    assert not [name for name in names if any(other in name for other in others)]
    assert about["venv"] and about["entry_point"] == "kubescript.cli.main:main"
    assert about["requirements"] == [f"kubescript[gke,otel]=={kubescript.__version__}"]


def test_the_file_runs_scripts_and_tells_clients_where_it_is(dist: Path, run_folder: Path, tmp_path: Path) -> None:
    """By its shebang, under another name, through a link; what it unpacks is a cache, which no configuration names."""
    program = tmp_path / "opt" / "kubescript"
    program.parent.mkdir()
    program.hardlink_to(pex.file(publication.read(), dist, os.uname().machine))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "kubescript").symlink_to(program)
    unpacked = {"PEX_ROOT": str(run_folder / "pex"), "XDG_CACHE_HOME": clients.CACHE}
    environment = {"HOME": str(tmp_path), "PATH": f"{tmp_path}/bin:{os.environ['PATH']}", **unpacked}

    def run(*arguments: str) -> str:
        command = ["kubescript", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    assert run("--version") == f"kubescript, version {kubescript.__version__}\n"
    assert "node-c2  ready=Unknown" in run("demo")
    written = json.loads(run("client", "cursor", "--snapshot", "x"))
    assert written["mcpServers"]["kubescript"]["command"] == f"{tmp_path}/bin/kubescript"
