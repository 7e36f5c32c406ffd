"""The form in which a client asks a person about a plan: its text, its fields, and the meaning of the answer.
`elicitation` sends it.

A client may answer anything. Only the form's own word for an approval approves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kubescript.changes.store import record
from kubescript.changes.view import plain
from kubescript.output import sanitizing

__all__ = ["SCHEMA", "compose", "line", "read"]

_MAX_REASON: Final = 500
# A longer plan is decided on the page or in the terminal: what cannot be shown cannot be approved.
_MOST: Final = 4_000
"""The maximum number of characters of a plan in a client's form."""
# A plan's rows have more characters than its text, which leaves out unchanged lines of long values.
_MOST_RAW: Final = 25 * _MOST
"""The maximum number of characters in a plan's rows; for more, no text for a form is composed at all."""
# Attack: a client draws the form in a terminal that breaks longer lines.
_WIDTH: Final = 80
"""The maximum number of cells of a line in a client's form."""
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "decision": {"type": "string", "enum": ["decline", "approve"], "title": "Decision"},
        "reason": {"type": "string", "title": "Reason", "maxLength": _MAX_REASON},
    },
    "required": ["decision"],
}


def compose(found: record.Record) -> str:
    """Returns a form's text about a plan; an empty string if the plan cannot be decided in a form."""
    if found.plan.critical or found.plan.approvals != 1:
        return ""
    raw = sum(step.rows_size for step in found.plan.steps)
    if raw > _MOST_RAW:
        return ""
    text = plain.text(found, _WIDTH)
    return text if len(text) <= _MOST else ""


def read(action: str, content: Mapping[str, object]) -> tuple[bool, str]:
    """Returns whether a person approves, and the reason to record. `action` is that of MCP's ElicitResult."""
    if action == "cancel":
        return False, "nobody answered"
    is_accepted = action == "accept"
    decision = content.get("decision")
    if is_accepted and decision not in ("approve", "decline"):
        return False, "the client sent neither `approve` nor `decline`"
    approves = is_accepted and decision == "approve"
    reason = content.get("reason")
    if not isinstance(reason, str):
        return approves, ""
    return approves, line(reason, _MAX_REASON)


def line(text: str, most: int) -> str:
    """Returns a client's text as one line of at most `most` characters, all of them visible."""
    clean = sanitizing.clean(text[: 4 * most])
    words = clean.split()
    return " ".join(words)[:most]
