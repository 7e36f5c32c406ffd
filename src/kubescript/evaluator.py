"""One evaluation after the other: wires executor, broker and output; holds the deadline and the cancellation.

The async world ends here: a script runs in a thread of its own, which talks to its worker and to the API server with
blocking calls.
"""

from __future__ import annotations

import functools
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import anyio
import anyio.from_thread
import anyio.to_thread

from kubescript import cancellation, concurrency, config, errors, types
from kubescript.broker import body, receipt, records, summary
from kubescript.executor import conversation, executor
from kubescript.output import fencing, render
from kubescript.telemetry import evaluation
from kubescript.wire import protocol

__all__ = ["Audit", "CallHandler", "Entry", "Evaluator", "OnProgress"]

log = logging.getLogger(__name__)

OnProgress = Callable[[float, float | None, str], Coroutine[None, None, None]]
"""Tells the client: done, total, text."""
_NOBODY: Final = types.Caller()
_MASKING_S: Final = 2.0
"""Seconds that masking an answer may take at least: a script that used all of its time has prints, too."""
_BUG: Final = "kubescript failed; its log says why"


class CallHandler(Protocol):
    """What answers a script's calls: `contexts.Contexts`, or a record of what was answered."""

    @property
    def names(self) -> tuple[str, ...]:
        """The clusters a script may name, the default one first."""

    @property
    def namespace(self) -> str:
        """The default cluster's default namespace."""

    def handle(
        self, call: protocol.Call, tally: summary.Summary, timeout_s: float, cancel: cancellation.Cancellation
    ) -> tuple[protocol.Reply, types.Response | None]:
        """See `broker.Broker.handle`."""


class Entry(records.Journal, Protocol):
    """One script on record."""

    def seen(self, on_call: conversation.OnCall) -> conversation.OnCall:
        """`on_call`, with what the worker gets to see kept where the operator asked for that."""

    def close(self, outcome: types.Outcome, answer: types.Answer, tally: summary.Summary, notes: Sequence[str]) -> None:
        """The script has ended. Raises AuditError when that cannot be kept: the answer must not leave then."""


class Audit(Protocol):
    """Puts scripts on record."""

    def begin(
        self, script: str, caller: types.Caller, limits: types.Limits, where: tuple[tuple[str, ...], str]
    ) -> Entry:
        """A script is about to run with these contexts and this namespace. Raises AuditError when it must not."""

    def refused(self, script: str, caller: types.Caller, code: str) -> None:
        """A script was not run. Raises AuditError."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """One script as a client asked for it."""

    script: str
    limits: types.Limits
    caller: types.Caller
    on_progress: OnProgress | None
    switch: cancellation.Cancellation = field(default_factory=cancellation.Cancellation)
    since: float = field(default_factory=time.monotonic)
    gone: threading.Event = field(default_factory=threading.Event)
    """Set when the client has cancelled; `switch` is also thrown when the script's time is over."""

    @property
    def ms_ago(self) -> float:
        return (time.monotonic() - self.since) * 1000


