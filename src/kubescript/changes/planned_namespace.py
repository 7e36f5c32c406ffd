"""A namespace that only the plan has: one of its steps creates it, and later ones create what goes into it.

The API server tries nothing in a namespace that is not there. So until then the later ones are tried in the namespace
`default`, under a name that stands in for their own, and once more at their own place, right before they are sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import msgspec

from kubescript import errors
from kubescript.changes import intervals, plan
from kubescript.policy import decisions

__all__ = ["STAND_IN", "check", "explain", "explain_denial", "find_creation", "looks", "refuse"]

# Every cluster has it, and no API server deletes it.
STAND_IN: Final = "default"
"""The namespace in which the objects of a planned one are tried."""
_IN_TWO: Final = "create the namespace in one script, and this in the next"
# The API server looks for the rules of the Role, and none is there, unless its caller has the verb `bind`.
_BINDING: Final = "create the namespace and the Role in one script, and the binding in the next"
_RULE: Final = "writes.untried"
_SETTLE_S: Final = 10.0
"""For how many seconds a refusal in a new namespace is tried again: controllers make its service account and rights."""


def find_creation(steps: Sequence[plan.Step], namespace: str) -> int | None:
    """Returns which of these steps creates the namespace; None if it is not the last one about it, or there is none."""
    index = _find_last(steps, namespace)
    if index is None or steps[index].precondition is not None:
        return None
    return index


def check(steps: Sequence[plan.Step], step: plan.Step) -> None:
    """Raises PlanError if one of the steps deletes the namespace of this later one."""
    index = _find_last(steps, step.namespace)
    if index is not None and not step.is_namespace and steps[index].removes:
        raise errors.PlanError(
            f"this plan already deletes the namespace of {step.target}; leave that out", code="plan.overlap"
        )


def explain(steps: Sequence[plan.Step], step: plan.Step) -> plan.Step:
    """Returns a step that was tried in the stand-in's namespace, with a finding about that; the first one in its
    namespace speaks for those that follow `steps`."""
    for earlier in steps:
        if earlier.namespace == step.namespace and any(each.rule == _RULE for each in earlier.findings):
            return step
    message = (
        "the namespace is not there yet, so this, and what else the plan makes in it, was tried in namespace "
        f"{STAND_IN}. Untried are the new one's quotas, limit ranges, pod security, rights, service accounts, webhooks "
        f"and policies; those of {STAND_IN} have answered instead. If an object is refused in the new one, or becomes "
        "something else there, the plan stops, and the namespace stays with what was made"
    )
    finding = plan.Finding(_RULE, "warning", message)
    return msgspec.structs.replace(step, findings=(*step.findings, finding))


def explain_denial(denial: decisions.Decision) -> decisions.Decision:
    """Returns the denial of a write that must not be tried in the stand-in's namespace."""
    reason = f"its namespace is not there yet, and in namespace {STAND_IN}, where it would be tried, {denial.reason}"
    return replace(denial, reason=reason, instead=_IN_TWO)


def refuse(why: str, resource: str) -> errors.PlanError:
    """Returns the error for an object of a resource that cannot be tried in the stand-in's namespace; `why` is the API
    server's answer."""
    instead = _BINDING if resource == "rolebindings" else _IN_TWO
    return errors.PlanError(
        f"the namespace of this is not there yet, so it was tried in namespace {STAND_IN}, and there the API server "
        f"answers {why}. If that is about {STAND_IN} alone, {instead}",
        code="plan.untried",
    )


def looks() -> Iterator[None]:
    """Yields whenever it is time to try a request again that a new namespace refuses, until that takes too long."""
    return intervals.looks(_SETTLE_S)


def _find_last(steps: Sequence[plan.Step], namespace: str) -> int | None:
    """Returns the last of the steps about a namespace itself."""
    about = [index for index, step in enumerate(steps) if step.is_namespace and step.name == namespace]
    return about[-1] if about else None
