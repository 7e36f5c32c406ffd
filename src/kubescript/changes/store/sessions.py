"""The sessions of people who are logged in to the page, in the plans' database: any replica knows them.

A session is found by a digest of its name, and sealed with a key that only its browser has. So a copy of the database
opens no page, and no token in it can be read.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from sqlalchemy import Connection, delete, insert, select

from kubescript.database import database, schema

__all__ = ["Sessions"]

_TABLE: Final = schema.SESSIONS
# Attack: one person logs in again and again, until the disk is full.
_MOST: Final = 20
"""How many sessions one person may have; the oldest ones end."""


class Sessions:
    """The sessions of all replicas. Its methods raise PlanError."""

    def __init__(self, plans: database.Database, clock: Callable[[], float] = time.time) -> None:
        self._database = plans
        self._clock = clock

    def add(self, digest: str, person: str, expires: float, sealed: bytes) -> None:
        """Keeps a new session until `expires`, in seconds since the epoch. `person` identifies whose it is."""
        now = self._clock()
        row = {"digest": digest, "person": person, "created": now, "expires": expires, "sealed": sealed}
        with self._database.writing() as connection:
            connection.execute(delete(_TABLE).where(_TABLE.c.expires <= now))
            connection.execute(insert(_TABLE).values(row))
            _end_oldest(connection, person)

    def get(self, digest: str) -> bytes | None:
        """Returns a session as it was sealed; None if it has ended."""
        query = select(_TABLE.c.sealed).where(_TABLE.c.digest == digest, _TABLE.c.expires > self._clock())
        with self._database.reading() as connection:
            return connection.scalars(query).one_or_none()

    def end(self, digest: str) -> None:
        """Ends a session."""
        with self._database.writing() as connection:
            connection.execute(delete(_TABLE).where(_TABLE.c.digest == digest))


def _end_oldest(connection: Connection, person: str) -> None:
    query = select(_TABLE.c.digest).where(_TABLE.c.person == person)
    newest_first = query.order_by(_TABLE.c.created.desc(), _TABLE.c.digest)
    beyond = connection.scalars(newest_first.offset(_MOST)).all()
    is_beyond = _TABLE.c.digest.in_(beyond)
    connection.execute(delete(_TABLE).where(is_beyond))
