"""What runs in workers: scripts, the runbooks that they call, and our own scripts about plans."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from kubescript import config, errors, types
from kubescript.broker import broker, operation
from kubescript.changes import draft
from kubescript.evaluator import answers, hosts, runbook_calls, script_request
from kubescript.kube import wildcards
from kubescript.output import styles
from kubescript.runbooks import folder
from kubescript.wire import exchanges
from kubescript_sandbox import runs
from kubescript_sandbox.host import conversation
from kubescript_sandbox.wire import protocol

__all__ = ["Jobs"]

log = logging.getLogger(__name__)

_NOBODY: Final = types.Caller()
_ASIDE_MS: Final = 10_000
"""Milliseconds that one of our scripts about a plan may take."""
_DEFAULT: Final = "default"
"""The default namespace of Kubernetes itself."""


@dataclass(frozen=True, slots=True)
class Jobs:
    """The jobs of one caller."""

    settings: config.Settings
    host: hosts.Host
    handler: answers.CallHandler
    answers: answers.Answers
    runbooks: folder.Folder | None
    """None: calls of runbooks are passed to `handler`."""

    def run_script(
        self,
        request: script_request.ScriptRequest,
        operation: operation.Operation,
        entry: hosts.Entry | None,
        drafted: draft.Draft | None,
        deadline: float,
    ) -> runs.Outcome:
        """Runs a client's script. Raises KubescriptError when it did not run."""
        runbooks = self._open_runbooks(request, operation, entry, drafted, deadline)
        job = self._describe(request, operation, entry, deadline, runbooks.wrap if runbooks is not None else None)
        return self._run(self.host.runner, job, operation)

    def run_aside(self, script: str, operation: operation.Operation) -> tuple[runs.Outcome, Callable[[str], str]]:
        """Runs one of our scripts that reads what a plan needs to know, for ten seconds at most: it reads hostile
        objects. Returns its outcome, and the function that masks and marks its texts for display."""
        limits = self.settings.limits.for_script(_ASIDE_MS)
        request = script_request.ScriptRequest(script, limits, _NOBODY, None, switch=operation.cancellation)
        deadline = time.monotonic() + limits.timeout_ms / 1000
        job = self._describe(request, operation, None, deadline)
        # An evaluator of command lines has a runner of its own, which runs no script.
        runner = self.host.scripts or self.host.runner
        outcome = self._run(runner, job, operation)
        style = self.answers.style(operation.summary, request.patience(deadline))
        return outcome, style.text

    def locate(self) -> exchanges.Parameters:
        """Returns where a script runs."""
        names, namespace = self.handler.names, self.handler.namespace
        patterns = self.settings.namespaces or ()
        # Attack: the default of a kubeconfig or of a saved cluster names a namespace that the caller may not see.
        if patterns and not wildcards.matches(namespace, patterns):
            namespace = _DEFAULT
        return exchanges.Parameters(namespace, names[0], names, patterns, self.handler.sources)

    def _describe(
        self,
        request: script_request.ScriptRequest,
        operation: operation.Operation,
        entry: hosts.Entry | None,
        deadline: float,
        wrap: Callable[[types.OnCall], types.OnCall] | None = None,
    ) -> types.Job:
        """Returns the job of a script; `wrap` wraps the function that answers its calls."""

        def on_call(asked: exchanges.Call, timeout_s: float) -> broker.Answer:
            return self.handler.handle(asked, operation, timeout_s)

        answer = on_call if wrap is None else wrap(on_call)
        style = self.answers.style(operation.summary, request.patience(deadline))
        return conversation.Job(
            script=request.script,
            limits=request.limits,
            parameters=self.locate(),
            on_call=answer if entry is None else entry.capture_answers(answer),
            on_progress=_progress_reporter(request.on_progress, style),
            on_refused=operation.summary.refuse,
            cancellation=request.switch,
            yields_cores=request.yields_cores,
        )

    def _open_runbooks(
        self,
        request: script_request.ScriptRequest,
        outer: operation.Operation,
        entry: hosts.Entry | None,
        drafted: draft.Draft | None,
        deadline: float,
    ) -> runbook_calls.RunbookCalls | None:
        """Returns the script's calls of runbooks; None where they are not answered here."""
        if self.runbooks is None:
            return None
        # Attack: the worker of a classic tool is taken over, and calls a runbook that its caller did not ask for.
        known = self.runbooks if request.by_caller else folder.Folder(None)

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
        job = self._describe(request, own, None, deadline, apart.wrap)
        parameters = msgspec.structs.replace(job.parameters, variables=dict(apart.arguments))
        job = replace(job, parameters=parameters, deadline=deadline)
        return self._run(self.host.scripts or self.host.runner, job, own)

    @staticmethod
    def _run(runner: hosts.Runner, job: types.Job, operation: operation.Operation) -> runs.Outcome:
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


def _progress_reporter(on_progress: script_request.Report | None, style: styles.Style) -> conversation.OnProgress:
    """Returns a function that masks a report's text and passes it on."""
    if on_progress is None:
        return lambda _: None

    def report(progress: protocol.Progress) -> None:
        on_progress(progress.done, progress.total, style.text(progress.text))

    return report
