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
    log_file = audit_log.AuditLog(
        path, max_bytes=settings.max_mib * config.MIB, keep=settings.keep, key=paths.read_key(settings.key_file)
    )
    if warning := paths.key_warning(settings.key_file):
        log.warning("%s", warning, extra={"event": "audit.key"})
    kept_files = store.Store(path, scripts=settings.scripts, responses=settings.responses)
    return Recorder(log_file, kept_files, record.TextFilter(redact), settings.fsync)


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
        paths.check_space(path)
    except errors.AuditError as error:
        return False, error.remedy
    kept_note = " with scripts and responses" if settings.responses else " with scripts" if settings.scripts else ""
    return True, "; ".join(filter(None, (f"on: {settings.file}{kept_note}", paths.key_warning(settings.key_file))))


class Recorder:
    """One server's record."""

    def __init__(
        self, log_file: audit_log.AuditLog, kept_files: store.Store, text_filter: record.TextFilter, fsync: str
    ) -> None:
        self._log = log_file
        self._fsync = fsync
        self.store = kept_files
        self.text_filter = text_filter
        self.write({"type": "start", "time": chain.now(), "kubescript": kubescript.__version__, "pid": os.getpid()})
        self._log_head("audit.opened")

    def begin(
        self, script: str, caller: types.Caller, limits: types.Limits, where: tuple[tuple[str, ...], str]
    ) -> Entry:
        """A script is about to run. Raises AuditError when the file cannot be written."""
        self._log.check()
        subject = self._subject(script, caller)
        self.store.save_script(script, subject.script, self.text_filter.redact)
        return Entry(self, subject, script, limits, where)

    def journal(self, caller: types.Caller) -> Entry:
        """For calls that no script makes."""
        client, version = self.text_filter(caller.client), self.text_filter(caller.version)
        subject = record.Subject(caller.session, client, version, uuid.uuid4().hex, "")
        return Entry(self, subject, "", types.Limits(), ((), ""))

    def refused(self, script: str, caller: types.Caller, code: str) -> None:
        """A script was not run. Raises AuditError."""
        self.write(
            record.refused(self._subject(script, caller), len(script.encode("utf-8", "replace")), code), final=True
        )

    def write(self, fields: dict[str, Any], *, final: bool = False) -> None:
        """One record; a `final` one, and all before it, is on the disk when this returns. Raises AuditError."""
        self._log.append(fields, sync=self._fsync == "record" or (final and self._fsync == "answer"))

    def close(self) -> None:
        """The server ends in the orderly way."""
        try:
            self.write({"type": "stop", "time": chain.now(), "pid": os.getpid()}, final=True)
            self._log_head("audit.closed")
        except errors.AuditError as error:
            log.warning("%s: %s", error.message, error.remedy, extra={"event": "audit.unavailable"})
        self._log.close()

    def _subject(self, script: str, caller: types.Caller) -> record.Subject:
        digest = hashlib.sha256(script.encode("utf-8", "surrogatepass")).hexdigest()
        client, version = self.text_filter(caller.client), self.text_filter(caller.version)
        return record.Subject(caller.session, client, version, uuid.uuid4().hex, digest)

    def _log_head(self, event: str) -> None:
        """The head of the chain goes to the log: kept elsewhere, it proves that nothing was cut off the end."""
        head = self._log.head
        log.info("audit %s: %d records, head %s", self._log.path, head.seq, head.hash, extra={"event": event})


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
        self._capture = (
            capture.Capture(recorder.store, recorder.text_filter.redact) if recorder.store.responses else None
        )
        self._first_error: errors.AuditError | None = None
        """Why the first thing that is not on record is not."""
        script_name = f"; script={subject.script[:16]}" if subject.script else ""
        self.agent = f"evaluation={subject.evaluation}{script_name}"

    def before(self, call: request.Request) -> None:
        """A call that may change something is on the disk before it is sent. Raises AuditError."""
        if call.method != "GET":
            self._recorder.write(record.sent(self._subject, call, self._recorder.text_filter), final=True)

    def record(self, done: records.Record) -> None:
        """A call has ended. Raises AuditError, and remembers: this script gets no answer then."""
        try:
            self._recorder.write(record.call(self._subject, done, self._recorder.text_filter))
        except errors.AuditError as error:
            self._first_error = self._first_error or error
            raise

    def captured(self, on_call: conversation.OnCall) -> conversation.OnCall:
        """What the worker sees is kept when the operator asked for that."""
        return on_call if self._capture is None else self._capture.wrap(on_call)

    def close(
        self, outcome: types.Outcome, answer: types.Answer, summary: summary.Summary, notes: Sequence[str]
    ) -> None:
        """The script has ended. Raises AuditError when it, or one of its calls, is not on record."""
        fields = record.script(self._subject, self._size, self._limits, outcome, answer, summary)
        try:
            if self._capture is not None:
                fields["replay"] = self._capture.save(self._limits, self._where, summary, notes, answer)
        except errors.AuditError as error:
            self._first_error = self._first_error or error
        if self._first_error is not None:
            fields["code"] = "audit.unavailable"
        self._recorder.write(fields, final=True)
        if self._first_error is not None:
            raise errors.AuditError(
                "a call of this script could not be put on the audit record, so its answer is withheld; run it again",
                remedy=self._first_error.remedy,
            )
