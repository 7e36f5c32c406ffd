"""The workflow files of a public code host."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Final

import pytest
import yaml

from scripts.release import tools
from tests.kit import paths

FOLDER: Final = paths.ROOT / ".github" / "workflows"
FILES: Final = sorted(FOLDER.glob("*.yml"))
TARGETS: Final = set(re.findall(r"^([a-z]+):", (paths.ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


def test_actionlint_finds_no_mistake(tmp_path: Path) -> None:
    """It finds those that are made here: a job that waits for one that is not there."""
    lint = str(tools.program("actionlint"))
    subprocess.run([lint, *map(str, FILES)], check=True)
    wrong = tmp_path / "wrong.yml"
    wrong.write_text((FOLDER / "release.yml").read_text("utf-8").replace("needs: build", "needs: biuld", 1))
    assert subprocess.run([lint, str(wrong)], capture_output=True).returncode != 0


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_workflow_pins_what_it_uses_and_asks_for_no_rights_at_its_top(file: Path) -> None:
    """Actions are pinned by commit; all targets of make are there; a job that may write says so itself."""
    text = file.read_text("utf-8")
    assert re.findall(r"uses: \S+", text) == re.findall(r"uses: [\w./-]+@[0-9a-f]{40}(?=  # v\d)", text)
    assert set(re.findall(r"make ([a-z]+)", text)) <= TARGETS
    assert yaml.safe_load(text)["permissions"] in ({}, {"contents": "read"})
