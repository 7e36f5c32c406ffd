"""Turns the requests of a plan into calls, which the broker sends."""

from __future__ import annotations

import time
import uuid
from typing import Final

from kubescript.broker import operation
from kubescript.changes import plan
from kubescript.request import request

__all__ = ["of"]

_STEP_S: Final = 30.0
"""How many seconds one step may take."""
_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def of(
    step: plan.Step,
    made: plan.Request,
    operation: operation.Operation,
    plan_id: str = "",
) -> request.Request:
    """Returns one request about a step's object, with a new audit id. `plan_id` names the approved plan."""
    cancel = operation.cancellation
    creates = made.method == "POST" and not step.subresource
    return request.Request(
        method=made.method,
        path=made.path,
        query=made.query,
        verb=_VERBS[made.method],
        is_resource=True,
        group=step.group,
        version=step.version,
        resource=step.resource,
        subresource=step.subresource,
        namespace=step.namespace,
        name="" if creates else step.name,
        body=None if made.body is None else made.body.encode(),
        content_type=made.content_type,
        audit_id=str(uuid.uuid4()),
        agent=operation.journal.agent,
        deadline=time.monotonic() + _STEP_S,
        script=id(operation),
        plan=plan_id,
        cancelled=lambda: cancel.cancelled,
    )
