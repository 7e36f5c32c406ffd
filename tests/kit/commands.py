"""Commands that run to their end in this process, as `kubescript` runs them: a process of its own costs two seconds of
processor time.

A server over stdio ends with its input, so it is a command too. What is about a process, its streams or a signal starts
`clients.KUBESCRIPT`.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final
from unittest import mock

from click.testing import CliRunner

from kubescript import programs
from kubescript.cli import main, process
from kubescript_sandbox.host import spawner
from kubescript_sandbox.host.spawner import Spawner
from tests.kit import fork_servers

__all__ = ["BARE", "run"]

BARE: Final[Mapping[str, str | None]] = {name: None for name in os.environ if name.startswith("KUBE")}
"""The environment without a cluster or a setting of the person who runs the tests."""


def run(
    *arguments: str, script: str = "", folder: Path | None = None, environment: Mapping[str, str | None] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs one command in `folder`; a variable that is None is removed."""
    with _isolated(folder, arguments), CliRunner().isolation(script, environment) as (out, err, _):
        try:
            code = process.run(main.cli, fork_servers.workers())
        except SystemExit as end:
            code = int(end.code or 0)
        _end_timers()
        sys.stdout.flush()
        sys.stderr.flush()
        streams = [stream.getvalue().decode("utf-8", "replace") for stream in (out, err)]
    return subprocess.CompletedProcess(arguments, code, *streams)


def _end_timers() -> None:
    """Waits for timers, as a process does when it ends: what they log belongs to this command, not to the next. No process
    waits for daemons, such as the timer by which a pool ends maskers after twenty seconds."""
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer) and not thread.daemon:
            thread.join()


@contextlib.contextmanager
def _isolated(folder: Path | None, arguments: Sequence[str]) -> Iterator[None]:
    """Puts back what a command changes in its process and nothing puts back there."""
    root, broker = logging.getLogger(), logging.getLogger("kubescript.broker.broker")
    handlers, level, filters = root.handlers[:], root.level, broker.filters[:]
    signals = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with (
            contextlib.chdir(folder or Path.cwd()),
            mock.patch.object(sys, "argv", ["kubescript", *arguments]),
            mock.patch.object(spawner, "Spawner", _make_spawner),
        ):
            yield
    finally:
        gc.unfreeze()
        for number, handler in signals.items():
            signal.signal(number, handler)
        root.handlers[:], broker.filters[:] = handlers, filters
        root.setLevel(level)


def _make_spawner(command: Sequence[str] = programs.WORKER, *, reads: bool = False) -> Spawner:
    """What stands in for the class while a command runs."""
    return fork_servers.Maskers() if command == programs.MASKER else Spawner(command, reads=reads)
