"""In which state a plan is, as conditions of a query. `now` is in seconds since the epoch."""

from __future__ import annotations

from typing import Final, Literal

from sqlalchemy import ColumnElement, and_, or_

from kubescript.database import schema

__all__ = ["OPEN", "has_ended", "is_abandoned", "is_held", "is_open"]

_PLANS: Final = schema.PLANS
_STATE: Final = schema.PLANS.c.state
OPEN: Final = ("pending", "approved")
"""The states in which a plan can expire."""
_ENDED: Final = ("declined", "applied", "stopped")


def is_open(state: Literal["pending", "approved"], now: float) -> ColumnElement[bool]:
    """Returns the condition for a plan in this state that has not expired."""
    return and_(_PLANS.c.state == state, _PLANS.c.expires > now)


def is_held(owner: str) -> ColumnElement[bool]:
    """Returns the condition for a plan that this server applies."""
    return and_(_STATE == "applying", _PLANS.c.owner == owner)


def is_abandoned(now: float) -> ColumnElement[bool]:
    """Returns the condition for a plan whose server has died while it applied the plan."""
    return and_(_STATE == "applying", _PLANS.c.lease_until <= now)


def has_ended(now: float) -> ColumnElement[bool]:
    """Returns the condition for a plan that can no longer be applied."""
    is_expired = and_(_STATE.in_(OPEN), _PLANS.c.expires <= now)
    return or_(_STATE.in_(_ENDED), is_expired)
