"""The model's report on a plan, under the answer to its call. `elicitation` calls it.

An API server's words, and values of its objects, are marked like all text from the cluster.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from kubescript import errors, types
from kubescript.changes.store import record

__all__ = ["Quote", "add_answer", "add_end", "add_failure", "add_words", "changes"]

log = logging.getLogger(__name__)

Quote = Callable[[str], types.Answer]
"""A function that masks and marks a string that may contain words from the cluster."""


def add_words(answer: types.Answer, text: str) -> types.Answer:
    """Returns the answer with more of kubescript's own text; its plan counts as settled."""
    whole = f"{answer.text}\n{text}"
    return replace(answer, text=whole.strip(), plan="")


def add_answer(answer: types.Answer, more: types.Answer) -> types.Answer:
    """Returns the answer with another answer's text."""
    is_untrusted = answer.untrusted or more.untrusted
    answer = add_words(answer, more.text)
    return replace(answer, untrusted=is_untrusted)


def changes(found: record.Record) -> str:
    """Returns the number of a plan's changes in words."""
    count = len(found.plan.steps)
    if count == 1:
        return "1 change"
    return f"{count} changes"


def add_end(answer: types.Answer, found: record.Record, quote: Quote) -> types.Answer:
    """Returns the answer with a plan's outcome."""
    answer = add_words(answer, _outcome(found))
    if found.state != "stopped" or not found.text:
        return answer
    # Attack: the message of a webhook that denies a write contains orders to the model, or a secret.
    return add_answer(answer, quote(found.text))


def add_failure(answer: types.Answer, error: errors.KubescriptError, quote: Quote) -> types.Answer:
    """Returns the answer with the reason why its plan ends here."""
    log.warning("plan %s: %s", answer.plan, error.message, extra=error.log_fields)
    # Attack: a webhook's words appear in the account of the changes that were made before a plan was lost.
    if isinstance(error, errors.PlanLost):
        name = answer.plan
        ours = f"plan {name}: error {error.code}; this server changes nothing more, and another one may go on"
        answer = add_words(answer, f"{ours}; `kubescript plans show {name}` tells how it ends")
        answer = add_answer(answer, quote(error.message))
    elif isinstance(error, errors.PlanError | errors.AuditError | errors.Busy):
        answer = add_words(answer, f"error {error.code}: {error.message}; nothing more is changed")
    else:
        answer = add_words(answer, f"error {error.code}; nothing more is changed")
        answer = add_answer(answer, quote(error.message))
    return replace(answer, is_error=True, code=error.code)


def _outcome(found: record.Record) -> str:
    name = f"plan {found.plan.id}"
    by = reason = ""
    if found.decisions:
        last = found.decisions[-1]
        by = f" by {last.approver}"
        if last.reason:
            reason = f": {last.reason}"
    if found.state == "applied":
        return f"{name}: approved{by} and applied; {found.text}"
    if found.state in {"declined", "expired"}:
        why = f"{by}{reason}" if found.state == "declined" else ""
        return f"{name}: {found.state}{why}; nothing was changed"
    if found.state == "stopped":
        return f"{name}: stopped; {_describe_changes(found)}"
    if found.state == "pending":
        return f"{name}: pending, since it needs another person's approval; nothing is changed yet"
    waits = found.state == "approved" and found.plan.author.brings_token
    how = "to be applied by its author's next call" if waits else "being applied"
    return f"{name}: approved{by}, and {how}; `kubescript plans show {found.plan.id}` tells how it ends"


def _describe_changes(found: record.Record) -> str:
    count = sum(step.state == "done" for step in found.steps)
    text = f"{count} of {len(found.steps)} changes were made"
    if not count or found.plan.author.is_sender:
        return text
    return f"{text}; the user can take it back with `kubescript plans undo {found.plan.id}`, with this server's flags"
