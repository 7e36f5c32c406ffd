"""Many threads, processes and deaths at once: a plan is decided and applied once, and nothing that was kept is lost."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Barrier
from typing import Final

import pytest
from sqlalchemy import Engine, Pool, event

from kubescript import errors
from kubescript.changes import plan
from kubescript.changes.store import record, store
from tests.kit.processes import CONTEXT
from tests.kit.stored_plans import ALICE, BOB, CREATED, Clock, answer, made

PROCESSES: Final = 4
THREADS: Final = 16
LEASE_S: Final = 60.0
PATIENCE_S: Final = 100.0
"""How long one process waits for the others to begin. One of them may have crashed."""
SENDING: Final = record.Application("sending", "audit-1", "41")
DONE: Final = record.Application("done", "audit-1", "41", 200)


def tried(call: Callable[[], object]) -> str:
    """ "" when a call succeeds, or else the code of its PlanError."""
    try:
        call()
    except errors.PlanError as error:
        return error.code
    return ""


def at_once(target: Callable[..., None], *arguments: object) -> None:
    """Runs `target` in several processes, which all must end well."""
    workers = [CONTEXT.Process(target=target, args=arguments) for _ in range(PROCESSES)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * PROCESSES


def claim_from_threads(url: str, plan_ids: list[str], start: Barrier, results: SimpleQueue[list[str]]) -> None:
    """In a process of its own: each thread claims each plan, in an order of its own."""
    plans = store.Store(url, clock=Clock())

    def claim(number: int) -> list[str]:
        owner = f"{os.getpid()}-{number}"
        mine = random.Random(owner).sample(plan_ids, len(plan_ids))
        start.wait(PATIENCE_S)
        codes = {name: tried(lambda name=name: plans.claim(name, owner, LEASE_S)) for name in mine}  # type: ignore[misc]
        return [codes[name] for name in plan_ids]

    with ThreadPoolExecutor(THREADS) as threads:
        for codes in threads.map(claim, range(THREADS)):
            results.put(codes)
    plans.close()


def test_of_all_threads_of_all_processes_one_gets_to_apply_a_plan(new_database: Callable[[], str]) -> None:
    url = new_database()
    plans = store.Store(url, clock=Clock())
    made_plans = [made() for _ in range(8)]
    for new in made_plans:
        plans.add(new)
        plans.decide(new.id, answer(new))
    start, results = CONTEXT.Barrier(PROCESSES * THREADS), CONTEXT.SimpleQueue()
    at_once(claim_from_threads, url, [new.id for new in made_plans], start, results)
    outcomes = [results.get() for _ in range(PROCESSES * THREADS)]
    for codes in zip(*outcomes, strict=True):
        assert sorted(codes) == ["", *["plan.decided"] * (PROCESSES * THREADS - 1)]
    assert {each.state for each in plans.newest()} == {"applying"}
    plans.close()


def test_of_processes_that_open_a_new_store_at_once_each_can_use_it(new_database: Callable[[], str]) -> None:
    for _ in range(5):
        url, start, results = new_database(), CONTEXT.Barrier(PROCESSES), CONTEXT.SimpleQueue()
        at_once(open_and_add, url, start, results)
        assert [results.get() for _ in range(PROCESSES)] == [""] * PROCESSES


def open_and_add(url: str, start: Barrier, results: SimpleQueue[str]) -> None:
    """In a process of its own: opens the store and adds a plan."""
    start.wait(PATIENCE_S)

    def add() -> None:
        plans = store.Store(url)
        plans.add(made())
        plans.close()

    results.put(tried(add))


def read_from_threads(url: str, plan_id: str) -> None:
    """In a process of its own: many threads read the first plan that this process reads."""
    sys.setswitchinterval(1e-6)
    plans, start = store.Store(url, clock=Clock()), threading.Barrier(THREADS)

    def read(_: int) -> str:
        start.wait(PATIENCE_S)
        return plans.get(plan_id).plan.id

    with ThreadPoolExecutor(THREADS) as threads:
        assert set(threads.map(read, range(THREADS))) == {plan_id}
    plans.close()


def test_threads_that_read_the_first_plan_at_once_do_not_crash_the_server(new_database: Callable[[], str]) -> None:
    """msgspec 0.22 did, where types were not made known to it before there were threads."""
    url, new = new_database(), made()
    plans = store.Store(url, clock=Clock())
    plans.add(new)
    for _ in range(2):
        at_once(read_from_threads, url, new.id)
    assert plans.get(new.id).plan == new
    plans.close()


def test_no_answer_of_two_hundred_at_once_is_lost_or_counts_twice(new_database: Callable[[], str]) -> None:
    plans = store.Store(new_database(), clock=Clock())
    made_plans = [made(approvals=2) for _ in range(40)]
    for new in made_plans:
        plans.add(new)
    chance = random.Random(14)
    answers = [
        (new, answer(new, approver=f"person {number}", approves=chance.random() > 0.2))
        for new in made_plans
        for number in range(5)
    ]
    chance.shuffle(answers)
    with ThreadPoolExecutor(THREADS) as threads:
        codes = list(threads.map(lambda each: tried(lambda: plans.decide(each[0].id, each[1])), answers))
    assert set(codes) == {"", "plan.decided"}
    for new in made_plans:
        accepted = {
            given.approver for (to, given), code in zip(answers, codes, strict=True) if to is new and code == ""
        }
        found = plans.get(new.id)
        assert {each.approver for each in found.decisions} == accepted
        assert len(found.decisions) == len(accepted)
        *earlier, last = found.decisions
        assert all(each.approves for each in earlier)
        assert found.state == ("approved" if last.approves else "declined")
        assert not last.approves or len(found.decisions) == 2
    plans.close()


def test_steps_that_threads_of_one_owner_mark_at_once_are_all_kept(new_database: Callable[[], str]) -> None:
    plans = store.Store(new_database(), clock=Clock())
    new = made(steps=THREADS)
    plans.add(new)
    plans.decide(new.id, answer(new))
    plans.claim(new.id, "one", LEASE_S)
    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(lambda index: plans.mark(new.id, "one", index, DONE), range(THREADS)))
    assert plans.get(new.id).steps == (DONE,) * THREADS
    plans.close()


# A life of a plan that ends anywhere


def life(plans: store.Store, new: plan.Plan) -> Iterator[tuple[str, Callable[[], object]]]:
    """The calls that a server makes for a plan of one step which needs two approvals."""
    yield "add", lambda: plans.add(new)
    yield "first", lambda: plans.decide(new.id, answer(new, ALICE))
    yield "second", lambda: plans.decide(new.id, answer(new, BOB))
    yield "claim", lambda: plans.claim(new.id, "one", LEASE_S)
    yield "sending", lambda: plans.mark(new.id, "one", 0, SENDING)
    yield "done", lambda: plans.mark(new.id, "one", 0, DONE)
    yield "finish", lambda: plans.finish(new.id, "one", "applied", "1 of 1")


def live(url: str, new: plan.Plan, kill_at: int, returned: Connection) -> None:
    """In a process of its own: makes those calls, tells which have returned, and is killed before its nth statement,
    commit or return."""
    reached = 0

    def point(*_: object) -> None:
        nonlocal reached
        reached += 1
        if reached == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "before_cursor_execute", point)
    event.listen(Engine, "commit", point)
    event.listen(Pool, "checkin", point)
    plans = store.Store(url, clock=Clock())
    for name, call in life(plans, new):
        call()
        returned.send(name)
    plans.close()


def died(url: str, new: plan.Plan, kill_at: int) -> tuple[bool, list[str]]:
    """Whether a process was killed at that point of a plan's life, and which calls had returned."""
    receiver, sender = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=live, args=(url, new, kill_at, sender))
    process.start()
    sender.close()
    returned: list[str] = []
    try:
        while True:
            returned.append(receiver.recv())
    except EOFError:
        pass
    process.join()
    assert process.exitcode in {0, -signal.SIGKILL}
    return process.exitcode != 0, returned


