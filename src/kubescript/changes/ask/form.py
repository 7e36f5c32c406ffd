"""The form in which a client asks a person about a plan, and what its answer says. `elicitation` sends it.

An answer is whatever the client makes of it. What is not the form's own word for an approval is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kubescript.output import sanitizing

__all__ = ["SCHEMA", "line", "read"]

_MAX_REASON: Final = 500
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "decision": {"type": "string", "enum": ["decline", "approve"], "title": "Decision"},
        "reason": {"type": "string", "title": "Reason", "maxLength": _MAX_REASON},
    },
    "required": ["decision"],
}


def read(action: str, content: Mapping[str, object]) -> tuple[bool, str]:
    """Returns whether a person approves, and the reason to put on record. `action` is that of MCP's ElicitResult."""
    if action == "cancel":
        return False, "nobody answered"
    decision, reason = content.get("decision"), content.get("reason")
    if action == "accept" and decision not in ("approve", "decline"):
        return False, "the client sent neither `approve` nor `decline`"
    is_approval = action == "accept" and decision == "approve"
    return is_approval, line(reason, _MAX_REASON) if isinstance(reason, str) else ""


def line(text: str, most: int) -> str:
    """Returns a client's text as one line of at most so many characters, all of which can be seen."""
    return " ".join(sanitizing.clean(text[: 4 * most]).split())[:most]
