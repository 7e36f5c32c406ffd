"""The form in which a client asks a person about a plan: its text, its fields, and the meaning of the answer.
`elicitation` sends it.

A client may answer anything. Only the form's own word for an approval approves, and only the form's own ticks override
critical findings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kubescript.changes import plan
from kubescript.changes.store import record
from kubescript.changes.view import characters, model, plain, view
from kubescript.output import sanitizing

__all__ = ["Answer", "Form", "compose", "line", "read"]

_MAX_REASON: Final = 500
# A longer plan is decided on the page or in the terminal: what cannot be shown cannot be approved.
# A namespace, a Deployment, a Role and its RoleBinding have 5,200; a few objects more must fit, too.
_MOST: Final = 8_000
"""The maximum number of characters of a plan in a client's form."""
# A plan's rows have more characters than its text, which leaves out unchanged lines of long values.
_MOST_RAW: Final = 100_000
"""The maximum number of characters in a plan's rows; for more, no text for a form is composed at all."""
# Attack: a client draws the form in a terminal that breaks longer lines.
_WIDTH: Final = 80
"""The maximum number of cells of a line in a client's form."""
_MOST_SHOWN: Final = 3
"""How many findings of one rule are repeated beside its tick."""
# Attack: the name of an object is so long that it pushes the next finding out of view.
_MOST_WORDS: Final = 160
"""How many characters of each of them."""
_DECISION: Final = {"type": "string", "enum": ["decline", "approve"], "title": "Decision"}


@dataclass(frozen=True, slots=True)
class Form:
    """What a client shows to a person."""

    text: str
    schema: dict[str, Any]
    """The fields, as MCP has them: a flat object of strings and booleans."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A person's answer, as it is recorded."""

    approves: bool
    reason: str = ""
    overrides: tuple[str, ...] = ()
    """The ids of the rules whose critical findings the person overrides."""


def compose(found: record.Record) -> Form | None:
    """Returns the form about a plan; None if the plan cannot be decided in a form."""
    if found.plan.approvals != 1:
        return None
    raw = sum(step.rows_size for step in found.plan.steps)
    if raw > _MOST_RAW:
        return None
    text = plain.text(found, _WIDTH)
    if len(text) > _MOST:
        return None
    return Form(text, _schema(found.plan))


def read(planned: plan.Plan, action: str, content: Mapping[str, object]) -> Answer:
    """Returns a person's answer to a plan's form. `action` is that of MCP's ElicitResult."""
    if action == "cancel":
        return Answer(approves=False, reason="nobody answered")
    is_accepted = action == "accept"
    decision = content.get("decision")
    if is_accepted and decision not in ("approve", "decline"):
        return Answer(approves=False, reason="the client sent neither `approve` nor `decline`")
    reason = content.get("reason")
    said = line(reason, _MAX_REASON) if isinstance(reason, str) else ""
    if not is_accepted or decision != "approve":
        return Answer(approves=False, reason=said)
    # Attack: a client sends 1 or "false", which are no ticks, or ticks that no field of this form has.
    ticked = [rule for key, rule in _ticks(planned).items() if content.get(key) is True]
    return Answer(approves=True, reason=said, overrides=tuple(ticked))


def line(text: str, most: int) -> str:
    """Returns a client's text as one line of at most `most` characters, all of them visible; empty if no character
    of it has ink."""
    clean = sanitizing.clean(text[: 4 * most])
    words = clean.split()
    joined = " ".join(words)[:most]
    # Attack: a reason of Braille blanks looks like none.
    return joined if any(map(_has_ink, joined)) else ""


def _has_ink(char: str) -> bool:
    return not (char.isspace() or characters.is_hidden(char) or characters.is_mark(char))


def _schema(planned: plan.Plan) -> dict[str, Any]:
    """Returns the fields of a plan's form: the decision, a tick for each rule with critical findings, the reason."""
    ticks = _ticks(planned)
    reason = {"type": "string", "title": "Reason", "maxLength": _MAX_REASON}
    required = ["decision"]
    if ticks:
        reason["title"] = "Reason (needed, since there are critical findings)"
        reason["minLength"] = 1
        required.append("reason")
    critical = [finding for finding in view.findings(planned) if finding.is_critical]
    fields = {key: _tick(rule, critical) for key, rule in ticks.items()}
    return {
        "type": "object",
        "properties": {"decision": dict(_DECISION), **fields, "reason": reason},
        "required": required,
    }


def _ticks(planned: plan.Plan) -> dict[str, str]:
    """Maps the names of the form's ticks to the ids of the rules with critical findings."""
    rules = dict.fromkeys(finding.rule for finding in planned.critical)
    # Clients read a dot in the name of a field as a path. Rules' ids are kubescript's and the operator's words, which
    # no script and no cluster can choose.
    return {f"override_{rule.replace('.', '_')}": rule for rule in rules}


def _tick(rule: str, critical: list[model.Finding]) -> dict[str, Any]:
    """Returns the field by which a person overrides a rule's findings among the critical ones."""
    found = [each for each in critical if each.rule_id == rule]
    return {
        "type": "boolean",
        "title": f"Override {rule}",
        "description": "; ".join(_describe(found)),
        "default": False,
    }


def _describe(found: list[model.Finding]) -> Iterator[str]:
    """Yields the findings that one tick overrides, shortened: the form's text has them whole."""
    number = sum(len(each.places) for each in found)
    if number > 1:
        yield f"{number} findings"
    for each in found[:_MOST_SHOWN]:
        words = plain.add_remarks(each.message)
        if len(words) > _MOST_WORDS:
            words = f"{words[:_MOST_WORDS]}…"
        yield f"{words} ({_list_changes(each)})"
    if len(found) > _MOST_SHOWN:
        yield "…"


def _list_changes(found: model.Finding) -> str:
    """Returns the numbers of the first changes that a finding is about."""
    numbers = [str(place.change) for place in found.places]
    shown = ", ".join(numbers[:_MOST_SHOWN])
    if len(numbers) > _MOST_SHOWN:
        shown += " …"
    return f"changes {shown}" if len(numbers) > 1 else f"change {shown}"
