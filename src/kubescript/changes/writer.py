"""Writes of one cluster: each is tried first, judged by what it changes, and then written down in a plan or sent.

The broker passes a write that the policy leaves to a plan, or permits at once. `plans` sends what was approved through
`try_again` and `send`.
"""

from __future__ import annotations

import contextlib
import re
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from kubescript import contexts, errors, types
from kubescript.broker import broker, call_log, rate, records, summary
from kubescript.changes import attempts, requests
from kubescript.changes.rules import effects
from kubescript.changes.rules import writes as write_policy
from kubescript.cluster import base
from kubescript.output import sanitizing
from kubescript.policy import policy
from kubescript.request import request
from kubescript.wire import inspection
from kubescript_sandbox.host import cancellation

__all__ = ["Sent", "WritableAccess", "Writer"]

_READ_S: Final = 10.0
_KUBE_SYSTEM: Final = request.Request(
    "GET", "/api/v1/namespaces/kube-system", (), "get", True, "", "v1", "namespaces", "", "kube-system", "kube-system"
)
"""The namespace that every cluster has, and none has twice."""
_WARNING: Final = re.compile(r'\b\d{3} [^ ",]{1,200} "((?:[^"\\]|\\.)*)"')
"""One warning of HTTP's: its code, who warns, and the text. A header holds several, with commas between."""
_MAX_TEXT: Final = 2_000
"""Characters of an API server's error that is kept."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of one request of a plan."""

    status: int
    text: str = ""
    """The API server's answer when it refused, masked."""
    fault: errors.KubescriptError | None = None
    """Why the rest of the answer could not be read, or put on record; the status is known nevertheless."""


