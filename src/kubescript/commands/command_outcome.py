"""Turns the result of a command line into an outcome, from which the evaluator makes the answer."""

from __future__ import annotations

import signal
from typing import Final

from kubescript import types
from kubescript.commands import confined_process
from kubescript_sandbox import runs

__all__ = ["outcome"]

_SILENT: Final = "the command has succeeded and written nothing"
_ENDED: Final = "the command was ended at its limit of memory or of processor time; ask for less"


def outcome(
    job: types.Job,
    output: confined_process.Output,
    usage: runs.Usage,
    notes: tuple[str, ...] = (),
    refused: int | None = None,
) -> runs.Outcome:
    """Returns the outcome. The error of a failed command is its own output; `refused` is the exit code for a command
    that may not run."""
    fault = _fault(job, output, refused)
    printed = output.stdout
    if fault is None or not fault.foreign:
        printed += output.stderr
    return runs.Outcome(
        printed=printed,
        hint=_SILENT,
        fault=fault,
        dropped_bytes=output.dropped,
        usage=usage,
        foreign=True,
        notes=notes,
    )


def _fault(job: types.Job, output: confined_process.Output, refused: int | None) -> runs.Fault | None:
    status = output.status
    # Output from after the deadline is missing, even if the command has succeeded.
    if status == 0 and not output.is_over:
        return None
    if output.cancelled:
        return runs.Fault("cancelled", "the client cancelled the command")
    if output.is_over:
        seconds = job.limits.timeout_ms / 1000
        return runs.Fault("limit.time", f"the command was ended at its {seconds:g} s deadline; ask for less at once")
    if status in {-signal.SIGKILL, -signal.SIGXCPU}:
        return runs.Fault("limit.memory", _ENDED)
    if status is None or status < 0:
        return runs.Fault("worker.died", "the process of the command ended unexpectedly; run it again")
    code = "policy.command" if status == refused else "command.failed"
    text = output.stderr.strip() or f"exit code {status}"
    return runs.Fault(code, text, foreign=True)