class Evaluator:
    """Evaluates scripts against clusters, each under its policy. Used concurrently by all clients of a server."""

    def __init__(
        self,
        settings: config.Settings,
        runner: executor.Executor,
        door: CallHandler,
        audit: Audit | None = None,
        *,
        mask: body.Mask | None = None,
    ) -> None:
        self._settings = settings
        self._runner = runner
        self._door = door
        self._audit = audit
        self._mask = mask
        self.observers: list[evaluation.Observer] = []
        """Told of every script; filled when the parts are put together."""
        self._admission = concurrency.Admission(settings.sandbox.max_scripts, settings.sandbox.max_queue)
        self._threads = anyio.CapacityLimiter(settings.sandbox.max_scripts)
        """Threads outlive the places of scripts that were cancelled."""

    async def evaluate(
        self,
        script: str,
        timeout_ms: int | None,
        on_progress: OnProgress | None = None,
        caller: types.Caller = _NOBODY,
    ) -> types.Answer:
        """Run one script and give the client's answer. Failures are answers too; only cancellation is raised."""
        asked = _Asked(script, self._settings.limits.for_script(timeout_ms), caller, on_progress)
        try:
            async with self._admission.place():
                return await self._run(asked, asked.ms_ago)
        except errors.KubescriptError as error:
            failure = error
        except Exception:  # ours; its text is for the log, and the script is to be on record all the same
            log.exception("a script failed in an unforeseen way", extra={"event": "session.bug"})
            failure = errors.KubescriptError(_BUG, code="internal")
        failure = await self._refused(asked, failure)
        self._observe(evaluation.Evaluation(failure.code, waited_ms=asked.ms_ago))
        return await anyio.to_thread.run_sync(self._unanswered, failure, "script not run")

    async def _refused(self, asked: _Asked, error: errors.KubescriptError) -> errors.KubescriptError:
        """Put a script that was not run on record; gives the reason, or why even that was not possible."""
        if self._audit is None or isinstance(error, errors.AuditError):
            return error
        try:
            await anyio.to_thread.run_sync(self._audit.refused, asked.script, asked.caller, error.code)
        except errors.AuditError as worse:
            return worse
        return error

    def _unanswered(self, failure: errors.KubescriptError, what: str) -> types.Answer:
        """What the client gets in place of an answer."""
        log.warning("%s: %s", what, failure.message, extra={"code": failure.code, "remedy": failure.remedy})
        text = f"error {failure.code}: {failure.message}"
        if failure.message != _BUG:  # what writes answers may be what failed
            text = self._short(text)
        return types.Answer(text, is_error=True, code=failure.code)

    async def _run(self, asked: _Asked, waited_ms: float) -> types.Answer:
        work = functools.partial(self._evaluate, asked, waited_ms)
        try:
            return await anyio.to_thread.run_sync(work, limiter=self._threads, abandon_on_cancel=True)
        except anyio.get_cancelled_exc_class():
            asked.gone.set()
            asked.switch.cancel()
            raise

    def _evaluate(self, asked: _Asked, waited_ms: float) -> types.Answer:
        where = self._door.names, self._door.namespace
        entry = self._audit.begin(asked.script, asked.caller, asked.limits, where) if self._audit is not None else None
        tally = summary.Summary(journal=records.NOWHERE if entry is None else entry)
        deadline = time.monotonic() + asked.limits.timeout_ms / 1000
        style = self._style(tally, cancellation.Patience(deadline + _MASKING_S, asked.gone.is_set))
        outcome = self._runner.run(self._job(asked, where, tally, entry, style))
        self._runner.later(functools.partial(_record, outcome))
        self._look_for_absent(asked, tally)
        notes = receipt.notes(tally, asked.script, outcome)
        ours = (*tally.told, *outcome.told, *fencing.own(outcome.fault.message if outcome.fault else "", asked.script))
        deadline = max(deadline, time.monotonic() + _MASKING_S)
        style = self._style(tally, cancellation.Patience(deadline, asked.gone.is_set))
        try:
            answer = render.render(outcome, asked.limits, notes, source=tally.source, style=style, ours=ours)
        except errors.LimitExceeded as error:
            answer = self._unanswered(error, "answer withheld")
        try:
            if entry is not None:
                entry.close(outcome, answer, tally, notes)  # raises rather than let an answer leave unrecorded
        except errors.AuditError as error:
            answer = self._unanswered(error, "answer withheld")
        self._observe(_evaluation(outcome, tally, answer, waited_ms))
        return answer

    def _look_for_absent(self, asked: _Asked, tally: summary.Summary) -> None:
        """Note the namespaces that a script listed and that are not there; a replay notes what was noted then."""
        if tally.recalled is not None:
            return

        def handle(
            call: protocol.Call, timeout_s: float, cancel: cancellation.Cancellation
        ) -> tuple[protocol.Reply, types.Response | None]:
            return self._door.handle(call, summary.Summary(journal=tally.journal), timeout_s, cancel)

        for context, namespace in tally.absences.confirmed(handle, asked.switch):
            tally.note(tally.absent, f"{context}: {namespace}" if context else namespace)

    def _job(
        self,
        asked: _Asked,
        where: tuple[tuple[str, ...], str],
        tally: summary.Summary,
        entry: Entry | None,
        style: render.Style,
    ) -> conversation.Job:
        names, namespace = where

        def on_call(call: protocol.Call, timeout_s: float) -> tuple[protocol.Reply, types.Response | None]:
            return self._door.handle(call, tally, timeout_s, asked.switch)

        return conversation.Job(
            script=asked.script,
            limits=asked.limits,
            namespace=namespace,
            context=names[0],
            contexts=names,
            on_call=on_call if entry is None else entry.seen(on_call),
            on_progress=_reporter(asked.on_progress, style),
            cancellation=asked.switch,
        )

    def _short(self, text: str) -> str:
        """The text of an error of the host's, as any text leaves; nothing of it when that takes too long."""
        try:
            return self._style(summary.Summary(), cancellation.Patience.of(_MASKING_S)).text(text)
        except errors.LimitExceeded as error:
            return f"error {error.code}: {error.message}"

    def _style(self, tally: summary.Summary, patience: cancellation.Patience) -> render.Style:
        """How this script's answer is written: the one seam for redaction of what leaves."""
        mask = self._mask

        def masked(text: str) -> str:
            return mask(text, tally.found, patience) if mask is not None else text

        chosen = self._settings.output
        return render.Style(masked if mask is not None else None, chosen.mark_untrusted, chosen.structured)

    @property
    def load(self) -> evaluation.Load:
        """How busy the session is."""
        return evaluation.Load(self._admission.running, self._admission.waiting, self._runner.spares)

    def _observe(self, done: evaluation.Evaluation) -> None:
        if self.observers:
            self._runner.later(functools.partial(evaluation.notify, tuple(self.observers), done))


def _reporter(on_progress: OnProgress | None, style: render.Style) -> conversation.OnProgress:
    """Carry progress from the script's thread to the event loop."""
    if on_progress is None:
        return lambda _: None

    def report(progress: protocol.Progress) -> None:
        anyio.from_thread.run(on_progress, progress.done, progress.total, style.text(progress.text))

    return report


def _evaluation(
    outcome: types.Outcome, tally: summary.Summary, answer: types.Answer, waited_ms: float
) -> evaluation.Evaluation:
    return evaluation.Evaluation(
        code=answer.code or "ok",  # of what the client got: an answer may have been withheld
        usage=outcome.usage,
        waited_ms=waited_ms,
        records=tuple(tally.kept),
        redacted=dict(tally.redacted),
        cut=answer.cut,
        parent=evaluation.surroundings(),
    )


def _record(outcome: types.Outcome) -> None:
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
