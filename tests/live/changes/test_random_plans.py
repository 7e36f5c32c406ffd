"""Two hundred random plans, of which `make test` makes sixty, while somebody else changes and deletes the same objects
and controllers write to them. By the API server's own audit log: every change that was applied had been approved as it
was shown, byte for byte, and kubescript has changed nothing else.
"""

from __future__ import annotations

import contextlib
import functools
import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread
import pytest
from kubernetes import client

from kubescript import app, programs, types
from kubescript import config as settings
from kubescript.changes import plan, planner, requests
from kubescript.changes.store import record
from kubescript.request import request
from kubescript_safety.controlplane import audit, live
from kubescript_sandbox.host import spawner
from tests.kit import extent, random_plans, rollouts
from tests.kit.controlplane import official_client

pytestmark = [pytest.mark.sampled, pytest.mark.timeout(600)]

PLANS: Final = extent.count(200, 60)
AT_ONCE: Final = 4
SEED: Final = 14
PERSON: Final = 277
"""The seed of what the person does: of the first sixty plans five are not answered."""
DECLINED, IGNORED = 0.1, 0.05
"""Shares of the plans that the person declines, and does not answer."""


@dataclass
class Run:
    """What became of everything."""

    records: list[record.Record]
    ours: list[audit.Event]
    """What kubescript has sent in earnest, in the order in which it was answered."""
    tried: list[audit.Event]
    """Its dry runs."""
    theirs: list[audit.Event]
    """What everybody else has changed."""
    acts: int
    """What the rival has done."""

    @functools.cached_property
    def steps(self) -> dict[str, tuple[record.Record, int]]:
        """A plan's record and the number of a step, by the audit id of the step's last request."""
        return {
            step.audit_id: (each, index)
            for each in self.records
            for index, step in enumerate(each.steps)
            if step.audit_id
        }


