"""How many requests each person has sent to all replicas in the present minute.

A replica takes a share of a person's minute in one statement, and spends it without asking again. What is left of a
share is lost with the minute. The minutes are those of the database's clock, so clocks of replicas do not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, Integer, case, cast, delete, func, not_, or_
from sqlalchemy.dialects import postgresql

from kubescript.database import schema

__all__ = ["Grant", "forget", "take"]

_TABLE: Final = schema.ALLOWANCES
_NOW: Final = func.extract("epoch", func.clock_timestamp())
_MINUTE: Final = cast(func.floor(_NOW / 60), Integer)


@dataclass(frozen=True, slots=True)
class Grant:
    """A share of a person's requests."""

    count: int
    left_s: float
    """For how many seconds it may be spent."""


def take(connection: Connection, person: str, share: int, most: int) -> Grant | None:
    """Takes a share of the `most` requests that a person may send in a minute, or what is left of them; None if nothing
    is left."""
    own = postgresql.insert(_TABLE).values(person=person, minute=_MINUTE, taken=share)
    given, kept = own.excluded.minute, _TABLE.c.minute
    # A minute that is further ahead than the next one is of a clock that has been put back since.
    is_new = or_(given > kept, kept > given + 1)
    taken = case((is_new, share), else_=_TABLE.c.taken + share)
    # One statement, which locks the row: two replicas do not find the same rest. One that has waited for the lock until
    # the next minute counts in that.
    minute = case((is_new, given), else_=kept)
    query = own.on_conflict_do_update(
        index_elements=[_TABLE.c.person],
        set_={"minute": minute, "taken": taken},
        where=or_(is_new, _TABLE.c.taken < most),
    ).returning(_TABLE.c.taken, 60 - _NOW % 60)
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    total, left_s = row
    return Grant(share - max(0, total - most), float(left_s))


def forget(connection: Connection) -> None:
    """Forgets persons who have sent nothing for some minutes, or only before the clock was put back."""
    connection.execute(delete(_TABLE).where(not_(_TABLE.c.minute.between(_MINUTE - 5, _MINUTE + 1))))
