"""The commands on the pages: each block of a page is typed into a real shell, whose programs only tell what they are
given.

The shell itself finds the commands, so quotes, variables, functions, loops and pipes mean what they mean to a reader. A
program that is neither a stub nor one of the plain tools is not found, and the block fails.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.kit import paths

__all__ = ["PAGES", "Command", "record"]

PAGES: Final = tuple(
    sorted(
        page
        for pattern in ("*.md", "docs/*.md", "examples/**/*.md", "benchmarks/*.md", "src/*/README.md")
        for page in paths.ROOT.glob(pattern)
    )
)
BLOCK: Final = re.compile(r"^ *```(?:console|sh|bash)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
PROMPT: Final = re.compile(r"^\$ (.*)$", re.MULTILINE)
TOOLS: Final = (
    "base64",
    "basename",
    "cat",
    "chmod",
    "cp",
    "cut",
    "env",
    "head",
    "ln",
    "mkdir",
    "mktemp",
    "mv",
    "sed",
    "sha256sum",
    "sh",
)
"""What a block may do in its own folder without being recorded."""
TOLD: Final = "calls"
STUB: Final = f"""\
#!/bin/sh
# One record: folder, environment, name and arguments, each ended by a zero byte, and an empty line.
printf '%s\\0' "$PWD" "$(env)" "${{0##*/}}" "$@" "\n" >> "$HOME/{TOLD}"
case "$1 $2" in  # a virtual environment has its programs
  "-m venv") mkdir -p "$3/bin" && cp -P "$HOME/bin/"* "$3/bin/" ;;
esac
"""


@dataclass(frozen=True, slots=True)
class Command:
    """One program that a page starts."""

    program: str
    arguments: tuple[str, ...]
    folder: Path
    environment: dict[str, str]

    def __str__(self) -> str:
        """The line, as a table of commands knows it."""
        return shlex.join((self.program, *self.arguments)).replace(self.environment["HOME"], "~")


def record(page: Path, home: Path, programs: Iterable[str]) -> list[Command]:
    """Types the blocks of a page in a home of their own, where `programs` are stubs; returns what they were given.

    Fails when the shell does not take a block or finds no such program.
    """
    folder = home / "bin"
    folder.mkdir(exist_ok=True)
    stubs = frozenset(programs)
    for name in sorted(set(TOOLS) - stubs):
        found = shutil.which(name)
        assert found, name
        (folder / name).symlink_to(found)
    for name in sorted(stubs):
        stub = folder / name
        with stub.open("x") as file:  # never through a link, to the tool of the machine itself
            file.write(STUB)
        stub.chmod(0o755)
    (home / ".venv").symlink_to(home)  # of a checkout
    for block in BLOCK.findall(page.read_text("utf-8")):
        _type("\n".join(PROMPT.findall(block)) or block, home)
    return _read(home)


def _type(block: str, home: Path) -> None:
    """Runs one block with a shell, from the first line to the last."""
    shell = shutil.which("bash")
    assert shell
    environment = {"HOME": str(home), "PATH": str(home / "bin"), "LANG": os.environ.get("LANG", "C.UTF-8")}
    done = subprocess.run(
        [shell, "-e", "-c", block], cwd=home, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, ""), f"{block}\n{done.stderr}"


def _read(home: Path) -> list[Command]:
    """Returns the records of the stubs."""
    file = home / TOLD
    records = file.read_text("utf-8").split("\0\n\0")[:-1] if file.exists() else []
    return [_command(*record.split("\0")) for record in records]


def _command(folder: str, environment: str, program: str, *arguments: str) -> Command:
    """Returns one record; a line of the environment without `=` is the rest of a value."""
    variables = dict(line.split("=", 1) for line in environment.splitlines() if "=" in line)
    return Command(program, arguments, Path(folder), variables)
