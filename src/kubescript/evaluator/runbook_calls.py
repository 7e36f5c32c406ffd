"""Answers a script's calls of runbooks: lists them, and runs one in a worker of its own.

The calling script's worker is hostile. It can only name a runbook and send arguments as JSON, which the host checks;
the bytes that run are those of the folder. The runbook's calls have the policy, the record, the deadline and the
budgets of the calling script. The evaluator makes one `RunbookCalls` for each script.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

import msgspec

from kubescript import errors, types
from kubescript.broker import broker, operation, records
from kubescript.changes import draft, plan
from kubescript.output import notes, styles
from kubescript.runbooks import arguments, folder, header
from kubescript.wire import exchanges
from kubescript_sandbox import runs
from kubescript_sandbox.host import cancellation
from kubescript_sandbox.wire import protocol

__all__ = ["Apart", "Ledger", "RunApart", "RunbookCalls"]

log = logging.getLogger(__name__)

_MAX_RUNS: Final = 20
"""How many runbooks one script may run: each is a process of its own."""
_MAX_NAME: Final = 64
_FAILURES: Final = frozenset({"runbook.failed", "runbook.output", "limit.time"})
"""Codes of runbooks that did run."""
_MAX_TEXT: Final = 2_000
"""How many characters of a failure's text are passed on."""


class Ledger(Protocol):
    """The record of one script, on which its calls of runbooks are."""

    def record_runbook(self, used: plan.Runbook, code: str) -> None:
        """Records that a runbook is about to run or, with a `code`, why it is not run or has failed. Raises
        AuditError."""


@dataclass(frozen=True, slots=True)
class Apart:
    """One runbook that is to run in a worker of its own."""

    source: str
    arguments: Mapping[str, header.Value]
    limits: runs.Limits
    operation: operation.Operation
    """What its calls belong to: the record and the budgets are the calling script's."""
    wrap: Callable[[types.OnCall], types.OnCall]
    """Wraps the function that answers its calls."""


RunApart = Callable[[Apart], runs.Outcome]
"""A function that runs a runbook; returns its outcome. Raises KubescriptError when it did not run."""


