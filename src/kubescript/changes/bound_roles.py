"""The Role that a RoleBinding gives to new subjects. Its rules are judged with the binding."""

from __future__ import annotations

import msgspec

from kubescript.broker import call
from kubescript.changes import attempt, reads
from kubescript.request import request
from kubescript.wire import exchanges, inspection

__all__ = ["add_risk"]

_ESCALATION = "escalation"


def add_risk(
    call: call.Call,
    binding: request.Request,
    changes: inspection.Changes,
    reads: reads.Reads,
    compare: attempt.Compare,
) -> inspection.Changes:
    """Returns the changes of a binding with the risk of its Role, if that leads to further rights. Raises
    KubescriptError if the Role cannot be read."""
    if not changes.binds or _ESCALATION in changes.risks:
        return changes
    # Attack: a harmless binding gives somebody a Role that was made long ago, and permits everything.
    place = ("apis", binding.group, binding.version, "namespaces", binding.namespace, "roles", changes.binds)
    asked = request.parse(exchanges.Call("GET", place))
    role = reads.read_target(call, asked)
    # A Role that the same plan makes is judged where it is made.
    if not role:
        return changes
    shown = compare(asked, b"", role, call.operation.summary.found)
    if _ESCALATION not in shown.risks:
        return changes
    risks = tuple(sorted({*changes.risks, _ESCALATION}))
    return msgspec.structs.replace(changes, risks=risks)
