"""The replacement of an object: a plan deletes it, and makes another one of its name when it is gone.

While the name is taken, the API server says whether it would admit the creation, and not what it would make of it. So
the creation is also tried under a name that stands in for the real one, and once more under the real one, when that is
free.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from kubescript import errors
from kubescript.changes import intervals, plan
from kubescript.changes.store import record
from kubescript.request import request
from kubescript.wire import inspection

__all__ = ["deletes", "describe_lost", "is_gone", "late", "looks", "may_create", "refuse", "replace"]

_WAIT_S: Final = 120.0
"""How many seconds the application waits until a deleted object is gone: finalizers and containers take their time."""
_RULE: Final = "writes.replacement"
_GAPS: Final = {
    "configmaps": ", and pods that need it do not start",
    "cronjobs": ", and its jobs end",
    "daemonsets": ", and its pods end before new ones start",
    "deployments": ", and its pods end before new ones start",
    "ingresses": ", and what it routes is not reached",
    "jobs": ", and its pods end before new ones start",
    "persistentvolumeclaims": ", and its data may be gone with it",
    "persistentvolumes": ", and its data may be gone with it",
    "pods": ", and its containers end before new ones start",
    "replicasets": ", and its pods end before new ones start",
    "secrets": ", and pods that need it do not start",
    "services": ", and its clients reach nothing",
    "statefulsets": ", and its pods end before new ones start",
}
"""What else is missing between the two, by resource."""


def may_create(call: request.Request) -> bool:
    """Says whether a canonical write makes the object that it names if there is none."""
    if call.subresource:
        return False
    return call.method == "POST" or call.content_type.startswith("application/apply-patch")


def deletes(step: plan.Step) -> bool:
    """Says whether a step deletes its object, so that another one of its name can follow."""
    return step.verb == "delete" and not step.subresource and step.precondition is not None


def replace(deletion: plan.Step, creation: plan.Step) -> plan.Step:
    """Returns the creation as the second part of a replacement, with a finding about the time between the two."""
    assert deletion.precondition is not None
    gap = _GAPS.get(creation.resource, "")
    message = (
        f"the old one is deleted first, and this one is made when that is gone: in between there is none{gap}. Until "
        "then the API server shows what it makes of this one only under another name; if it makes something else of it "
        f"under this name, or the old one is not gone after {_WAIT_S:.0f} seconds, there is none afterwards"
    )
    finding = plan.Finding(_RULE, "warning", message)
    return msgspec.structs.replace(creation, replaces=deletion.precondition.uid, findings=(*creation.findings, finding))


def looks() -> Iterator[None]:
    """Yields whenever it is time to look whether an object is gone, until that takes too long."""
    return intervals.looks(_WAIT_S)


def is_gone(step: plan.Step, now: inspection.Facts | None) -> bool:
    """Says whether the object that a step replaces is gone. Raises PlanError if another one has taken its name."""
    if now is None:
        return True
    if now.uid != step.replaces:
        raise errors.PlanError(
            f"{step.target}: somebody else has made one of that name since the plan deleted it", code="plan.changed"
        )
    return False


def refuse(why: str) -> errors.PlanError:
    """Returns the error for an object that cannot be tried beside the one that it replaces; `why` is the API server's
    answer."""
    return errors.PlanError(
        f"this cannot be tried beside the object that the plan deletes, since the API server answers {why}. If that is "
        "because both cannot be there at once, delete the old one in one script, and create the new one in the next",
        code="plan.overlap",
    )


def late(step: plan.Step) -> errors.PlanError:
    """Returns the error for an object that is not gone in time."""
    return errors.PlanError(
        f"{step.target}: after {_WAIT_S:.0f} seconds the old one is still being deleted, or the API server does not "
        "answer; look at its finalizers, and make the new one by another plan when it is gone",
        code="plan.failed",
    )


def describe_lost(steps: Sequence[plan.Step], done: Sequence[record.Application]) -> str:
    """Describes the objects that a plan has deleted and not made anew."""
    pairs = list(zip(steps, done, strict=True))
    deleted = {step.key for step, each in pairs if deletes(step) and each.state == "done"}
    lost = ""
    for step, each in pairs:
        if step.replaces and each.state != "done" and step.key in deleted:
            lost += f"; {step.target} is deleted, and not made anew"
    return lost