def carry_on(plans: store.Store, new: plan.Plan, returned: list[str]) -> list[record.StepState]:
    """What the next server does with what it finds; returns in which state it found the step, if it had begun."""
    if tried(lambda: plans.get(new.id)) == "plan.unknown":
        assert returned == []
        plans.add(new)
    for name, approver in (("first", ALICE), ("second", BOB)):
        if all(each.approver != approver for each in plans.get(new.id).decisions):
            assert name not in returned
            plans.decide(new.id, answer(new, approver))
    begun: list[record.StepState] = []
    if plans.get(new.id).state == "applied":
        return begun
    assert "finish" not in returned
    is_applying = plans.get(new.id).state == "applying"
    assert list(plans.list_unfinished()) == ([new.id] if is_applying else [])
    if is_applying:
        begun.append(plans.get(new.id).steps[0].state)
    else:
        assert "claim" not in returned
    plans.claim(new.id, "two", LEASE_S)
    assert tried(lambda: plans.mark(new.id, "one", 0, DONE)) == "plan.decided"
    plans.mark(new.id, "two", 0, DONE)
    plans.finish(new.id, "two", "applied", "1 of 1")
    return begun


@pytest.mark.timeout(600)
def test_whenever_a_server_is_killed_the_next_one_takes_over(new_database: Callable[[], str]) -> None:
    found: set[record.StepState] = set()
    kill_at, is_killed = 0, True
    while is_killed:
        kill_at += 1
        url, new = new_database(), made(steps=1, approvals=2)
        is_killed, returned = died(url, new, kill_at)
        plans = store.Store(url, clock=Clock(CREATED + LEASE_S))
        begun = carry_on(plans, new, returned)
        assert begun in ([], ["done"]) or "done" not in returned
        assert begun in ([], ["done"], ["sending"]) or "sending" not in returned
        found.update(begun)
        end = plans.get(new.id)
        plans.close()
        assert (end.state, end.text, end.steps) == ("applied", "1 of 1", (DONE,))
        assert [each.approver for each in end.decisions] == [ALICE, BOB]
    assert found == {"waiting", "sending", "done"}
    assert kill_at > 30
