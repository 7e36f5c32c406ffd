"""The store of plans keeps them as they were made, and lets each be used once; in SQLite and in PostgreSQL."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec
import pytest
import sqlalchemy

from kubescript import errors
from kubescript.changes import application, approval, plan
from kubescript.changes.store import record, room, store
from kubescript.wire import inspection
from tests.kit.stored_plans import ALICE, BOB, CREATED, CRITICAL, LIFE_S, Clock, answer, made

OVER: Final = CREATED + LIFE_S
"""When the plans of these tests have expired."""
LEASE_S: Final = 60.0
DAY_S: Final = 86_400.0
SENDING: Final = record.Application("sending", "audit-1", "41")
DONE: Final = record.Application("done", "audit-1", "41", 200)


@pytest.fixture
def url(new_database: Callable[[], str]) -> str:
    return new_database()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def plans(url: str, clock: Clock) -> Iterator[store.Store]:
    opened = store.Store(url, clock=clock)
    yield opened
    opened.close()


def added(plans: store.Store, **changes: Any) -> plan.Plan:
    """A plan that waits for an approval."""
    new = made(**changes)
    plans.add(new)
    return new


def approved(plans: store.Store, **changes: Any) -> plan.Plan:
    """A plan that may be applied."""
    new = added(plans, **changes)
    plans.decide(new.id, answer(new))
    return new


def claimed(plans: store.Store, owner: str = "one") -> plan.Plan:
    """A plan that is being applied."""
    new = approved(plans)
    plans.claim(new.id, owner, LEASE_S)
    return new


def refused(call: Callable[..., object], *arguments: object) -> str:
    """The code of the PlanError that a call raises."""
    with pytest.raises(errors.PlanError) as caught:
        call(*arguments)
    return caught.value.code


def change(url: str, text: str, **values: object) -> None:
    """Changes the database behind the store's back."""
    address = url if "://" in url else f"sqlite:///{url}"
    engine = sqlalchemy.create_engine(address)
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text(text), values)
    engine.dispose()


# What is kept


def test_a_plan_is_read_as_it_was_made_also_after_a_restart(plans: store.Store, url: str, clock: Clock) -> None:
    new = added(plans, findings=(CRITICAL,))
    plans.close()
    again = store.Store(url, clock=clock)
    found = again.get(new.id)
    again.close()
    assert found == record.Record(new, "pending", steps=(record.Application(), record.Application()))
    assert found.plan.hash == new.hash


def test_a_plan_of_an_older_server_keeps_its_hash() -> None:
    """A plan that waits during an upgrade may still be decided: what later servers know more is not encoded where there is
    nothing of it. The figure is that of the server before runbooks."""
    old = made(steps=1, id="p-1", author=plan.Author("", "session-1", "inspector", "evaluate_script"))
    assert old.hash == "e02bad1c66490ed68215ee03f09a4bee684c15c11f0bf36e47a23ed4f85db615"
    step = msgspec.structs.replace(old.steps[0], replicas=0, counts=("0",), new_taints=(inspection.Taint("a"),))
    new = msgspec.structs.replace(old, steps=(step,), runbook=plan.Runbook("a"))
    assert msgspec.json.decode(msgspec.json.encode(new), type=plan.Plan) == new != old


@pytest.mark.parametrize("name", ["p-0", "", "p-\0", "p-\ud800", "p-ä", "' OR 1=1 --", "p" * 5_000])
def test_a_plan_that_was_never_made_is_unknown(plans: store.Store, name: str) -> None:
    added(plans)
    assert refused(plans.get, name) == "plan.unknown"
    assert refused(plans.decide, name, answer(made())) == "plan.unknown"
    assert refused(plans.claim, name, "one", LEASE_S) == "plan.unknown"
    assert refused(plans.mark, name, "one", 0, DONE) == "plan.unknown"
    assert refused(plans.finish, name, "one", "applied", "") == "plan.unknown"
    assert refused(plans.report, name) == "plan.unknown"


def test_no_second_plan_takes_the_place_of_one_with_its_id(plans: store.Store) -> None:
    first = approved(plans)
    assert refused(plans.add, made(id=first.id, steps=5)) == "plan.store"
    assert plans.get(first.id).plan == first
    assert plans.get(first.id).state == "approved"


def test_history_is_newest_first(plans: store.Store) -> None:
    names = [added(plans, created=CREATED + number).id for number in range(5)]
    assert [each.plan.id for each in plans.newest()] == names[::-1]
    assert [each.plan.id for each in plans.newest(2)] == names[:-3:-1]


