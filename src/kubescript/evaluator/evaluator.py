"""Evaluates scripts. The evaluator connects executor, broker and answers, and controls the deadline and cancellation of
each script. The tools call it.

Async code ends here: a script runs in its own thread, which talks to its worker and to the API server with blocking
calls.
"""

from __future__ import annotations

import contextlib
import contextvars
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread

from kubescript import concurrency, config, errors, types
from kubescript.broker import call, operation, records, summary
from kubescript.changes import draft, plan, planner
from kubescript.evaluator import answers, hosts, jobs, script_request
from kubescript.runbooks import folder
from kubescript.telemetry import evaluation
from kubescript_sandbox import runs

__all__ = ["Evaluator"]

log = logging.getLogger(__name__)

_NOBODY: Final = types.Caller()
_RESERVE: Final = 10
_MAX_RESERVE_S: Final = 2.0
"""Of its time, a script over several clusters has a tenth for its end, but at most so many seconds."""


class Evaluator:
    """The evaluation of one caller's scripts against clusters, each under its policy. Safe for use from many
    threads."""

    def __init__(
        self,
        settings: config.Settings,
        host: hosts.Host,
        handler: answers.CallHandler,
        *,
        mask: call.Mask | None = None,
        plans: planner.Planner | None = None,
        owner: str = "",
        runbooks: folder.Folder | None = None,
    ) -> None:
        """Without `plans`, writes that need a plan are refused. `owner` distinguishes this caller from all others.
        Without `runbooks`, calls of them are passed to `handler`."""
        self._settings = settings
        self._host = host
        self._handler = handler
        self.answers = answers.Answers(settings, handler, mask)
        """The writer of the answers to clients."""
        self._plans = plans
        self._places = host.places or concurrency.Places(settings.sandbox.max_scripts, settings.sandbox.max_queue)
        self._owner = owner
        self._jobs = jobs.Jobs(settings, host, handler, self.answers, runbooks)

    async def evaluate(
        self,
        script: str,
        timeout_ms: int | None,
        on_progress: types.OnProgress | None = None,
        caller: types.Caller = _NOBODY,
        *,
        waits_ms: int = 0,
        by_caller: bool = False,
    ) -> types.Answer:
        """Runs one script and returns the client's answer. Failures are answers too; only cancellation is raised.

        `by_caller` means that the caller wrote the script: its constants are then not masked.

        `waits_ms` is time beyond the largest timeout, for one of our own scripts that waits for the cluster. The limit
        on processor time does not change.
        """
        limits = self._settings.limits.for_script(timeout_ms, waits_ms)
        request = script_request.ScriptRequest(script, limits, caller, _from_threads(on_progress), by_caller)
        try:
            async with contextlib.AsyncExitStack() as held:
                # Scripts that wait for a cluster may take half an hour; they leave places to all others.
                if waits_ms:
                    await held.enter_async_context(self._places.waits.place(self._owner))
                has_others = await held.enter_async_context(self._places.scripts.place(self._owner))
                # Attack: the long scripts of one caller take all cores. Only one of them competes with others' scripts.
                if has_others:
                    request = replace(request, yields_cores=True)
                return await self._evaluate_in_thread(request)
        except errors.KubescriptError as error:
            failure = error
        except Exception:  # a bug of ours: its text belongs in the log, and the script must still be recorded
            log.exception("a script failed in an unforeseen way", extra={"event": "evaluator.bug"})
            failure = errors.KubescriptError(answers.BUG, code="internal")
        failure = await self._record_refusal(request, failure)
        self._observe(evaluation.Evaluation(failure.code, waited_ms=request.ms_ago))
        return await anyio.to_thread.run_sync(self.answers.write_failure, failure, "script not run")

    async def _evaluate_in_thread(self, request: script_request.ScriptRequest) -> types.Answer:
        # Not the limit of the places: the thread of a cancelled script outlives its place.
        limiter = self._places.threads
        try:
            return await anyio.to_thread.run_sync(
                self._evaluate, request, request.ms_ago, limiter=limiter, abandon_on_cancel=True
            )
        except anyio.get_cancelled_exc_class():
            request.cancelled.set()
            request.switch.cancel()
            raise

    def _evaluate(self, request: script_request.ScriptRequest, waited_ms: float) -> types.Answer:
        """Runs the script, plans its writes, writes its answer, and records it."""
        entry = self._begin_entry(request)
        drafted = self._plans.begin() if self._plans is not None else None
        own = self._open_operation(request, entry, drafted)
        deadline = time.monotonic() + request.limits.timeout_ms / 1000
        outcome = self._jobs.run_script(request, own, entry, drafted, deadline)
        result = planner.Result()
        if self._plans is not None and drafted is not None:
            result = self._plan_writes(self._plans, drafted, request, outcome, own, entry)
            if result.fault is not None:
                outcome = replace(outcome, fault=result.fault)
        # Masking the answer does not count as the script's time.
        ended = time.time()
        # Logged in this context, in which a log line names the caller, and only once the client has its answer.
        context = contextvars.copy_context()
        self._host.runner.later(context.run, _log_outcome, outcome)
        answer, missed = self.answers.write(request, outcome, own, deadline, result.note)
        answer = _add_findings(answer, own.summary, result.plan)
        if entry is not None:
            # An answer that cannot be recorded is not sent.
            try:
                entry.close(outcome, answer, own.summary, missed)
            except errors.AuditError as error:
                answer = self.answers.write_failure(error, "answer withheld")
        self._observe(_evaluation(outcome, own.summary, answer, waited_ms, ended))
        return answer

    def _begin_entry(self, request: script_request.ScriptRequest) -> hosts.Entry | None:
        """Records that the script is about to run. Raises AuditError when it must not."""
        audit = self._host.audit
        if audit is None:
            return None
        return audit.begin(request.script, request.caller, request.limits, self._jobs.locate())

    def _open_operation(
        self, request: script_request.ScriptRequest, entry: hosts.Entry | None, drafted: operation.Draft | None
    ) -> operation.Operation:
        # Writes are limited for each known caller, else for each session. Calls without a lasting session share one
        # limit. Attack: a client that opens a new session for each call would have a new limit each time.
        caller = request.caller
        return operation.Operation(
            summary=summary.Summary(most_bytes=request.limits.response_bytes),
            journal=records.NOWHERE if entry is None else entry,
            cancellation=request.switch,
            owner=self._owner or (caller.session if caller.lasts else ""),
            reserve_s=min(request.limits.timeout_ms / 1000 / _RESERVE, _MAX_RESERVE_S),
            draft=drafted,
        )

    def _plan_writes(
        self,
        plans: planner.Planner,
        drafted: draft.Draft,
        request: script_request.ScriptRequest,
        outcome: runs.Outcome,
        operation: operation.Operation,
        entry: hosts.Entry | None,
    ) -> planner.Result:
        """Makes a plan from a script's writes, if the script succeeded."""
        if outcome.fault is not None:
            return plans.abandon(drafted)
        record = entry.record_plan if entry is not None else _record_nowhere
        return plans.end(drafted, request.script, request.caller, operation, record)

    def run_aside(
        self, script: str, operation: operation.Operation, handler: answers.CallHandler
    ) -> tuple[runs.Outcome, Callable[[str], str]]:
        """See `jobs.Jobs.run_aside`; `handler` answers the script's calls."""
        return replace(self._jobs, handler=handler).run_aside(script, operation)

    async def _record_refusal(
        self, request: script_request.ScriptRequest, error: errors.KubescriptError
    ) -> errors.KubescriptError:
        """Records a script that did not run; returns its error, or the audit's when recording fails."""
        audit = self._host.audit
        if audit is None or isinstance(error, errors.AuditError):
            return error
        try:
            await anyio.to_thread.run_sync(audit.record_refusal, request.script, request.caller, error.code)
        except errors.AuditError as worse:
            return worse
        return error

    def _observe(self, done: evaluation.Evaluation) -> None:
        observers = tuple(self._host.observers)
        if observers:
            self._host.runner.later(evaluation.notify, observers, done)


