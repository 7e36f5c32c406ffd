"""The store of plans: what was planned, who decided, who is applying it, and how far that has got.

Scripts, approvals and applications all go through it; several servers may share one store. A plan is used once: each
change of its state is one UPDATE that names the previous state, so that only one of several callers succeeds. The
UPDATE also locks the plan until its transaction ends, so a value read after it cannot change before it is written.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Generator, Sequence
from typing import Any, Final, Literal

import msgspec
from sqlalchemy import ColumnElement, Connection, Row, and_, delete, func, insert, or_, select, update

from kubescript import errors
from kubescript.changes import plan
from kubescript.changes.store import conditions, decisions, questions, record, room, runbook_uses, sessions
from kubescript.database import database, schema

__all__ = ["PutOnRecord", "Store"]

PutOnRecord = Callable[[plan.Plan, record.Decision], record.Evidence]
"""A function that puts a decision on a plan on the audit record, and returns where it stands. Raises AuditError."""

_PLANS: Final = schema.PLANS
_MAX_ID: Final = 64
# An audit record names them all, and has 32 KiB.
_MOST_STARTS: Final = 20
"""How many starts of an application are kept."""
# The next answer reports the remaining ones.
_MOST_UNREPORTED: Final = 20
"""How many ended plans one answer reports at most."""

_MOST_PENDING: Final = 500
"""How many waiting plans are looked at for one list."""
_LOCK: Final = 0x6B756267
"""A lock id that no other program uses."""


# This is stored as JSON: text from people and API servers may contain characters that no column accepts.
class _Progress(msgspec.Struct, frozen=True):
    """The parts of a record, besides its state, that change."""

    decisions: tuple[record.Decision, ...]
    steps: tuple[record.Application, ...]
    text: str = ""
    starts: tuple[record.Evidence, ...] = ()


# The decoders are made before any threads start: two threads that decode into a type simultaneously for the first time
# can crash msgspec 0.22.
_PLAN: Final = msgspec.json.Decoder(plan.Plan)
_PROGRESS: Final = msgspec.json.Decoder(_Progress)


class Store:
    """All plans of one server, or of all its replicas. Safe for use from many threads and processes."""

    def __init__(self, url: str, *, clock: Callable[[], float] = time.time) -> None:
        """Opens the store: a file's path, a PostgreSQL URL, or "" for the default file. `clock` returns seconds since
        the epoch; the clocks of several servers must agree to within a small part of a lease. Raises PlanError."""
        self._database = database.open_database(url)
        self._clock = clock
        self.sessions = sessions.Sessions(self._database, clock)
        """The sessions of people on the page."""
        self.questions = questions.Questions(self._database, clock)
        """The questions that wait at clients."""

    @property
    def where(self) -> str:
        """A description without credentials: a file, or the host and the database."""
        return self._database.where

    def add(self, new: plan.Plan) -> None:
        """Keeps a new plan, and forgets the author's oldest ended plans if there are too many. Raises PlanError:
        plan.many when the author has too many that have not expired, .store."""
        waiting = (record.Application(),) * len(new.steps)
        encoded = msgspec.json.encode(new)
        row = {
            "id": new.id,
            "session": new.author.session,
            "created": new.created,
            "expires": new.expires,
            "hash": new.hash,
            "plan": encoded,
            "state": "pending",
            "progress": msgspec.json.encode(_Progress(decisions=(), steps=waiting)),
            "author": new.author.user,
            "person": new.author.person,
            "principal": new.author.principal,
        }
        with self._database.writing() as connection:
            # Attack: one person's plans are added by two replicas at the same moment, and both find room.
            database.take_lock(connection, _LOCK)
            room.check(connection, new, len(encoded), self._clock())
            connection.execute(insert(_PLANS).values(row))
            room.forget_oldest(connection, new.author, self._clock())

    def get(self, plan_id: str) -> record.Record:
        """Returns a plan; a pending or approved one past its time is `expired`. Raises PlanError."""
        with self._database.reading() as connection:
            query = select(_PLANS).where(_is(plan_id))
            row = connection.execute(query).one_or_none()
        if row is None:
            raise _unknown(plan_id)
        return self._record(row)

    def newest(self, limit: int = 50) -> list[record.Record]:
        """Returns the most recent plans, newest first. Raises PlanError."""
        newest_first = _PLANS.c.created.desc()
        # Plans with equal times are ordered by id, so that the order does not change from one call to the next.
        query = select(_PLANS).order_by(newest_first, _PLANS.c.id)
        return self._records(query.limit(limit))

    def newest_of(self, person: str, limit: int) -> list[record.Record]:
        """Returns the most recent plans of an authenticated person, newest first. Raises PlanError."""
        query = select(_PLANS).where(_PLANS.c.person == person)
        newest_first = query.order_by(_PLANS.c.created.desc(), _PLANS.c.id)
        return self._records(newest_first.limit(limit))

    def list_pending(self, per_author: int) -> Generator[record.Record]:
        """Yields plans that wait for a decision, newest first; of each author only the newest. Raises PlanError."""
        # Attack: one caller makes a thousand plans, which would hide those of all others, or of another person of the
        # same name.
        newest_first = (_PLANS.c.created.desc(), _PLANS.c.id)
        whose = (_PLANS.c.person, _PLANS.c.author)
        place = func.row_number().over(partition_by=whose, order_by=newest_first)
        is_pending = conditions.is_open("pending", self._clock())
        ranked = select(_PLANS.c.id, place.label("place")).where(is_pending).subquery()
        is_same_plan = ranked.c.id == _PLANS.c.id
        is_among_newest = ranked.c.place <= per_author
        query = select(_PLANS).join(ranked, is_same_plan).where(is_among_newest)
        newest = query.order_by(*newest_first).limit(_MOST_PENDING)
        with self._database.reading() as connection:
            for row in connection.execute(newest):
                yield self._record(row)

    def count_pending(self) -> int:
        """Returns how many plans wait for a decision. Raises PlanError."""
        query = select(func.count()).where(conditions.is_open("pending", self._clock()))
        with self._database.reading() as connection:
            return connection.scalar(query) or 0

    def list_unreported(self, session: str, person: str = "", principal: str = "") -> list[record.Record]:
        """Returns the 20 oldest ended plans of an author's session that were not yet reported to the model; with
        `person`, those of all sessions of this person with the rights of `principal`, or with unknown ones. Raises
        PlanError."""
        is_own = _PLANS.c.session == session
        if person:
            # The plans of an older server do not say it here.
            is_own = and_(_PLANS.c.person == person, _PLANS.c.principal.in_((principal, "")))
        is_unreported = _PLANS.c.reported.is_(False)
        has_ended = conditions.has_ended(self._clock())
        query = select(_PLANS).where(is_own, is_unreported, has_ended)
        query = query.order_by(_PLANS.c.created, _PLANS.c.id)
        return self._records(query.limit(_MOST_UNREPORTED))

    def list_unfinished(self) -> dict[str, str]:
        """Returns the ids of plans whose application was interrupted, or not begun, by their server's death, oldest
        first, each with its author: the person, or the name where callers are not authenticated. Raises PlanError."""
        now = self._clock()
        has_lease_ended = and_(_PLANS.c.lease_until > 0, _PLANS.c.lease_until <= now)
        is_not_begun = and_(conditions.is_open("approved", now), has_lease_ended)
        author = func.coalesce(func.nullif(_PLANS.c.person, ""), _PLANS.c.author)
        query = select(_PLANS.c.id, author).where(or_(conditions.is_abandoned(now), is_not_begun))
        with self._database.reading() as connection:
            return dict(connection.execute(query.order_by(_PLANS.c.created)).tuples().all())

    def list_ready(self, person: str) -> list[str]:
        """Returns the ids of a person's plans that are approved, and of those whose application was interrupted by
        their server's death. Raises PlanError."""
        now = self._clock()
        is_free = or_(conditions.is_open("approved", now), conditions.is_abandoned(now))
        return self._ids(and_(_PLANS.c.person == person, is_free))

    def decide(
        self,
        plan_id: str,
        decision: record.Decision,
        put_on_record: PutOnRecord | None = None,
        lease_s: float | None = None,
        *,
        most_a_day: int = 0,
        lost: Sequence[record.Decision] = (),
    ) -> record.Record:
        """Keeps one person's answer; a decline ends the plan, and its last approval makes it `approved`.
        `put_on_record` is called for an answer that counts, before it takes effect; what it raises stops that. If
        nobody has begun to apply the approved plan after `lease_s` seconds, it is unfinished; without, it never is. A
        runbook is approved in advance at most `most_a_day` times in 24 hours. The approvals in `lost` count no more.

        Raises PlanError: plan.unknown, .expired, .decided, .changed, .approver, .override, .runbook, .store.
        """
        now = self._clock()
        dated = msgspec.structs.replace(decision, at=now)
        is_pending = conditions.is_open("pending", now)
        with self._database.writing() as connection:
            # This writes a column to itself: the UPDATE locks the plan, so that no other answer comes in between.
            locked = self._lock_plan(connection, plan_id, is_pending, id=_PLANS.c.id)
            found = decisions.lapse(locked, lost)
            # If two answers arrive at the same time, the second one is judged with the first one taken into account.
            decisions.check(found, decision)
            if decision.channel == "runbook":
                runbook_uses.take(connection, found.plan, most_a_day, now)
            given = (*found.decisions, dated)
            state: record.State = "pending"
            values: dict[str, float] = {}
            if not decision.approves:
                state = "declined"
                values["ended"] = now
            elif sum(each.counts for each in given) >= found.plan.approvals:
                state = "approved"
                values["lease_until"] = now + lease_s if lease_s is not None else 0.0
            decided = msgspec.structs.replace(found, state=state, decisions=given)
            _write(connection, decided, state=state, **values)
            # Nothing takes effect unrecorded: the answer takes effect when this transaction ends. Attack: an answer
            # that does not count is on record as an approval. So it is put there when nothing else can refuse it.
            if put_on_record is not None:
                evidence = put_on_record(found.plan, dated)
                proven = msgspec.structs.replace(dated, evidence=evidence)
                decided = msgspec.structs.replace(decided, decisions=(*found.decisions, proven))
                _write(connection, decided)
        return decided

    def claim(self, plan_id: str, owner: str, lease_s: float) -> record.Record:
        """Makes an approved plan `applying`, or takes over one whose owner's lease has run out. Only one of several
        callers succeeds. `owner` is unique to this claim. Raises PlanError: plan.unknown, .expired, .decided, .changed,
        .store."""
        now = self._clock()
        is_free = or_(conditions.is_open("approved", now), conditions.is_abandoned(now))
        claimed = {"state": "applying", "owner": owner, "lease_s": lease_s, "lease_until": now + lease_s}
        with self._database.writing() as connection:
            found = self._lock_plan(connection, plan_id, is_free, **claimed)
            # Attack: the state column is set to `approved` in the store. The answers themselves must approve this plan.
            approvals = [each for each in found.decisions if each.counts and each.hash == found.plan.hash]
            if len(approvals) < found.plan.approvals:
                raise self._describe_change(plan_id)
        return found

    def begin(self, plan_id: str, owner: str, start: record.Evidence) -> record.Record:
        """Keeps where the start of an application is on record, and renews the lease. Raises PlanError: plan.unknown,
        .decided when `owner` has lost the plan, .store."""
        with self._database.writing() as connection:
            until = self._clock() + _PLANS.c.lease_s
            found = self._lock_plan(connection, plan_id, conditions.is_held(owner), lease_until=until)
            if start.chain not in {each.chain for each in found.starts}:
                found = msgspec.structs.replace(found, starts=(*found.starts[1 - _MOST_STARTS :], start))
                _write(connection, found)
        return found

    def mark(self, plan_id: str, owner: str, index: int, application: record.Application) -> None:
        """Records the progress of one step, and renews the lease; it is on disk when this returns. Raises PlanError:
        plan.unknown, .decided when `owner` has lost the plan, .store."""
        with self._database.writing() as connection:
            until = self._clock() + _PLANS.c.lease_s
            found = self._lock_plan(connection, plan_id, conditions.is_held(owner), lease_until=until)
            steps = list(found.steps)
            steps[index] = application
            marked = msgspec.structs.replace(found, steps=tuple(steps))
            _write(connection, marked)

    def renew(self, plan_id: str, owner: str) -> None:
        """Renews the lease of a plan. Raises PlanError: plan.unknown, .decided when `owner` has lost the plan,
        .store."""
        with self._database.writing() as connection:
            until = self._clock() + _PLANS.c.lease_s
            self._lock_plan(connection, plan_id, conditions.is_held(owner), lease_until=until)

    def holds(self, plan_id: str, owner: str) -> bool:
        """Says whether a plan is still applied by `owner`. Raises PlanError."""
        query = select(_PLANS.c.id).where(_is(plan_id), conditions.is_held(owner))
        with self._database.reading() as connection:
            return connection.execute(query).one_or_none() is not None

    def finish(self, plan_id: str, owner: str, state: Literal["applied", "stopped"], text: str) -> None:
        """Ends a plan's application; `text` describes its end for a person. Raises PlanError: plan.unknown, .decided
        when `owner` has lost the plan, .store."""
        with self._database.writing() as connection:
            ended = self._clock()
            found = self._lock_plan(connection, plan_id, conditions.is_held(owner), state=state, ended=ended)
            finished = msgspec.structs.replace(found, text=text)
            _write(connection, finished)

    def report(self, plan_id: str) -> None:
        """Records that a plan's end was reported to the model. Raises PlanError."""
        query = update(_PLANS).where(_is(plan_id))
        with self._database.writing() as connection:
            count = connection.execute(query.values(reported=True)).rowcount
            if count == 0:
                raise _unknown(plan_id)

    def prune(self, keep_s: float) -> int:
        """Forgets plans that ended more than `keep_s` seconds ago; returns their number. Raises PlanError."""
        now = self._clock()
        # For an expired plan, the store has no time at which it ended, so it ended when it expired.
        ended = func.coalesce(_PLANS.c.ended, _PLANS.c.expires)
        is_old = ended < now - keep_s
        query = delete(_PLANS).where(conditions.has_ended(now), is_old)
        with self._database.writing() as connection:
            return connection.execute(query).rowcount

    def close(self) -> None:
        """Closes the connections to the database."""
        self._database.close()

    def _lock_plan(
        self, connection: Connection, plan_id: str, condition: ColumnElement[bool], **values: Any
    ) -> record.Record:
        """Writes these values if the condition holds, and returns the plan, locked until the transaction ends. Raises
        PlanError when the condition does not hold or the plan does not exist."""
        is_this = _is(plan_id)
        changed = connection.execute(update(_PLANS).where(is_this, condition).values(values)).rowcount
        row = connection.execute(select(_PLANS).where(is_this)).one_or_none()
        if row is None:
            raise _unknown(plan_id)
        found = self._record(row)
        if changed == 0:
            raise _refusal(found)
        return found

    def _ids(self, condition: ColumnElement[bool]) -> list[str]:
        query = select(_PLANS.c.id).where(condition).order_by(_PLANS.c.created)
        with self._database.reading() as connection:
            return list(connection.scalars(query))

    def _records(self, query: Any) -> list[record.Record]:
        with self._database.reading() as connection:
            return [self._record(row) for row in connection.execute(query)]

    def _record(self, row: Row[Any]) -> record.Record:
        """Returns a row as a record. Raises PlanError if its plan has been altered."""
        if hashlib.sha256(row.plan).hexdigest() != row.hash:
            raise self._describe_change(row.id)
        try:
            found = _PLAN.decode(row.plan)
            progress = _PROGRESS.decode(row.progress)
        except msgspec.MsgspecError:
            raise self._describe_change(row.id) from None
        # Queries rely on these columns, so they must match the plan.
        columns = (row.id, row.session, row.created, row.expires)
        if columns != (found.id, found.author.session, found.created, found.expires):
            raise self._describe_change(row.id)
        is_late = row.state in conditions.OPEN and found.expires <= self._clock()
        return record.Record(
            plan=found,
            state="expired" if is_late else row.state,
            decisions=progress.decisions,
            steps=progress.steps,
            text=progress.text,
            reported=row.reported,
            starts=progress.starts,
        )

    def _describe_change(self, plan_id: str) -> errors.PlanError:
        return errors.PlanError(
            f"plan {plan_id} is not as it was written, so nothing of it is sent; tell the operator of this server",
            code="plan.changed",
            remedy=f"{self._database.where}: somebody or a failing disk changed it; find out who, then delete its row",
        )