def test_what_ended_long_ago_is_forgotten_and_nothing_else(plans: store.Store, clock: Clock) -> None:
    expires_late, running = added(plans, expires=OVER + 5_000), claimed(plans)
    expired, declined = added(plans), added(plans)
    plans.decide(declined.id, answer(declined, approves=False))
    clock.now = OVER + 3_000
    assert plans.prune(keep_s=3_500) == 1
    assert refused(plans.get, declined.id) == "plan.unknown"
    assert plans.prune(keep_s=2_999) == 1
    assert refused(plans.get, expired.id) == "plan.unknown"
    assert {each.plan.id for each in plans.newest()} == {expires_late.id, running.id}


def test_a_namesakes_plans_neither_hide_a_persons_nor_have_them_forgotten(
    plans: store.Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two people have one name. Of each the newest are listed and kept; so it is of an author whom nobody has proven."""
    monkeypatch.setattr(room, "_MOST_PLANS", 2)
    people = [plan.Author("user bob")]
    for subject in ("u-1", "u-2"):
        bob = plan.Identity("bob", "tokens_file", subject, (), (), (), "server")
        people.append(plan.Author("user bob", identity=bob))
    kept = [added(plans, author=person, created=CREATED - 100).id for person in people]
    newer = [added(plans, author=people[-1], created=CREATED + number).id for number in range(3)]
    assert {each.plan.id for each in plans.list_pending(1)} == {*kept[:-1], newer[-1]}
    clock.now = OVER + 10
    for person in people:
        added(plans, author=person, created=clock.now, expires=clock.now + 1)
    assert {each.plan.id for each in plans.newest()} >= {*kept[:-1], newer[-1]}
    assert refused(plans.get, newer[-2]) == "plan.unknown"


def test_a_server_forgets_a_month_after_the_end(plans: store.Store, clock: Clock) -> None:
    """Until then what was applied can be looked at, and taken back."""
    ended, waiting = added(plans), added(plans, expires=OVER + 40 * DAY_S)
    plans.decide(ended.id, answer(ended, approves=False))
    approvals = approval.Approvals(lambda: plans, lambda: application.Applier(plans, lambda _context: None), None)
    clock.now += 29 * DAY_S
    approvals.forget()
    assert plans.get(ended.id).state == "declined"
    clock.now += 2 * DAY_S
    approvals.forget()
    assert refused(plans.get, ended.id) == "plan.unknown"
    assert plans.get(waiting.id).state == "pending"


@pytest.mark.parametrize("text", ["nul \0 in an API server's answer", "\u202ereversed", "日本語 🚀", "x" * 100_000])
def test_any_text_is_kept(plans: store.Store, text: str) -> None:
    new = claimed(plans)
    plans.mark(new.id, "one", 0, record.Application("failed", text=text))
    plans.finish(new.id, "one", "stopped", text)
    found = plans.get(new.id)
    assert (found.text, found.steps[0].text) == (text, text)


def test_a_reason_that_is_no_unicode_is_refused_and_the_plan_waits_on(plans: store.Store) -> None:
    new = added(plans)
    assert refused(plans.decide, new.id, answer(new, reason="\udcff")) == "plan.failed"
    assert plans.get(new.id).state == "pending"
    assert plans.decide(new.id, answer(new, reason="ÿ")).state == "approved"


# Who decides


def test_an_approval_is_kept_with_its_time(plans: store.Store, clock: Clock) -> None:
    new = added(plans)
    clock.now += 5
    decided = plans.decide(new.id, answer(new, reason="as discussed"))
    assert decided == plans.get(new.id)
    assert decided.state == "approved"
    assert decided.decisions == (answer(new, reason="as discussed", at=CREATED + 5),)


def test_an_answer_that_cannot_be_recorded_does_not_count(plans: store.Store) -> None:
    """The plan waits on, for the next answer."""
    new = added(plans)

    def fail(_plan: plan.Plan, _decision: record.Decision) -> record.Evidence:
        raise errors.AuditError("the disk is full")

    with pytest.raises(errors.AuditError, match="full"):
        plans.decide(new.id, answer(new), fail)
    assert (plans.get(new.id).state, plans.get(new.id).decisions) == ("pending", ())
    assert plans.decide(new.id, answer(new)).state == "approved"


def test_a_plan_that_needs_two_approvals_waits_for_the_second(plans: store.Store) -> None:
    new = added(plans, approvals=2)
    assert plans.decide(new.id, answer(new, ALICE)).state == "pending"
    assert refused(plans.claim, new.id, "one", LEASE_S) == "plan.decided"
    found = plans.decide(new.id, answer(new, BOB))
    assert (found.state, [each.approver for each in found.decisions]) == ("approved", [ALICE, BOB])


def test_one_person_is_not_two(plans: store.Store) -> None:
    new = added(plans, approvals=2)
    plans.decide(new.id, answer(new, ALICE))
    assert refused(plans.decide, new.id, answer(new, ALICE, channel="page")) == "plan.approver"
    assert plans.get(new.id).state == "pending"


AUTHORS: Final = {
    "the same user": (plan.Author(ALICE, "1f3a"), ALICE),
    "a user with a comma in the name": (plan.Author("uid 1000 (alice, admin)"), "uid 1000 (alice, admin)"),
    "the same session": (plan.Author("", "1f3a"), "session 1f3a"),
    "the same session of a client": (plan.Author("", "1f3a"), "client inspector, session 1f3a"),
    "a client that calls itself a session": (plan.Author("", "1f3a"), "client x, session 99, session 1f3a"),
}


@pytest.mark.parametrize(("author", "approver"), AUTHORS.values(), ids=AUTHORS)
def test_the_author_is_none_of_several_approvers(plans: store.Store, author: plan.Author, approver: str) -> None:
    new = added(plans, approvals=2, author=author)
    assert refused(plans.decide, new.id, answer(new, approver)) == "plan.approver"
    assert plans.get(new.id).decisions == ()


@pytest.mark.parametrize("approver", [BOB, "client inspector, session 1f3ab", "session 1f3", "uid 1000 (alice) "])
def test_somebody_else_is_not_taken_for_the_author(plans: store.Store, approver: str) -> None:
    new = added(plans, approvals=2, author=plan.Author(ALICE, "1f3a"))
    assert len(plans.decide(new.id, answer(new, approver)).decisions) == 1


def test_where_one_approval_is_enough_it_may_be_the_author_s(plans: store.Store) -> None:
    new = added(plans, author=plan.Author(ALICE, "1f3a"))
    assert plans.decide(new.id, answer(new, ALICE)).state == "approved"


def test_a_decline_ends_the_plan_at_once(plans: store.Store) -> None:
    new = added(plans, approvals=3)
    plans.decide(new.id, answer(new, ALICE))
    found = plans.decide(new.id, answer(new, BOB, approves=False, reason="not on a Friday"))
    assert (found.state, found.decisions[-1].reason) == ("declined", "not on a Friday")
    assert refused(plans.decide, new.id, answer(new, "carol")) == "plan.decided"
    assert refused(plans.claim, new.id, "one", LEASE_S) == "plan.decided"


@pytest.mark.parametrize("name", [ALICE, BOB], ids=["who has approved it", "its author"])
def test_whoever_may_not_approve_a_plan_again_may_still_decline_it(plans: store.Store, name: str) -> None:
    new = added(plans, approvals=2, author=plan.Author(BOB))
    plans.decide(new.id, answer(new, ALICE))
    assert plans.decide(new.id, answer(new, name, approves=False)).state == "declined"


@pytest.mark.parametrize("approves", [True, False])
def test_an_answer_to_another_plan_does_not_count(plans: store.Store, approves: bool) -> None:
    new = added(plans)
    shown = msgspec.structs.replace(new, steps=new.steps[:1])
    assert refused(plans.decide, new.id, answer(shown, approves=approves)) == "plan.changed"
    assert plans.get(new.id).state == "pending"


OVERRIDES: Final[dict[str, dict[str, Any]]] = {
    "nothing": {},
    "a reason only": {"reason": "urgent"},
    "another rule": {"reason": "urgent", "overrides": ("writes.replicas",)},
    "no reason": {"overrides": ("writes.registry",)},
    "a blank reason": {"overrides": ("writes.registry",), "reason": " \n"},
}


@pytest.mark.parametrize("given", OVERRIDES.values(), ids=OVERRIDES)
def test_a_critical_finding_is_overridden_by_name_and_with_a_reason(plans: store.Store, given: dict[str, Any]) -> None:
    new = added(plans, findings=(CRITICAL,))
    assert refused(plans.decide, new.id, answer(new, **given)) == "plan.override"
    found = plans.decide(new.id, answer(new, reason="urgent", overrides=("writes.registry", "another")))
    assert found.state == "approved"


def test_a_plan_with_critical_findings_is_declined_without_words(plans: store.Store) -> None:
    new = added(plans, findings=(CRITICAL,))
    assert plans.decide(new.id, answer(new, approves=False)).state == "declined"


# What is too late


def test_a_plan_past_its_time_is_expired(plans: store.Store, clock: Clock) -> None:
    waiting, ready = added(plans), approved(plans)
    clock.now = OVER - 0.001
    assert (plans.get(waiting.id).state, plans.get(ready.id).state) == ("pending", "approved")
    clock.now = OVER
    assert {each.state for each in plans.newest()} == {"expired"}
    assert refused(plans.decide, waiting.id, answer(waiting)) == "plan.expired"
    assert refused(plans.decide, waiting.id, answer(waiting, approves=False)) == "plan.expired"
    assert refused(plans.claim, ready.id, "one", LEASE_S) == "plan.expired"


def test_an_application_that_has_begun_does_not_expire(plans: store.Store, clock: Clock) -> None:
    new = claimed(plans)
    clock.now = OVER + 1
    assert plans.get(new.id).state == "applying"
    plans.mark(new.id, "one", 0, DONE)
    plans.finish(new.id, "one", "applied", "")
    assert plans.get(new.id).state == "applied"


# Who applies


def test_a_plan_is_applied_once(plans: store.Store) -> None:
    new = added(plans)
    assert refused(plans.claim, new.id, "one", LEASE_S) == "plan.decided"
    plans.decide(new.id, answer(new))
    assert plans.claim(new.id, "one", LEASE_S).state == "applying"
    assert refused(plans.claim, new.id, "two", LEASE_S) == "plan.decided"
    assert refused(plans.claim, new.id, "one", LEASE_S) == "plan.decided"
    plans.finish(new.id, "one", "applied", "2 of 2")
    assert refused(plans.claim, new.id, "one", LEASE_S) == "plan.decided"
    assert refused(plans.decide, new.id, answer(new, BOB)) == "plan.decided"
    assert refused(plans.finish, new.id, "one", "stopped", "") == "plan.decided"
    assert (plans.get(new.id).state, plans.get(new.id).text) == ("applied", "2 of 2")


def test_what_a_dead_server_has_begun_another_takes_over(plans: store.Store, clock: Clock) -> None:
    new = claimed(plans, "one")
    plans.mark(new.id, "one", 0, SENDING)
    assert plans.list_unfinished() == {}
    clock.now += LEASE_S
    assert list(plans.list_unfinished()) == [new.id]
    taken = plans.claim(new.id, "two", LEASE_S)
    assert (taken.state, taken.steps) == ("applying", (SENDING, record.Application()))
    assert plans.list_unfinished() == {}
    # The first one was not dead but slow: it has lost the plan.
    assert refused(plans.mark, new.id, "one", 0, DONE) == "plan.decided"
    assert refused(plans.finish, new.id, "one", "applied", "") == "plan.decided"
    assert plans.get(new.id) == taken


def test_every_mark_renews_the_lease(plans: store.Store, clock: Clock) -> None:
    new = claimed(plans, "one")
    for _ in range(3):
        clock.now += LEASE_S - 1
        assert plans.list_unfinished() == {}
        assert refused(plans.claim, new.id, "two", LEASE_S) == "plan.decided"
        plans.mark(new.id, "one", 1, SENDING)
    clock.now += LEASE_S
    assert list(plans.list_unfinished()) == [new.id]


def test_the_owner_of_a_lease_that_is_over_goes_on_until_another_takes_the_plan(
    plans: store.Store, clock: Clock
) -> None:
    new = claimed(plans, "one")
    clock.now += 2 * LEASE_S
    plans.mark(new.id, "one", 0, DONE)
    assert plans.list_unfinished() == {}
    assert plans.get(new.id).steps == (DONE, record.Application())


# What the model is told


def test_each_end_is_told_once_and_to_its_own_session(plans: store.Store, clock: Clock) -> None:
    mine = plan.Author("", "mine")
    ends = [added(plans, author=mine, created=CREATED + number) for number in range(5)]
    declined, applied, stopped, expired, reported = ends
    late = added(plans, author=mine, expires=OVER + 1)
    added(plans)
    plans.decide(declined.id, answer(declined, approves=False))
    for new, state in ((applied, "applied"), (stopped, "stopped")):
        plans.decide(new.id, answer(new))
        plans.claim(new.id, "one", LEASE_S)
        plans.finish(new.id, "one", state, state)  # type: ignore[arg-type]
    clock.now = OVER
    plans.report(reported.id)
    told = plans.list_unreported("mine")
    assert [(each.plan.id, each.state, each.text) for each in told] == [
        (declined.id, "declined", ""),
        (applied.id, "applied", "applied"),
        (stopped.id, "stopped", "stopped"),
        (expired.id, "expired", ""),
    ]
    for each in told:
        plans.report(each.plan.id)
    assert plans.list_unreported("mine") == []
    assert plans.get(applied.id).reported
    clock.now += 1
    assert [each.plan.id for each in plans.list_unreported("mine")] == [late.id]


# What others have changed


FORGED: Final = {
    "another image": "UPDATE kubescript_plans SET plan = :plan",
    "another image and hash": "UPDATE kubescript_plans SET plan = :plan, hash = :hash",
    "another hash": "UPDATE kubescript_plans SET hash = :hash",
    "no plan": "UPDATE kubescript_plans SET plan = :nothing, hash = :hash_of_nothing",
    "another session": "UPDATE kubescript_plans SET session = 'mine'",
    "a longer life": "UPDATE kubescript_plans SET expires = expires + 1000",
    "another age": "UPDATE kubescript_plans SET created = created + 1000",
    "no JSON": "UPDATE kubescript_plans SET progress = :nothing",
    "fewer approvals": "UPDATE kubescript_plans SET progress = :undecided",
}


@pytest.mark.parametrize("text", FORGED.values(), ids=FORGED)
def test_a_plan_that_was_changed_behind_our_back_is_not_applied(plans: store.Store, url: str, text: str) -> None:
    new = approved(plans)
    worse = msgspec.json.encode(new).replace(b"web:2", b"evil")
    values = {
        "plan": worse,
        "hash": msgspec.json.decode(worse, type=plan.Plan).hash,
        "nothing": b"{",
        "hash_of_nothing": hashlib.sha256(b"{").hexdigest(),
        "undecided": b'{"decisions":[],"steps":[{},{}]}',
    }
    change(url, text, **values)
    assert refused(plans.claim, new.id, "one", LEASE_S) == "plan.changed"
    other = approved(plans)
    assert plans.claim(other.id, "one", LEASE_S).state == "applying"


def test_an_approved_plan_that_nobody_begins_to_apply_is_found_after_the_lease(
    plans: store.Store, clock: Clock
) -> None:
    """Its server has died right after the approval. One that waits for its author's call is found for the author."""
    alice = plan.Identity("alice", "tokens", "alice", (), (), (), "caller")
    new = added(plans, author=plan.Author("user alice", identity=alice))
    plans.decide(new.id, answer(new, BOB), None, LEASE_S)
    assert plans.list_unfinished() == {} and plans.list_ready(alice.caller.person) == [new.id]
    assert plans.list_ready(msgspec.structs.replace(alice, issuer="another").caller.person) == []
    clock.now += LEASE_S
    assert list(plans.list_unfinished()) == [new.id]
    plans.claim(new.id, "one", LEASE_S)
    assert plans.list_unfinished() == {} and plans.list_ready(alice.caller.person) == []
    clock.now = OVER
    plans.finish(new.id, "one", "applied", "")
    late = approved(plans, expires=OVER + 1)
    clock.now += 2
    assert plans.list_unfinished() == {} and plans.get(late.id).state == "expired"


def test_a_plan_that_nobody_approved_is_not_applied_whatever_its_state_says(plans: store.Store, url: str) -> None:
    new = added(plans, approvals=2)
    plans.decide(new.id, answer(new))
    change(url, "UPDATE kubescript_plans SET state = 'approved'")
    assert refused(plans.claim, new.id, "one", LEASE_S) == "plan.changed"
    change(url, "UPDATE kubescript_plans SET state = 'applying'")
    assert refused(plans.claim, new.id, "one", LEASE_S) == "plan.changed"


def test_the_operator_is_told_where_a_changed_plan_lies(plans: store.Store, url: str) -> None:
    new = approved(plans)
    change(url, "UPDATE kubescript_plans SET hash = 'x'")
    with pytest.raises(errors.PlanError) as caught:
        plans.newest()
    assert new.id in caught.value.message
    assert ("local PostgreSQL/postgres" if "://" in url else url) in caught.value.remedy


def test_plans_of_an_older_server_go_on(url: str, plans: store.Store) -> None:
    """Its table does not name the author; the plan in it is found, and a new one is kept beside it."""
    old = added(plans)
    engine = sqlalchemy.create_engine(url if "://" in url else f"sqlite:///{url}")
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP INDEX kubescript_plans_author")
        connection.exec_driver_sql("ALTER TABLE kubescript_plans DROP COLUMN author")
    again = store.Store(url, clock=Clock())
    new = added(again)
    assert {entry.plan.id for entry in again.newest()} == {old.id, new.id}
    again.close()
