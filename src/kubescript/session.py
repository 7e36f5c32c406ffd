"""One evaluation after the other: wires executor, broker and output; holds the queue, the deadline and the
cancellation.

The async world ends here: a script runs in a thread of its own, which talks to its worker and to the API server with
blocking calls.
"""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Final, Protocol

import anyio
import anyio.from_thread
import anyio.to_thread

from kubescript import bodies, cancellation, config, errors, fencing, output, records, tallies, types
from kubescript.sandbox import conversation, executor, protocol
from kubescript.telemetry import evaluation

__all__ = ["Audit", "Door", "Entry", "OnProgress", "Session"]

log = logging.getLogger(__name__)

OnProgress = Callable[[float, float | None, str], Coroutine[None, None, None]]
"""Tells the client: done, total, text."""
_NOBODY: Final = types.Caller()
_BUG: Final = "kubescript failed; its log says why"


class Door(Protocol):
    """What answers a script's calls: `contexts.Contexts`, or a record of what was answered."""

    @property
    def names(self) -> tuple[str, ...]:
        """The clusters a script may name, the default one first."""

    @property
    def namespace(self) -> str:
        """The default cluster's default namespace."""

    def handle(
        self, call: protocol.Call, tally: tallies.Tally, timeout_s: float, cancel: cancellation.Cancellation
    ) -> tuple[protocol.Reply, types.Response | None]:
        """See `broker.Broker.handle`."""


class Entry(records.Journal, Protocol):
    """One script on record."""

    def seen(self, on_call: conversation.OnCall) -> conversation.OnCall:
        """`on_call`, with what the worker gets to see kept where the operator asked for that."""

    def close(self, outcome: types.Outcome, answer: types.Answer, tally: tallies.Tally, notes: Sequence[str]) -> None:
        """The script has ended. Raises AuditError when that cannot be kept: the answer must not leave then."""


class Audit(Protocol):
    """Puts scripts on record."""

    def begin(
        self, script: str, caller: types.Caller, limits: types.Limits, where: tuple[tuple[str, ...], str]
    ) -> Entry:
        """A script is about to run with these contexts and this namespace. Raises AuditError when it must not."""

    def refused(self, script: str, caller: types.Caller, code: str) -> None:
        """A script was not run. Raises AuditError."""


class Session:
    """Evaluates scripts against clusters, each under its policy. Used concurrently by all clients of a server."""

    def __init__(
        self,
        settings: config.Settings,
        runner: executor.Executor,
        door: Door,
        audit: Audit | None = None,
        *,
        mask: bodies.Mask | None = None,
    ) -> None:
        self._settings = settings
        self._runner = runner
        self._door = door
        self._audit = audit
        self._mask = mask
        self.observers: list[evaluation.Observer] = []
        """Told of every script; filled when the parts are put together."""
        self._places = anyio.CapacityLimiter(settings.sandbox.max_scripts)
        self._threads = anyio.CapacityLimiter(settings.sandbox.max_scripts)
        self._waiting = 0

    async def evaluate(
        self,
        script: str,
        timeout_ms: int | None,
        on_progress: OnProgress | None = None,
        caller: types.Caller = _NOBODY,
    ) -> types.Answer:
        """Run one script and give the client's answer. Failures are answers too; only cancellation is raised."""
        limits = self._settings.limits.for_script(timeout_ms)
        asked = time.monotonic()
        try:
            async with _Place(self):
                return await self._run(script, limits, on_progress, caller, (time.monotonic() - asked) * 1000)
        except errors.KubescriptError as error:
            failure = error
        except Exception:  # ours; its text is for the log, and the script is to be on record all the same
            log.exception("a script failed in an unforeseen way", extra={"event": "session.bug"})
            failure = errors.KubescriptError(_BUG, code="internal")
        failure = await self._refused(script, caller, failure)
        log.warning("script not run: %s", failure.message, extra={"code": failure.code, "remedy": failure.remedy})
        self._observe(evaluation.Evaluation(failure.code, waited_ms=(time.monotonic() - asked) * 1000))
        text = f"error {failure.code}: {failure.message}"
        if failure.message != _BUG:  # what writes answers may be what failed
            text = self._style(tallies.Tally()).text(text)
        return types.Answer(text, is_error=True, code=failure.code)

    async def _refused(
        self, script: str, caller: types.Caller, error: errors.KubescriptError
    ) -> errors.KubescriptError:
        """Put a script that was not run on record; gives the reason, or why even that was not possible."""
        if self._audit is None or isinstance(error, errors.AuditError):
            return error
        try:
            await anyio.to_thread.run_sync(self._audit.refused, script, caller, error.code)
        except errors.AuditError as worse:
            return worse
        return error

    async def _run(
        self,
        script: str,
        limits: types.Limits,
        on_progress: OnProgress | None,
        caller: types.Caller,
        waited_ms: float,
    ) -> types.Answer:
        switch = cancellation.Cancellation()
        work = functools.partial(self._evaluate, script, limits, on_progress, switch, caller, waited_ms)
        try:
            return await anyio.to_thread.run_sync(work, limiter=self._threads, abandon_on_cancel=True)
        except anyio.get_cancelled_exc_class():
            switch.cancel()
            raise

    def _evaluate(
        self,
        script: str,
        limits: types.Limits,
        on_progress: OnProgress | None,
        switch: cancellation.Cancellation,
        caller: types.Caller,
        waited_ms: float,
    ) -> types.Answer:
        names, namespace = self._door.names, self._door.namespace
        entry = self._audit.begin(script, caller, limits, (names, namespace)) if self._audit is not None else None
        tally = tallies.Tally() if entry is None else tallies.Tally(journal=entry)
        style = self._style(tally)

        def on_call(call: protocol.Call, timeout_s: float) -> tuple[protocol.Reply, types.Response | None]:
            return self._door.handle(call, tally, timeout_s, switch)

        job = conversation.Job(
            script=script,
            limits=limits,
            namespace=namespace,
            context=names[0],
            contexts=names,
            on_call=on_call if entry is None else entry.seen(on_call),
            on_progress=_reporter(on_progress, style),
            cancellation=switch,
        )
        outcome = self._runner.run(job)
        self._runner.later(functools.partial(_record, outcome))
        notes = _notes(tally) if tally.recalled is None else tally.recalled
        answer = output.render(outcome, limits, notes, source=_source(tally), style=style)
        self._observe(_evaluation(outcome, tally, answer, waited_ms))
        if entry is not None:
            entry.close(outcome, answer, tally, notes)  # raises rather than let an answer leave that is not on record
        return answer

    def _style(self, tally: tallies.Tally) -> output.Style:
        """How this script's answer is written: the one seam for redaction of what leaves."""
        mask = self._mask

        def masked(text: str) -> str:
            return mask(text, tally.found) if mask is not None else text

        chosen = self._settings.output
        return output.Style(masked if mask is not None else None, chosen.mark_untrusted, chosen.structured)

    @property
    def load(self) -> evaluation.Load:
        """How busy the session is."""
        return evaluation.Load(int(self._places.borrowed_tokens), self._waiting, self._runner.spares)

    def _observe(self, done: evaluation.Evaluation) -> None:
        if self.observers:
            self._runner.later(functools.partial(evaluation.notify, tuple(self.observers), done))