@pytest.fixture(scope="module")
def run(live_cluster: live.Cluster, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """All of it, once."""
    plane, log = live_cluster.plane, live_cluster.log
    core: Any = client.CoreV1Api(official_client.connect(plane.kubeconfig))
    core.create_namespace({"metadata": {"name": random_plans.NAMESPACE}})
    rival = random_plans.Rival(
        official_client.connect(plane.kubeconfig_for(random_plans.RIVAL, ("system:masters",))), SEED
    )
    rival.make()
    folder = tmp_path_factory.mktemp("random")
    kubeconfig = plane.kubeconfig_for(rollouts.USER, ("system:masters",))
    with opened(kubeconfig, folder) as application, rival.running():
        anyio.run(make_all, application)
        assert application.operator.planning is not None
        records = application.operator.planning.approvals.newest(10 * PLANS)
    log.settle(plane)
    here = log.writes(namespace=random_plans.NAMESPACE)
    dry = [event for event in log.events(rollouts.USER) if event.is_dry_run]
    ours = [event for event in here if event.user == rollouts.USER]
    return Run(records, ours, dry, [event for event in here if event.user != rollouts.USER], rival.acts)


@contextlib.contextmanager
def opened(kubeconfig: Path, folder: Path) -> Iterator[app.Application]:
    """A server's parts, in this process."""
    given = {
        "kubeconfig": kubeconfig,
        "writes": "plan",
        "toolsets": ["code"],
        "plans": {"store": str(folder / "state" / "plans.db")},
        "write_policy": {"per_minute": 10_000},
    }
    source = spawner.Spawner(programs.WORKER)
    source.start()
    chosen = settings.Settings.model_validate(given)
    with contextlib.closing(source), app.opened(chosen, source) as application:
        application.warm_up()
        yield application


async def make_all(application: app.Application) -> None:
    """Makes the plans, several at once."""
    scripts = random_plans.Scripts(SEED)
    person = random.Random(PERSON)
    left = iter(range(PLANS))

    async def some() -> None:
        for _ in left:
            while not await one(application, scripts.next(), person.random()):
                pass

    async with anyio.create_task_group() as tasks:
        for _ in range(AT_ONCE):
            tasks.start_soon(some)


async def one(application: app.Application, script: str, chance: float) -> bool:
    """Runs a script and answers for the person. Returns whether there was a plan: of some scripts every write fails."""
    assert application.operator.planning is not None
    approvals = application.operator.planning.approvals
    answer = await application.operator.evaluator.evaluate(script, 60_000, None, types.Caller("random", "test"))
    assert not answer.is_error, answer.text
    if not answer.plan:
        return False
    if chance < IGNORED:
        return True
    made = await anyio.to_thread.run_sync(approvals.get, answer.plan)
    approves = chance > IGNORED + DECLINED
    decision = record.Decision(
        planner.local_user(),
        "terminal",
        approves,
        made.plan.hash,
        "on purpose",
        tuple({finding.rule for finding in made.plan.critical}),
        time.time(),
    )
    await anyio.to_thread.run_sync(approvals.decide, answer.plan, decision)
    if approves:
        await anyio.to_thread.run_sync(approvals.apply, answer.plan, lambda _done, _count, _text: None)
    return True


# --- what the API server has seen ------------------------------------------------------------------------------------


def test_something_was_tested(run: Run) -> None:
    """Plans of each end, steps of each kind, and a rival that was quick enough to spoil some."""
    assert len(run.records) >= PLANS and run.acts > PLANS / 4
    states = Counter(each.state for each in run.records)
    assert states["applied"] > PLANS / 5 and min(states["stopped"], states["declined"]) > PLANS / 40
    assert states["pending"] > 0
    sent = Counter(kind(run, event) for event in run.ours if event.status < 300)
    # Sixty plans may leave one kind out, for the rival had its way.
    assert len(set(sent)) >= extent.count(9, 7)
    assert set(sent) <= {
        "create", "update", "delete", "create eviction", "patch scale", "patch apply-patch+yaml",
        "patch merge-patch+json", "patch strategic-merge-patch+json", "patch json-patch+json",
    }, sent  # fmt: skip


def kind(run: Run, event: audit.Event) -> str:
    """What a request is, in short."""
    owner, index = run.steps[event.audit_id]
    step = owner.plan.steps[index]
    media = step.request.content_type.removeprefix("application/") if step.verb == "patch" else ""
    return f"{step.verb} {step.subresource or media}".strip()


def test_every_change_is_a_step_of_an_approved_plan(run: Run) -> None:
    """Each request that was carried out is one step of one plan, whose person has approved it before."""
    carried_out = [event for event in run.ours if event.status < 300]
    assert len({event.audit_id for event in carried_out}) == len(carried_out)
    for event in carried_out:
        owner, index = run.steps[event.audit_id]
        assert owner.steps[index].state == "done", event.line
        assert approved_at(owner) < seconds(event.received), event.line


def test_every_step_that_counts_as_done_was_carried_out(run: Run) -> None:
    """And no step of a plan that was not approved. Or the API server has refused it, since another client had just made
    the same change: two plans may scale one Deployment to the same number."""
    carried_out = {event.audit_id for event in run.ours if event.status < 300}
    overtaken = {event.audit_id for event in run.ours if event.status == 409}
    for each in run.records:
        done = [step for step in each.steps if step.state == "done"]
        for step in done:
            is_found = step.audit_id in overtaken and step.text == "found done in the cluster"
            assert step.audit_id in carried_out or is_found, step
        assert not done or each.state in {"applied", "stopped"}
        assert (each.state == "applied") == (len(done) == len(each.steps))


def test_every_change_is_sent_byte_for_byte(run: Run) -> None:
    """The request that was recorded, with the precondition that its object is the one that was shown."""
    for event in run.ours:
        if event.status < 300:
            owner, index = run.steps[event.audit_id]
            step = owner.plan.steps[index]
            assert event.query == query(owner, step)
            check_same(run, event, step, owner.steps[index].resource_version, owner.plan.created)


def test_what_was_refused_was_approved_too(run: Run) -> None:
    """A request that the API server has refused, since its object had another version by then, is of a plan as well."""
    refused = [event for event in run.ours if event.status >= 300]
    for event in refused:
        assert event.status in {404, 409, 429}, event.line
        assert any(is_of(event, each) for each in run.records), event.line


def is_of(event: audit.Event, owner: record.Record) -> bool:
    """Whether a refused request may be of this plan."""
    is_approved = bool(owner.decisions) and owner.decisions[-1].approves
    if not is_approved or seconds(event.received) < approved_at(owner):
        return False
    targets = {(step.verb, step.request.path, query(owner, step)) for step in owner.plan.steps}
    return (event.verb, event.path, event.query) in targets


def test_the_steps_of_a_plan_are_carried_out_in_their_order(run: Run) -> None:
    """One after the other, without a gap: after the first that fails, none is sent."""
    received = {event.audit_id: event.received for event in run.ours}
    for each in run.records:
        states = [step.state for step in each.steps]
        done = states.count("done")
        assert states[:done] == ["done"] * done and len(states[done:]) - states.count("waiting") <= 1, states
        times = [received[step.audit_id] for step in each.steps[:done]]
        assert times == sorted(times)


def test_every_change_does_what_was_shown(run: Run, live_cluster: live.Cluster, tmp_path: Path) -> None:
    """The object before it and after it, as the API server has recorded both, differ in the fields that the person saw,
    from the old values to the new ones."""
    versions = {}
    for event in sorted([*run.theirs, *run.ours], key=lambda event: event.received):
        metadata = (event.answer or {}).get("metadata", {})
        if "/scale" not in event.path and "resourceVersion" in metadata:
            versions[metadata["uid"], metadata["resourceVersion"]] = event.answer
    kubeconfig = live_cluster.plane.kubeconfig_for(rollouts.USER, ("system:masters",))
    compared = 0
    with opened(kubeconfig, tmp_path) as application:
        for event in run.ours:
            if event.status >= 300:
                continue
            owner, index = run.steps[event.audit_id]
            step = owner.plan.steps[index]
            before = None
            if step.precondition is not None:
                before = versions.get((step.precondition.uid, owner.steps[index].resource_version))
                if before is None:
                    continue  # the version that a scale has made is in no answer but that of the scale
            compared += 1
            after = b"" if step.removes else encoded(event.answer)
            changes = application.redaction.changes(call(step), encoded(before), after, lambda _: None)
            shown = {(row.path, row.old) for row in step.rows if not row.by_server}
            assert {(row.path, row.old) for row in changes.rows if not row.by_server} == shown, event.line
            assert changes.digest == step.digest, event.line
    assert compared > len(run.steps) / 2


# --- details ----------------------------------------------------------------------------------------------------------


def check_same(run: Run, event: audit.Event, step: plan.Step, version: str, planned: float) -> None:
    """Fails unless this event is the recorded request with its precondition."""
    assert (event.verb, event.path) == (step.verb, step.request.path)
    recorded = call(step)
    sent = requests.guard(recorded, step.precondition.uid if step.precondition is not None else "", version)
    assert sent.body is not None
    assert step.verb == "create" or f'"{version or 1}"'.encode() in sent.body
    if step.verb == "patch":
        assert encoded(event.body) == sent.body
    elif step.removes:
        assert as_decoded(event.body) == as_decoded(json.loads(sent.body))
    else:
        # The log has such a body as the API server has decoded it, with its defaults. So has the dry run that was shown.
        assert holds(event.body, json.loads(sent.body))
        shown = [each for each in run.tried if each.path == event.path and seconds(each.received) < planned]
        bare = {**event.body, "metadata": {**event.body["metadata"]}}
        for name in ("uid", "resourceVersion") if step.precondition is not None else ():
            if name not in json.loads(recorded.body or b"")["metadata"]:
                del bare["metadata"][name]
        assert any(each.body == bare or each.body == event.body for each in shown), event.line


def query(owner: record.Record, step: plan.Step) -> tuple[tuple[str, str], ...]:
    """The query with which a step is sent: what it creates is marked as the plan's, and the API server gives up before
    another server may take the plan over."""
    marks = (("fieldManager", owner.plan.manager),) if step.request.method == "POST" and not step.subresource else ()
    return (*step.request.query, *marks, ("timeout", "20s"))


def call(step: plan.Step) -> request.Request:
    """The request that a step records."""
    made = step.request
    return request.Request(
        method=made.method,
        path=made.path,
        query=made.query,
        verb=step.verb,
        is_resource=True,
        group=step.group,
        version=step.version,
        resource=step.resource,
        subresource=step.subresource,
        namespace=step.namespace,
        name="" if step.verb == "create" and not step.subresource else step.name,
        body=None if made.body is None else made.body.encode(),
        content_type=made.content_type,
    )


def encoded(value: Any) -> bytes:
    """Canonical JSON; empty for None."""
    if value is None:
        return b""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def as_decoded(body: Any) -> Any:
    """Options of a deletion without the name of their version, which the API server changes when it decodes them."""
    return {key: value for key, value in body.items() if key not in {"apiVersion", "kind"}}


def holds(whole: Any, part: Any) -> bool:
    """Whether the part is in the whole, field by field."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(holds(whole.get(key), value) for key, value in part.items())
    if isinstance(part, list):
        return isinstance(whole, list) and len(whole) == len(part) and all(map(holds, whole, part))
    return bool(whole == part) or (part is None and whole is None)


def approved_at(owner: record.Record) -> float:
    """When the last approval was given; seconds since the epoch."""
    assert owner.decisions and all(decision.approves for decision in owner.decisions)
    return owner.decisions[-1].at


def seconds(moment: str) -> float:
    """A time of the audit log, in seconds since the epoch."""
    return datetime.fromisoformat(moment).timestamp()
