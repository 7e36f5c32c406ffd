"""What a model is told of a plan, under the answer to its call. `elicitation` calls it.

Words of an API server, and values of its objects, stand between marks like all text of the cluster.
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
"""Masks and marks a text that may have words of the cluster."""


def add_words(answer: types.Answer, text: str) -> types.Answer:
    """Returns the answer with more words of ours; its plan is settled."""
    return replace(answer, text=f"{answer.text}\n{text}".strip(), plan="")


def add_answer(answer: types.Answer, more: types.Answer) -> types.Answer:
    """Returns the answer with the text of another one."""
    return replace(add_words(answer, more.text), untrusted=answer.untrusted or more.untrusted)


def changes(found: record.Record) -> str:
    """Counts the changes of a plan."""
    count = len(found.plan.steps)
    return "1 change" if count == 1 else f"{count} changes"


def add_end(answer: types.Answer, found: record.Record, quote: Quote) -> types.Answer:
    """Returns the answer with what became of a plan."""
    answer = add_words(answer, _outcome(found))
    # Attack: the message of a webhook that denies a write, with orders to the model, or with a secret in it.
    return add_answer(answer, quote(found.text)) if found.state == "stopped" and found.text else answer


def add_failure(answer: types.Answer, error: errors.KubescriptError, quote: Quote) -> types.Answer:
    """Returns the answer with why nothing more is done about its plan."""
    log.warning("plan %s: %s", answer.plan, error.message, extra={"code": error.code, "remedy": error.remedy})
    # Attack: a webhook's words, in the story of what was made before a plan was lost.
    if isinstance(error, errors.PlanError | errors.AuditError | errors.Busy) and not isinstance(error, errors.PlanLost):
        answer = add_words(answer, f"error {error.code}: {error.message}; nothing more is changed")
    else:
        answer = add_answer(add_words(answer, f"error {error.code}; nothing more is changed"), quote(error.message))
    return replace(answer, is_error=True, code=error.code)


def _outcome(found: record.Record) -> str:
    name = f"plan {found.plan.id}"
    last = found.decisions[-1] if found.decisions else None
    by = f" by {last.approver}" if last is not None else ""
    if found.state == "applied":
        return f"{name}: approved{by} and applied; {found.text}"
    if found.state == "declined":
        reason = f": {last.reason}" if last is not None and last.reason else ""
        return f"{name}: declined{by}{reason}; nothing was changed"
    if found.state == "expired":
        return f"{name}: expired; nothing was changed"
    if found.state == "stopped":
        return f"{name}: stopped; {_describe_changes(found)}"
    if found.state == "pending":
        return f"{name}: pending, since it needs another person's approval; nothing is changed yet"
    return f"{name}: approved{by}, and being applied; `kubescript plans show {found.plan.id}` tells how it ends"


def _describe_changes(found: record.Record) -> str:
    count = sum(step.state == "done" for step in found.steps)
    text = f"{count} of {len(found.steps)} changes were made"
    return text + (
        f"; the user can take it back with `kubescript plans undo {found.plan.id}`, with this server's flags"
        if count
        else ""
    )
