"""What became of a command line, in the words of an outcome: the evaluator answers with it."""

from __future__ import annotations

import signal
from typing import Final

from kubescript import types
from kubescript.commands import process
from kubescript.executor import conversation

__all__ = ["outcome"]

_SILENT: Final = "the command has succeeded and written nothing"
_ENDED: Final = "the command was ended by the kernel (out of memory or processor time?); ask for less"


def outcome(
    job: conversation.Job, output: process.Output, usage: types.Usage, notes: tuple[str, ...] = ()
) -> types.Outcome:
    """Returns the outcome. A command that fails has what it wrote as its error."""
    fault = _fault(job, output)
    printed = output.stdout
    if fault is None or fault.code != "command.failed":
        printed += output.stderr
    return types.Outcome(
        printed=printed,
        hint=_SILENT,
        fault=fault,
        dropped_bytes=output.dropped,
        usage=usage,
        foreign=True,
        notes=notes,
    )


def _fault(job: conversation.Job, output: process.Output) -> types.Fault | None:
    if output.status == 0:
        return None
    if job.cancellation.cancelled:
        return types.Fault("cancelled", "the client cancelled the command")
    if output.status is None:
        seconds = job.limits.timeout_ms / 1000
        return types.Fault("limit.time", f"the command was ended at its {seconds:g} s deadline; ask for less at once")
    if output.status in {-signal.SIGKILL, -signal.SIGXCPU, -signal.SIGSYS}:
        return types.Fault("limit.memory", _ENDED)
    return types.Fault("command.failed", output.stderr.strip() or f"exit code {output.status}")
