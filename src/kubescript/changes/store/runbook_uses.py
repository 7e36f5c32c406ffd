"""How often each runbook was approved in advance within a day, by all servers that share the store."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, delete, func, insert, select

from kubescript import errors
from kubescript.changes import plan
from kubescript.database import database, schema

__all__ = ["take"]

_DAY_S: Final = 86_400.0
_LOCK: Final = 0x6B756266
"""A lock id that no other program uses."""
_USES: Final = schema.RUNBOOK_USES


def take(connection: Connection, planned: plan.Plan, most: int, now: float) -> None:
    """Counts a use of the runbook that has made a plan, within the transaction that approves the plan. Raises PlanError
    if there were `most` in the last 24 hours."""
    assert planned.runbook
    name = planned.runbook.name
    # Attack: two servers count at the same moment, and both find room for one.
    database.take_lock(connection, _LOCK)
    # Not the plans are counted: an author's oldest ones are forgotten. Attack: new plans push a use out of the count.
    connection.execute(delete(_USES).where(_USES.c.at <= now - _DAY_S))
    count = connection.scalar(select(func.count()).where(_USES.c.runbook == name))
    if count is None or count >= most:
        raise errors.PlanError(
            f"runbook {name} was approved in advance {most} times within a day already", code="plan.runbook"
        )
    connection.execute(insert(_USES).values(plan=planned.id, runbook=name, at=now))