def _is(plan_id: str) -> ColumnElement[bool]:
    """Returns the condition for this id. Raises PlanError for characters that no id has, for which a driver would
    report other errors."""
    if not (plan_id.isascii() and plan_id.isprintable()):
        raise _unknown(plan_id)
    return _PLANS.c.id == plan_id


def _write(connection: Connection, changed: record.Record, **values: Any) -> None:
    """Writes the changes to a locked plan."""
    progress = _Progress(changed.decisions, changed.steps, changed.text, changed.starts)
    values["progress"] = msgspec.json.encode(progress)
    query = update(_PLANS).where(_is(changed.plan.id))
    connection.execute(query.values(values))


def _unknown(plan_id: str) -> errors.PlanError:
    """Returns the error for an id that no plan has."""
    return errors.PlanError(f"there is no plan {plan_id[:_MAX_ID]!a}", code="plan.unknown")


def _refusal(found: record.Record) -> errors.PlanError:
    """Returns why a plan's state does not permit the operation."""
    name = f"plan {found.plan.id}"
    if found.state == "expired":
        return errors.PlanError(
            f"{name} has expired, and nothing of it was sent; run the script again for a new one", code="plan.expired"
        )
    reasons = {
        "pending": "waits for an approval",
        "approved": "is approved already",
        "applying": "is being applied by another server; should that one have died, the next one goes on with it in a "
        "minute, and so does `kubescript approve`",
    }
    return errors.PlanError(f"{name} {reasons.get(found.state) or f'is {found.state} already'}", code="plan.decided")
