"""Which replica has which session of an MCP client. A session itself is in the memory of its replica; here is a digest
of its id, so that other replicas count it, and know of it when its replica has died."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Final, Literal

from sqlalchemy import Connection, and_, delete, func, select
from sqlalchemy.dialects import postgresql

from kubescript.database import database, schema

__all__ = ["Session", "Whereabouts", "beat", "begin", "count_replicas", "end", "find", "keep", "leave"]

Whereabouts = Literal["unknown", "ended", "elsewhere"]
"""What is known of a session that is not here: nothing, its replica has ended, or its replica serves it."""

_SESSIONS: Final = schema.CLIENT_SESSIONS
_REPLICAS: Final = schema.REPLICAS
_NOW: Final = func.extract("epoch", func.clock_timestamp())
_DEAD_S: Final = 30.0
"""Seconds after its last sign of life after which a replica counts as dead."""
# What was seen in the future was seen before the clock was put back: those that live are seen again soon.
_IS_ALIVE: Final = and_(_REPLICAS.c.seen.between(_NOW - _DEAD_S, _NOW + _DEAD_S), _REPLICAS.c.ended.is_(False))
_LOCK_DIGITS: Final = 15
"""How many hexadecimal digits of a digest are a lock's id, of 64 bits with a sign."""


@dataclass(frozen=True, slots=True)
class Session:
    """A session of a client."""

    digest: str
    """Of its id."""
    person: str
    """A digest too."""
    route: str
    """The endpoint."""


def begin(connection: Connection, new: Session, replica: str, most: int) -> bool:
    """Keeps a new session; says whether the person has fewer than `most` at this endpoint of all living replicas."""
    # Attack: a caller opens sessions at all replicas at the same moment, and each of them finds room.
    database.take_lock(connection, int(new.person[:_LOCK_DIGITS], 16))
    is_own = and_(_SESSIONS.c.person == new.person, _SESSIONS.c.route == new.route)
    living = select(func.count()).select_from(_SESSIONS).join(_REPLICAS, _REPLICAS.c.id == _SESSIONS.c.replica)
    if (connection.scalar(living.where(is_own, _IS_ALIVE)) or 0) >= most:
        return False
    keep(connection, [new], replica)
    return True


def keep(connection: Connection, sessions: Collection[Session], replica: str) -> None:
    """Keeps sessions of a replica; those that are kept already stay as they are."""
    if sessions:
        query = postgresql.insert(_SESSIONS).on_conflict_do_nothing()
        connection.execute(query, [{**asdict(each), "replica": replica} for each in sessions])


def end(connection: Connection, digests: Collection[str]) -> None:
    """Forgets sessions that have ended."""
    connection.execute(delete(_SESSIONS).where(_SESSIONS.c.digest.in_(digests)))


def find(connection: Connection, digest: str, person: str, replica: str) -> Whereabouts:
    """Says where a person's session is that this replica has not. Another person's is unknown."""
    joined = _SESSIONS.join(_REPLICAS, _REPLICAS.c.id == _SESSIONS.c.replica)
    query = select(_IS_ALIVE).select_from(joined)
    # One of this replica's own has just ended.
    is_theirs = and_(_SESSIONS.c.person == person, _SESSIONS.c.replica != replica)
    is_alive = connection.scalar(query.where(_SESSIONS.c.digest == digest, is_theirs))
    if is_alive is None:
        return "unknown"
    return "elsewhere" if is_alive else "ended"


def beat(connection: Connection, replica: str, keep_s: float) -> int:
    """Notes that a replica is alive; returns how many are. Forgets the sessions of those that died `keep_s` ago."""
    own = postgresql.insert(_REPLICAS).values(id=replica, seen=_NOW, ended=False)
    seen = own.on_conflict_do_update(index_elements=[_REPLICAS.c.id], set_={"seen": _NOW})
    connection.execute(seen)
    has_long_died = _REPLICAS.c.seen < _NOW - keep_s - _DEAD_S
    dead = select(_REPLICAS.c.id).where(has_long_died)
    is_of_dead = _SESSIONS.c.replica.in_(dead)
    connection.execute(delete(_SESSIONS).where(is_of_dead))
    connection.execute(delete(_REPLICAS).where(has_long_died))
    return count_replicas(connection) or 1


def count_replicas(connection: Connection) -> int:
    """Returns how many replicas are alive."""
    living = select(func.count()).select_from(_REPLICAS).where(_IS_ALIVE)
    return connection.scalar(living) or 0


def leave(connection: Connection, replica: str) -> None:
    """Notes that a replica ends; its sessions are known for a while."""
    connection.execute(_REPLICAS.update().where(_REPLICAS.c.id == replica).values(ended=True))
