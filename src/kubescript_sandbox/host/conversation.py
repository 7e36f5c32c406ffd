"""The conversation of one script with its worker: the turns, the deadline and the counts. `executor` runs it.

Every frame from the worker is treated as hostile. At the first violation of the protocol the host drops the worker, and
the script counts as failed. wire/protocol.py describes the turns.
"""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

import msgspec

from kubescript_sandbox import errors, runs
from kubescript_sandbox.host import cancellation, guests, progress, replies, script_faults, usage
from kubescript_sandbox.wire import control, framing, outline, protocol

__all__ = ["Conversation", "Job", "OnCall", "OnProgress", "read_ready"]

log = logging.getLogger(__name__)

OnCall = replies.OnCall
OnProgress = progress.Deliver

_MAX_PROGRESS: Final = 10_000
_TURN: Final = protocol.UNANSWERED | {
    protocol.FrameType.CALL,
    protocol.FrameType.BATCH,
    protocol.FrameType.MORE,
    protocol.FrameType.DONE,
}
_FIRST: Final = frozenset({protocol.FrameType.READY})
_MAX_REPORT: Final = 4 * protocol.KIB
# The codes of faults that any guest may report. Attack: a worker reports another one, such as `policy.…`, in the host's
# name.
_WORKERS_CODES: Final = frozenset(
    {
        *(f"limit.{name}" for name in ("bytes", "calls", "depth", "memory", "output", "watches")),
        *(f"script.{name}" for name in ("exception", "refused", "syntax")),
    }
)
# How many levels a result may have. The guest of an honest worker stops at 200. The code that renders the result on the
# host recurses, so a result that is nested too deeply would crash it.
_MAX_NESTING: Final = 250
# The highest count of dropped bytes or unsent calls that a note reports. Attack: a worker sends a number of 4,300
# digits; a sum with it cannot be printed.
_MAX_DROPPED: Final = 1 << 50


P_co = TypeVar("P_co", covariant=True)
"""The guest's own parameters."""
Answer_co = TypeVar("Answer_co", bound=OnCall, covariant=True)
"""Answers the guest's calls."""


@dataclass(frozen=True, slots=True)
class Job(Generic[P_co, Answer_co]):
    """One script and everything that it may use."""

    script: str
    limits: runs.Limits
    parameters: P_co
    """The guest's own parameters."""
    on_call: Answer_co
    on_progress: OnProgress = lambda _: None
    cancellation: cancellation.Cancellation = field(default_factory=cancellation.Cancellation)
    deadline: float | None = None
    """When the script must end, on the `time.monotonic` clock. None: when its timeout has passed, counted from its
    start."""
    yields_cores: bool = False
    """Whether other processes may compute first."""
    on_refused: Callable[[str], None] = lambda _: None
    """Called with the code of the limit that prevents a call."""


def read_ready(frames: framing.FrameSocket) -> protocol.Ready:
    """Reads the worker's first frame. Raises WorkerError when it does not come, or is not a READY."""
    try:
        _, payload = frames.receive(_FIRST)
        ready = protocol.decode(payload, protocol.Ready)
    except (protocol.ProtocolError, OSError) as error:
        raise errors.WorkerError(f"the sandbox process did not start: {error}", code="worker.spawn") from error
    if ready.version != protocol.VERSION:
        raise errors.WorkerError("the sandbox process is of another version; restart the server", code="worker.spawn")
    return ready


