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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
import msgspec

from kubescript import concurrency, config, errors, types
from kubescript.broker import broker, call, operation, records, summary
from kubescript.changes import draft, plan, planner
from kubescript.evaluator import answers, runbook_calls, script_request
from kubescript.output import notes, styles
from kubescript.runbooks import folder
from kubescript.telemetry import evaluation
from kubescript.wire import exchanges
from kubescript_sandbox import runs
from kubescript_sandbox.host import conversation
from kubescript_sandbox.wire import protocol

__all__ = ["Audit", "Entry", "Evaluator", "Host", "Runner"]

log = logging.getLogger(__name__)

_NOBODY: Final = types.Caller()
_ASIDE_MS: Final = 10_000
"""Milliseconds that one of our scripts about a plan may take."""


class Entry(records.Journal, runbook_calls.Ledger, Protocol):
    """The audit entry of one script."""

    def capture_answers(self, on_call: types.OnCall) -> types.OnCall:
        """Wraps `on_call` to keep the answers that the worker sees, when the operator asked for that."""

    def record_plan(self, made: plan.Plan) -> None:
        """Records the plan that the script made. Raises AuditError."""

    def close(
        self, outcome: runs.Outcome, answer: types.Answer, summary: summary.Summary, missed: Sequence[notes.Note]
    ) -> None:
        """Records the end of the script. Raises AuditError when that fails: the answer must then not be sent."""


class Audit(Protocol):
    """The audit record of scripts."""

    def begin(
        self, script: str, caller: types.Caller, limits: runs.Limits, where: tuple[tuple[str, ...], str]
    ) -> Entry:
        """Records that a script is about to run with these contexts and this namespace. Raises AuditError when it must
        not run."""

    def record_refusal(self, script: str, caller: types.Caller, code: str) -> None:
        """Records that a script did not run. Raises AuditError."""


class Runner(Protocol):
    """A runner of jobs: `executor.Executor` for scripts, the runners of `commands` for command lines. Safe for use from
    many threads."""

    def run(self, job: types.Job) -> runs.Outcome:
        """Returns a job's outcome. Raises KubescriptError when the job did not run at all."""

    def later(self, chore: Callable[..., object], *args: object) -> None:
        """Calls `chore` after the next answer has been sent."""


@dataclass(frozen=True, slots=True)
class Host:
    """The resources that the evaluators of a server share."""

    runner: Runner
    audit: Audit | None = None
    places: concurrency.Places | None = None
    """None: an evaluator has its own, as many as the settings allow."""
    observers: Sequence[evaluation.Observer] = ()
    """Observers of every evaluation."""
    scripts: Runner | None = None
    """The runner of the server's own scripts, where `runner` runs something else."""


