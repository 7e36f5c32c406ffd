"""The Role that a RoleBinding gives to new subjects. Its rules are judged with the binding."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import msgspec

from kubescript.broker import call
from kubescript.changes import attempt, reads, requests
from kubescript.request import request
from kubescript.wire import exchanges, inspection

__all__ = ["add_risk"]

_RISK: Final = "escalation"
_RULE: Final = "writes.escalation"


def add_risk(
    call: call.Call, context: str, tried: attempt.Attempt, reads: reads.Reads, compare: attempt.Compare
) -> attempt.Attempt:
    """Returns a write that was tried in a cluster, with the risk of the Role that it binds, if that leads to further
    rights. Raises KubescriptError if the Role cannot be read."""
    changes = tried.changes
    if not changes.binds or _RISK in changes.risks:
        return tried
    # Attack: a harmless binding gives somebody a Role that was made long ago, and permits everything.
    asked = _name_role(tried.asked, changes.binds)
    draft = call.operation.draft
    key = asked.group, asked.resource, asked.namespace, asked.name
    leads_further = draft is not None and draft.warns_of(key, context, _RULE)
    if not leads_further:
        role = reads.read_target(call, asked)
        # A Role that is missing gives nothing; its creation is judged by itself.
        shown = compare(asked, b"", role, call.operation.summary.found) if role else inspection.Changes()
        leads_further = _RISK in shown.risks
    if not leads_further:
        return tried
    risks = tuple(sorted({*changes.risks, _RISK}))
    return replace(tried, changes=msgspec.structs.replace(changes, risks=risks))


def _name_role(binding: request.Request, name: str) -> request.Request:
    """Returns the request for a Role in the namespace of a binding. Raises RequestError if it cannot have that name."""
    # Attack: a masking process that was taken over gives a name that leads to another path.
    place = ("apis", binding.group, binding.version, "namespaces", binding.namespace, "roles", name)
    role = request.parse(exchanges.Call("GET", place))
    return replace(requests.read(binding), path=role.path, resource=role.resource, name=role.name)
