"""The executor keeps spare workers, forked and locked down ahead of time, and gives each to one script.

It is the host's side of the sandbox, and independent of Kubernetes: calls go to a job's `on_call`. The evaluator calls
it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from kubescript_sandbox import errors, runs
from kubescript_sandbox.host import batch, conversation, guests, layers, spawner, usage
from kubescript_sandbox.wire import framing, protocol

__all__ = ["Executor"]

log = logging.getLogger(__name__)

# A fork takes milliseconds; only the first worker also waits for the fork server's warm-up.
_READY_TIMEOUT_S: Final = 20.0
_REAP_TIMEOUT_S: Final = 2.0
# How many seconds pass between an answer and the work for the next script: ending one process and forking another keeps
# two cores busy.
_GRACE_S: Final = 0.003


class Executor:
    """Runs scripts, each in a fresh process. Many threads may use it at once."""

    def __init__(
        self,
        source: spawner.Spawner,
        guest: guests.Guest,
        *,
        memory_bytes: int,
        cpu_seconds: int,
        spares: int,
        strict: bool,
    ) -> None:
        """`source` runs the fork server of `guest`."""
        self._source = source
        self._guest = guest
        self._memory_bytes = memory_bytes
        self._cpu_seconds = cpu_seconds
        self._strict = strict
        self._wanted = spares
        self._spares: deque[spawner.Worker] = deque()
        self._lock = threading.Lock()
        self._janitor = _Janitor()
        self.layers: tuple[protocol.Layer, ...] = ()
        """The layers that the newest worker reported; empty before the first worker."""

    @property
    def spares(self) -> int:
        """How many workers are waiting for a script."""
        return len(self._spares)

    def start(self) -> None:
        """Starts as many spare workers as are missing."""
        with self._lock:
            while len(self._spares) < self._wanted:
                self._spares.append(self._spawn())

    def probe(self) -> tuple[protocol.Layer, ...]:
        """Returns a fresh worker's layers. Raises WorkerError when no worker starts, or when strict mode finds a layer
        missing."""
        worker = self._take()
        with contextlib.closing(worker):
            self._greet(worker)
        self.start()
        return self.layers

    def run(self, job: conversation.Job[Any, Any]) -> runs.Outcome:
        """Runs one script and returns its outcome. A script that fails or is cancelled has an outcome too.

        Raises WorkerError when no worker can be started.
        """
        job = dataclasses.replace(job, on_call=self._overlap(job.on_call))
        started = time.monotonic()
        worker = self._take()
        outcome = self._attempt(job, worker)
        if outcome is None:  # the spare ended before the script did anything: its fork failed, or its fork server died
            deadline = started + job.limits.timeout_ms / 1000
            job = dataclasses.replace(job, deadline=deadline)
            worker = self._spawn()
            outcome = self._attempt(job, worker)
        if outcome is None:
            raise worker.unstarted or errors.WorkerError(
                "the sandbox process died twice before the script began; see the log", code="worker.spawn"
            )
        return outcome

    def _attempt(self, job: conversation.Job[Any, Any], worker: spawner.Worker) -> runs.Outcome | None:
        """Runs the script in this worker; returns None when the worker was already dead."""
        is_done = False
        try:
            with job.cancellation.closing(worker.kill):
                frames = self._try_to_greet(worker)
                if frames is None:
                    return _cancel_outcome() if job.cancellation.cancelled else None
                if job.yields_cores:
                    worker.yield_cores()
                talk = conversation.Conversation(job, frames, self._guest)
                fault = talk.run()
                used = usage.read(worker.pid) if fault is None else None
            if used is not None:
                is_done = True
        finally:
            if is_done:
                self.later(self._replace, worker)
            else:
                worker.close()
        if used is None:
            worker.wait(_REAP_TIMEOUT_S)
            if worker.exit is None and not talk.began:
                return None
            self.start()
        return talk.outcome(fault, used, worker.exit)

    def later(self, chore: Callable[..., object], *args: object) -> None:
        """Calls `chore` after the current answer has been sent."""
        self._janitor.later(chore, args)

    def _replace(self, worker: spawner.Worker) -> None:
        """Ends a worker that is done, and forks the spare that replaces it."""
        worker.close()
        with contextlib.suppress(errors.CodedError):  # the next script meets the same error, and reports it
            self.start()

    def _overlap(self, on_call: conversation.OnCall) -> conversation.OnCall:
        """Returns `on_call`, wrapped so that the next spare is forked while this script waits for the API server."""

        def answer(call: Any, timeout_s: float) -> tuple[protocol.Reply, batch.Body | None]:
            with contextlib.suppress(errors.CodedError):  # the next script meets the same error, and reports it
                self.start()
            return on_call(call, timeout_s)

        return answer

    def close(self) -> None:
        """Ends the spare workers and starts no more."""
        self._janitor.close()
        with self._lock:
            self._wanted = 0
            while self._spares:
                self._spares.popleft().close()

    def _spawn(self) -> spawner.Worker:
        """Starts a worker. Raises WorkerError."""
        return self._source.spawn(self._memory_bytes, self._cpu_seconds)

    def _take(self) -> spawner.Worker:
        with self._lock:
            while self._spares:
                worker = self._spares.popleft()
                if not worker.has_ended:
                    return worker
                worker.close()
        return self._spawn()

    def _try_to_greet(self, worker: spawner.Worker) -> framing.FrameSocket | None:
        """Calls `_greet`; returns None when the worker died before it was ready."""
        try:
            return self._greet(worker)
        except errors.WorkerError as error:
            if isinstance(error.__cause__, protocol.StreamClosed | ConnectionError):
                worker.wait(_REAP_TIMEOUT_S)
                return None
            raise

    def _greet(self, worker: spawner.Worker) -> framing.FrameSocket:
        """Reads the worker's READY, and refuses a worker that is not locked down as the operator requires."""
        frames = framing.FrameSocket(worker.socket, time.monotonic() + _READY_TIMEOUT_S)
        ready = conversation.read_ready(frames)
        self.layers = ready.layers
        lacking = layers.missing(ready.layers)
        if lacking and not self._strict:
            layers.warn(lacking)
        if lacking and self._strict:
            raise errors.WorkerError(
                "this machine cannot confine scripts: " + ", ".join(lacking) + " missing",
                code="worker.lockdown",
                remedy=f"{layers.remedy(lacking)}; or set sandbox.strict = false and accept the risk",
            )
        return frames


