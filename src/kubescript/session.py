"""One evaluation after the other: wires executor, broker and output; holds the queue, the deadline and the
cancellation.

The async world ends here: a script runs in a thread of its own, which talks to its worker and to the API server with
blocking calls.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Coroutine, Mapping

import anyio
import anyio.from_thread
import anyio.to_thread

from kubescript import broker, cancellation, config, errors, output, types
from kubescript.cluster import base
from kubescript.sandbox import conversation, executor, protocol

__all__ = ["OnProgress", "Session"]

log = logging.getLogger(__name__)

OnProgress = Callable[[float, float | None, str], Coroutine[None, None, None]]
"""Tells the client: done, total, text."""


class Session:
    """Evaluates scripts against one cluster under one policy. Used concurrently by all clients of a server."""

    def __init__(
        self, settings: config.Settings, runner: executor.Executor, door: broker.Broker, cluster: base.Cluster
    ) -> None:
        self._settings = settings
        self._runner = runner
        self._door = door
        self._cluster = cluster
        self._places = anyio.CapacityLimiter(settings.sandbox.max_scripts)
        self._threads = anyio.CapacityLimiter(settings.sandbox.max_scripts)
        self._waiting = 0

    async def evaluate(
        self, script: str, timeout_ms: int | None, on_progress: OnProgress | None = None
    ) -> types.Answer:
        """Run one script and give the client's answer. Failures are answers too; only cancellation is raised."""
        limits = self._settings.limits.for_script(timeout_ms)
        try:
            async with _Place(self):
                return await self._run(script, limits, on_progress)
        except errors.KubescriptError as error:
            log.warning("script not run: %s", error.message, extra={"code": error.code, "remedy": error.remedy})
            return types.Answer(f"error {error.code}: {error.message}", is_error=True, code=error.code)

    async def _run(self, script: str, limits: types.Limits, on_progress: OnProgress | None) -> types.Answer:
        switch = cancellation.Cancellation()
        try:
            return await anyio.to_thread.run_sync(
                self._evaluate, script, limits, on_progress, switch, limiter=self._threads, abandon_on_cancel=True
            )
        except anyio.get_cancelled_exc_class():
            switch.cancel()
            raise

    def _evaluate(
        self, script: str, limits: types.Limits, on_progress: OnProgress | None, switch: cancellation.Cancellation
    ) -> types.Answer:
        tally = broker.Tally()
        context, namespace = self._whereabouts()
        job = conversation.Job(
            script=script,
            limits=limits,
            namespace=namespace,
            context=context,
            on_call=lambda call, timeout_s: self._door.handle(call, tally, timeout_s, switch),
            on_progress=_reporter(on_progress),
            cancellation=switch,
        )
        outcome = self._runner.run(job)
        self._runner.later(functools.partial(_record, outcome))
        return output.render(outcome, limits, _notes(tally))

    def _whereabouts(self) -> tuple[str, str]:
        """Context and default namespace; a broken kubeconfig is the error of the first call, not of every script."""
        try:
            return self._cluster.name, self._cluster.namespace
        except errors.ClusterError:
            return "", "default"


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


def _reporter(on_progress: OnProgress | None) -> conversation.OnProgress:
    """Carry progress from the script's thread to the event loop."""
    if on_progress is None:
        return lambda _: None

    def report(progress: protocol.Progress) -> None:
        anyio.from_thread.run(on_progress, progress.done, progress.total, progress.text)

    return report


def _notes(tally: broker.Tally) -> list[str]:
    """What the script did not get to see, even if it swallowed the error: an empty list must never look like a healthy
    cluster."""
    kinds = (("denied", tally.denied), ("failed", tally.failed), ("warning", tally.warnings))
    return [f"{kind}: {_counted(texts)}" for kind, texts in kinds if texts]


def _counted(texts: Mapping[str, int]) -> str:
    return ", ".join(text if count == 1 else f"{text} x{count}" for text, count in texts.items())


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
