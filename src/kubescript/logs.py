"""Log lines on stderr or in a file: a JSON object each, or a line of text for people. stdout belongs to the MCP wire.

Only the fields listed in EXTRA are logged beside the message, so that no code can log a whole object by accident.
"""

from __future__ import annotations

import contextlib
import contextvars
import datetime
import logging
import os
import queue
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TextIO

import orjson

from kubescript import errors, types
from kubescript.output import sanitizing

__all__ = ["EXTRA", "about", "configure", "drain", "mask_with", "set_level"]

EXTRA: Final = (
    "event", "code", "remedy", "client", "context", "verb", "group", "version", "resource", "subresource", "namespace",
    "what", "verdict", "rule", "status", "fault", "ms", "wall_ms", "cpu_ms", "peak_mib", "api_calls", "bytes_fetched",
    "bytes", "layer", "user", "issuer", "session_id", "trace",
)  # fmt: skip

_about: contextvars.ContextVar[Mapping[str, str]] = contextvars.ContextVar("about", default={})  # noqa: B039 - it is never changed
"""Fields of every line that is logged during a call."""

_MAX_WAITING: Final = 1_000
"""How many lines may wait to be masked; lines beyond that are lost, and counted."""
_DRAIN_S: Final = 2.0
"""Seconds that a stopping server waits for its last lines."""


_EMPTY_LINE: Final = "\r\x1b[K"
"""The control sequence with which a terminal clears the line and returns to its start."""
_UNWRITTEN: Final = (
    '{"level":"error","logger":"kubescript.logs","message":"log lines are lost: the log cannot be written"}\n'
)
_OWN_ID: Final = re.compile("[0-9a-f]{16}")
"""The form of the server's own session ids. No client can join a session by such an id."""
_SAID: Final = frozenset({"event", "remedy"})
"""Fields that are shown elsewhere in the line, or are of no use to people."""


