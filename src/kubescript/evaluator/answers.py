"""The answer to a client: a script's result or failure with the notes under it, masked, marked and cut to size."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence
from typing import Final, Protocol

from kubescript import config, errors, types
from kubescript.broker import broker, call, operation, summary
from kubescript.evaluator import script_request
from kubescript.kube import namespace_patterns
from kubescript.output import fencing, notes, render, styles
from kubescript.wire import exchanges
from kubescript_sandbox import runs
from kubescript_sandbox.host import cancellation

__all__ = ["BUG", "Answers", "CallHandler"]

log = logging.getLogger(__name__)

BUG: Final = "kubescript failed; see its log"
_UNWRITTEN: Final = "the answer could not be written, so it is withheld; return and print less, or something else"
_MAX_QUOTED: Final = 4_000
"""The maximum number of characters of a text quoted from anywhere but a script's answer."""


class CallHandler(Protocol):
    """The handler of a script's calls: `contexts.Contexts`, or a replay of recorded answers."""

    @property
    def names(self) -> tuple[str, ...]:
        """The clusters that a script may name, the default first."""

    @property
    def namespace(self) -> str:
        """The default cluster's default namespace."""

    @property
    def sources(self) -> dict[str, str]:
        """The names of the sources that a script may ask, and the kind of each."""

    @property
    def is_named_by_data(self) -> bool:
        """Whether names and namespace, or names of sources, are text from a saved cluster."""

    def handle(self, asked: exchanges.Call, operation: operation.Operation, timeout_s: float) -> broker.Answer:
        """See `broker.Broker.handle`."""


class Answers:
    """The writer of the answers to one caller's scripts. Safe for use from many threads."""

    def __init__(self, settings: config.Settings, handler: CallHandler, mask: call.Mask | None) -> None:
        """Uses `handler` to look up namespaces that may not exist."""
        self._output = settings.output
        self._permitted = namespace_patterns.describe(settings.namespaces or ())
        self._handler = handler
        self._mask = mask

    def write(
        self,
        request: script_request.ScriptRequest,
        outcome: runs.Outcome,
        operation: operation.Operation,
        deadline: float,
        plan_note: str,
    ) -> tuple[types.Answer, list[notes.Note]]:
        """Returns the answer and the notes under it; an error in its place when it cannot be masked or written in time.

        It never raises: whatever fails here, the script and its calls are recorded under their own id.
        """
        missed: list[notes.Note] = []
        try:
            self._note_missing_namespaces(operation)
            missed += summary.missing(operation.summary, outcome, self._permitted)
            missed += map(notes.Note, outcome.notes)
            if plan_note:
                missed.append(notes.Note(plan_note))
            return self._render(request, outcome, operation.summary, missed, deadline), missed
        except (errors.LimitExceeded, errors.RedactionError) as error:
            failure: errors.KubescriptError = error
        except Exception:
            log.exception("an answer could not be written", extra={"event": "output.bug"})
            failure = errors.KubescriptError(_UNWRITTEN, code="output.failed")
        return self.write_failure(failure, "answer withheld"), missed

    def quote(self, text: str) -> types.Answer:
        """Returns a text that may contain words from the cluster as part of an answer: cleaned, masked and marked. If
        masking takes too long, the text is withheld."""
        masked = self._mask_error(text)[:_MAX_QUOTED]
        marks = self._output.mark_untrusted
        return types.Answer(fencing.fence(masked) if marks else masked, untrusted=marks)

    def write_failure(self, failure: errors.KubescriptError, what: str) -> types.Answer:
        """Returns the error that the client gets in place of an answer."""
        log.warning("%s: %s", what, failure.message, extra=failure.log_fields)
        text = f"error {failure.code}: {failure.message}"
        # Attack: calls beyond all queues would each take a masker just for this error. For the other two texts, the
        # code that masks answers may be the code that failed.
        is_fixed = failure.message in {BUG, _UNWRITTEN}
        if not is_fixed and not isinstance(failure, errors.Busy):
            text = self._mask_error(text)
        return types.Answer(text, is_error=True, code=failure.code)

    def style(self, calls: summary.Summary, patience: cancellation.Patience) -> styles.Style:
        """Returns how this script's answer is written. It masks every text of the answer, once; the broker has already
        masked what a script reads."""
        mask = None
        if self._mask is not None:
            mask = styles.TimedMask(self._mask, calls.found, patience)
        return styles.Style(mask, self._output.mark_untrusted, self._output.structured)

    def _render(
        self,
        request: script_request.ScriptRequest,
        outcome: runs.Outcome,
        calls: summary.Summary,
        missed: Sequence[notes.Note],
        deadline: float,
    ) -> types.Answer:
        """Returns the answer. Raises LimitExceeded when masking takes longer than the client waits."""
        style = self.style(calls, request.patience(deadline))
        # Attack: a chart repository's address that contains a token is a constant in a tool's script.
        if request.by_caller:
            style = dataclasses.replace(style, constants=fencing.constants(request.script))
        own = None
        # Attack: the name of a saved cluster, which a script gets without a call, contains instructions.
        is_named_by_data = self._handler.is_named_by_data
        if calls.calls or outcome.foreign or is_named_by_data:
            names = () if is_named_by_data else (self._handler.namespace,)
            denials = calls.own_denials(request.script, names)
            # Denials and limit messages are recognized in texts that the style has already cleaned and masked.
            texts = tuple(map(style.text, outcome.limit_messages))
            own = fencing.Own(request.script, texts, tuple(denials), names)
        return render.render(outcome, request.limits, missed, own=own, style=style)

    def _note_missing_namespaces(self, operation: operation.Operation) -> None:
        """Notes the namespaces that a script listed, that were empty, and that may not exist."""
        # A replay repeats the notes of the first run.
        calls = operation.summary
        if calls.replayed is not None:
            return

        def handle(asked: exchanges.Call, timeout_s: float) -> broker.Answer:
            aside = operation.aside()
            return self._handler.handle(asked, aside, timeout_s)

        for context, namespace, is_missing in calls.listed_namespaces.doubtful(handle):
            # What the script lists in a namespace that it has planned is what it has planned in it.
            if operation.draft is not None and operation.draft.creates_namespace(namespace, context):
                continue
            where = notes.Note(notes.PLACE, (namespace,))
            if context:
                where = where.of_cluster(context)
            noted = calls.absent if is_missing else calls.unknown
            calls.note(noted, where)

    def _mask_error(self, text: str) -> str:
        """Masks the text of a host's error, like any outgoing text; withholds it when masking takes too long."""
        try:
            patience = cancellation.Patience(script_request.MASKING_S)
            style = self.style(summary.Summary(), patience)
            return style.text(text)
        except (errors.LimitExceeded, errors.RedactionError) as error:
            return f"error {error.code}: {error.message}"
        except Exception:
            log.exception("an error could not be masked", extra={"event": "output.bug"})
            return f"error output.failed: {_UNWRITTEN}"