def _record_nowhere(_made: plan.Plan) -> None:
    pass


def _from_threads(on_progress: types.OnProgress | None) -> script_request.Report | None:
    """Returns a function that calls `on_progress` in this event loop, from any thread."""
    if on_progress is None:
        return None
    token = anyio.lowlevel.current_token()

    def report(done: float, total: float | None, text: str) -> None:
        anyio.from_thread.run(on_progress, done, total, text, token=token)

    return report


def _add_findings(answer: types.Answer, calls: summary.Summary, made: plan.Plan | None) -> types.Answer:
    """Returns the answer with the rules that refused calls, and the plan that the script made."""
    refused = {record.rule for record in calls.call_records if record.verdict == "deny"}
    if refused:
        answer = replace(answer, refused=tuple(sorted(refused)))
    if made is None or answer.is_error:
        return answer
    return replace(answer, plan=made.id)


def _evaluation(
    outcome: runs.Outcome, calls: summary.Summary, answer: types.Answer, waited_ms: float, ended: float
) -> evaluation.Evaluation:
    return evaluation.Evaluation(
        code=answer.code or "ok",  # the code that the client got: an answer may have been withheld
        usage=outcome.usage,
        waited_ms=waited_ms,
        records=tuple(calls.call_records),
        redacted=dict(calls.redacted),
        cut=answer.cut,
        parent=evaluation.current_context(),
        ended=ended,
    )


def _log_outcome(outcome: runs.Outcome) -> None:
    usage = outcome.usage
    log.info(
        "script finished",
        extra={
            "code": outcome.fault.code if outcome.fault is not None else "ok",
            "wall_ms": round(usage.wall_ms, 1),
            "cpu_ms": round(usage.cpu_ms, 1),
            "peak_mib": usage.peak_bytes >> 20,
            "api_calls": usage.api_calls,
            "bytes_fetched": usage.bytes_fetched,
        },
    )
