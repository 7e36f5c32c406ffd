"""How a command of ours stands among other processes: its streams, the signals that end it, its exit code.

Exit codes: 0 done; 1 it failed, and stderr says why (of `doctor`: something is missing or wrong); 2 the command line is
wrong; 130 and 143 ended by Ctrl-C and SIGTERM. A server that is told to end has done its work: 0.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from kubescript import app
    from kubescript.executor import spawner

__all__ = ["echo", "exit_on_signals", "open_streams", "run"]

_FAILED: Final = 1
_INTERRUPTED: Final = 130
_TERMINATED: Final = 143
_GRACE_S: Final = 1.0
"""For what scripts that are cut off still have to be put on record."""


def open_streams() -> None:
    """Streams that the caller closed lead to /dev/null: nothing we open must get their numbers."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free: this one
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))


def run(command: click.Group, source: spawner.Spawner) -> int:
    """One command to its end, however it ends; its exit code."""
    terminated = threading.Event()

    def terminate(*_: object) -> None:
        terminated.set()
        signal.raise_signal(signal.SIGINT)

    signal.signal(signal.SIGTERM, terminate)
    try:
        return command.main(prog_name="kubescript", obj=source, standalone_mode=False) or 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _TERMINATED if terminated.is_set() else _INTERRUPTED
    except BrokenPipeError:  # whoever read has seen enough; what is left in the buffer must not fail again
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return _FAILED


def echo(text: str, *, err: bool = False) -> None:
    """Print, or say why that cannot be. A reader that has gone away (head) needs no words."""
    try:
        click.echo(text, err=err)
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise
        raise click.ClickException(f"the output cannot be written: {error.strerror}") from None


def exit_on_signals(opened: app.Application, source: spawner.Spawner) -> None:
    """Ctrl-C and SIGTERM end a stdio server whose client keeps the pipe open: nothing wakes the thread that reads it,
    so the process goes without waiting for that thread. What ends it runs beside the main thread, which may hold
    locks, and on which the scripts that are cut off are put on record."""

    def leave() -> None:
        try:
            source.close()  # their workers die with it
            deadline = time.monotonic() + _GRACE_S
            while opened.evaluator.load.running and time.monotonic() < deadline:
                time.sleep(0.01)
            opened.close()
        finally:
            os._exit(0)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: threading.Thread(target=leave, daemon=True).start())