class _Place:
    """A place among the running scripts; waits in a bounded queue, or raises Busy at once when that is full."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def __aenter__(self) -> None:
        session = self._session
        queue = session._settings.sandbox.max_queue
        if session._places.available_tokens < 1 and session._waiting >= queue:
            raise errors.Busy(
                f"{session._places.total_tokens:g} scripts are running and {queue} wait; try again in a few seconds",
                remedy="raise sandbox.max_scripts or sandbox.max_queue, or run more replicas",
            )
        session._waiting += 1
        try:
            await session._places.acquire_on_behalf_of(self)
        finally:
            session._waiting -= 1

    async def __aexit__(self, *_: object) -> None:
        self._session._places.release_on_behalf_of(self)


def _reporter(on_progress: OnProgress | None, style: output.Style) -> conversation.OnProgress:
    """Carry progress from the script's thread to the event loop."""
    if on_progress is None:
        return lambda _: None

    def report(progress: protocol.Progress) -> None:
        anyio.from_thread.run(on_progress, progress.done, progress.total, style.text(progress.text))

    return report


def _notes(tally: tallies.Tally) -> list[str]:
    """What the script did not get to see, even if it swallowed the error: an empty list must never look like a healthy
    cluster."""
    kinds = (
        ("denied", tally.denied),
        ("failed", tally.failed),
        ("partial", tally.pages.notes()),
        ("warning", tally.warnings),
    )
    redacted = [", ".join(f"{count} {kind}" for kind, count in sorted(tally.redacted.items()))]
    return [f"{kind}: {_counted(texts)}" for kind, texts in kinds if texts] + [
        f"redacted: {text}" for text in redacted if text
    ]


def _counted(texts: Mapping[str, int]) -> str:
    return ", ".join(text if count == 1 else f"{text} x{count}" for text, count in dict(texts).items())


def _source(tally: tallies.Tally) -> fencing.Source:
    """The least trustworthy thing the script has read."""
    if tally.workload_text:
        return "workload"
    return "cluster" if tally.bytes else "nothing"


def _evaluation(
    outcome: types.Outcome, tally: tallies.Tally, answer: types.Answer, waited_ms: float
) -> evaluation.Evaluation:
    return evaluation.Evaluation(
        code=outcome.fault.code if outcome.fault is not None else "ok",
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