class _JsonLines(logging.Formatter):
    """A formatter that writes a record as one JSON object."""

    mask: Callable[[str], str] | None = None
    """The masking function, set as soon as lines may contain text from the cluster."""
    _unmasked = '{"level":"error","logger":"kubescript.logs","message":"a log line could not be masked"}'
    """The line that replaces one that cannot be masked."""

    def format(self, record: logging.LogRecord) -> str:
        # A terminal or a log collector reads the line, which quotes strangers. Each text is cleaned separately. Attack:
        # a stranger puts U+2028 in a name; cleaning the whole line then split it in two.
        line = self._line(record)
        # A masker takes the value of a field `session_id` for a secret.
        session = line.get("session_id")
        is_own = isinstance(session, str) and _OWN_ID.fullmatch(session) is not None
        if is_own:
            del line["session_id"]
        masked = self._mask(line, record)
        return self._add_session(masked, session) if is_own else masked

    def _mask(self, line: dict[str, object], record: logging.LogRecord) -> str:
        """Returns the fields as one masked line."""
        for key, value in line.items():
            if isinstance(value, str):
                line[key] = sanitizing.clean(value)
        text = self._write(line, record)
        if self.mask is None:
            return text
        try:
            # Attack: a compromised masker answers with several lines.
            return sanitizing.printable(self.mask(text))
        except Exception:  # fail closed: a line that cannot be masked is not logged
            return self._unmasked

    def formatException(self, ei: Any) -> str:
        """Returns the stack trace, or for a malformed message just the error's type."""
        # The SDK logs the text of such messages whenever a client sends one. Checked by module name, because importing
        # pydantic takes 45 ms; msgspec's error of the same name would be our own bug.
        kind = type(ei[1])
        is_of_pydantic = kind.__module__.startswith("pydantic_core.")
        if is_of_pydantic and kind.__name__ == "ValidationError":
            return kind.__name__
        return super().formatException(ei)

    def _line(self, record: logging.LogRecord) -> dict[str, object]:
        """Returns the fields of the record."""
        when = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
        line: dict[str, object] = {
            "time": when.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        # Only these fields are logged, so that no code can log a whole object by accident.
        for key in EXTRA:
            value = getattr(record, key, None)
            if value not in (None, ""):
                line[key] = value
        if record.exc_text:
            line["exception"] = record.exc_text
        elif record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return line

    def _write(self, line: dict[str, object], record: logging.LogRecord) -> str:
        """Returns the fields as one line."""
        text = orjson.dumps(line, default=_clean).decode()
        return sanitizing.escape_line(text)

    def _add_session(self, text: str, session: object) -> str:
        """Returns a masked line with the server's own session id."""
        return f'{text.removesuffix("}")},"session_id":"{session}"}}'


class _TextLines(_JsonLines):
    """A formatter that writes a record as one line for people: `14:03:07 warning: what happened; what to do
    (event=…)`."""

    _unmasked = "error: a log line could not be masked"

    def __init__(self, before: str) -> None:
        super().__init__()
        self._before = before

    def format(self, record: logging.LogRecord) -> str:
        # The prefix is added last, since a formatter replaces what a terminal obeys.
        return self._before + super().format(record)

    def _write(self, line: dict[str, object], record: logging.LogRecord) -> str:
        when = datetime.datetime.fromtimestamp(record.created).astimezone()
        level = record.levelname.lower()
        parts = [str(line[key]) for key in ("message", "remedy", "exception") if key in line]
        text = "; ".join(parts)
        facts = [f"{key}={_clean(line[key])}" for key in EXTRA if key in line and key not in _SAID]
        if facts:
            shown = " ".join(facts)
            text += f" ({shown})"
        # A stack trace has many lines, but a log for people has one for each record.
        lines = f"{when:%H:%M:%S} {level}: {text}".splitlines()
        return sanitizing.printable(" | ".join(lines))

    def _add_session(self, text: str, session: object) -> str:
        return f"{text} (session_id={session})"


def _clean(value: object) -> str:
    return sanitizing.clean(str(value))


class _Stream(logging.StreamHandler[TextIO]):
    """A handler that writes lines to a stream. Lines that cannot be written are lost."""

    _failed = False

    def handleError(self, record: logging.LogRecord) -> None:
        """Reports once on stderr that lines are lost."""
        # On a full disk, `logging` itself would print the record and a stack trace to stderr, neither masked nor
        # cleaned.
        if not self._failed:
            self._failed = True
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.write(_UNWRITTEN)


class _Lines(logging.Handler):
    """A handler that writes records to stderr, and from a separate thread once they are masked."""

    # Attack: masking waits for a masker that never answers. Each line of the event loop then held up every client for
    # half a second, and so did lines of other threads, which held the handler's lock.

    def __init__(self, stream: TextIO, *, as_text: bool) -> None:
        super().__init__()
        self._form = _JsonLines()
        if as_text:
            # On a terminal, a progress line may occupy the place of this line.
            before = _EMPTY_LINE if stream.isatty() else ""
            self._form = _TextLines(before)
        self._stream = _Stream(stream)
        self._stream.setFormatter(self._form)
        self._waiting: queue.Queue[logging.LogRecord] = queue.Queue(_MAX_WAITING)
        self._writer: threading.Thread | None = None
        self._lost = 0

    def mask_with(self, mask: Callable[[str], str]) -> None:
        """Masks all lines from now on."""
        self._form.mask = mask
        if self._writer is None:
            self._writer = threading.Thread(target=self._write, name="kubescript-log", daemon=True)
            self._writer.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Accepts one record."""
        vars(record).update(_about.get())
        if self._writer is None:
            self._stream.emit(record)
            return
        # A line about masking a line would cause another such line, and so on.
        if threading.current_thread() is not self._writer:
            self._queue(record)

    def drain(self) -> None:
        """Waits until all lines are written, for at most two seconds."""
        end = time.monotonic() + _DRAIN_S
        with self._waiting.all_tasks_done:
            while self._waiting.unfinished_tasks:
                left = end - time.monotonic()
                if left <= 0:
                    return
                self._waiting.all_tasks_done.wait(left)

    def close(self) -> None:
        """Writes the waiting lines; `logging` calls it at the end of the process."""
        self.drain()
        super().close()

    def _queue(self, record: logging.LogRecord) -> None:
        try:
            self._settle(record)
            self._waiting.put_nowait(record)
        except Exception:  # no room, or a message that cannot be formatted: logging code must not fail
            self._lost += 1

    def _settle(self, record: logging.LogRecord) -> None:
        """Formats the texts of a record: objects that it refers to may change, or be kept alive by it."""
        record.msg = record.getMessage()
        record.args = None
        if record.exc_info:
            record.exc_text = self._form.formatException(record.exc_info)
            record.exc_info = None

    def _write(self) -> None:
        """Writes the lines that come, as long as the process is running."""
        while True:
            record = self._waiting.get()
            self._stream.emit(record)
            lost, self._lost = self._lost, 0
            if lost:
                text = "%d log lines were lost: too many came at once"
                report = logging.LogRecord(__name__, logging.WARNING, "", 0, text, (lost,), None)
                self._stream.emit(report)
            self._waiting.task_done()


@contextlib.contextmanager
def about(caller: types.Caller, trace: str) -> Iterator[None]:
    """Adds the caller and the trace to lines logged in the block, also by threads with this context."""
    fields = {"user": caller.user, "issuer": caller.issuer, "session_id": caller.session, "trace": trace}
    token = _about.set(fields)
    try:
        yield
    finally:
        _about.reset(token)


def mask_with(mask: Callable[[str], str]) -> None:
    """Passes every line through `mask` from now on, as the last step, in a separate thread."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, _Lines):
            handler.mask_with(mask)


def drain() -> None:
    """Waits until the lines so far are written: once the maskers have ended, they cannot be masked."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, _Lines):
            handler.drain()


def configure(level: str, *, as_text: bool = False, file: Path | None = None) -> None:
    """Sends every log record of `level` and above to stderr or to the end of `file`. Raises ConfigError."""
    stream = sys.stderr
    if file is not None:
        stream = _open(file)
    handler = _Lines(stream, as_text=as_text)
    logging.getLogger().handlers[:] = [handler]
    set_level(level)
    if as_text:  # people need no lines about uvicorn's start and end
        logging.getLogger("uvicorn.error").setLevel(logging.WARNING)


def set_level(level: str) -> None:
    """Logs records of `level` and above from now on."""
    root = logging.getLogger()
    root.setLevel(level.upper())
    # These loggers log each request or message.
    at_least_warning = max(logging.WARNING, root.level)
    for chatty in ("urllib3", "httpx2", "asyncio", "mcp", "uvicorn.access"):
        logging.getLogger(chatty).setLevel(at_least_warning)


def _open(file: Path) -> TextIO:
    """Opens the file; a new one is readable only by its owner. Raises ConfigError."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise errors.ConfigError(
            f"cannot write the log file {file}: {error.strerror}", remedy="check --log-file (log_file)"
        ) from None
    return os.fdopen(descriptor, "a", encoding="utf-8")
