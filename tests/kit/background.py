"""Programs of the kit that live as long as the run, and are children that nothing waits for."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.kit import paths

__all__ = ["has_ended", "start"]


def start(module: str, *words: str, log: Path | None = None, inherited: tuple[int, ...] = ()) -> int:
    """Starts a module of this repository in a session of its own; returns the number of its process."""
    for descriptor in inherited:
        os.set_inheritable(descriptor, True)
    actions = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
    if log is not None:
        actions.append((os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    command = [sys.executable, "-m", module, *words]
    environment = {**os.environ, "PYTHONPATH": str(paths.ROOT)}
    duplicate = [(os.POSIX_SPAWN_DUP2, 1, 2)] if log is not None else []
    return os.posix_spawn(command[0], command, environment, file_actions=[*actions, *duplicate], setsid=True)


def has_ended(pid: int) -> bool:
    """Whether it has ended; asked once more after that, it is another process."""
    return os.waitpid(pid, os.WNOHANG)[0] == pid
