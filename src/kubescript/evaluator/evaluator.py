"""Evaluates scripts. The evaluator connects executor, broker and answers, and owns the deadline and the cancellation of
each script. The tools call it.

Async code ends here: a script runs in a thread of its own, which talks to its worker and to the API server with
blocking calls.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread

from kubescript import concurrency, config, errors, types
from kubescript.broker import call_log, records, summary
from kubescript.changes import dependents, draft, plan, planner
from kubescript.evaluator import answers
from kubescript.evaluator import asked as asking
from kubescript.output import notes, styles
from kubescript.telemetry import evaluation
from kubescript.wire import exchanges
from kubescript_sandbox import runs
from kubescript_sandbox.host import conversation
from kubescript_sandbox.wire import protocol

__all__ = ["Audit", "Entry", "Evaluator", "Runner"]

log = logging.getLogger(__name__)

_NOBODY: Final = types.Caller()
_LOOK_MS: Final = 10_000
"""Milliseconds in which it is found out what deletions would take with them."""


class Entry(records.Journal, Protocol):
    """The audit entry of one script."""

    def capture_answers(self, on_call: types.OnCall) -> types.OnCall:
        """Wraps `on_call` so that the answers that the worker sees are kept, when the operator asked for that."""

    def record_plan(self, made: plan.Plan) -> None:
        """Records the plan that the script has made. Raises AuditError."""

    def close(
        self, outcome: runs.Outcome, answer: types.Answer, summary: summary.Summary, missed: Sequence[notes.Note]
    ) -> None:
        """Records the end of the script. Raises AuditError when that fails: the answer must not leave then."""


class Audit(Protocol):
    """Records scripts."""

    def begin(
        self, script: str, caller: types.Caller, limits: runs.Limits, where: tuple[tuple[str, ...], str]
    ) -> Entry:
        """Records that a script is about to run with these contexts and this namespace. Raises AuditError when it must
        not run."""

    def record_refusal(self, script: str, caller: types.Caller, code: str) -> None:
        """Records that a script was not run. Raises AuditError."""


class Runner(Protocol):
    """Runs jobs: `executor.Executor` scripts, and the runners of `commands` command lines. Many threads use it at
    once."""

    def run(self, job: types.Job) -> runs.Outcome:
        """Returns a job's outcome. Raises KubescriptError when it was not run at all."""

    def later(self, chore: Callable[[], None]) -> None:
        """Runs `chore` after the answer that is about to be given has been sent."""


@dataclass(frozen=True, slots=True)
class _Planned:
    """What became of the writes that a script has tried."""

    plan: plan.Plan | None = None
    note: str = ""
    """For the model."""
    fault: runs.Fault | None = None
    """Why there is no plan."""


