"""Puts scripts and their API calls on the audit record. The evaluator asks it for an entry per script.

Nothing takes effect unrecorded: a call that may change something is recorded before it is sent, and every other call
before its script gets the answer.
"""

from __future__ import annotations

import dataclasses
import hashlib
import logging
import os
import socket
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import kubescript
from kubescript import config, errors, types
from kubescript.audit import attachments, chain, chain_end, denials, file_checks, plan_records, replays, script_records
from kubescript.audit import log as audit_log
from kubescript.broker import records, summary
from kubescript.changes import plan
from kubescript.changes.store import record as plan_record
from kubescript.output import notes
from kubescript.request import request
from kubescript.wire import exchanges
from kubescript_sandbox import runs

__all__ = ["Recorder", "open_recorder", "state"]

log = logging.getLogger(__name__)

_NOWHERE: Final = exchanges.Parameters("", "")


def open_recorder(
    settings: config.Audit, redact: script_records.Redact, *, is_replica: bool = False
) -> Recorder | None:
    """Opens the recorder that the settings ask for; None when they ask for none. That of a replica also records what
    becomes of other replicas' plans. Raises AuditError."""
    if settings.file is None:
        return None
    path = settings.file.absolute()
    log_file = audit_log.AuditLog(
        path,
        max_bytes=settings.max_mib * config.MIB,
        keep=settings.keep,
        key=file_checks.read_key(settings.key_file),
    )
    warning = file_checks.key_warning(settings.key_file)
    if warning:
        log.warning("%s", warning, extra={"event": "audit.key"})
    kept_files = attachments.Store(path, scripts=settings.scripts, responses=settings.responses)
    text_filter = script_records.TextFilter(redact)
    return Recorder(log_file, kept_files, text_filter, settings.fsync, is_replica=is_replica)


def state(settings: config.Audit) -> tuple[bool, str]:
    """Returns True if recording would work or is turned off, and a line of text that describes the state. Changes
    nothing on disk."""
    if settings.file is None:
        return True, "off: nothing is recorded; pass --audit FILE"
    try:
        _check_files(settings, settings.file.absolute())
    except errors.AuditError as error:
        return False, error.remedy
    text = f"on: {settings.file}"
    if settings.responses:
        text += " with scripts and responses"
    elif settings.scripts:
        text += " with scripts"
    warning = file_checks.key_warning(settings.key_file)
    return True, f"{text}; {warning}" if warning else text


def _check_files(settings: config.Audit, path: Path) -> None:
    """Checks everything that a server needs before its first record. Raises AuditError."""
    key = file_checks.read_key(settings.key_file)
    file_checks.check(path)
    if path.exists():
        chain_end.check(path, key)
    if settings.scripts or settings.responses:
        attachments.Store.check(path)
    file_checks.check_space(path)