def _cancel_outcome() -> runs.Outcome:
    """Returns the outcome of a script that was cancelled before it began."""
    fault = runs.Fault("cancelled", "the client cancelled the script")
    return runs.Outcome(fault=fault)


class _Janitor:
    """Runs functions a moment later in another thread, when they need not run before an answer is sent."""

    def __init__(self) -> None:
        self._chores: queue.SimpleQueue[tuple[Callable[..., object], tuple[object, ...]] | None] = queue.SimpleQueue()
        self._awake_until = 0.0
        self._thread = threading.Thread(target=self._work, name="kubescript-janitor", daemon=True)
        self._thread.start()

    def later(self, chore: Callable[..., object], args: tuple[object, ...]) -> None:
        """Queues `chore`, which must be short."""
        self._chores.put((chore, args))

    def close(self) -> None:
        """Runs the queued functions, and ends the thread."""
        self._chores.put(None)
        self._thread.join()

    def _work(self) -> None:
        for chore, args in iter(self._chores.get, None):
            if time.monotonic() >= self._awake_until:
                time.sleep(_GRACE_S)
                self._awake_until = (
                    time.monotonic() + _GRACE_S
                )  # chores that arrived during the sleep have waited long enough
            try:
                chore(*args)
            except Exception:  # without this thread, no worker would be ended any more
                log.exception("a chore failed", extra={"event": "executor.bug"})
