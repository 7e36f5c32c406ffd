"""What the evaluators of a server share: the runners, the audit record, the places, and the observers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from kubescript import concurrency, types
from kubescript.broker import records, summary
from kubescript.changes import plan
from kubescript.evaluator import runbook_calls
from kubescript.output import notes
from kubescript.telemetry import evaluation
from kubescript.wire import exchanges
from kubescript_sandbox import runs

__all__ = ["Audit", "Entry", "Host", "Runner"]


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

    def begin(self, script: str, caller: types.Caller, limits: runs.Limits, where: exchanges.Parameters) -> Entry:
        """Records that a script is about to run, and where. Raises AuditError when it must not run."""

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
