"""Undoes a plan's changes, through another plan that a person approves like any other. Only the very objects that the
plan has made or changed are touched, by their uids."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import msgspec

from kubescript import errors, types
from kubescript.broker import operation, records
from kubescript.changes import calls, plan, planner, writer
from kubescript.changes.store import record
from kubescript.request import json_body, request
from kubescript.wire import inspection

__all__ = ["Reverse", "describe_lasting", "make"]

_Applied = tuple[plan.Step, record.Application]
_MOST_NAMED: Final = 5
"""How many changes that cannot be taken back are named."""


@dataclass(frozen=True, slots=True)
class Reverse:
    """The reverse of a plan."""

    plan: plan.Plan
    gone: tuple[str, ...]
    """The plan's steps whose objects are gone, so that there is nothing to take back."""


def make(
    done: record.Record,
    cluster: writer.Writer,
    plans: planner.Planner,
    caller: types.Caller,
    journal: records.Journal,
) -> Reverse:
    """Returns the reverse of a plan's applied steps, the last change first. Raises PlanError if nothing was applied, if
    it is not known what was, if a part cannot be undone, or if `cluster` is another one than the plan's. The
    new plan cannot be approved before it is kept."""
    _check_ended(done)
    _check_lasting(done)
    drafted = plans.begin()
    own = operation.Operation(draft=drafted, owner=caller.session, journal=journal)
    # Attack: another server has the cluster's name by now, and gets the former values with the dry runs.
    _check_cluster(cluster.identify(own), done)
    planned, gone = _plan_reverses(done, cluster, own)
    made = plans.make(drafted, f"undo {done.plan.id}", caller, own)
    if made is None:
        why = "; ".join(f"the object of `{what}` is gone" for what in gone)
        text = f"there is nothing to take back of plan {done.plan.id}"
        raise _refusal(f"{text}: {why}" if why else text)
    # Attack: the name is given to another server after the dry runs, and the new plan is for that one.
    _check_cluster(made.cluster, done)
    # Attack: the object is made anew between the look at it and the dry run, and the new plan is for that one.
    for (step, application), reverse in zip(planned, made.steps, strict=True):
        _check_same(step, application, reverse.precondition.uid if reverse.precondition is not None else "")
    return Reverse(made, tuple(gone))


def describe_lasting(done: record.Record) -> str:
    """Names the changes that were made and cannot be taken back; returns an empty string if there are none."""
    lasting = []
    for step, application in zip(done.plan.steps, done.steps, strict=True):
        if application.state == "done" and step.undo is None:
            lasting.append(step.what)
    more = len(lasting) - _MOST_NAMED
    named = ", ".join(lasting[:_MOST_NAMED])
    return f"{named} and {more} more" if more > 0 else named


def _check_lasting(done: record.Record) -> None:
    """Raises PlanError if a part of what a plan has done cannot be taken back."""
    lasting = describe_lasting(done)
    if lasting:
        raise _refusal(
            f"{lasting} cannot be taken back, so nothing of the plan is; take back the rest by a script with a plan of "
            "its own"
        )


def _check_ended(done: record.Record) -> None:
    """Raises PlanError unless it is known what a plan has done, and it does no more."""
    if done.state == "applying":
        raise _refusal(f"plan {done.plan.id} is still being applied; take it back when it has ended")
    for step, application in zip(done.plan.steps, done.steps, strict=True):
        if application.state in {"sending", "unknown"}:
            raise _refusal(
                f"nobody knows whether this was done, so nothing of the plan is taken back: {step.what}; look at the "
                "object, and take back the rest by a script with a plan of its own"
            )


def _check_cluster(found: str, done: record.Record) -> None:
    """Raises PlanError unless this is the identity of the cluster that a plan has changed."""
    if found != done.plan.cluster:
        raise _refusal(
            f"plan {done.plan.id} has changed another cluster, or this one at another address, so nothing of it is "
            "taken back; give the cluster's name back to that one, or take it back by a script with a plan of its own"
        )


def _plan_reverses(
    done: record.Record, cluster: writer.Writer, operation: operation.Operation
) -> tuple[list[_Applied], list[str]]:
    """Adds the reverses of the applied steps to the draft, the last one first. Returns the steps whose reverse changes
    anything, and the names of those whose objects are gone. Raises KubescriptError."""
    planned = []
    gone = []
    pairs = list(zip(done.plan.steps, done.steps, strict=True))
    for step, application in reversed(pairs):
        if application.state != "done":
            continue
        assert step.undo is not None  # see `_check_lasting`
        reverse = _reverse(step, step.undo, operation)
        now = cluster.read_facts(reverse, operation)
        if now is None or _is_ending(now, reverse):
            gone.append(step.what)
            continue
        _check_same(step, application, now.uid)
        if _plan(step, reverse, cluster, operation):
            planned.append((step, application))
    return planned, gone


def _is_ending(now: inspection.Facts, reverse: request.Request) -> bool:
    """Says whether an object that is to be deleted is being deleted already."""
    is_terminating = now.state is not None and now.state.terminating
    return is_terminating and reverse.verb == "delete"


def _plan(step: plan.Step, reverse: request.Request, cluster: writer.Writer, operation: operation.Operation) -> bool:
    """Tries the reverse of a step, and adds it to the draft. Returns whether it would change anything. Raises
    KubescriptError."""
    try:
        return cluster.plan(reverse, operation)
    except errors.PlanError as error:
        if error.code != errors.PlanError.default_code:
            raise
        raise _refusal(
            f"{error.message}; if another client has changed the same list of the object since, it cannot be taken "
            f"back, so nothing of the plan is ({step.what}); take back the rest by a script with a plan of its own"
        ) from None


def _check_same(step: plan.Step, application: record.Application, uid: str) -> None:
    """Raises PlanError unless this is the uid of the object that a step has made or changed."""
    expected = application.uid if step.precondition is None else step.precondition.uid
    if not expected:
        raise _refusal(
            f"{step.what}: it is not known whether the object of that name is the one that the plan has made, so "
            "nothing of the plan is taken back; delete it by a script with a plan of its own, if it is"
        )
    if uid != expected:
        raise _refusal(
            f"{step.what}: another object has been made under that name since (uid {uid}, and not {expected}), so "
            "nothing of the plan is taken back; take back the rest by a script with a plan of its own"
        )


def _reverse(step: plan.Step, undo: plan.Request, operation: operation.Operation) -> request.Request:
    """Returns the request that undoes a step. Raises RequestError if it is not a valid one."""
    call = calls.of(step, undo, operation)
    if call.verb == "patch":
        # A masking process has written this body. Attack: a compromised one adds operations that copy a secret.
        _, checked = json_body.check("PATCH", msgspec.Raw(call.body or b""), "json-patch")
        call = replace(call, body=checked)
    return call


def _refusal(message: str) -> errors.PlanError:
    return errors.PlanError(message, code="plan.no_undo")
