"""Messages beside the answer for a person at a terminal: what is served, and what is in progress.

All of it goes to stderr, and only if stderr is a terminal.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Final, Self

import click

import kubescript
from kubescript.output import sanitizing

if TYPE_CHECKING:
    from kubescript import config, contexts, transports
    from kubescript.broker import records
    from kubescript.request import request

__all__ = ["Status", "Watched", "announcer", "starting", "wants_text"]

_PATIENCE_S: Final = 0.7
"""Seconds after which a person wants to see progress."""
_TICK_S: Final = 0.5
_CLEAR: Final = "\r\x1b[K"
"""Returns to the start of the line, and clears it."""


def wants_text(settings: config.Settings) -> bool:
    """Says whether log lines are for people."""
    if settings.log_format == "auto":
        return settings.log_file is None and _is_watched()
    return settings.log_format == "text"


def announcer(settings: config.Settings, clusters: contexts.Contexts) -> transports.Announce | None:
    """Returns a function that shows a person that the server is running, and how to connect; None if there is no
    person."""
    is_stdio = settings.transport == "stdio"
    if not _is_watched() or (is_stdio and not sys.stdin.isatty()):
        return None
    names = ", ".join(filter(None, clusters.list_names())) or "a cluster that is not known yet"
    access = "writable" if settings.writable else "read-only"
    toolsets = ", ".join(settings.toolsets) or "none"
    what = f"kubescript {kubescript.__version__} serves {names} ({access}; toolsets: {toolsets})"

    def announce(url: str) -> None:
        where = "over standard input and output"
        how = "an MCP client starts the server itself"
        if not is_stdio:
            from kubescript.cli import clients  # servers started by a client do not load it

            where = f"at {url}"
            served = clients.Server(url=url, wants_token=clients.wants_token(settings))
            how = clients.claude_line("kubescript", served)
        line = f"{what} {where}. To connect: {how}; see `kubescript client --help`. Ctrl-C ends it."
        click.echo(_one_line(line), err=True)

    return announce


def starting() -> str:
    """Returns a description of what takes time when a process runs its first script."""
    from kubescript.redaction import redactor

    if redactor.is_first_use():
        return "first start on this machine: compiling the masking rules takes some seconds"
    return "running"


class Status:
    """A line that shows what is in progress and for how long; it disappears at the end."""

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._since = time.monotonic()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def say(self, doing: str) -> None:
        """Changes what the line says."""
        self._doing = doing

    async def on_progress(self, done: float, total: float | None, text: str) -> None:
        """Shows a script's progress, in the script's own words."""
        share = f"{done:g}"
        if total is not None:
            share += f"/{total:g}"
        self.say(f"running {share}: {text}")

    def __enter__(self) -> Self:
        if _is_watched():
            self._thread = threading.Thread(target=self._show, name="kubescript-status", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _show(self) -> None:
        """Writes the line repeatedly, and clears it at the end."""
        if self._ended.wait(_PATIENCE_S):
            return
        while True:
            seconds = time.monotonic() - self._since
            line = _one_line(f"{self._doing} ({seconds:.0f} s)")
            # A line that reaches the last column would wrap, and only its second half would be cleared.
            _write(_CLEAR + line[: _width() - 1])
            if self._ended.wait(_TICK_S):
                _write(_CLEAR)
                return


class Watched:
    """A journal that shows its records as progress."""

    def __init__(self, journal: records.Journal, status: Status) -> None:
        self.agent = journal.agent
        self._journal = journal
        self._status = status
        self._calls = 0

    def before(self, call: request.Request, context: str) -> None:
        """Passes the call on."""
        self._journal.before(call, context)

    def record(self, record: records.Record) -> None:
        """Passes the record on, and shows it."""
        self._calls += 1
        self._status.say(f"saving the cluster: {self._calls} calls, last {record.what}")
        self._journal.record(record)


def _one_line(text: str) -> str:
    # Attack: a script's words, or a cluster's name, contain control sequences for the terminal.
    return sanitizing.printable(sanitizing.clean(text))


def _is_watched() -> bool:
    """Says whether a person reads stderr, on a terminal that can clear a line."""
    if os.environ.get("TERM") == "dumb":
        return False
    return sys.stderr.isatty()


def _width() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except OSError:
        return 80


def _write(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:  # the terminal is gone
        return