class Writer:
    """Tries and sends the writes of one cluster. Many threads use it at once."""

    def __init__(
        self,
        cluster: base.Cluster,
        compare: attempts.Compare,
        rules: write_policy.Policy,
        mask: call_log.Mask,
        context: str,
        *,
        sink: Callable[[records.Record], None] = broker.log_record,
    ) -> None:
        """`compare` says what a write changes, `rules` whether it may; `context` names the cluster when it is one of
        several."""
        self._cluster = cluster
        self._attempts = attempts.Attempts(compare)
        self._rules = rules
        self._sink = sink
        self._mask = mask
        self._context = context
        self._rate = rate.Rate(rules.per_minute)

    def write(
        self,
        call: request.Request,
        verdict: policy.Verdict,
        entry: call_log.CallLog,
        cancel: cancellation.Cancellation,
    ) -> tuple[types.Response, bool]:
        """Tries a write of a script. Returns the answer, and whether the write is only planned. Raises KubescriptError.

        `verdict` is "plan", or "direct" for a write that is sent at once.
        """
        call = entry.call = requests.canonical(call)
        self._check(call, entry)
        if not self._rate.take(entry.summary.session):
            raise entry.refusal(call, self._too_many())
        if requests.is_dry_run(call):
            self._attempts.check_dry_run(call, self._reader(entry), cancel)
            return self._send(replace(call, dry_run=True), entry, cancel), False
        draft = entry.summary.draft
        if verdict == "plan" and draft is None:
            raise errors.PlanError(
                "nothing can be planned here: no person can be asked; return the kubectl command instead",
                code="plan.nobody",
            )
        tried = self._tried(call, entry, cancel)
        if isinstance(tried, types.Response):
            return tried, False
        if verdict == "plan" and draft is not None:
            if _is_idle(tried.changes):
                return tried.answer, False
            entry.verdict = "plan"
            draft.add(tried, self._context)
            return tried.answer, True
        dry = entry.call or tried.call  # under the dry run's own id
        self._uncounted(dry, entry).ended(tried.answer.status)
        return self._send(_guarded(tried), entry, cancel), False

    def _too_many(self) -> policy.Decision:
        most = self._rules.per_minute
        return policy.Decision("deny", "writes.rate", f"{most} writes a minute are permitted", "wait a minute")

    def plan(self, call: request.Request, notes: summary.Summary, cancel: cancellation.Cancellation) -> bool:
        """Tries a write that no script has asked for, and writes it down in the draft of `notes`. Returns whether it
        would change anything. Raises KubescriptError."""
        entry = self._entry(call, notes)
        response, planned = self.write(call, "plan", entry, cancel)
        if response.status >= 300:
            why = attempts.message(self._refusal(response, entry).text)
            raise errors.PlanError(f"{request.describe(call)}: the API server answers {response.status}: {why}")
        response.close()
        return planned

    def try_again(
        self, call: request.Request, notes: summary.Summary, cancel: cancellation.Cancellation
    ) -> attempts.Attempt | Sent:
        """Tries a request of a plan. Returns the API server's refusal when it has one. Raises KubescriptError."""
        entry = self._entry(call, notes)
        tried = self._tried(call, entry, cancel)
        if isinstance(tried, types.Response):
            return self._refusal(tried, entry)
        entry.verdict = "plan"
        entry.ended(tried.answer.status)
        return tried

    def send(self, call: request.Request, notes: summary.Summary, cancel: cancellation.Cancellation) -> Sent:
        """Sends a request of a plan, with its precondition. Raises AuditError, after which it was not sent, and
        ClusterError, after which nobody knows whether it was carried out."""
        entry = self._entry(call, notes)
        notes.journal.before(call)
        try:
            response = self._cluster.perform(call, _seconds_left(call), cancel)
        except errors.ClusterError as error:
            with contextlib.suppress(errors.AuditError):  # that it is about to be sent is on record
                entry.failed(error)
            raise
        try:
            if response.status >= 300:
                return self._refusal(response, entry)
            entry.ended(response.status, size=len(attempts.whole(response)))
        except errors.KubescriptError as error:
            return Sent(response.status, fault=error)
        return Sent(response.status)

    def made(
        self, call: request.Request, name: str, notes: summary.Summary, cancel: cancellation.Cancellation
    ) -> inspection.Changes | None:
        """Compares the object of that name with what a creation would make; None when there is none. Raises
        KubescriptError."""
        entry = self._entry(call, notes)
        return self._attempts.made(call, name, self._reader(entry), notes.found, cancel)

    def cluster_id(self, notes: summary.Summary, cancel: cancellation.Cancellation) -> str:
        """Returns what tells this cluster from all others: the uid of its namespace kube-system, or where that may not
        be read the API server's address and CA. Raises KubescriptError."""
        call = replace(_KUBE_SYSTEM, deadline=time.monotonic() + _READ_S)
        try:
            facts = self.facts(call, notes, cancel)
        except errors.PlanError:
            facts = None
        # Attack: a context of the same name that is pointed at another cluster, by a user who may read little.
        return facts.uid if facts is not None else self._cluster.address

    def facts(
        self, call: request.Request, notes: summary.Summary, cancel: cancellation.Cancellation
    ) -> inspection.Facts | None:
        """Returns what the object of a request is now; None when there is none. Raises KubescriptError."""
        entry = self._entry(call, notes)
        return self._attempts.facts(call, self._reader(entry), notes.found, cancel)

    def _tried(
        self, call: request.Request, entry: call_log.CallLog, cancel: cancellation.Cancellation
    ) -> attempts.Attempt | types.Response:
        """Tries a write. Raises PolicyDenied when a rule objects to it, or to what it would change."""

        def send(dry: request.Request, cancel: cancellation.Cancellation) -> types.Response:
            # An id of its own: the API server's log has it beside the write that is sent later.
            return self._send(replace(dry, audit_id=str(uuid.uuid4())), entry, cancel)

        self._check(call, entry)
        tried = self._attempts.attempt(call, self._reader(entry), send, entry.summary.found, cancel)
        if isinstance(tried, types.Response):
            return tried
        found = effects.findings(call, tried.changes, self._rules)
        for denial in found.denials:
            raise entry.refusal(call, denial)
        warnings = tuple(map(entry.text, _warnings(tried.answer)))
        return replace(tried, notices=found.notices, warnings=warnings)

    def _check(self, call: request.Request, entry: call_log.CallLog) -> None:
        """Raises PolicyDenied when a rule objects to a write before anything of it is sent."""
        # Attack: DELETE of a collection with the body {} and ?dryRun=All, of which the API server ignores the query. It
        # asks for a dry run by itself, and is none.
        objection = write_policy.permitted(call, self._rules)
        if objection is not None:
            raise entry.refusal(call, objection)

    def _reader(self, entry: call_log.CallLog) -> attempts.Perform:
        """Returns what reads for a write. Each read is recorded by itself, under an id of its own."""

        def read(call: request.Request, cancel: cancellation.Cancellation) -> types.Response:
            call = replace(call, audit_id=str(uuid.uuid4()))
            log = self._uncounted(call, entry)
            try:
                response = self._cluster.perform(call, _seconds_left(call), cancel)
            except errors.KubescriptError as error:
                log.failed(error)
                raise
            log.answered(call, response)
            log.ended(response.status)
            return replace(response, chunks=_counted(response.chunks, entry.summary))

        return read

    def _uncounted(self, call: request.Request, entry: call_log.CallLog) -> call_log.CallLog:
        """Returns an entry for a call that a write makes by itself. The script's own notes say what the script has
        asked for, and this was asked by nobody."""
        return self._entry(call, summary.Summary(journal=entry.summary.journal))

    def _entry(self, call: request.Request, notes: summary.Summary) -> call_log.CallLog:
        entry = call_log.CallLog(notes, self._sink, self._mask, self._context)
        entry.call = call
        return entry

    def _send(
        self, call: request.Request, entry: call_log.CallLog, cancel: cancellation.Cancellation
    ) -> types.Response:
        entry.call = call
        entry.summary.journal.before(call)
        return self._cluster.perform(call, _seconds_left(call), cancel)

    def _refusal(self, response: types.Response, entry: call_log.CallLog) -> Sent:
        text = attempts.whole(response).decode("utf-8", "replace")
        entry.ended(response.status, size=len(text))
        # A secret at the end of what is masked is not cut in two: more is masked than is kept.
        return Sent(response.status, entry.text(text[: 2 * _MAX_TEXT])[:_MAX_TEXT])


@dataclass(frozen=True, slots=True)
class WritableAccess(contexts.ClusterAccess):
    """One cluster, the only way to it, and what tries and sends its writes."""

    writer: Writer = field(kw_only=True)


def _counted(chunks: Iterator[bytes], notes: summary.Summary) -> Iterator[bytes]:
    """Yields a body whose bytes count like those of a script's own reads."""
    for chunk in chunks:
        notes.take(len(chunk))
        yield chunk


def _guarded(tried: attempts.Attempt) -> request.Request:
    """Returns the write with the precondition that its object is as the dry run has found it, or that there is none."""
    before = tried.changes.before or inspection.Facts()
    return requests.guarded(tried.call, before.uid, before.resource_version)


def _warnings(response: types.Response) -> list[str]:
    """Returns the texts of an answer's warnings, each once, as they can be shown."""
    header = response.headers.get("warning", "")
    texts = [text.replace('\\"', '"') for text in _WARNING.findall(header)] or [header]
    return [text for text in dict.fromkeys(map(sanitizing.clean, texts)) if text]


def _is_idle(changes: inspection.Changes) -> bool:
    """Says whether a write leaves its object as it is."""
    return changes.before is not None and changes.after is not None and not changes.rows


def _seconds_left(call: request.Request) -> float:
    return max(0.001, call.deadline - time.monotonic())
