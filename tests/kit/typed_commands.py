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
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kubescript_sandbox.confinement import landlock, lockdown
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
    *("awk", "base64", "basename", "cat", "chmod", "cp", "cut", "date", "env", "head", "ln", "ls"),
    *("mkdir", "mktemp", "mv", "rm", "sed", "sha256sum", "sh", "tail", "tr"),
)
"""What a block may do in its own folder without being recorded."""
TOLD: Final = "calls"
STUB: Final = f"""\
#!/bin/sh
# One record: folder, environment, name and arguments, each ended by a zero byte, and an empty line.
printf '%s\\0' "$PWD" "$(env)" "${{0##*/}}" "$@" "\n" >> "$HOME/{TOLD}"
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
    """Types the blocks of a page in an empty home, where `programs` are stubs; returns what they were given.

    Fails when the shell does not take a block, finds no such program, or a block writes elsewhere than into its home.
    """
    tools, stubs = home / "tools", home / "bin"
    for folder in (tools, stubs):
        folder.mkdir()
    for name in TOOLS:
        found = shutil.which(name)
        assert found, name
        (tools / name).symlink_to(found)
    for name in programs:
        stub = stubs / name
        stub.write_text(STUB)
        stub.chmod(0o755)
    for venv in (".venv", ".local/share/kubescript"):  # of a checkout, and of an installation
        (home / venv).parent.mkdir(parents=True, exist_ok=True)
        (home / venv).symlink_to(home)
    blocks = BLOCK.findall(page.read_text("utf-8"))
    typed = ["\n".join(PROMPT.findall(block)) or block for block in blocks]
    command = [sys.executable, "-m", "tests.kit.typed_commands", str(home)]
    done = subprocess.run(command, input="\0".join(typed), cwd=paths.ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), f"{page.relative_to(paths.ROOT.anchor)}\n{done.stderr}"
    return _read(home)


def type_blocks(home: Path, blocks: Iterable[str]) -> int:
    """Runs each block with a shell, in a process that can write to nothing but this home and reach no network.

    Returns 1 at the first that fails or prints an error, and prints the block.
    """
    _confine(home)
    environment = {"HOME": str(home), "PATH": f"{home}/bin:{home}/tools", "LANG": "C.UTF-8"}
    shell = shutil.which("bash")
    assert shell
    for block in blocks:
        done = subprocess.run(
            [shell, "-e", "-c", block], cwd=home, env=environment, stdin=subprocess.DEVNULL, capture_output=True
        )
        if done.returncode or done.stderr:
            print(block, done.stderr.decode("utf-8", "replace"), sep="\n", file=sys.stderr)
            return 1
    return 0


def _confine(home: Path) -> None:
    """Takes from this process, which may be root's, the right to write to the machine: pages also say how to remove."""
    every = (1 << landlock._FS_RIGHTS[min(landlock.abi(), 5)]) - 1
    lockdown._prctl(lockdown._PR_SET_NO_NEW_PRIVS, 1, "PR_SET_NO_NEW_PRIVS")
    landlock.restrict({"/": landlock.READ | landlock.EXECUTE, os.devnull: landlock.WRITE, str(home): every})


def _read(home: Path) -> list[Command]:
    """Returns the records of the stubs."""
    file = home / TOLD
    records = file.read_text("utf-8").split("\0\n\0")[:-1] if file.exists() else []
    return [_command(*record.split("\0")) for record in records]


def _command(folder: str, environment: str, program: str, *arguments: str) -> Command:
    """Returns one record; a line of the environment without `=` is the rest of a value."""
    variables = dict(line.split("=", 1) for line in environment.splitlines() if "=" in line)
    return Command(program, arguments, Path(folder), variables)


if __name__ == "__main__":
    sys.exit(type_blocks(Path(sys.argv[1]), sys.stdin.read().split("\0")))