class Recorder:
    """The audit record of one server."""

    def __init__(
        self,
        log_file: audit_log.AuditLog,
        kept_files: attachments.Store,
        text_filter: script_records.TextFilter,
        fsync: str,
        *,
        is_replica: bool = False,
    ) -> None:
        self._log = log_file
        self._fsync = fsync
        self.store = kept_files
        self.text_filter = text_filter
        fields = {
            "type": "start",
            "time": chain.now(),
            "kubescript": kubescript.__version__,
            "pid": os.getpid(),
        }
        self.write(fields)
        self._shared = self.identity() if is_replica else ""
        """The id of this record, if it also takes what becomes of other replicas' plans."""
        self._log_head("audit.opened")

    def begin(
        self,
        script: str,
        caller: types.Caller,
        limits: runs.Limits,
        where: exchanges.Parameters,
    ) -> Entry:
        """Opens the entry of a script that is about to run. Raises AuditError when the file cannot be written.

        `where` names the contexts that the script may use, its default namespace, and those to which it is limited.
        """
        # A script whose calls cannot be recorded must not start.
        self._log.check()
        subject = self._subject(caller, _digest(script))
        if self.store.scripts:
            self.store.save_script(script, subject.script, self.text_filter.redact)
        return Entry(self, subject, script, limits, where)

    def journal(self, caller: types.Caller, identity: str = "") -> Entry:
        """Opens an entry for calls without a script. With an `identity`, they are recorded on the record of that id
        alone."""
        subject = self._subject(caller, "")
        return Entry(self, subject, "", runs.Limits(), _NOWHERE, counts_denials=False, identity=identity)

    def identity(self) -> str:
        """Returns the id of the record, which no other record has. Raises AuditError."""
        return self._log.identity()

    @property
    def place(self) -> str:
        """The record's file, for people: `host:/path`."""
        return f"{socket.gethostname()}:{self._log.path}"

    def takes(self, planned: plan.Plan) -> bool:
        """Says whether what becomes of a plan may be recorded here: the plan is on this record, or this server and the
        one that recorded the plan are replicas. Raises AuditError."""
        if planned.audit and self._shared:
            return True
        return planned.audit == self.identity()

    def _chain_of(self, planned: plan.Plan) -> str:
        """Returns the id of the record on which what this server does with a plan must be."""
        return self._shared or planned.audit

    def record_plan(self, new: plan.Plan) -> None:
        """Records a plan that no script made. Raises AuditError."""
        fields = {"type": "plan", "time": chain.now(), "script": new.script}
        fields |= plan_records.describe_plan(new, self.text_filter)
        self.write(fields, final=True, identity=new.audit)

    def record_decision(self, planned: plan.Plan, decision: plan_record.Decision) -> plan_record.Evidence:
        """Records a decision on a plan, before it takes effect. Raises AuditError."""
        fields = plan_records.describe_decision(planned.id, decision, self.text_filter)
        return self._write_evidence(fields, planned)

    def record_breach(self, planned: plan.Plan, breach: str) -> None:
        """Records that a plan of a runbook is outside the bounds within which it is approved in advance. Raises
        AuditError."""
        fields = plan_records.describe_breach(planned, breach, self.text_filter)
        self.write(fields, final=True, identity=self._chain_of(planned))

    def record_start(self, begun: plan_record.Record) -> plan_record.Evidence:
        """Records that a plan's application begins, or goes on, before anything of it is sent. Raises AuditError."""
        fields = plan_records.describe_start(begun, self.text_filter)
        return self._write_evidence(fields, begun.plan)

    def _write_evidence(self, fields: dict[str, Any], planned: plan.Plan) -> plan_record.Evidence:
        """Writes a record of a plan; returns where it stands. Raises AuditError."""
        own = self._chain_of(planned)
        head = self.write(fields, final=True, identity=own)
        return plan_record.Evidence(own, head.seq - 1, head.hash, self.place)

    def record_application(self, ended: plan_record.Record) -> None:
        """Records how a plan's application ended. Raises AuditError."""
        fields = plan_records.describe_application(ended, self.text_filter)
        self.write(fields, final=True, identity=self._chain_of(ended.plan))

    def application(self, planned: plan.Plan, sender: types.Caller) -> Entry:
        """Opens an entry for the calls that apply a plan."""
        caller = dataclasses.replace(sender, client=f"plan {planned.id}")
        return self.journal(caller, self._chain_of(planned))

    def record_refusal(self, script: str, caller: types.Caller, code: str) -> None:
        """Records a script that did not run. Raises AuditError."""
        digest = _digest(script)
        subject = self._subject(caller, digest)
        fields = script_records.describe_refusal(subject, _size(script), code)
        self.write(fields, final=True)

    def write(self, fields: dict[str, Any], *, final: bool = False, identity: str = "") -> chain.Head:
        """Writes one record; with an `identity`, only on the record of that id. Returns the chain's end behind it.
        Raises AuditError.

        A `final` record is one that the caller must wait for: with `fsync = "answer"`, it and all records before it are
        on disk when this returns.
        """
        sync = self._fsync == "record"
        if final and self._fsync == "answer":
            sync = True
        return self._log.append(fields, sync=sync, identity=identity)

    def close(self) -> None:
        """Records the orderly end of the server, and closes the file."""
        fields = {"type": "stop", "time": chain.now(), "pid": os.getpid()}
        try:
            self.write(fields, final=True)
            self._log_head("audit.closed")
        except errors.AuditError as error:
            log.warning("%s: %s", error.message, error.remedy, extra={"event": "audit.unavailable"})
        self._log.close()

    def _subject(self, caller: types.Caller, digest: str) -> script_records.Subject:
        # The name or version that a client reports may contain a misplaced secret.
        check = script_records.patience()
        return script_records.Subject(
            session=caller.session,
            client=self.text_filter(caller.client, check),
            client_version=self.text_filter(caller.version, check),
            tool=caller.tool,
            user=self.text_filter(caller.user, check),
            issuer=self.text_filter(caller.issuer, check),
            subject=self.text_filter(caller.subject, check),
            evaluation=uuid.uuid4().hex,
            script=digest,
        )

    def _log_head(self, event: str) -> None:
        """Logs the end of the chain, so that a copy kept elsewhere can later prove that the chain was not truncated."""
        head = self._log.head
        text = "audit %s: %d records, head %s"
        log.info(text, self._log.path, head.seq, head.hash, extra={"event": event})


