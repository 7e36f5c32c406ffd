"""Completion scripts and the man page of a release."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

import kubescript
from kubescript.cli import main


def commands(group: click.Group, parent: str = "") -> set[str]:
    """Every command, with the groups before it."""
    found = set()
    for name, command in group.commands.items():
        if not command.hidden:
            found.add(f"{parent}{name}")
            if isinstance(command, click.Group):
                found |= commands(command, f"{parent}{name} ")
    return found


def test_the_man_page_has_every_command_and_flag(dist: Path) -> None:
    """`man kubescript` tells all that `--help` of each command tells."""
    page = (dist / "kubescript.1").read_text().replace("\\-", "-")
    assert f'"kubescript {kubescript.__version__}"' in page
    sections = set(re.findall(r"^\.SS ([a-z -]+?)(?: [\[A-Z{].*)?$", page, re.MULTILINE))
    assert sections == commands(main.cli)
    for flag in ("--writes [off|plan|direct]", "--timeout INTEGER", "--write", "--offline"):
        assert flag in page, flag
    assert "\b" not in page


def test_the_completion_script_of_bash_completes_commands(dist: Path) -> None:
    """A shell that reads the script completes the Tab key."""
    script = 'source "$1"; COMP_WORDS=(kubescript doc); COMP_CWORD=1; _kubescript_completion kubescript; echo "${COMPREPLY[@]}"'
    command = ["bash", "-c", script, "bash", str(dist / "completions" / "bash")]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["doctor"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_completion_scripts_of_other_shells_name_the_program(dist: Path, shell: str) -> None:
    """They are read by the shell itself where it is there."""
    script = dist / "completions" / shell
    assert "_KUBESCRIPT_COMPLETE" in script.read_text()
    if shutil.which(shell):
        subprocess.run([shell, "-n", str(script)], check=True)