class Evaluator:
    """The evaluation of one caller's scripts against clusters, each under its policy. Safe for use from many
    threads."""

    def __init__(
        self,
        settings: config.Settings,
        host: Host,
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
        self.answers = answers.Answers(settings.output, handler, mask)
        """The writer of the answers to clients."""
        self._plans = plans
        self._places = host.places or concurrency.Places(settings.sandbox.max_scripts, settings.sandbox.max_queue)
        self._owner = owner
        self._runbooks = runbooks

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
                await held.enter_async_context(self._places.scripts.place(self._owner))
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
        runbooks = self._open_runbooks(request, own, entry, drafted, deadline)
        job = self._describe_job(request, own, entry, deadline, runbooks.wrap if runbooks is not None else None)
        outcome = self._run(self._host.runner, job, own)
        result = planner.Result()
        if self._plans is not None and drafted is not None:
            result = self._plan_writes(self._plans, drafted, request, outcome, own, entry)
            fault = result.fault or outcome.fault
            outcome = replace(outcome, fault=fault)
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

    def _begin_entry(self, request: script_request.ScriptRequest) -> Entry | None:
        """Records that the script is about to run. Raises AuditError when it must not."""
        audit = self._host.audit
        if audit is None:
            return None
        where = self._handler.names, self._handler.namespace
        return audit.begin(request.script, request.caller, request.limits, where)

    def _open_operation(
        self, request: script_request.ScriptRequest, entry: Entry | None, drafted: operation.Draft | None
    ) -> operation.Operation:
        # Writes are limited per session. Calls without a lasting session share one limit, and so do all calls of a
        # known caller. Attack: a client that opens a new session for each call would have a new limit each time.
        caller = request.caller
        has_own_limit = caller.lasts and not self._owner
        session = caller.session if has_own_limit else ""
        return operation.Operation(
            summary=summary.Summary(most_bytes=request.limits.response_bytes),
            journal=records.NOWHERE if entry is None else entry,
            cancellation=request.switch,
            session=session,
            draft=drafted,
        )

    def _describe_job(
        self,
        request: script_request.ScriptRequest,
        operation: operation.Operation,
        entry: Entry | None,
        deadline: float,
        wrap: Callable[[types.OnCall], types.OnCall] | None = None,
    ) -> types.Job:
        """Returns the job of a script; `wrap` wraps the function that answers its calls."""
        names, namespace = self._handler.names, self._handler.namespace

        def on_call(asked: exchanges.Call, timeout_s: float) -> broker.Answer:
            return self._handler.handle(asked, operation, timeout_s)

        answer = on_call if wrap is None else wrap(on_call)
        style = self.answers.style(operation.summary, request.patience(deadline))
        return conversation.Job(
            script=request.script,
            limits=request.limits,
            parameters=exchanges.Parameters(namespace, names[0], names),
            on_call=answer if entry is None else entry.capture_answers(answer),
            on_progress=_progress_reporter(request.on_progress, style),
            on_refused=operation.summary.refuse,
            cancellation=request.switch,
        )

    def _open_runbooks(
        self,
        request: script_request.ScriptRequest,
        outer: operation.Operation,
        entry: Entry | None,
        drafted: draft.Draft | None,
        deadline: float,
    ) -> runbook_calls.RunbookCalls | None:
        """Returns the script's calls of runbooks; None where they are not answered here."""
        if self._runbooks is None:
            return None
        # Attack: the worker of a classic tool is taken over, and calls a runbook that its caller did not ask for.
        known = self._runbooks if request.by_caller else folder.Folder(None)

        def run(apart: runbook_calls.Apart) -> runs.Outcome:
            return self._run_runbook(request, apart, deadline)

        style = self.answers.style(outer.summary, request.patience(deadline))
        return runbook_calls.RunbookCalls(known, request.limits, outer, drafted, entry, run, style, deadline)

    def _run_runbook(
        self, request: script_request.ScriptRequest, apart: runbook_calls.Apart, deadline: float
    ) -> runs.Outcome:
        """Runs a runbook in a worker of its own. Raises KubescriptError when it did not run."""
        own = apart.operation
        # Its progress would mix with that of the script, and its end must not cancel the script's calls.
        request = replace(request, script=apart.source, limits=apart.limits, on_progress=None, switch=own.cancellation)
        job = self._describe_job(request, own, None, deadline, apart.wrap)
        parameters = msgspec.structs.replace(job.parameters, variables=dict(apart.arguments))
        job = replace(job, parameters=parameters, deadline=deadline)
        return self._run(self._host.scripts or self._host.runner, job, own)

    @staticmethod
    def _run(runner: Runner, job: types.Job, operation: operation.Operation) -> runs.Outcome:
        """Runs the job. Raises KubescriptError when it did not run."""
        calls = operation.summary
        try:
            outcome = runner.run(job)
            if outcome.unsent:
                calls.refuse("limit.calls", outcome.unsent)
            # Only the broker knows how many bytes came: the worker gets what masking leaves of them.
            # The summary also counts the calls of the script's runbooks.
            made = max(outcome.usage.api_calls, calls.calls)
            usage = replace(outcome.usage, api_calls=made, bytes_fetched=calls.bytes)
            return replace(outcome, usage=usage)
        except errors.KubescriptError:
            raise
        except Exception:  # a bug of ours; the script may have made calls, which must be recorded
            log.exception("a script failed in an unforeseen way", extra={"event": "evaluator.bug"})
            fault = runs.Fault("internal", answers.BUG)
            return runs.Outcome(fault=fault, usage=runs.Usage(api_calls=calls.calls))

    def _plan_writes(
        self,
        plans: planner.Planner,
        drafted: draft.Draft,
        request: script_request.ScriptRequest,
        outcome: runs.Outcome,
        operation: operation.Operation,
        entry: Entry | None,
    ) -> planner.Result:
        """Makes a plan from a script's writes, if the script succeeded."""
        if outcome.fault is not None:
            return plans.abandon(drafted)
        record = entry.record_plan if entry is not None else _record_nowhere
        return plans.end(drafted, request.script, request.caller, operation, record)

    def run_aside(self, script: str, operation: operation.Operation) -> tuple[runs.Outcome, Callable[[str], str]]:
        """Runs one of our scripts that reads what a plan needs to know, for ten seconds at most: it reads hostile
        objects. Returns its outcome, and the function that masks and marks its texts for display."""
        limits = self._settings.limits.for_script(_ASIDE_MS)
        request = script_request.ScriptRequest(script, limits, _NOBODY, None, switch=operation.cancellation)
        deadline = time.monotonic() + limits.timeout_ms / 1000
        job = self._describe_job(request, operation, None, deadline)
        # An evaluator of command lines has a runner of its own, which runs no script.
        runner = self._host.scripts or self._host.runner
        outcome = self._run(runner, job, operation)
        style = self.answers.style(operation.summary, request.patience(deadline))
        return outcome, style.text

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


def _progress_reporter(on_progress: script_request.Report | None, style: styles.Style) -> conversation.OnProgress:
    """Returns a function that masks a report's text and passes it on."""
    if on_progress is None:
        return lambda _: None

    def report(progress: protocol.Progress) -> None:
        on_progress(progress.done, progress.total, style.text(progress.text))

    return report


def _add_findings(answer: types.Answer, calls: summary.Summary, made: plan.Plan | None) -> types.Answer:
    """Returns the answer with the rules that refused calls, and the plan that the script made."""
    refused = {record.rule for record in calls.call_records if record.verdict == "deny"}
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