class Entry:
    """The records of one script."""

    def __init__(
        self,
        recorder: Recorder,
        subject: script_records.Subject,
        script: str,
        limits: runs.Limits,
        where: exchanges.Parameters,
        *,
        counts_denials: bool = True,
        identity: str = "",
    ) -> None:
        """With `counts_denials`, repeated denials are counted, and written only by `close`. With an `identity`, calls
        are recorded on the record of that id alone."""
        self._recorder = recorder
        self._identity = identity
        self._subject = subject
        self._size = _size(script)
        self._limits = limits
        self._where = where
        self._denials = denials.Denials() if counts_denials else None
        self._capture: replays.Capture | None = None
        if recorder.store.responses:
            self._capture = replays.Capture(recorder.store, recorder.text_filter.redact)
        self._first_error: errors.AuditError | None = None
        """Why the first missing record could not be written."""
        self.agent = f"evaluation={subject.evaluation}"
        if subject.script:
            self.agent += f"; script={subject.script[:16]}"

    def before(self, call: request.Request, context: str) -> None:
        """Records a call that may change something, before it is sent, and waits for the disk. Raises AuditError."""
        # A GET changes nothing, so it is recorded when it has ended.
        if call.method == "GET":
            return
        fields = script_records.describe_sending(self._subject, call, context, self._recorder.text_filter)
        self._recorder.write(fields, final=True, identity=self._identity)

    def record(self, done: records.Record) -> None:
        """Records a call that has ended. Raises AuditError; the script then gets no answer.

        A repeated denial is counted, and recorded with the end of the script.
        """
        fields = script_records.describe_call(self._subject, done, self._recorder.text_filter)
        if self._denials is not None and done.verdict != "allow" and self._denials.is_repeat(fields):
            return
        self._write(fields)

    def _write(self, fields: dict[str, Any]) -> None:
        try:
            self._recorder.write(fields, identity=self._identity)
        except errors.AuditError as error:
            # Kept for `close`: a script may catch the error that this call raises.
            self._first_error = self._first_error or error
            raise

    def capture_answers(self, on_call: types.OnCall) -> types.OnCall:
        """Returns `on_call`, wrapped so that the answers to the worker are also saved if the operator asked for
        that."""
        if self._capture is None:
            return on_call
        return self._capture.wrap(on_call)

    def record_plan(self, made: plan.Plan) -> None:
        """Records the plan that the script made. Raises AuditError."""
        fields = self._subject.fields("plan")
        fields |= plan_records.describe_plan(made, self._recorder.text_filter)
        self._recorder.write(fields, final=True, identity=made.audit)

    def record_runbook(self, used: plan.Runbook, code: str) -> None:
        """Records that a runbook is about to run, and waits for the disk; or with a `code`, why it is not run or has
        failed. Raises AuditError."""
        fields = script_records.describe_runbook(self._subject, used, code, self._recorder.text_filter)
        if not code:
            self._recorder.write(fields, final=True, identity=self._identity)
            return
        if self._denials is not None and self._denials.is_repeat(fields):
            return
        self._write(fields)

    def close(
        self,
        outcome: runs.Outcome,
        answer: types.Answer,
        summary: summary.Summary,
        missed: Sequence[notes.Note],
    ) -> None:
        """Records the end of the script. Raises AuditError if this record, or that of one of the script's calls, could
        not be written."""
        fields = script_records.describe_script(self._subject, self._size, outcome, answer, summary)
        try:
            for repeats in self._denials.repeats() if self._denials is not None else ():
                self._write(repeats)
            if self._capture is not None:
                fields["replay"] = self._capture.save(self._limits, self._where, summary, missed, answer)
        except errors.AuditError as error:
            self._first_error = self._first_error or error
        # The client gets this code in place of the answer, so the script's record contains it too.
        if self._first_error is not None:
            fields["code"] = "audit.unavailable"
        self._recorder.write(fields, final=True)
        if self._first_error is not None:
            raise errors.AuditError(
                "a call of this script could not be recorded in the audit, so the answer is withheld; run it again",
                remedy=self._first_error.remedy,
            )


def _digest(script: str) -> str:
    # Scripts may contain lone surrogates, which strict UTF-8 refuses.
    data = script.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()


def _size(script: str) -> int:
    return len(script.encode("utf-8", "replace"))
