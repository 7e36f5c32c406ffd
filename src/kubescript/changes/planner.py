"""Makes a plan of what a script has tried, once the script has ended. The evaluator asks it."""

from __future__ import annotations

import functools
import hashlib
import os
import pwd
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from kubescript import types
from kubescript.broker import records, summary
from kubescript.changes import draft, plan
from kubescript_sandbox.host import cancellation

if TYPE_CHECKING:
    from kubescript.changes.store import store

__all__ = ["Look", "Planner", "Terms", "local_user"]

Look = Callable[[str, Sequence[plan.Step]], Sequence[tuple[str, ...]]]
"""Says for each step in a cluster what a deletion takes with it, one line each."""
Review = Callable[[Sequence[plan.Step]], Sequence[tuple[plan.Finding, ...]]]
"""Says for each step what the rules find."""

_MAX_READS: Final = 60
_READS: Final = frozenset({"get", "list", "watch"})


class Count(Protocol):
    """Counts plans."""

    def __call__(self, expires: float, size: int) -> None:
        """Counts a new plan of so many bytes. Raises PlanError when there are too many."""


class Identify(Protocol):
    """Names a cluster."""

    def __call__(self, notes: summary.Summary, cancel: cancellation.Cancellation) -> str:
        """Returns what tells it from all others. Raises KubescriptError."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What one cluster demands of plans."""

    policy: str
    """Digest of what decides about writes."""
    budget: int
    """Requests of one plan."""
    approvals: Callable[[frozenset[str]], int]
    """Returns how many people must approve changes in these namespaces."""
    identify: Identify
    place: Callable[[], str]
    """Returns the name and the address of the cluster, once it has been called."""


class Planner:
    """Makes the plans of one server. Many threads use it at once."""

    def __init__(
        self,
        plans: Callable[[], store.Store],
        terms: Mapping[str, Terms],
        *,
        expires_s: float,
        user: str,
        review: Review,
        count: Count,
    ) -> None:
        """`terms` has the clusters by name; `user` is who asks, where the server knows it. `count` bounds his plans."""
        self._plans = plans
        self._terms = terms
        self._expires_s = expires_s
        self._user = user
        self._review = review
        self._count = count

    def begin(self) -> draft.Draft:
        """Returns where one script's writes are written down."""
        return draft.Draft({name: terms.budget for name, terms in self._terms.items()})

    def make(
        self, drafted: draft.Draft, script: str, caller: types.Caller, notes: summary.Summary, look: Look
    ) -> plan.Plan | None:
        """Returns the plan of a script that has ended well; None when it changes nothing. Raises KubescriptError."""
        steps = drafted.close()
        if not steps:
            return None
        terms = self._terms[drafted.context]
        now = time.time()
        return plan.Plan(
            id=plan.new_id(),
            author=plan.Author(self._user, caller.session, caller.client, caller.tool),
            context=drafted.context,
            cluster=terms.identify(notes, cancellation.Cancellation()),
            script=hashlib.sha256(script.encode("utf-8", "surrogatepass")).hexdigest(),
            policy=terms.policy,
            steps=self._judged(steps, functools.partial(look, drafted.context)),
            reads=_reads(notes.call_records),
            created=now,
            expires=now + self._expires_s,
            place=terms.place(),
            approvals=terms.approvals(frozenset(step.namespace for step in steps)),
        )

    def keep(self, made: plan.Plan) -> None:
        """Keeps a plan for somebody to approve. Raises PlanError."""
        self._count(made.expires, len(msgspec.json.encode(made)))
        self._plans().add(made)

    def _judged(
        self, steps: Sequence[plan.Step], look: Callable[[Sequence[plan.Step]], Sequence[tuple[str, ...]]]
    ) -> tuple[plan.Step, ...]:
        """Returns the steps with what rules find, and what deletions take with them."""
        findings = self._review(steps)
        dependents = look(steps)
        return tuple(
            msgspec.structs.replace(step, findings=step.findings + found, dependents=below)
            for step, found, below in zip(steps, findings, dependents, strict=True)
        )


def local_user() -> str:
    """Returns the operating system's user: `uid 1000 (alice)`."""
    # Not by getpass, which believes the environment. Attack: one person approves twice, as two.
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        name = "no name"
    return f"uid {os.getuid()} ({name})"


def _reads(calls: Sequence[records.Record]) -> tuple[str, ...]:
    """Returns what the script read, each once."""
    seen = dict.fromkeys(
        done.what
        for done in calls
        if done.verdict == "allow" and done.call is not None and done.call.is_resource and done.call.verb in _READS
    )
    shown = list(seen)[:_MAX_READS]
    if len(seen) > _MAX_READS:
        shown.append(f"… and {len(seen) - _MAX_READS} more")
    return tuple(shown)
