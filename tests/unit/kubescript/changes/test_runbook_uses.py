"""Approvals in advance are counted in the transaction that decides: by all servers that share the store, at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import msgspec
import pytest

from kubescript import errors
from kubescript.changes import plan
from kubescript.changes.store import record, store
from tests.kit.stored_plans import CREATED, CRITICAL, Clock, answer, made

RUNBOOK: Final = plan.Runbook("restart-web", "ab" * 32, {"namespace": "shop"})
MOST: Final = 3
DAY_S: Final = 86_400.0
IN_ADVANCE: Final[dict[str, Any]] = {"channel": "runbook"}


def keep(plans: store.Store, **changes: Any) -> plan.Plan:
    """A plan of a runbook."""
    new = made(**{"runbook": RUNBOOK, **changes})
    plans.add(new)
    return new


def decide(plans: store.Store, one: plan.Plan, **changes: Any) -> str:
    """The state after an approval in advance, or the code of its PlanError."""
    try:
        return plans.decide(one.id, answer(one, **IN_ADVANCE), most_a_day=changes.get("most", MOST)).state
    except errors.PlanError as error:
        return error.code


def test_two_servers_count_at_the_same_time(new_database: Callable[[], str]) -> None:
    """No more than the bound are approved within a day, whoever decides; a day later there is room again."""
    url, clock = new_database(), Clock()
    servers = [store.Store(url, clock=clock) for _ in range(2)]
    every = [keep(servers[0]) for _ in range(8)]
    start = threading.Barrier(len(every))

    def decide_at_once(number: int) -> str:
        start.wait(100)
        return decide(servers[number % 2], every[number])

    with ThreadPoolExecutor(len(every)) as threads:
        outcomes = sorted(threads.map(decide_at_once, range(len(every))))
    assert outcomes == ["approved"] * MOST + ["plan.runbook"] * (len(every) - MOST)
    clock.now = CREATED + DAY_S
    later = keep(servers[1], created=clock.now, expires=clock.now + 900)
    assert decide(servers[1], later) == "approved"
    for each in servers:
        each.close()


def test_what_does_not_count_uses_nothing_up(new_database: Callable[[], str]) -> None:
    """An approval that is refused or cannot be recorded leaves the plan to a person, and the count as it was."""
    plans = store.Store(new_database(), clock=Clock())
    for changes in ({"runbook": msgspec.UNSET}, {"approvals": 2}, {"findings": (CRITICAL,)}):
        assert decide(plans, keep(plans, **changes), most=1) == "plan.approver"
    waits = keep(plans)

    def fail(_planned: plan.Plan, _decision: record.Decision) -> record.Evidence:
        raise errors.AuditError("the disk is full")

    with pytest.raises(errors.AuditError):
        plans.decide(waits.id, answer(waits, **IN_ADVANCE), fail, most_a_day=1)
    assert decide(plans, waits, most=0) == "plan.runbook"
    assert decide(plans, waits, most=1) == "approved"
    assert decide(plans, keep(plans), most=1) == "plan.runbook"
    plans.close()
