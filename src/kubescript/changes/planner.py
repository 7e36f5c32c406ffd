"""Makes a plan from a script's writes, once the script has ended. The evaluator asks it."""

from __future__ import annotations

import hashlib
import logging
import os
import pwd
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from kubescript import errors, types
from kubescript.broker import operation, records
from kubescript.changes import draft, impact, plan
from kubescript_sandbox import runs

if TYPE_CHECKING:
    from kubescript.changes.store import store

__all__ = ["Audit", "Planner", "Result", "Terms", "local_name", "local_user"]

log = logging.getLogger(__name__)

_MAX_READS: Final = 60
_READS: Final = frozenset({"get", "list", "watch"})


class Audit(Protocol):
    """The audit record on which plans are."""

    def identity(self) -> str:
        """Returns the id of the record, which no other record has. Raises AuditError."""

    @property
    def place(self) -> str:
        """The record's file, for people."""


class Identify(Protocol):
    """A function that identifies a cluster."""

    def __call__(self, operation: operation.Operation) -> str:
        """Returns the cluster's unique identity. Raises KubescriptError."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What one cluster demands of plans."""

    policy: str
    """The digest of the settings for writes."""
    budget: int
    """The maximum number of requests in one plan."""
    assessor: impact.Assessor
    approvals: Callable[[frozenset[str | None]], int]
    """A function that returns how many people must approve changes in these namespaces; None stands for all."""
    identify: Identify
    place: Callable[[], str]
    """A function that returns the cluster's name and address, which are known once the cluster has been called."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of the writes that a script has tried."""

    plan: plan.Plan | None = None
    note: str = ""
    """A note for the model."""
    fault: runs.Fault | None = None
    """The reason why no plan was made."""


class Planner:
    """The maker of one server's plans. Safe for use from many threads."""

    def __init__(
        self,
        plans: Callable[[], store.Store],
        terms: Callable[[str], Terms | None],
        *,
        expires_s: float,
        author: plan.Author,
        audit: Audit | None,
        flags: str,
    ) -> None:
        """`terms` returns those of a cluster, None for one that takes no plans or is gone; `author` is who the server
        knows: without session and client."""
        self._plans = plans
        self._terms = terms
        self._expires_s = expires_s
        self._author = author
        self._audit = audit
        self._flags = flags

    def begin(self) -> draft.Draft:
        """Returns the draft for one script's writes."""
        return draft.Draft(lambda context: self._find_terms(context).budget)

    def end(
        self,
        drafted: draft.Draft,
        script: str,
        caller: types.Caller,
        operation: operation.Operation,
        record: Callable[[plan.Plan], None],
    ) -> Result:
        """Makes, records and keeps the plan of a script that has succeeded."""
        try:
            made = self.make(drafted, script, caller, operation)
            if made is not None:
                # The plan is recorded before it is kept: an unrecorded plan must not be approved.
                record(made)
                self.keep(made)
        except errors.KubescriptError as error:
            log.warning("no plan: %s", error.message, extra=error.log_fields)
            return Result(fault=runs.Fault(error.code, f"nothing is planned or changed: {error.message}"))
        return Result(made)

    @staticmethod
    def abandon(drafted: draft.Draft) -> Result:
        """Discards the writes of a script that has failed."""
        count = len(drafted.close())
        if not count:
            return Result()
        return Result(note=f"{count} writes were tried and none is planned: the script failed")

    def make(
        self, drafted: draft.Draft, script: str, caller: types.Caller, operation: operation.Operation
    ) -> plan.Plan | None:
        """Returns the plan of a script that has succeeded; None if the script changes nothing. Raises
        KubescriptError."""
        steps = drafted.close()
        if not steps:
            return None
        drafted.check()
        terms = self._find_terms(drafted.context)
        now = time.time()
        return plan.Plan(
            id=plan.new_id(),
            author=msgspec.structs.replace(
                self._author, session=caller.session, client=caller.client, tool=caller.tool
            ),
            context=drafted.context,
            cluster=terms.identify(operation),
            script=hashlib.sha256(script.encode("utf-8", "surrogatepass")).hexdigest(),
            policy=terms.policy,
            steps=terms.assessor.assess(steps, operation),
            reads=_reads(operation.summary.call_records),
            created=now,
            expires=now + self._expires_s,
            place=terms.place(),
            audit=self._audit.identity() if self._audit is not None else "",
            audit_place=self._audit.place if self._audit is not None else "",
            flags=self._flags,
            approvals=terms.approvals(frozenset(step.reach for step in steps)),
            runbook=drafted.runbook or msgspec.UNSET,
        )

    def _find_terms(self, context: str) -> Terms:
        """Returns the terms of a cluster. Raises PlanError if it is out of reach by now."""
        terms = self._terms(context)
        if terms is None:
            raise errors.PlanError(f"cluster {context!r} takes no plans any more", code="plan.policy")
        return terms

    def keep(self, made: plan.Plan) -> None:
        """Keeps a plan until a person decides on it. Raises PlanError."""
        self._plans().add(made)


def local_user() -> str:
    """Returns the operating system's user: `uid 1000 (alice)`."""
    name = local_name() or "no name"
    return f"uid {os.getuid()} ({name})"


def local_name() -> str:
    """Returns the name of the operating system's user; empty if there is none."""
    # getpass is not used here, since it trusts the environment. Attack: one person approves twice, as two people.
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return ""


def _reads(calls: Sequence[records.Record]) -> tuple[str, ...]:
    """Returns the script's reads, without duplicates."""
    seen = dict.fromkeys(done.what for done in calls if _is_read(done))
    shown = list(seen)[:_MAX_READS]
    more = len(seen) - len(shown)
    if more:
        shown.append(f"… and {more} more")
    return tuple(shown)


def _is_read(done: records.Record) -> bool:
    """Says whether a call has read objects rather than a document of the API server."""
    if done.verdict != "allow" or done.call is None:
        return False
    return done.call.is_resource and done.call.verb in _READS