class Evaluator:
    """Evaluates the scripts of one caller against clusters, each under its policy. All his clients use it at the same
    time."""

    def __init__(
        self,
        settings: config.Settings,
        runner: Runner,
        handler: answers.CallHandler,
        audit: Audit | None = None,
        *,
        mask: call_log.Mask | None = None,
        plans: planner.Planner | None = None,
        places: concurrency.Places | None = None,
        observers: Sequence[evaluation.Observer] = (),
        owner: str = "",
        scripts: Runner | None = None,
    ) -> None:
        """Without `plans`, writes that need a plan are refused. `places` and `observers`, which are called with every
        evaluation, may be those of several evaluators; `owner` tells this one's caller from all others. Where `runner`
        runs something else than scripts, `scripts` runs the server's own."""
        self._settings = settings
        self._runner = runner
        self._scripts = scripts or runner
        self._handler = handler
        self._audit = audit
        self.answers = answers.Answers(settings.output, handler, mask)
        """Writes what clients are told."""
        self._plans = plans
        self._places = places or concurrency.Places(settings.sandbox.max_scripts, settings.sandbox.max_queue)
        self._observers = observers
        self._owner = owner

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

        `by_caller` says that the caller has written the script: its constants are not masked then.

        `waits_ms` is time beyond the largest timeout, for a script of our own that waits for the cluster. It is time
        alone: the limit on processor time stays.
        """
        limits = self._settings.limits.for_script(timeout_ms, waits_ms)
        asked = asking.Asked(script, limits, caller, _from_threads(on_progress), by_caller)
        try:
            async with contextlib.AsyncExitStack() as held:
                if waits_ms:
                    await held.enter_async_context(self._places.waits.place(self._owner))
                await held.enter_async_context(self._places.scripts.place(self._owner))
                return await self._in_thread(asked, asked.ms_ago)
        except errors.KubescriptError as error:
            failure = error
        except Exception:  # a bug of ours: its text is for the log, and the script must be recorded all the same
            log.exception("a script failed in an unforeseen way", extra={"event": "evaluator.bug"})
            failure = errors.KubescriptError(answers.BUG, code="internal")
        failure = await self._recorded_refusal(asked, failure)
        self._observe(evaluation.Evaluation(failure.code, waited_ms=asked.ms_ago))
        return await anyio.to_thread.run_sync(self.answers.failure, failure, "script not run")

    async def _in_thread(self, asked: asking.Asked, waited_ms: float) -> types.Answer:
        work = functools.partial(self._evaluate, asked, waited_ms)
        try:
            return await anyio.to_thread.run_sync(work, limiter=self._places.threads, abandon_on_cancel=True)
        except anyio.get_cancelled_exc_class():
            asked.cancelled.set()
            asked.switch.cancel()
            raise

    def _evaluate(self, asked: asking.Asked, waited_ms: float) -> types.Answer:
        """Runs the script, writes its answer, and records both."""
        where = self._handler.names, self._handler.namespace
        entry = self._audit.begin(asked.script, asked.caller, asked.limits, where) if self._audit is not None else None
        drafted = self._plans.begin() if self._plans is not None else None
        # Attack: a client without a session, of which each call would have a limit of its own on writes; and a known
        # caller with ever other sessions.
        session = asked.caller.session if asked.caller.lasts and not self._owner else ""
        calls = summary.Summary(
            most_bytes=asked.limits.response_bytes,
            journal=records.NOWHERE if entry is None else entry,
            session=session,
            draft=drafted,
        )
        deadline = time.monotonic() + asked.limits.timeout_ms / 1000
        outcome = self._outcome(self._runner, self._job(asked, where, calls, entry, deadline), calls)
        planned = _Planned()
        if self._plans is not None and drafted is not None:
            planned = self._planned(self._plans, drafted, asked, outcome, calls, entry)
            outcome = replace(outcome, fault=planned.fault or outcome.fault)
        ended = time.time()  # the masking of the answer is no part of the script's time
        self._runner.later(functools.partial(contextvars.copy_context().run, _log_outcome, outcome))
        answer, missed = self.answers.written(asked, outcome, calls, deadline, planned.note)
        refused = {record.rule for record in calls.call_records if record.verdict == "deny"}
        answer = replace(answer, refused=tuple(sorted(refused)))
        if planned.plan is not None and not answer.is_error:
            answer = replace(answer, plan=planned.plan.id)
        try:
            if entry is not None:
                entry.close(outcome, answer, calls, missed)  # raises, so that no answer leaves unrecorded
        except errors.AuditError as error:
            answer = self.answers.failure(error, "answer withheld")
        self._observe(_evaluation(outcome, calls, answer, waited_ms, ended))
        return answer

    def _job(
        self,
        asked: asking.Asked,
        where: tuple[tuple[str, ...], str],
        calls: summary.Summary,
        entry: Entry | None,
        deadline: float,
    ) -> types.Job:
        names, namespace = where

        def on_call(call: exchanges.Call, timeout_s: float) -> tuple[exchanges.Reply, types.Response | None]:
            return self._handler.handle(call, calls, timeout_s, asked.switch)

        style = self.answers.style(calls, asked.patience(deadline))
        return conversation.Job(
            script=asked.script,
            limits=asked.limits,
            parameters=exchanges.Parameters(namespace, names[0], names),
            on_call=on_call if entry is None else entry.capture_answers(on_call),
            on_progress=_progress_reporter(asked.on_progress, style),
            on_refused=calls.refuse,
            cancellation=asked.switch,
        )

    @staticmethod
    def _outcome(runner: Runner, job: types.Job, calls: summary.Summary) -> runs.Outcome:
        """Runs the job. Raises KubescriptError when it was not run."""
        try:
            outcome = runner.run(job)
            if outcome.unsent:
                calls.refuse("limit.calls", outcome.unsent)
            return replace(outcome, usage=replace(outcome.usage, bytes_fetched=calls.bytes))
        except errors.KubescriptError:
            raise
        except Exception:  # a bug of ours; the script may have made calls, and its record must say so
            log.exception("a script failed in an unforeseen way", extra={"event": "evaluator.bug"})
            return runs.Outcome(fault=runs.Fault("internal", answers.BUG), usage=runs.Usage(api_calls=calls.calls))

    def _planned(
        self,
        plans: planner.Planner,
        drafted: draft.Draft,
        asked: asking.Asked,
        outcome: runs.Outcome,
        calls: summary.Summary,
        entry: Entry | None,
    ) -> _Planned:
        """Makes a plan of what a script has tried, if it has ended well."""
        if outcome.fault is not None:
            count = len(drafted.close())
            return _Planned(note=f"{count} writes were tried and none is planned: the script failed" if count else "")
        try:
            made = plans.make(drafted, asked.script, asked.caller, calls, functools.partial(self._look, asked, calls))
            if made is None:
                return _Planned()
            if entry is not None:
                entry.record_plan(made)  # first: nobody can approve what is not on record
            plans.keep(made)
        except errors.KubescriptError as error:
            log.warning("no plan: %s", error.message, extra={"code": error.code, "remedy": error.remedy})
            return _Planned(fault=runs.Fault(error.code, f"nothing is planned or changed: {error.message}"))
        return _Planned(made)

    def _look(
        self, asked: asking.Asked, calls: summary.Summary, context: str, steps: Sequence[plan.Step]
    ) -> Sequence[tuple[str, ...]]:
        """Says what deletions take with them, one line each. Hostile objects are read for it, so a script does it."""
        removed = [step for step in steps if step.removes]
        if not removed:
            return [()] * len(steps)
        script = dependents.script(context, removed)
        limits = replace(asked.limits, timeout_ms=_LOOK_MS)
        own = replace(asked, script=script, limits=limits, on_progress=None)
        notes = summary.Summary(journal=calls.journal)
        deadline = time.monotonic() + _LOOK_MS / 1000
        where = self._handler.names, self._handler.namespace
        outcome = self._outcome(self._scripts, self._job(own, where, notes, None, deadline), notes)
        style = self.answers.style(notes, asked.patience(deadline))
        lines = iter(dependents.read(outcome, len(removed), style.text))
        return [next(lines) if step.removes else () for step in steps]

    def look(self, notes: summary.Summary, context: str, steps: Sequence[plan.Step]) -> Sequence[tuple[str, ...]]:
        """Says what the deletions of a plan that no script has made take with them, one line each."""
        asked = asking.Asked("", self._settings.limits.for_script(_LOOK_MS), _NOBODY, None)
        return self._look(asked, notes, context, steps)

    async def _recorded_refusal(self, asked: asking.Asked, error: errors.KubescriptError) -> errors.KubescriptError:
        """Records a script that was not run; returns its error, or the audit's when it cannot be recorded."""
        if self._audit is None or isinstance(error, errors.AuditError):
            return error
        try:
            await anyio.to_thread.run_sync(self._audit.record_refusal, asked.script, asked.caller, error.code)
        except errors.AuditError as worse:
            return worse
        return error

    def _observe(self, done: evaluation.Evaluation) -> None:
        if self._observers:
            self._runner.later(functools.partial(evaluation.notify, tuple(self._observers), done))


def _from_threads(on_progress: types.OnProgress | None) -> asking.Report | None:
    """Returns a function that calls `on_progress` in this event loop, from any thread."""
    if on_progress is None:
        return None
    token = anyio.lowlevel.current_token()

    def report(done: float, total: float | None, text: str) -> None:
        anyio.from_thread.run(on_progress, done, total, text, token=token)

    return report


def _progress_reporter(on_progress: asking.Report | None, style: styles.Style) -> conversation.OnProgress:
    """Returns a function that masks a report's text and passes it on."""
    if on_progress is None:
        return lambda _: None

    def report(progress: protocol.Progress) -> None:
        on_progress(progress.done, progress.total, style.text(progress.text))

    return report


def _evaluation(
    outcome: runs.Outcome, calls: summary.Summary, answer: types.Answer, waited_ms: float, ended: float
) -> evaluation.Evaluation:
    return evaluation.Evaluation(
        code=answer.code or "ok",  # the code of what the client got: an answer may have been withheld
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