@dataclass(frozen=True, slots=True)
class RunbookCalls:
    """One script's calls of runbooks. Safe for use from the threads that answer them."""

    known: folder.Folder
    limits: runs.Limits
    operation: operation.Operation
    """The calling script's operation."""
    draft: draft.Draft | None
    ledger: Ledger | None
    run_apart: RunApart
    style: styles.Style
    """Masks what is passed to the calling script."""
    deadline: float
    """When the calling script must end, on the `time.monotonic` clock."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while a runbook runs. Attack: a batch of 256 calls starts as many processes."""
    begun: list[str] = field(default_factory=list)
    """The names of the runbooks that were run."""
    listed: list[bytes] = field(default_factory=list)
    """The list of all runbooks, once the script has asked for it."""

    def wrap(self, on_call: types.OnCall) -> types.OnCall:
        """Returns the function that answers the calling script's calls: runbooks here, all others by `on_call`."""
        return self._wrap(on_call, self._answer)

    def _wrap(self, on_call: types.OnCall, on_runbook: Callable[[exchanges.Call], broker.Answer]) -> types.OnCall:
        def answer(asked: exchanges.Call, timeout_s: float) -> broker.Answer:
            # Each worker's own conversation counts its calls. Attack: a script runs runbook after runbook, each of
            # which makes as many calls as a script may.
            if self.operation.summary.calls >= self.limits.api_calls:
                return self._refuse_beyond()
            if asked.path[: len(exchanges.RUNBOOKS)] == exchanges.RUNBOOKS:
                return on_runbook(asked)
            return on_call(asked, timeout_s)

        return answer

    def _refuse_beyond(self) -> broker.Answer:
        """Returns the refusal of a call beyond the limit for a script and its runbooks."""
        self.operation.summary.refuse("limit.calls")
        message = f"more than {self.limits.api_calls} API calls, with those of runbooks"
        return exchanges.Reply(0, fault=protocol.ScriptFault("limit.calls", message)), None

    def _answer(self, asked: exchanges.Call) -> broker.Answer:
        """Answers one call. A refused or failed one is an answer, not an exception."""
        self.operation.summary.count_call()
        used = plan.Runbook(asked.path[-1] if asked.path[:-1] == exchanges.RUNBOOKS else "")
        try:
            if asked.method == "GET" and asked.path == exchanges.RUNBOOKS:
                return self._reply(self._list())
            if asked.method != "POST" or not used.name:
                raise errors.RunbookError("call k8s.runbooks() or k8s.runbook(name)", code="runbook.name")
            return self._reply(self._run(used, bytes(asked.body)))
        except errors.KubescriptError as error:
            return self._refuse(used, error), None
        except Exception:  # the worker must get an answer
            log.exception("a runbook failed in an unforeseen way", extra={"event": "runbook.bug"})
            return self._refuse(used, errors.RunbookError("the runbook failed; see the server's log")), None

    def _list(self) -> bytes:
        """Returns the runbooks as JSON."""
        # Attack: a script lists 200 runbooks of 128 KiB a thousand times, and the host hashes 25 GiB.
        with self.lock:
            if not self.listed:
                self.listed.append(self._describe_all())
            return self.listed[0]

    def _describe_all(self) -> bytes:
        found = []
        for each in self.known.list_valid():
            declared = {name: msgspec.to_builtins(one) for name, one in each.header.arguments.items()}
            found.append({"name": each.name, "description": each.header.description, "arguments": declared})
        return msgspec.json.encode(found)

    def _run(self, used: plan.Runbook, body: bytes) -> bytes:
        """Runs a runbook; returns its value as JSON. Raises KubescriptError."""
        found = self.known.get(used.name)
        used = plan.Runbook(found.name, found.sha256, arguments.read(body, found.header.arguments))
        with self.lock:
            # Attack: a script is cancelled, and its other calls of runbooks each start a process.
            if self.operation.cancellation.cancelled:
                raise errors.LimitExceeded("the script was cancelled", code="cancelled")
            self.begun.append(used.name)
            if len(self.begun) > _MAX_RUNS:
                raise errors.RunbookError(f"a script runs at most {_MAX_RUNS} runbooks", code="runbook.limit")
            # A runbook that cannot be recorded is not run.
            if self.ledger is not None:
                self.ledger.record_runbook(used, "")
            log.info("runbook %s (sha256 %s)", used.name, used.sha256, extra={"event": "runbook.run"})
            outcome = self._run_source(used, found.source)
        return self._check_outcome(used, outcome)

    def _run_source(self, used: plan.Runbook, source: str) -> runs.Outcome:
        """Runs the runbook's bytes in a worker of its own. Raises KubescriptError."""
        left_ms = int((self.deadline - time.monotonic()) * 1000)
        left_calls = self.limits.api_calls - self.operation.summary.calls
        if left_ms <= 0:
            raise errors.LimitExceeded("the script's time is over", code="limit.time")
        limits = replace(self.limits, timeout_ms=left_ms, api_calls=max(0, left_calls))
        # A runbook that ends with its calls under way cancels them, and not those of the calling script.
        switch = cancellation.Cancellation()
        part = None
        if self.draft is not None:
            part = self.draft.begin_runbook(used)
        own = replace(self.operation, cancellation=switch, draft=part)
        apart = Apart(source, used.arguments, limits, own, lambda on_call: self._wrap(on_call, _refuse_nested))
        has_failed = True
        try:
            with self.operation.cancellation.closing(switch.cancel):
                outcome = self.run_apart(apart)
            has_failed = outcome.fault is not None
        finally:
            if part is not None:
                part.end(failed=has_failed)
        return outcome

    def _check_outcome(self, used: plan.Runbook, outcome: runs.Outcome) -> bytes:
        """Returns the value of a runbook that has succeeded, masked. Raises KubescriptError."""
        if outcome.fault is not None:
            # Attack: a runbook's worker was taken over by an object that it read, and its error contains a secret.
            text = self.style.text(f"{outcome.fault.type or outcome.fault.code}: {outcome.fault.text}")
            raise errors.RunbookError(f"runbook {used.name} has failed: {text[:_MAX_TEXT]}")
        result = b"null"
        if outcome.result is not None:
            # The text of a runbook is not masked when it is read, so a secret in it is masked here.
            result = self.style.json(outcome.result.decode()).encode()
        if len(result) > self.limits.output_bytes:
            raise errors.RunbookError(
                f"the value of runbook {used.name} has {len(result)} bytes, more than an answer's "
                f"{self.limits.output_bytes}",
                code="runbook.output",
            )
        return result

    def _reply(self, body: bytes) -> broker.Answer:
        response = types.Response(200, "OK", "application/json", iter([body]), lambda: None)
        return exchanges.Reply(200, "OK", "application/json"), response

    def _refuse(self, used: plan.Runbook, error: errors.KubescriptError) -> exchanges.Reply:
        """Returns the reply that raises this error in the script; puts it on record, and under the answer."""
        if error.remedy:
            log.warning("%s: %s", error.message, error.remedy, extra={"event": "runbook.refused", "code": error.code})
        summary = self.operation.summary
        name = (used.name[:_MAX_NAME], False)
        if error.code in _FAILURES:
            summary.note(summary.failed, notes.of([(f"{error.code} runbook ", True), name]))
        else:
            summary.note(summary.denied, notes.of([("runbook ", True), name, (f" ({error.code})", True)]))
            summary.add_record(records.Record("runbook", "deny", error.code, fault=error.code))
        fault = protocol.ScriptFault(error.code, error.message)
        try:
            if self.ledger is not None and not isinstance(error, errors.AuditError):
                self.ledger.record_runbook(used, error.code)
        except errors.AuditError as worse:
            fault = protocol.ScriptFault(worse.code, worse.message)
        return exchanges.Reply(0, fault=fault)


def _refuse_nested(_asked: exchanges.Call) -> broker.Answer:
    """Returns the refusal of a call of a runbook that another one makes."""
    message = "a runbook cannot call a runbook; call both from the script"
    return exchanges.Reply(0, fault=protocol.ScriptFault("runbook.nested", message)), None