class Conversation:
    """Runs the turns of one job and keeps what the outcome needs."""

    def __init__(self, job: Job[Any, Any], frames: framing.FrameSocket, guest: guests.Guest) -> None:
        self._job = job
        self._guest = guest
        self._frames = frames
        self._started = time.monotonic()
        self._deadline = job.deadline or self._started + job.limits.timeout_ms / 1000
        self._printed: list[bytes] = []
        self._printed_bytes = 0
        self._progress = 0
        self._reports = progress.Reports(job.on_progress)
        self._replies = replies.Replies(
            job.on_call, job.on_refused, guest, job.limits, frames, self._deadline, self._hear, self._end_calls
        )
        # True when the script ended while calls were running. Then the host, not the client, cancels those calls.
        self._script_ended = False
        self._done: protocol.Done | None = None
        self._report: Any = None

    @property
    def began(self) -> bool:
        """Whether the worker has sent anything; otherwise its script cannot have had an effect."""
        return bool(self._done or self._replies.limits.calls or self._printed or self._progress)

    def run(self) -> runs.Fault | None:
        """Runs turns until DONE or the first failure; returns the host's own reason for the failure, if any."""
        self._frames.deadline = self._deadline
        if (unsendable := script_faults.find_unsendable(self._job.script)) is not None:
            return unsendable
        try:
            self._frames.send_message(protocol.FrameType.START, self._start())
            while self._done is None:
                self._turn()
            self._reports.send()
        except TimeoutError:
            return self._out_of_time()
        except (protocol.StreamClosed, OSError):
            return runs.Fault("worker.died", "")
        except protocol.ProtocolError as error:
            # Attack: a worker sends a field whose name is an instruction, which the error quotes.
            log.warning("a worker broke its protocol: %s", error, extra={"event": "sandbox.violation"})
            return runs.Fault("worker.protocol", "the sandbox process broke its protocol and was ended; see the log")
        except (errors.LimitExceeded, errors.WithheldError) as error:  # from the calls, or from a report's text
            return runs.Fault(error.code, error.message)
        finally:
            self._reports.close()
            self._replies.close()
        return None

    def outcome(
        self, fault: runs.Fault | None, used: usage.Consumption | None, end: control.Exited | None
    ) -> runs.Outcome:
        """Returns the outcome. `used` is the consumption of a worker that finished; `end` is the exit report of one
        that did not."""
        done = self._done or protocol.Done()
        if fault is not None and fault.code == "worker.died":
            fault = self._autopsy(end)
        if fault is None and done.fault is not None:
            fault = script_faults.quote(done.fault, self._job.script, self._job.limits.output_bytes // 2)
        return runs.Outcome(
            printed=b"".join(self._printed).decode("utf-8", "replace"),
            result=bytes(done.result) if done.result != protocol.NULL and fault is None else None,
            hint=script_faults.shorten_hint(done.hint),
            fault=fault,
            dropped_bytes=min(max(0, done.dropped_bytes), _MAX_DROPPED),
            usage=self._usage(used or end),
            limit_messages=tuple(self._replies.limits.messages),
            limits_hit=frozenset(self._replies.limits.messages.values()),
            unsent=min(max(0, done.unsent), _MAX_DROPPED),
            report=self._report,
        )

    def _turn(self) -> None:
        kind, payload = self._frames.receive(_TURN)
        match kind:
            case protocol.FrameType.CALL:
                self._replies.one(protocol.decode(payload, self._guest.call))
            case protocol.FrameType.BATCH:
                self._replies.several(protocol.decode(payload, self._guest.batch).calls)
            case protocol.FrameType.MORE:
                self._replies.more(protocol.decode(payload, protocol.More).answer)
            case protocol.FrameType.DONE:
                self._done = self._check_done(protocol.decode(payload, protocol.Done))
            case _:
                self._aside(kind, payload)

    def _hear(self) -> bool:
        """Takes a frame that the worker sends while an answer is on its way. A frame that needs an answer waits for its
        turn."""
        if self._frames.peek_type() not in protocol.UNANSWERED:
            return False
        self._aside(*self._frames.receive(protocol.UNANSWERED))
        return True

    def _aside(self, kind: protocol.FrameType, payload: bytes) -> None:
        """Handles a frame that gets no answer."""
        if kind is protocol.FrameType.PRINT:
            self._print(payload)
        elif kind is protocol.FrameType.PROGRESS:
            self._pass_on(protocol.decode(payload, protocol.Progress))
        else:
            self._replies.stop(protocol.decode(payload, protocol.Stop).answer)

    def _print(self, text: bytes) -> None:
        """Takes printed text, up to the limit of output."""
        if not text:
            # Attack: a worker sends empty frames, which cost it nothing but cost the host a turn each.
            raise protocol.ProtocolError("empty PRINT frame")
        room = self._job.limits.output_bytes - self._printed_bytes
        self._printed.append(text[:room])
        self._printed_bytes += len(text)
        if len(text) > room:  # an honest worker stops its script before this limit
            raise protocol.ProtocolError("more printed than announced")

    def _pass_on(self, report: protocol.Progress) -> None:
        """Counts a report of progress, and passes it on."""
        self._progress += 1
        if self._progress > _MAX_PROGRESS:
            raise errors.LimitExceeded(f"more than {_MAX_PROGRESS} progress reports", code="limit.output")
        self._reports.add(report)

    def _end_calls(self) -> None:
        """Ends the calls of a script that is over."""
        self._script_ended = not self._job.cancellation.cancelled
        self._job.cancellation.cancel()

    def _start(self) -> protocol.Start:
        job, limits = self._job, self._job.limits
        return protocol.Start(
            script=job.script,
            parameters=msgspec.Raw(msgspec.json.encode(job.parameters)),
            timeout_ms=limits.timeout_ms,
            memory_bytes=limits.memory_bytes,
            depth=limits.depth,
            output_bytes=limits.output_bytes,
            api_calls=limits.api_calls,
            response_bytes=limits.response_bytes,
        )

    def _check_done(self, done: protocol.Done) -> protocol.Done:
        """Returns a DONE. Raises ProtocolError for one that no honest worker sends."""
        # Attack: a worker reports a fault in the host's name, or a result that crashes or delays the code that renders
        # it.
        if done.fault is not None and done.fault.code not in _WORKERS_CODES | self._guest.codes:
            raise protocol.ProtocolError("a fault that is not the script's")
        values = outline.outline(bytes(done.result), outline.most_values(self._job.limits.output_bytes))
        if values is None:
            raise protocol.ProtocolError("a result of too many values")
        if outline.depth(values) > _MAX_NESTING:
            raise protocol.ProtocolError("a result nested too deeply")
        if outline.has_long_numbers(values):
            raise protocol.ProtocolError("a number of too many digits")
        if len(done.report) > _MAX_REPORT:
            raise protocol.ProtocolError("a report of too many bytes")
        if done.report != protocol.NULL:
            self._report = protocol.decode(bytes(done.report), self._guest.report)
        return done

    def _out_of_time(self) -> runs.Fault:
        seconds = self._job.limits.timeout_ms / 1000
        waited = f" after {self._replies.limits.calls} API calls" if self._replies.limits.calls else ""
        return runs.Fault(
            "limit.time",
            f"the script was ended at its {seconds:g} s deadline{waited}; narrow the query, avoid a call per object, "
            "or pass a larger `timeout` (ms)",
        )

    def _autopsy(self, end: control.Exited | None) -> runs.Fault:
        """Returns what most likely ended a worker that sent no DONE."""
        if self._job.cancellation.cancelled and not self._script_ended:
            return runs.Fault("cancelled", "the client cancelled the script")
        status = end.status if end is not None else 0
        if status == -signal.SIGSYS:
            log.warning(
                "worker killed by seccomp: it tried a forbidden system call", extra={"event": "sandbox.violation"}
            )
            return runs.Fault("worker.died", "the script was ended: it tried a forbidden system call")
        if status == -signal.SIGSEGV:
            return runs.Fault(
                "limit.depth", "the script was ended: it nested data or calls too deeply for the interpreter"
            )
        if status == -signal.SIGKILL:
            return runs.Fault(
                "worker.died",
                "the sandbox process was killed (out of memory or processor time?); run it again, with less",
            )
        return runs.Fault(
            "worker.died", f"the sandbox process ended unexpectedly (status {status}); run the script again"
        )

    def _usage(self, known: usage.Consumption | control.Exited | None) -> runs.Usage:
        return runs.Usage(
            wall_ms=(time.monotonic() - self._started) * 1000,
            cpu_ms=known.cpu_ms if known is not None else 0.0,
            peak_bytes=known.peak_bytes if known is not None else 0,
            api_calls=self._replies.limits.calls,
        )
