"""Puts scripts and their calls on record; the session asks it for an entry per script (`evaluator.Audit`).

Whatever cannot be written is refused or withheld: a call that may change something before it is sent, any other before
its script gets an answer.
"""

from __future__ import annotations

import hashlib
import logging
import os
import uuid
from collections.abc import Sequence
from typing import Any

import kubescript
from kubescript import config, errors, types
from kubescript.audit import capture, chain, paths, record, store
from kubescript.audit import log as audit_log
from kubescript.broker import records, summary
from kubescript.executor import conversation
from kubescript.request import request

__all__ = ["Recorder", "opened", "state"]

log = logging.getLogger(__name__)


def opened(settings: config.Audit, redact: record.Redact) -> Recorder | None:
    """The recorder these settings ask for. Raises AuditError when nothing could be put on record."""
    if settings.file is None:
        return None
    path = settings.file.absolute()
    book = audit_log.Trail(
        path, max_bytes=settings.max_mib * config.MIB, keep=settings.keep, key=paths.read_key(settings.key_file)
    )
    if open_key := paths.exposed(settings.key_file):
        log.warning("%s", open_key, extra={"event": "audit.key"})
    shelf = store.Store(path, scripts=settings.scripts, responses=settings.responses)
    return Recorder(book, shelf, record.Words(redact), settings.fsync)


def state(settings: config.Audit) -> tuple[bool, str]:
    """Whether scripts can be put on record, or nobody asked for that; and what to say of it. Changes nothing."""
    if settings.file is None:
        return True, "off: nothing is put on record; pass --audit FILE"
    path = settings.file.absolute()
    try:
        key = paths.read_key(settings.key_file)
        paths.check(path)
        if path.exists():
            audit_log.check_end(path, key)
        if settings.scripts or settings.responses:
            store.Store.check(path)
        paths.check_room(path)
    except errors.AuditError as error:
        return False, error.remedy
    kept = " with scripts and responses" if settings.responses else " with scripts" if settings.scripts else ""
    return True, "; ".join(filter(None, (f"on: {settings.file}{kept}", paths.exposed(settings.key_file))))


class Recorder:
    """One server's record."""

    def __init__(self, book: audit_log.Trail, shelf: store.Store, words: record.Words, fsync: str) -> None:
        self._book = book
        self._fsync = fsync
        self.shelf = shelf
        self.words = words
        self.write({"type": "start", "time": chain.now(), "kubescript": kubescript.__version__, "pid": os.getpid()})
        self._tell("audit.opened")

    def begin(
        self, script: str, caller: types.Caller, limits: types.Limits, where: tuple[tuple[str, ...], str]
    ) -> Entry:
        """A script is about to run. Raises AuditError when the file cannot be written."""
        self._book.check()
        subject = self._subject(script, caller)
        self.shelf.keep_script(script, subject.script, self.words.redact)
        return Entry(self, subject, script, limits, where)

    def journal(self, caller: types.Caller) -> Entry:
        """For calls that no script makes."""
        client, version = self.words(caller.client), self.words(caller.version)
        subject = record.Subject(caller.session, client, version, uuid.uuid4().hex, "")
        return Entry(self, subject, "", types.Limits(), ((), ""))

    def refused(self, script: str, caller: types.Caller, code: str) -> None:
        """A script was not run. Raises AuditError."""
        self.write(
            record.refused(self._subject(script, caller), len(script.encode("utf-8", "replace")), code), final=True
        )

    def write(self, fields: dict[str, Any], *, final: bool = False) -> None:
        """One record; a `final` one, and all before it, is on the disk when this returns. Raises AuditError."""
        self._book.append(fields, sync=self._fsync == "record" or (final and self._fsync == "answer"))

    def close(self) -> None:
        """The server ends in the orderly way."""
        try:
            self.write({"type": "stop", "time": chain.now(), "pid": os.getpid()}, final=True)
            self._tell("audit.closed")
        except errors.AuditError as error:
            log.warning("%s: %s", error.message, error.remedy, extra={"event": "audit.unavailable"})
        self._book.close()

    def _subject(self, script: str, caller: types.Caller) -> record.Subject:
        digest = hashlib.sha256(script.encode("utf-8", "surrogatepass")).hexdigest()
        client, version = self.words(caller.client), self.words(caller.version)
        return record.Subject(caller.session, client, version, uuid.uuid4().hex, digest)

    def _tell(self, event: str) -> None:
        """The head of the chain goes to the log: kept elsewhere, it proves that nothing was cut off the end."""
        head = self._book.head
        log.info("audit %s: %d records, head %s", self._book.path, head.seq, head.hash, extra={"event": event})


class Entry:
    """One script on record."""

    def __init__(
        self,
        recorder: Recorder,
        subject: record.Subject,
        script: str,
        limits: types.Limits,
        where: tuple[tuple[str, ...], str],
    ) -> None:
        self._recorder = recorder
        self._subject = subject
        self._size = len(script.encode("utf-8", "replace"))
        self._limits = limits
        self._where = where
        self._sight = capture.Sight(recorder.shelf, recorder.words.redact) if recorder.shelf.responses else None
        self._lacks: errors.AuditError | None = None
        """Why the first thing that is not on record is not."""
        script_name = f"; script={subject.script[:16]}" if subject.script else ""
        self.agent = f"evaluation={subject.evaluation}{script_name}"

    def before(self, call: request.Request) -> None:
        """A call that may change something is on the disk before it is sent. Raises AuditError."""
        if call.method != "GET":
            self._recorder.write(record.sent(self._subject, call, self._recorder.words), final=True)

    def record(self, done: records.Record) -> None:
        """A call has ended. Raises AuditError, and remembers: this script gets no answer then."""
        try:
            self._recorder.write(record.call(self._subject, done, self._recorder.words))
        except errors.AuditError as error:
            self._lacks = self._lacks or error
            raise

    def seen(self, on_call: conversation.OnCall) -> conversation.OnCall:
        """What the worker sees is kept when the operator asked for that."""
        return on_call if self._sight is None else self._sight.watched(on_call)

    def close(self, outcome: types.Outcome, answer: types.Answer, tally: summary.Summary, notes: Sequence[str]) -> None:
        """The script has ended. Raises AuditError when it, or one of its calls, is not on record."""
        fields = record.script(self._subject, self._size, self._limits, outcome, answer, tally)
        try:
            if self._sight is not None:
                fields["replay"] = self._sight.keep(self._limits, self._where, tally, notes, answer)
        except errors.AuditError as error:
            self._lacks = self._lacks or error
        if self._lacks is not None:
            fields["code"] = "audit.unavailable"
        self._recorder.write(fields, final=True)
        if self._lacks is not None:
            raise errors.AuditError(
                "a call of this script could not be put on the audit record, so its answer is withheld; run it again",
                remedy=self._lacks.remedy,
            )
