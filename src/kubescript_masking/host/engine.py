"""Runs one server's maskers: each body and each text is lent a process.

The processes (`pool`) hold no credential and can be killed; settings and deadlines are handled here.
"""

from __future__ import annotations

import copy
import logging
import subprocess
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Final, Self, TypeVar

import msgspec

from kubescript_masking import errors
from kubescript_masking.host import pool
from kubescript_masking.host.conversation import Check, Found, Report, SourceBrokenError
from kubescript_masking.wire import masking
from kubescript_sandbox import errors as sandbox_errors
from kubescript_sandbox.host import cancellation, spawner
from kubescript_sandbox.wire import protocol

__all__ = ["WITHHELD", "Engine", "Findings", "Masked", "find_mistake"]

log = logging.getLogger(__name__)

Masked = Generator[bytes, None, masking.Trailer | None]
WITHHELD: Final = "(withheld: it could not be masked in time)"
"""Replaces a text that could not be masked."""
_Answer = TypeVar("_Answer")
_TEXT_S: Final = 10.0
_CHECK_S: Final = 60.0
_NOTHING: Final[Mapping[str, str]] = {}


class Engine:
    """Masks secrets. Many threads may use it at once; its key is never stored."""

    def __init__(
        self,
        settings: masking.Settings,
        source: spawner.Spawner,
        *,
        enabled: bool = True,
        scripts: int = 8,
        strict: bool = False,
        why: Mapping[str, str] = _NOTHING,
    ) -> None:
        """`source` spawns the maskers and may have been started already; at most `scripts` run at the same time; `why`
        explains the reasons of a second program. Nothing is started until `prepare` or the first use."""
        self.enabled: Final = enabled
        """Whether anything is masked."""
        self._pool = pool.Pool(msgspec.json.encode(settings), source, scripts=scripts, strict=strict, why=why)
        self._ready = False
        self._owner = ""
        # An engine that is not closed, as in a test, must not leave its processes behind.
        weakref.finalize(self, self._pool.close)

    def of_owner(self, owner: str) -> Self:
        """Returns this engine for one of several callers, with masks and maskers that it shares with no other."""
        own = copy.copy(self)
        own._owner = owner
        return own

    def prepare(self) -> tuple[protocol.Layer, ...]:
        """Waits until a masker is ready, so that the first answer need not; returns the layers of its lockdown. Raises
        RedactionError."""
        layers = self._pool.prepare()
        self._ready = True
        return layers

    def start(self) -> None:
        """Starts the maskers without waiting for them. Raises RedactionError."""
        self._pool.start()

    def close(self) -> None:
        """Ends the processes. Nothing can be masked any more."""
        self._pool.close()

    def mask_body(
        self, about: masking.Body, chunks: Iterator[bytes], report: Report, check: Check, script: int | None = None
    ) -> Masked:
        """Yields a masked body and returns its trailer. The maskers of `script` are used. Raises RedactionError,
        BodyBrokenError, and what `chunks` and `check` raise."""
        about = msgspec.structs.replace(about, owner=self._owner)
        try:
            with self._pool.lend(check, script, self._owner) as masker:
                return (yield from masker.body(about, chunks, report, check))
        except SourceBrokenError as broken:
            raise broken.cause from None

    def ask(
        self,
        about: masking.Body,
        documents: Iterator[bytes],
        read: Callable[[bytes], _Answer],
        *,
        most: int,
        found: Found,
        check: Check,
        script: int | None = None,
    ) -> _Answer:
        """Returns what `read` makes of the second program's answer about documents, which has at most `most` bytes. A
        masker whose answer `read` refuses with a ProtocolError is killed. Raises the errors of `mask_body`."""
        about = msgspec.structs.replace(about, owner=self._owner)
        with self._pool.lend(check, script, self._owner) as masker:
            return read(b"".join(masker.body(about, documents, Findings(found), check, most)))

    def text(self, text: str, found: Found, check: Check | None = None) -> str:
        """Returns any text, masked. Raises the errors of `check`, which is called repeatedly; without it, LimitExceeded
        after ten seconds. Raises RedactionError."""
        if not self.enabled or not text:  # most scripts print nothing
            return text
        if not self._ready:
            # This happens before the clock starts: a busy server's first error text was once withheld because compiling
            # the rules took too long.
            self.prepare()
        check = check or cancellation.Patience(_TEXT_S)
        with self._pool.lend(check, owner=self._owner) as masker:
            return masker.text(text, found, check)

    def text_or_withheld(self, text: str, found: Found, check: Check | None = None) -> str:
        """Returns a text, masked, for the audit record and for spans; returns a fixed text when it cannot be masked
        within ten seconds."""
        try:
            return self.text(text, found, check)
        except (sandbox_errors.LimitExceeded, errors.RedactionError):
            return WITHHELD
        except Exception:  # a record must be written, whatever its text
            log.exception("a text could not be masked", extra={"event": "redaction.bug"})
            return WITHHELD


class Findings:
    """Reports what is found in a body, and nothing else about it."""

    def __init__(self, found: Found) -> None:
        self.found = found

    def read(self, size: int) -> None:
        """Enforces no limit."""

    def event_error(self, status: int) -> None:
        """Expects no events."""


def find_mistake(command: tuple[str, ...], settings: masking.Settings) -> str:
    """Returns what the masker's own code, in a separate process, finds wrong with the settings; an empty string if
    nothing. Raises RedactionError."""
    try:
        done = subprocess.run(  # noqa: S603 - the command is ours
            [*command, "check"],
            input=msgspec.json.encode(settings),
            capture_output=True,
            env={},
            cwd="/",
            timeout=_CHECK_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise errors.RedactionError(f"the rules could not be checked: {type(error).__name__}") from None
    return done.stdout.decode("utf-8", "replace")
