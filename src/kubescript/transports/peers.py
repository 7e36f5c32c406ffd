"""What this replica shares with others: how many requests and sessions each person has at all of them, and where a
session is that is not here.

The database is asked in threads of their own, and has a second to answer each question. While the database does not
answer, this replica goes by its own count, and admits its part of each limit: the n-th, of n replicas that it last knew
of. So nothing hangs, and a caller has little more than the limits. When the database is back, it is told of all
sessions that are here. Plans need the database itself, and are refused meanwhile (`plan.store`).
"""

from __future__ import annotations

import collections
import contextlib
import hashlib
import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

import anyio
import anyio.abc
import anyio.to_thread

from kubescript import errors
from kubescript.database import allowances, client_sessions, database

__all__ = ["Endpoint", "Peers"]

log = logging.getLogger(__name__)

_Result = TypeVar("_Result")
_PATIENCE_S: Final = 1
"""How many seconds a question to the database may take."""
# Attack: the database is 20 ms away. Its tables are never looked at within the second of a question.
_OPEN_S: Final = 10
"""How many seconds the first look at the database may take, for which no question waits."""
_TURNS: Final = 4
"""How many questions the database is asked at the same time."""
# Attack: callers send requests while the database is away, and each of them waits a second.
_AWAY_S: Final = 5.0
"""For how many seconds a database that is away is not asked."""
_LOOK_S: Final = 5.0
"""Seconds between two signs of life. Each of them, and the last word of this replica, may take as long."""
# Attack: one slow answer to a caller with many requests takes the limits of all others from the database.
_AWAY: Final = 2
"""After how many questions in a row without an answer the database is taken for away."""
_SETTLE_S: Final = 30.0
"""For how many seconds after a failure another replica may have sessions of which the database has not been told."""
_UNKNOWN: Final = 10
"""How many replicas are assumed before the database has ever said."""
# Attack: callers begin and end sessions while the database is away.
_MOST_ENDED: Final = 10_000
"""How many ended sessions are noted at a time; others count until this replica ends."""
_TELL_S: Final = 60.0
"""Seconds between two warnings that sessions are elsewhere."""


