"""The process of a command: its streams, the signals that end it, its exit code. `main` runs commands with it.

Exit codes: 0 done; 1 it failed, and stderr says why (of `doctor`: something is missing or wrong); 2 the command line is
wrong; 130 and 143 ended by Ctrl-C and SIGTERM. A server that a signal ends exits with 0.
"""

from __future__ import annotations

import atexit
import errno
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Final, NoReturn

import click

from kubescript.cli import program
from kubescript.output import sanitizing

if TYPE_CHECKING:
    from kubescript import app
    from kubescript_sandbox.host import spawner

__all__ = ["echo", "exit_on_signals", "leave", "open_streams", "run"]

_FAILED: Final = 1
_INTERRUPTED: Final = 130
_TERMINATED: Final = 143
_GRACE_S: Final = 1.0
"""Seconds in which interrupted scripts are still recorded."""


def open_streams() -> None:
    """Opens /dev/null for each stream that the caller closed: no other file may get its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        mode = "r" if name == "stdin" else "w"
        os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
        stream = os.fdopen(number, mode, encoding="utf-8", closefd=False)
        setattr(sys, name, stream)


def run(command: click.Group, source: spawner.Spawner) -> int:
    """Runs one command to its end, however it ends, and returns its exit code."""
    terminated = threading.Event()

    def terminate(*_: object) -> None:
        # SIGTERM ends a command as Ctrl-C does, which raises in the main thread and so cleans up.
        terminated.set()
        # A shell makes a command that it starts in the background ignore SIGINT.
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)

    signal.signal(signal.SIGTERM, terminate)
    try:
        return command.main(prog_name=program.usage_name(), obj=source, standalone_mode=False) or 0
    except click.ClickException as error:
        _explain(error).show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _TERMINATED if terminated.is_set() else _INTERRUPTED
    except BrokenPipeError:
        # The reader has gone; the rest of the buffer must not fail again.
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        return _FAILED


def _explain(error: click.ClickException) -> click.ClickException:
    """Returns the error. An unknown flag of kubernetes-mcp-server becomes one line that explains its equivalent
    here."""
    if not isinstance(error, click.NoSuchOption):
        return error
    from kubescript.cli import foreign

    flag = error.option_name
    meaning = foreign.explain_flag(flag)
    if not meaning:
        return error
    return click.UsageError(f"{flag} is a flag of kubernetes-mcp-server; here: {meaning}")


def echo(text: str, *, err: bool = False) -> None:
    """Prints text without control sequences. Raises ClickException when it cannot be written."""
    try:
        click.echo(sanitizing.clean(text), err=err)
    except OSError as error:
        # A reader that has gone (`head`) needs no message.
        if error.errno == errno.EPIPE:
            raise
        raise click.ClickException(f"the output cannot be written: {error.strerror}") from None


def leave(code: int) -> NoReturn:
    """Ends the process with this exit code, after its exit handlers, and after flushing its streams."""
    # Python would also tear down every module, which takes 0.08 s per command.
    # The handlers must run, because they remove files with credentials.
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (OSError, ValueError):  # a reader that has gone, or a closed stream
        code = code or _FAILED
    os._exit(code)


def exit_on_signals(opened: app.Application, source: spawner.Spawner) -> None:
    """Makes Ctrl-C and SIGTERM end a stdio server whose client keeps the pipe open."""

    def shut_down() -> None:
        try:
            source.close()  # the workers die with the fork server
            deadline = time.monotonic() + _GRACE_S
            while opened.load.running and time.monotonic() < deadline:
                time.sleep(0.01)
            opened.close()
        finally:
            # A server that a signal ends has done its work. It does not wait for the thread that reads the pipe,
            # because nothing wakes that thread.
            os._exit(0)

    def start_leaving(*_: object) -> None:
        # In a thread of its own: the main thread may hold locks, and it records the interrupted scripts.
        thread = threading.Thread(target=shut_down, daemon=True)
        thread.start()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, start_leaving)
