"""A plan's history as data: its state, who decided, and how far it was applied. The store keeps it."""

from __future__ import annotations

from typing import Literal

import msgspec

from kubescript.changes import plan

__all__ = ["Application", "Decision", "Evidence", "Question", "Record", "State", "StepState"]

State = Literal["pending", "approved", "declined", "expired", "applying", "applied", "stopped"]
"""`stopped`: some of the plan's requests may have been carried out, and the others never will be."""

StepState = Literal["waiting", "sending", "not sent", "done", "failed", "unknown"]
"""`sending` is written before the request is sent, and remains if the server dies; `not sent`: no byte of it was sent,
though it was written that it would be; `unknown`: the request may or may not have been carried out."""


class Evidence(msgspec.Struct, frozen=True):
    """Where an audit record stands."""

    chain: str
    """The id of its chain."""
    seq: int
    hash: str
    place: str
    """The file when it was written, for people: `host:/path`."""


class Decision(msgspec.Struct, frozen=True):
    """One person's answer."""

    approver: str
    """The person, such as `uid 1000 (alice)` or `client inspector, session 1f3a`; or the runbook."""
    channel: Literal["elicitation", "page", "terminal", "argument", "runbook"]
    """`runbook`: no person; the operator's settings approve the plan in advance."""
    approves: bool
    hash: str
    """The hash of the plan that the person saw."""
    reason: str = ""
    overrides: tuple[str, ...] = ()
    """The ids of the rules whose critical findings the person overrides."""
    at: float = 0.0
    """When the person answered, in seconds since the epoch."""
    identity: plan.Identity | None = None
    """The person, if authenticated."""
    lapsed: bool = False
    """Whether the person had lost the right to approve the plan before the last approval was given."""

    evidence: Evidence | None = None
    """The record of this answer in the audit; None without an audit."""

    @property
    def counts(self) -> bool:
        """Whether it is an approval that still counts."""
        return self.approves and not self.lapsed


class Application(msgspec.Struct, frozen=True):
    """The progress of one step of a plan."""

    state: StepState = "waiting"
    audit_id: str = ""
    """The audit id of the request, which is also in kube-apiserver's own audit log."""
    resource_version: str = ""
    """In the state `sending`, the version in the request's precondition."""
    status: int = 0
    uid: str = ""
    """The uid of the object that the request has created; empty if it created none, or if that is unknown."""
    text: str = ""
    """What happened to the request, in words for a person."""


class Record(msgspec.Struct, frozen=True):
    """A plan with its history."""

    plan: plan.Plan
    state: State
    decisions: tuple[Decision, ...] = ()
    steps: tuple[Application, ...] = ()
    """The progress of each step of the plan."""
    text: str = ""
    """How the plan ended, in words for a person."""
    reported: bool = False
    """Whether the model has been told how the plan ended."""
    starts: tuple[Evidence, ...] = ()
    """The records of its application's starts: the first one on each chain."""


class Question(msgspec.Struct, frozen=True):
    """A question about a plan that ended a call."""

    plan: str
    principal: str
    """The caller who was asked: `user.User.key`; empty where callers are not authenticated."""
    session: str
    """The call's session, which over HTTP may last for that call alone."""
    call: str
    """The digest of the call."""
    is_link: bool
