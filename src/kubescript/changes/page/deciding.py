"""A person's decision on a plan, from the form of the plan's page."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol
from urllib import parse

from starlette.requests import Request

from kubescript import errors
from kubescript.changes import plan
from kubescript.changes.store import record
from kubescript.changes.view import model, view
from kubescript.output import sanitizing

__all__ = ["AGAIN", "Form", "Left", "Store", "decide", "is_from", "read_form"]

AGAIN: Final = "Open the plan's page again, and decide there."
# A form has a reason, and a tick for each critical finding.
_MAX_FORM: Final = 256 << 10
"""The maximum size of a form in bytes."""
_MAX_FIELDS: Final = 10_000
_MAX_REASON: Final = 2_000
"""The maximum length of a reason in characters."""


class Store(Protocol):
    """The part of `changes.approval.Approvals` that pages need. Its methods raise PlanError."""

    def get(self, plan_id: str) -> record.Record:
        """Returns a plan and its outcome."""

    def newest(self, limit: int) -> Sequence[record.Record]:
        """Returns the most recent plans, newest first."""

    def decide(self, plan_id: str, decision: record.Decision) -> record.Record:
        """Applies a decision to a plan. Raises AuditError if the decision cannot be recorded."""


class Form:
    """The fields of a form that a browser has sent."""

    def __init__(self, fields: dict[str, list[str]]) -> None:
        self._fields = fields

    def get(self, name: str) -> str:
        """Returns the first value of a field; an empty string if there is none."""
        return self._fields.get(name, [""])[0]

    def list(self, name: str) -> Sequence[str]:
        """Returns all values of a field."""
        return self._fields.get(name, ())


@dataclass(frozen=True, slots=True)
class Left:
    """A decision that did not count, with what the person has filled in."""

    status: int
    complaint: str
    reason: str
    ticked: frozenset[str]


async def read_form(request: Request) -> Form:
    """Returns the fields of a form; none if it is too large or malformed."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MAX_FORM:
            return Form({})
    try:
        return Form(parse.parse_qs(body.decode(), keep_blank_values=True, max_num_fields=_MAX_FIELDS))
    except ValueError:
        return Form({})


def is_from(request: Request, origin: str) -> bool:
    """Says whether a form was sent by a page of this origin."""
    # Attack: a page of another site sends a form to this server.
    if request.headers.getlist("origin") != [origin]:
        return False
    return request.headers.get("sec-fetch-site", "same-origin") == "same-origin"


def decide(
    store: Store, entry: record.Record, form: Form, approver: str, identity: plan.Identity | None = None
) -> record.Record | Left | None:
    """Applies the decision in a form to the plan that was shown; returns the plan, or the decision if it does not
    count, or None if the form has none. `approver` and `identity` are those of `record.Decision`. Raises PlanError."""
    answer = form.get("decision")
    if answer not in {"approve", "decline"}:
        return None
    approves = answer == "approve"
    ticked = frozenset(form.list("override"))
    # The recorded reason is what a reader sees: without invisible characters, and of limited length.
    reason = sanitizing.clean(form.get("reason")).strip()[:_MAX_REASON]
    critical: list[model.Finding] = []
    if approves:
        critical = [finding for finding in view.findings(entry.plan) if finding.is_critical]
    complaint = _complaint(critical, ticked, reason)
    if complaint:
        return Left(422, complaint, reason, ticked)
    overrides = dict.fromkeys(finding.rule_id for finding in critical)
    decision = record.Decision(
        approver=approver,
        channel="page",
        approves=approves,
        hash=form.get("hash"),
        reason=reason,
        overrides=tuple(overrides),
        identity=identity,
        at=time.time(),
    )
    try:
        return store.decide(entry.plan.id, decision)
    except errors.KubescriptError as error:
        return Left(409, error.explained, reason, ticked)


def _complaint(critical: Sequence[model.Finding], ticked: frozenset[str], reason: str) -> str:
    """Returns what an approval lacks; an empty string if it is complete."""
    left = [finding for finding in critical if str(finding.number) not in ticked]
    if left:
        number = len(left)
        text = model.count(number, "critical finding")
        return f"{text} not overridden. Override each of them, or decline."
    if critical and not reason:
        return "A critical finding can be overridden only with a reason."
    return ""
