"""A server loses its plan to another one, or its time, in the middle of an application; and what is then sent, kept and
told. On a real API server."""

from __future__ import annotations

import math
import secrets
import sqlite3
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from kubernetes import client

from kubescript import errors
from kubescript.changes import application, recovery, work
from kubescript.changes.store import store
from kubescript.cluster import connections, timers
from kubescript.database import durable
from tests.kit import planned
from tests.kit.controlplane import official_client, shared
from tests.kit.controlplane.writer import Writer

pytestmark = [pytest.mark.cluster, pytest.mark.promise("P-19")]

NAMESPACE: Final = f"takeovers-{secrets.token_hex(3)}"


@dataclass(frozen=True)
class Place:
    """A namespace, plans that change it, and their store."""

    plans: planned.Plans
    file: Path
    core: Any

    def creates(self, *names: str) -> str:
        """A script that makes these ConfigMaps."""
        create = "k8s.coreV1().create_namespaced_config_map(NAMESPACE, {'metadata': {'name': name}})"
        return f"for name in {names!r}:\n    {create}\n1"

    def names(self) -> set[str]:
        """The ConfigMaps that there are."""
        return {each.metadata.name for each in self.core.list_namespaced_config_map(NAMESPACE).items}


@pytest.fixture(scope="module")
def place(run_folder: Path, run_process: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    kubeconfig = shared.attach("scratch", run_folder, run_process).kubeconfig
    Writer(kubeconfig).create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    folder = tmp_path_factory.mktemp("takeovers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(durable, "_BUSY_TIMEOUT_S", 0.2)
        patch.setattr(work, "LEASE_S", 0.0)
        # Otherwise this server would go on with a test's plan at any moment: each look comes after half a minute.
        patch.setattr(recovery.Keeper, "recover", lambda _keeper, _approvals: None)
        with planned.opened(kubeconfig, folder, NAMESPACE) as plans:
            yield Place(plans, folder / "plans.db", client.CoreV1Api(official_client.connect(kubeconfig)))


@pytest.fixture(autouse=True)
def counted(attacks: Callable[[int], None]) -> None:
    """Each test is one attack."""
    attacks(1)


def test_a_server_that_has_just_lost_its_plan_sends_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wall clock is set forward, as after a virtual machine was paused, and another server ends the plan right
    before the bytes go out, though the first one could still send them in time."""
    made = place.plans.of(place.creates("overtaken"))
    left: list[object] = [None]
    check_sending = connections.Exchange.check_sending

    def checked(exchange: connections.Exchange) -> None:
        if left and exchange._send_by < math.inf:
            left.clear()
            later = store.Store(str(place.file), clock=lambda: time.time() + 120)
            later.claim(made.id, "other", lease_s=60)
            later.finish(made.id, "other", "stopped", "0 of 1 changes were made")
            later.close()
        check_sending(exchange)

    monkeypatch.setattr(connections.Exchange, "check_sending", checked)
    with pytest.raises(errors.PlanLost, match="is stopped already"):
        place.plans.apply(made)
    assert not left and "overtaken" not in place.names()
    assert place.plans.apply(place.plans.of(place.creates("in-time"))).state == "applied"


def test_a_server_whose_machine_slept_begins_no_step_before_the_plan_is_looked_at_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It sleeps between two steps; whoever goes on looks at the time and the policy first, as after a death."""
    made = place.plans.of(place.creates("awake", "asleep"))
    uptime = timers.uptime

    def sleep(done: int) -> None:
        if done == 1:
            monkeypatch.setattr(timers, "uptime", lambda: uptime() + 120)

    with pytest.raises(errors.PlanLost, match="its machine slept; 1 of 2 changes were made; a server goes on with it"):
        place.plans.apply(made, sleep)
    assert "awake" in place.names() and "asleep" not in place.names()
    assert place.plans.resume(made).state == "applied" and "asleep" in place.names()


def test_a_server_that_cannot_use_its_store_does_not_say_that_nothing_is_sent(place: Place) -> None:
    """Its first change is made, and another server makes the second one as soon as it can."""
    made = place.plans.of(place.creates("kept", "locked"))
    holder = sqlite3.connect(place.file, isolation_level=None)

    def lock(done: int) -> None:
        if done == 1:
            holder.execute("BEGIN IMMEDIATE")

    with pytest.raises(errors.PlanLost) as lost:
        place.plans.apply(made, lock)
    holder.close()
    told = lost.value.message
    assert "nothing more is sent from here" in told and "1 of 2 changes were made; a server goes on with it" in told
    assert place.plans.resume(made).state == "applied" and "locked" in place.names()


def test_what_a_person_has_perhaps_taken_back_is_not_done_again(place: Place) -> None:
    """The object has another version than at the dead server's note, and has not what the step makes."""
    place.core.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": "scaled"}, "data": {"size": "2"}})
    patch = "k8s.coreV1().patch_namespaced_config_map('scaled', NAMESPACE, {'data': {'size': '5'}})\n1"
    made = place.plans.of(patch)
    place.plans.begin(made, 0)
    for size in ("5", "2"):
        place.core.patch_namespaced_config_map("scaled", NAMESPACE, {"data": {"size": size}})
    ended = place.plans.resume(made)
    assert (ended.state, ended.steps[0].state) == ("stopped", "unknown") and "nobody knows" in ended.text, ended.text
    assert place.core.read_namespaced_config_map("scaled", NAMESPACE).data == {"size": "2"}
    assert place.plans.apply(place.plans.of(patch)).state == "applied"


def test_a_request_that_may_still_arrive_does_not_count_as_not_made(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy has the dead server's request when the next server ends the plan, which has expired. So it is not said
    that nothing was made, and the next plan is not hindered."""
    made = place.plans.of(place.creates("late"))
    place.plans.begin(made, 0)
    monkeypatch.setattr(application, "time", types.SimpleNamespace(time=lambda: time.time() + 10_000))
    ended = place.plans.resume(made)
    assert (ended.state, ended.steps[0].state) == ("stopped", "unknown") and "plan.expired" in ended.text
    assert "nobody knows whether this one was: create" in ended.text and "may still arrive" in ended.steps[0].text
    monkeypatch.undo()
    again = place.plans.of(place.creates("late"))
    place.plans.begin(again, 0)
    assert place.plans.resume(again).state == "applied" and "late" in place.names()