def _digest(text: str) -> str:
    """Returns the form in which a person or a session's id is kept in the database."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Peers:
    """This replica's part of what all share. Used by one event loop."""

    def __init__(self, url: str, keep_s: float) -> None:
        """Sessions of dead replicas are known for `keep_s` seconds."""
        self._url = url
        self._keep_s = keep_s
        self._replica = secrets.token_hex(8)
        self._turns = anyio.Semaphore(_TURNS)
        self._threads = anyio.CapacityLimiter(_TURNS)
        self._database: database.Database | None = None
        self._away_until = self._unsettled_until = 0.0
        self._failures = 0
        """How many questions in a row the database has not answered."""
        self._told = -_TELL_S
        self._here: dict[str, client_sessions.Session] = {}
        """The sessions at this replica, by their digests."""
        self._is_told = True
        """Whether the database has all of them."""
        self._ended: collections.deque[str] = collections.deque(maxlen=_MOST_ENDED)
        self._leaving = anyio.Lock()
        self._is_leaving = False
        self.count = _UNKNOWN
        """How many replicas there are, this one included, as far as this one knows."""
        self.living = 0
        """How many of them were alive at this one's last sign of life; 0 if the database did not take that."""

    async def take(self, person: str, share: int, most: int) -> allowances.Grant | None:
        """Takes a share of a person's requests of this minute. Raises PlanError when the database does not answer."""
        return await self._ask(lambda connection: allowances.take(connection, _digest(person), share, most))

    async def begin_session(self, session: str, person: str, route: str, most: int, here: int) -> bool:
        """Says whether a person may begin this session, who has `here` sessions at this replica already."""
        begun = client_sessions.Session(_digest(session), _digest(person), route)
        is_in_part = here < max(1, most // self.count)
        # Attack: when the database is back, the caller begins sessions before other replicas have told it of theirs.
        if not is_in_part and time.monotonic() < self._unsettled_until:
            return False
        try:
            may_begin = await self._ask(
                lambda connection: client_sessions.begin(connection, begun, self._replica, most)
            )
        except errors.PlanError:
            self._is_told = False
            may_begin = is_in_part
        if may_begin:
            self._here[begun.digest] = begun
        return may_begin

    def open_endpoint(self, person: str, route: str, most: int, turn: anyio.Lock) -> Endpoint:
        """Returns a person's sessions at one endpoint, who may have `most` there. `turn` is common to all the person's
        endpoints."""
        return Endpoint(self, person, route, most, turn)

    def end_session(self, session: str) -> None:
        """Has the other replicas forget a session soon. Those that end with this replica are remembered."""
        digest = _digest(session)
        self._here.pop(digest, None)
        if not self._is_leaving:
            self._ended.append(digest)

    async def find_session(self, session: str, person: str) -> client_sessions.Whereabouts:
        """Says where a session is that is not here."""
        try:
            found = await self._ask(
                lambda connection: client_sessions.find(connection, _digest(session), _digest(person), self._replica)
            )
        except errors.PlanError:
            return "unknown"
        if found == "elsewhere" and time.monotonic() - self._told > _TELL_S:
            self._told = time.monotonic()
            log.warning(
                "a request is for a session at another replica: the balancer does not send all requests of a session "
                "(Mcp-Session-Id) to one replica; docs/deploy.md says how, or set http.stateless",
                extra={"event": "replicas.not_sticky"},
            )
        return found

    async def run(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        """Tells the other replicas of this one, until it is cancelled. Has started once they know, or the database does
        not answer."""
        await self._tell()
        task_status.started()
        while True:
            await anyio.sleep(_LOOK_S)
            await self._tell()

    async def _tell(self) -> None:
        """Notes that this replica is alive, and which sessions have ended; finds out how many replicas there are."""
        ended = list(self._ended)
        self._ended.clear()
        # Attack: a caller begins sessions at each replica while the database is away, and keeps them.
        untold = [] if self._is_told else list(self._here.values())
        self._is_told = True

        def tell(connection: database.Connection) -> int:
            allowances.forget(connection)
            client_sessions.keep(connection, untold, self._replica)
            client_sessions.end(connection, ended)
            return client_sessions.beat(connection, self._replica, self._keep_s)

        try:
            await self._open()
            self.count = self.living = await self._ask(tell, _LOOK_S)
        except errors.PlanError:  # the next time
            self.living = 0
            self._ended.extend(ended)
            self._is_told = False

    async def leave(self) -> None:
        """Tells the other replicas that this one ends; they take its sessions for ended."""
        async with self._leaving:  # `close` waits for one that is under way
            if self._is_leaving:
                return
            self._is_leaving = True
            # Even of a database that was away: until this replica counts as dead, its sessions would seem to live.
            self._away_until = 0.0
            with contextlib.suppress(errors.PlanError):  # they will miss it
                await self._ask(lambda connection: client_sessions.leave(connection, self._replica), _LOOK_S)

    async def close(self) -> None:
        """Leaves the other replicas, and closes the connections to the database."""
        await self.leave()
        if self._database is not None:
            self._database.close()

    async def _ask(self, work: Callable[[database.Connection], _Result], patience_s: float = _PATIENCE_S) -> _Result:
        """Returns what a transaction of the database returns. Raises PlanError when it does not answer in time, or has
        not lately."""
        async with self._turns:
            return await self._ask_now(work, patience_s)

    async def _ask_now(self, work: Callable[[database.Connection], _Result], patience_s: float) -> _Result:
        """As `_ask`, without waiting for a turn."""
        found = self._database
        if found is None or time.monotonic() < self._away_until:
            raise errors.PlanError("the database of the replicas does not answer", code="plan.store")
        # Attack: a burst of requests waits for its turns, and the database seems to be away.
        answer = await self._wait(patience_s, lambda: _transact(found, work, patience_s))
        self._failures = 0
        return answer

    async def _wait(self, patience_s: float, work: Callable[[], _Result]) -> _Result:
        """Returns what a thread returns. Raises PlanError when it fails, or has not ended in time."""
        try:
            with anyio.fail_after(patience_s):
                return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._threads)
        except TimeoutError:
            error = errors.PlanError("the database of the replicas takes too long", code="plan.store")
        except errors.PlanError as caught:
            error = caught
        self._note_failure(error)
        raise error

    def _note_failure(self, error: errors.PlanError) -> None:
        """Leaves the database alone for a while if it is away, and tells the operator."""
        now = time.monotonic()
        self._unsettled_until = now + _SETTLE_S
        self._failures += 1
        if self._failures >= _AWAY:
            self._away_until = now + _AWAY_S
        if self._failures == _AWAY:
            log.warning(
                "this replica goes by its own count, and admits its part of each limit: %s",
                error.remedy or error.message,
                extra={"event": "replicas.away"},
            )

    async def _open(self) -> None:
        """Opens the database when it has not been opened. Raises PlanError."""
        if self._database is None:
            self._database = await self._wait(_OPEN_S, lambda: database.open_database(self._url, _PATIENCE_S))


def _transact(found: database.Database, work: Callable[[database.Connection], _Result], patience_s: float) -> _Result:
    with found.writing(patience_s) as connection:
        return work(connection)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One person's sessions at one endpoint of all replicas."""

    peers: Peers
    person: str
    route: str
    most: int
    """How many sessions the person may have."""
    # Attack: one person's burst of sessions has all turns to ask the database, and waits there for the person's lock.
    turn: anyio.Lock
    """Held by the one request of the person that asks."""

    async def begin(self, session: str, here: int) -> bool:
        """Says whether a session may begin; the person has `here` others at this endpoint of this replica."""
        async with self.turn:
            return await self.peers.begin_session(session, self.person, self.route, self.most, here)

    def end(self, session: str) -> None:
        """Has the other replicas forget a session soon."""
        self.peers.end_session(session)

    async def find(self, session: str) -> client_sessions.Whereabouts:
        """Says where a session is that is not here."""
        async with self.turn:
            return await self.peers.find_session(session, self.person)
