"""The limits on the plans that are kept of one person: how many, and how many bytes in all."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, and_, delete, func, select

from kubescript import errors
from kubescript.changes import plan
from kubescript.changes.store import conditions, limits
from kubescript.database import schema

__all__ = ["check", "forget_oldest"]

_PLANS: Final = schema.PLANS
# Attack: for 30 days, new plans exhaust their author's limit again whenever the last ones have expired.
_MOST_PLANS: Final = 1_000
_MOST_BYTES: Final = 128 << 20
"""The maximum size of one author's plans in bytes."""
# Attack: every call makes a plan of several MiB, until the disk is full.
_MOST_OPEN_BYTES: Final = 64 << 20
"""The maximum size of one person's unexpired plans in bytes, over all replicas."""
_MOST_LIFE_S: Final = 86_400.0
"""How many seconds a plan lives at most; see `config.Plans.expires_s`."""


def check(connection: Connection, new: plan.Plan, size: int, now: float) -> None:
    """Raises PlanError if a new plan's author has too many bytes of plans that have not expired."""
    is_own = _PLANS.c.person == new.author.person
    # The condition on the time of creation is for the index.
    is_counted = and_(is_own, _PLANS.c.created > now - _MOST_LIFE_S, _PLANS.c.expires > now)
    held = connection.scalar(select(func.sum(func.length(_PLANS.c.plan))).where(is_counted)) or 0
    if held + size > _MOST_OPEN_BYTES:
        raise errors.PlanError(
            f"your plans of the last {new.expires - new.created:.0f} seconds have {_MOST_OPEN_BYTES >> 20} MiB, "
            "which is all that one caller may have; make smaller changes, or wait until they expire",
            code="plan.many",
        )


def forget_oldest(connection: Connection, author: plan.Author, now: float) -> None:
    """Forgets an author's oldest ended plans if there are too many."""
    # Attack: another person has the author's name, and makes plans until the author's own are forgotten.
    is_own = and_(_PLANS.c.person == author.person, _PLANS.c.author == author.user)
    # The query reads no column after `plan`, since for that SQLite would have to read every plan in full.
    size = func.length(_PLANS.c.plan) + func.length(_PLANS.c.progress)
    query = select(_PLANS.c.id, size).where(is_own)
    newest_first = query.order_by(_PLANS.c.created.desc())
    sizes = connection.execute(newest_first)
    beyond = limits.list_beyond(sizes, _MOST_PLANS, _MOST_BYTES)
    is_beyond = _PLANS.c.id.in_(beyond[:_MOST_PLANS])
    connection.execute(delete(_PLANS).where(is_beyond, conditions.has_ended(now)))
