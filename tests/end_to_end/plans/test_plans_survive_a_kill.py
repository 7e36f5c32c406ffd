"""Whenever a server is killed, its plans are neither lost nor repeated: each approved request reaches the cluster exactly
once, by the API server's own audit log, and the record of the plan says so."""

from __future__ import annotations

import collections
import contextlib
import itertools
import re
import secrets
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from kubernetes import client

from kubescript import app, config, errors, programs, types
from kubescript.audit import recorder
from kubescript.changes import approval, planner, planning, recovery, work
from kubescript.changes.store import record, store
from kubescript.changes.writer import WritableAccess
from kubescript.cluster import live as live_cluster_access
from kubescript_safety.controlplane import audit
from kubescript_sandbox.host import spawner
from tests.kit import clients, extent, kill_points, patience, people, postgres, rollouts, trails, unfinished
from tests.kit.controlplane import logged, official_client
from tests.kit.controlplane.writer import Object, Writer
from tests.kit.kill_points import Life

pytestmark = pytest.mark.timeout(600)

HEAD: Final = """
core = k8s.coreV1()
about = lambda name: {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": NAMESPACE}}
"""
WRITES: Final = {
    "create": 'core.create_namespaced_config_map(NAMESPACE, {**about(f"new-{N}"), "data": {"a": "2"}})',
    "patch": 'core.patch_namespaced_config_map(f"patched-{N}", NAMESPACE, {"data": {"a": "2"}})',
    "delete": 'k8s.delete(f"configmaps/deleted-{N}", namespace=NAMESPACE)',
    "apply": 'k8s.apply({**about(f"applied-{N}"), "data": {"b": "2"}})',
    "scale": 'k8s.scale(f"deployments/scaled-{N}", 3, namespace=NAMESPACE)',
    "evict": 'k8s.evict(f"pods/evicted-{N}", namespace=NAMESPACE)',
    "replace": 'core.replace_namespaced_config_map(f"replaced-{N}", NAMESPACE, {**about(f"replaced-{N}"), "data": {"a": "2"}})',
    "apply something new": 'k8s.apply({**about(f"born-{N}"), "data": {"b": "2"}})',
    "delete what stays for a while": 'k8s.delete(f"configmaps/ending-{N}", namespace=NAMESPACE)',
    "make room": 'k8s.delete(f"configmaps/renewed-{N}", namespace=NAMESPACE)',
    "make anew": 'core.create_namespaced_config_map(NAMESPACE, {**about(f"renewed-{N}"), "data": {"a": "2"}})',
}
SENT: Final = {
    "create": "create configmaps",
    "patch": "patch configmaps/patched",
    "delete": "delete configmaps/deleted",
    "apply": "patch configmaps/applied",
    "scale": "patch deployments/scaled/scale",
    "evict": "create pods/evicted/eviction",
    "replace": "update configmaps/replaced",
    "apply something new": "patch configmaps/born",
    "delete what stays for a while": "delete configmaps/ending",
    "make room": "delete configmaps/renewed",
    "make anew": "create configmaps",
}
"""What the API server gets of each."""
LEFT: Final = {
    "create": ("new", {"a": "2"}),
    "patch": ("patched", {"a": "2"}),
    "delete": ("deleted", "nothing"),
    "apply": ("applied", {"a": "1", "b": "2"}),
    "scale": ("scaled", 3),
    "evict": ("evicted", "nothing"),
    "replace": ("replaced", {"a": "2"}),
    "apply something new": ("born", {"b": "2"}),
    "delete what stays for a while": ("ending", [{"a": "1"}]),
    "make room": ("renewed", {"a": "2"}),
    "make anew": ("renewed", {"a": "2"}),
}
"""What there is afterwards."""
PLANS: Final = (
    ("create", "patch", "delete"),
    ("apply", "scale", "evict"),
    ("replace", "apply something new", "delete what stays for a while"),
    ("make room", "make anew"),
)
FIRST: Final = PLANS[0]
FIRST_SENT: Final = [SENT[write] for write in FIRST]
POD: Final = {"containers": [{"name": "c", "image": "i"}]}
_numbers: Final = itertools.count(1)


@dataclass(frozen=True)
class Made:
    """A plan that may be applied, about objects that no other plan changes."""

    id: str
    number: int
    """Of its objects."""


@dataclass(frozen=True)
class Place:
    """A namespace of a cluster, a server's parts in this process, and processes of it that die."""

    cluster: logged.Logged
    namespace: str
    application: app.Application
    deaths: kill_points.Deaths
    file: Path
    """What the processes put on record."""
    writer: Writer
    given: Mapping[str, Any]
    """The server's settings."""
    core: Any
    apps: Any
    marked: dict[str, set[str]] = field(default_factory=lambda: collections.defaultdict(set))
    """The audit ids of the requests of each plan that were marked when a server died."""

    @property
    def approvals(self) -> approval.Approvals:
        assert self.application.operator.planning is not None
        return self.application.operator.planning.approvals

    def server(self, ledger: approval.Ledger | None = None, **given: Any) -> planning.Planning:
        """Another server's part that plans need, with these settings."""
        settings = config.Settings.model_validate({**self.given, **given})
        access = self.application.operator.contexts.default
        assert isinstance(access, WritableAccess)
        accesses = dict.fromkeys(settings.context_names or ("",), access)
        audit = ledger or self.application.audit
        run = self.application.operator.evaluator.run_aside
        return planning.Planning(settings, accesses, audit, recovery.Keeper(settings.plans), run)

    def approved(self, writes: tuple[str, ...] = FIRST) -> Made:
        """A new plan."""
        number = next(_numbers)
        return Made(self.approve(self.script(number, writes)), number)

    def approve(self, script: str) -> str:
        """A script's plan."""
        answer = anyio.run(
            self.application.operator.evaluator.evaluate, script, 60_000, None, types.Caller("s", "test")
        )
        assert answer.plan, answer.text
        made = self.approvals.get(answer.plan).plan
        self.approvals.decide(made.id, record.Decision(planner.local_user(), "terminal", True, made.hash))
        return made.id

    def script(self, number: int, writes: tuple[str, ...]) -> str:
        """A script with these writes; what they need is there then."""
        script = "\n".join([f"NAMESPACE, N = {self.namespace!r}, {number}", HEAD, *(WRITES[write] for write in writes)])
        for each in objects(self.namespace, number):
            if f"{each['metadata']['name'].removesuffix(str(number))}{{N}}" in script:
                self.writer.create(each)
        return script

    def killed(self, made: Made, dies_at: int) -> Life:
        """Applies a plan in a process that dies at this point, and waits until the API server has done with what it had
        sent. That takes less time than a lease has."""
        life = self.deaths.apply(made.id, dies_at)
        for step in self.approvals.get(made.id).steps:
            if step.state == "sending":
                self.marked[made.id].add(step.audit_id)
                if life.points[-1] == "answer":
                    self.cluster.answer(rollouts.USER, step.audit_id)
        return life

    def events(self) -> list[audit.Event]:
        """What kubescript has sent to change something."""
        return self.cluster.writes(rollouts.USER, self.namespace)

    def sent(self, made: Made) -> list[str]:
        """What was carried out of a plan, in its order."""
        return carried_out(self.events(), self.approvals.get(made.id), self.marked[made.id])

    def check_marked(self, events: list[audit.Event]) -> None:
        """Fails unless each request that was sent is one of a plan."""
        known = {step.audit_id for each in self.approvals.newest(10_000) for step in each.steps}
        known.update(*self.marked.values())
        assert not [event.line for event in events if event.audit_id not in known]

    def objects(self) -> dict[str, Any]:
        """What is there now: the data of a ConfigMap, in brackets where it is being deleted, the replicas of a Deployment,
        and nothing of a pod."""
        found: dict[str, Any] = {}
        for each in self.core.list_namespaced_config_map(self.namespace).items:
            found[each.metadata.name] = [each.data] if each.metadata.deletion_timestamp else each.data
        for each in self.apps.list_namespaced_deployment(self.namespace).items:
            found[each.metadata.name] = each.spec.replicas
        for each in self.core.list_namespaced_pod(self.namespace).items:
            # An API server whose client is gone may leave the rest to the collector of garbage.
            if not each.metadata.deletion_timestamp:
                found[each.metadata.name] = None
        return found


def carried_out(events: list[audit.Event], plan: record.Record, marked: Collection[str] = ()) -> list[str]:
    """Which requests of a plan were carried out, in their order; `marked` are those that servers of it had marked when
    they died. They are known by their audit ids: what fails has no name in its answer, nor in the path of a creation."""
    # An API server whose client is gone gives up, and says so in its log, when its store may have the write already.
    done = {step.audit_id for step in plan.steps if step.state == "done"}
    sent = {step.audit_id for step in plan.steps}.union(marked)
    found = [event for event in events if event.audit_id in sent and (event.status < 300 or event.audit_id in done)]
    # The path below the namespace, without the number of its object.
    return [f"{event.verb} {re.sub(r'^.*/namespaces/[^/]+/|-[0-9]+', '', event.path)}" for event in found]


def objects(namespace: str, number: int) -> Iterator[Object]:
    """What there may be before a script runs."""
    for name in ("patched", "deleted", "applied", "replaced", "ending", "renewed"):
        yield {**named("v1", "ConfigMap", f"{name}-{number}", namespace), "data": {"a": "1"}}
    template = {"metadata": {"labels": {"app": "x"}}, "spec": POD}
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": "x"}}, "template": template}
    yield {**named("apps/v1", "Deployment", f"scaled-{number}", namespace), "spec": spec}
    yield {**named("v1", "Pod", f"evicted-{number}", namespace), "spec": POD}


def named(version: str, kind: str, name: str, namespace: str) -> Object:
    metadata: Object = {"name": name, "namespace": namespace}
    if name.startswith("ending"):
        metadata["finalizers"] = ["example.com/stays"]
    return {"apiVersion": version, "kind": kind, "metadata": metadata}


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + patience.scaled(60)
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@contextlib.contextmanager
def opened(cluster: logged.Logged, url: str, folder: Path, **given: Any) -> Iterator[Place]:
    writer, namespace = Writer(cluster.plane.kubeconfig), f"deaths-{secrets.token_hex(3)}"
    writer.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    kubeconfig = cluster.plane.kubeconfig_for(rollouts.USER, ("system:masters",))
    file = folder / "audit.jsonl"
    given |= {"kubeconfig": kubeconfig, "writes": "plan", "toolsets": ["code"], "plans": {"store": url}}
    given |= {"audit": {"file": file}}
    settings = config.Settings.model_validate(given)
    source = spawner.Spawner(programs.WORKER)
    source.start()
    with (
        kill_points.opened(settings, file) as killed,
        contextlib.closing(source),
        app.opened(settings, source) as application,
    ):
        api = official_client.connect(cluster.plane.kubeconfig)
        core, apps = client.CoreV1Api(api), client.AppsV1Api(api)
        yield Place(cluster, namespace, application, killed, file, writer, given, core, apps)


@pytest.fixture(scope="module")
def plane(run_folder: Path, run_process: int) -> logged.Logged:
    return logged.attach(run_folder, run_process)


@pytest.fixture(scope="module")
def place(plane: logged.Logged, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("deaths")
    with opened(plane, str(folder / "state" / "plans.db"), folder, write_policy={"per_minute": 10_000}) as made:
        yield made


def ends(file: Path, plan: str) -> list[str]:
    """The states with which an application has ended, by the audit record, or by those of all replicas."""
    every = itertools.chain.from_iterable(trails.records(each, "applied") for each in records_beside(file))
    return [each["state"] for each in every if each["plan"] == plan]


def records_beside(file: Path) -> list[Path]:
    """The audit record, and those of other replicas."""
    return sorted(file.parent.glob(f"{file.stem}*.jsonl"))


# --- at every point ---------------------------------------------------------------------------------------------------


def deaths(points: tuple[str, ...], writes: tuple[str, ...]) -> list[int]:
    """The points at which a plan's servers die: all of them. What comes before the first request is sent is the same for
    each of the plans; so is, but in `make long`, what is neither the request, nor its answer, nor the note of that."""
    if writes == FIRST:
        return list(range(1, len(points) + 1))
    first = points.index("send")
    own = [at for at, point in enumerate(points) if point in {"send", "answer"} or points[at - 1] == "answer"]
    return [at + 1 for at in (range(first, len(points)) if extent.LONG else own)]


def die_everywhere(place: Place, writes: tuple[str, ...]) -> None:
    """Fails unless the next server brings a plan to its end, wherever the first one has died."""
    first = place.approved(writes)
    whole = place.deaths.apply(first.id)
    assert not whole.was_killed
    assert set(whole.points) == {"claim", "begin", "try", "mark", "send", "answer", "applied", "finish"}
    made = [first]
    for dies_at in deaths(whole.points, writes):
        made.append(place.approved(writes))
        life = place.killed(made[-1], dies_at)
        assert life.was_killed and life.points == whole.points[:dies_at]
        if life.points == ("claim",):  # it was not begun, so a person says when
            place.deaths.apply(made[-1].id)
    place.deaths.recover()
    events, objects = place.events(), place.objects()
    place.check_marked(events)
    for each in made:
        ended = place.approvals.get(each.id)
        assert ended.state == "applied", (each, ended)
        assert carried_out(events, ended, place.marked[each.id]) == [SENT[write] for write in writes]
        for write in writes:
            name, state = LEFT[write]
            assert objects.get(f"{name}-{each.number}", "nothing") == state
        assert [step.state for step in ended.steps] == ["done"] * len(writes)
        assert ended.text == f"{len(writes)} of {len(writes)} changes were made"
        # Who dies between the two has put the end on record, and whoever comes next does not know.
        assert set(ends(place.file, each.id)) == {"applied"}
    files = records_beside(place.file)
    done = verify(files)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(files) == 1 or f"applied plans: {len(made)};" in done.stdout


def verify(files: list[Path]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([clients.KUBESCRIPT, "audit", "verify", *files], capture_output=True, text=True)


@pytest.mark.sampled
@pytest.mark.parametrize("writes", PLANS, ids=", ".join)
def test_wherever_a_server_dies_the_next_one_neither_loses_nor_repeats_a_request(
    writes: tuple[str, ...], place: Place
) -> None:
    die_everywhere(place, writes)


@pytest.mark.sampled
def test_nor_between_replicas_with_a_record_each(
    plane: logged.Logged, postgresql: postgres.Postgres, tmp_path: Path
) -> None:
    """Their plans are in PostgreSQL: one server makes and approves a plan, the next one dies with it, a third one ends
    it, and their records verify together; without that of a server that has died, they do not."""
    url = postgresql.database()
    with opened(plane, url, tmp_path, write_policy={"per_minute": 10_000}, replicas={"store": url}) as place:
        die_everywhere(place, ("evict",))
        files = records_beside(place.file)
        dead = next(each for each in files if trails.records(each, "applying") and not trails.records(each, "applied"))
        done = verify([each for each in files if each != dead])
        assert done.returncode == 1 and f"{dead.name} (chain" in done.stdout, done.stdout + done.stderr


# --- the program itself -----------------------------------------------------------------------------------------------


def test_a_plan_outlives_each_program_that_has_to_do_with_it(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that made it dies before it can say so; the first that applies it, once the first request is sent; the
    next, before it has noted an answer. A server that starts then brings it to its end."""
    script = place.script(next(_numbers), FIRST)
    before = place.events()
    file = tmp_path / "audit.jsonl"
    flags = people.flags(tmp_path, place.application.settings.kubeconfig or Path(), f'[audit]\nfile = "{file}"\n')
    environment = people.environment(tmp_path)

    def at_terminal(plan: str, dies_at: str) -> tuple[int, str]:
        return people.at_terminal(plan, flags, {**environment, kill_points.DIES_AT: dies_at})

    with monkeypatch.context() as patched:
        patched.setattr(clients, "KUBESCRIPT", kill_points.program(tmp_path))
        ran = subprocess.run(
            [clients.KUBESCRIPT, "run", *flags, "-c", script], env={**environment, kill_points.DIES_AT: "add 1"}
        )
        assert ran.returncode == -signal.SIGKILL
        plans = store.Store(str(tmp_path / "state" / "kubescript" / "plans.db"))
        (found,) = plans.newest()
        plan = found.plan.id
        assert found.state == "pending" and place.events() == before

        code, screen = at_terminal(plan, "answer 1")
        assert code == -signal.SIGKILL and "Type `approve`" in screen
        first = plans.get(plan).steps[0]
        assert first.state == "sending"
        status = place.cluster.answer(rollouts.USER, first.audit_id).status

        code, screen = at_terminal(plan, "mark 3")
        assert (
            code == -signal.SIGKILL
            and "another process has begun to apply it" in screen
            and "Type `approve`" not in screen
        )
        second = plans.get(plan).steps
        # An API server that gave up since its client was gone may have carried out the first request, or may not.
        assert status < 300 or [step.state for step in second] == ["waiting"] * 3 or second[0].state == "done"
        assert status >= 300 or [step.state for step in second] == ["done", "sending", "waiting"]

    with people.talk(flags, environment, transport="stdio") as talk:
        assert clients.text(talk.ask("1 + 1")) == "2"
        wait_for(lambda: plans.get(plan).state == "applied")
    found, events = plans.get(plan), place.events()
    marked = [first.audit_id, *(step.audit_id for step in second)]
    assert carried_out(events, found, marked) == FIRST_SENT
    assert found.text == "3 of 3 changes were made"
    assert ends(file, plan) == ["applied"]
    plans.close()


def test_a_server_that_starts_before_the_lease_of_a_dead_one_is_over_looks_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "_LOOK_S", 0.1)
    made = place.approved()
    server = place.server()
    server.store().claim(made.id, "dead", lease_s=2)
    server.recover()
    wait_for(lambda: place.approvals.get(made.id).state == "applied")
    server.close()
    assert place.sent(made) == FIRST_SENT


def test_a_plan_that_waits_keeps_no_other_one_of_a_dead_server_waiting(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor one whose server dies later. It goes on itself once it can."""
    monkeypatch.setattr(recovery, "_LOOK_S", 0.1)
    kept = named("v1", "ConfigMap", "renewed-held", place.namespace)
    kept["metadata"]["finalizers"] = ["example.com/stays"]
    place.writer.create(kept)
    server = place.server()

    def abandon(plan: str) -> str:
        server.store().claim(plan, "dead", lease_s=0)
        return plan

    anew = HEAD + WRITES["make room"] + "\n" + WRITES["make anew"]
    held = abandon(place.approve(f"NAMESPACE, N = {place.namespace!r}, 'held'\n{anew}"))
    other = abandon(place.approved().id)
    server.recover()
    wait_for(lambda: place.approvals.get(other).state == "applied")
    later = abandon(place.approved().id)
    wait_for(lambda: place.approvals.get(later).state == "applied")
    assert place.approvals.get(held).state == "applying"
    place.core.patch_namespaced_config_map("renewed-held", place.namespace, {"metadata": {"finalizers": None}})
    wait_for(lambda: place.approvals.get(held).state == "applied")
    server.close()


def test_a_server_that_ends_in_the_orderly_way_leaves_its_plans_to_the_next_one(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not take its own end for a failure of the plan."""
    monkeypatch.setattr(work, "LEASE_S", 0.0)
    made = place.approved()
    ending = app.Application(place.application.settings, spawner.Spawner(programs.WORKER))
    assert ending.operator.planning is not None

    def close(done: int, _count: int, _text: str) -> None:
        if done == 1:
            ending.close()

    with pytest.raises(errors.PlanError, match="1 of 3 changes were made"):
        ending.operator.planning.approvals.apply(made.id, close)
    assert place.approvals.get(made.id).state == "applying"
    unfinished.resume(place.approvals)
    assert place.approvals.get(made.id).state == "applied"
    assert place.sent(made) == FIRST_SENT


# --- what can no longer be applied ------------------------------------------------------------------------------------

ANSWERED: Final = 13
"""The point at which the first request of three was carried out, and that is not noted: there were the claim, `try` and
`mark` for each step, and then `try`, `mark`, `send`, `answer` and this `mark` for the first one."""


def abandoned(place: Place) -> Made:
    """A plan whose server has died when it had sent the first of three requests."""
    made = place.approved()
    life = place.killed(made, ANSWERED)
    assert life.points[-4:] == ("mark", "send", "answer", "mark")
    return made


def test_under_another_policy_a_plan_ends_with_the_truth_about_each_step(place: Place) -> None:
    """And one that cannot be read, or is for another server's cluster, keeps nobody from that."""
    broken, others, changed = abandoned(place), abandoned(place), abandoned(place)
    spoil(place, broken)
    unfinished.resume(place.server(write_policy={"per_minute": 9_999}).approvals)
    for each in (others, changed):
        ended = place.approvals.get(each.id)
        assert ended.state == "stopped" and "the policy for writes has changed" in ended.text
        assert "1 of 3 changes were made" in ended.text
        assert [step.state for step in ended.steps] == ["done", "waiting", "waiting"]
        assert place.sent(each) == FIRST_SENT[:1]
    mend(place, broken)
    unfinished.resume(place.approvals)
    assert place.approvals.get(broken.id).state == "applied"
    assert place.sent(broken) == FIRST_SENT


def spoil(place: Place, made: Made) -> None:
    """Changes a plan in the store behind everybody's back."""
    with contextlib.closing(sqlite3.connect(place.application.settings.plans.store)) as connection, connection:
        connection.execute("UPDATE kubescript_plans SET plan = CAST(plan || ' ' AS BLOB) WHERE id = ?", (made.id,))


def mend(place: Place, made: Made) -> None:
    with contextlib.closing(sqlite3.connect(place.application.settings.plans.store)) as connection, connection:
        connection.execute("UPDATE kubescript_plans SET plan = CAST(rtrim(plan) AS BLOB) WHERE id = ?", (made.id,))


def test_a_plan_for_a_cluster_of_another_server_is_left_to_that_one(place: Place) -> None:
    made = abandoned(place)
    unfinished.resume(place.server(contexts=["one", "two"]).approvals)
    assert place.approvals.get(made.id).state == "applying"
    unfinished.resume(place.approvals)
    assert place.approvals.get(made.id).state == "applied"
    assert place.sent(made) == FIRST_SENT


def test_a_plan_that_expires_while_nobody_applies_it_ends_with_the_truth(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = abandoned(place)
    with monkeypatch.context() as patched:
        later = time.time() + 100_000
        patched.setattr(time, "time", lambda: later)
        unfinished.resume(place.approvals)
    ended = place.approvals.get(made.id)
    assert ended.state == "stopped" and "expired" in ended.text and "1 of 3 changes were made" in ended.text
    assert place.sent(made) == FIRST_SENT[:1]


# --- an audit record that fails ---------------------------------------------------------------------------------------


@dataclass
class Ledger:
    """A real audit record, whose file a test takes away."""

    recorder: recorder.Recorder
    file: Path

    def take_away(self) -> None:
        self.file.rename(self.file.with_name("away"))
        self.file.mkdir()

    def give_back(self) -> None:
        self.file.rmdir()
        self.file.with_name("away").rename(self.file)


@pytest.fixture
def ledger(place: Place) -> Iterator[Ledger]:
    """Another server's."""
    made = recorder.open_recorder(config.Audit(file=place.file), place.application.redaction.text_or_withheld)
    assert made is not None
    yield Ledger(made, place.file)
    made.close()


def ended(place: Place, ledger: Ledger, made: Made) -> record.Record:
    """How a plan ends whose audit record fails on the way; the next plan is applied."""
    ended = place.server(ledger.recorder).approvals.apply(made.id, lambda _done, _count, _text: None)
    assert place.approvals.get(made.id) == ended
    ledger.give_back()
    return ended


def check_next(place: Place, ledger: Ledger) -> None:
    """Fails unless the next plan is applied."""
    following = place.approved()
    place.server(ledger.recorder).approvals.apply(following.id, lambda _done, _count, _text: None)
    assert place.sent(following) == FIRST_SENT
    assert ends(ledger.file, following.id) == ["applied"]


def once(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None], *, before: bool) -> None:
    """Acts before or after the first write is sent in earnest."""
    perform = live_cluster_access.Live.perform
    left = [act]

    def performed(self: Any, call: Any, *arguments: Any) -> Any:
        is_real = call.method != "GET" and not call.dry_run
        answer = perform(self, call, *arguments)
        is_try = call.method != "GET" and call.dry_run
        if left and (is_try if before else is_real):
            left.pop()()
        return answer

    monkeypatch.setattr(live_cluster_access.Live, "perform", performed)


def test_a_request_that_cannot_be_recorded_is_not_sent(
    place: Place, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = place.approved()
    with monkeypatch.context() as patched:
        once(patched, ledger.take_away, before=True)
        found = ended(place, ledger, made)
    assert found.state == "stopped" and "0 of 3 changes were made" in found.text
    assert not place.sent(made)
    check_next(place, ledger)


def test_a_request_whose_answer_cannot_be_recorded_counts_as_what_it_is(
    place: Place, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was carried out, and no other is sent after it."""
    made = place.approved()
    with monkeypatch.context() as patched:
        once(patched, ledger.take_away, before=False)
        found = ended(place, ledger, made)
    assert found.state == "stopped" and "1 of 3 changes were made" in found.text
    assert [step.state for step in found.steps] == ["done", "waiting", "waiting"]
    assert place.sent(made) == FIRST_SENT[:1]
    check_next(place, ledger)


def test_an_end_that_cannot_be_recorded_says_what_was_applied(
    place: Place, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = place.approved()
    applied = ledger.recorder.record_application

    def too_late(found: record.Record) -> None:
        ledger.take_away()
        applied(found)

    monkeypatch.setattr(ledger.recorder, "record_application", too_late)
    found = ended(place, ledger, made)
    monkeypatch.undo()
    assert found.state == "applied" and found.text.startswith(
        "3 of 3 changes were made; the audit record does not have"
    )
    assert place.sent(made) == FIRST_SENT
    check_next(place, ledger)


def test_a_request_that_is_answered_with_a_failure_may_have_been_carried_out(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy before the API server may fail when all is done: nobody knows, and no other request is sent after it."""
    made, perform = place.approved(), live_cluster_access.Live.perform

    def failed(self: Any, call: Any, *arguments: Any) -> Any:
        answer = perform(self, call, *arguments)
        return answer if call.method == "GET" or call.dry_run else replace(answer, status=500)

    with monkeypatch.context() as patched:
        patched.setattr(live_cluster_access.Live, "perform", failed)
        found = place.approvals.apply(made.id, lambda _done, _count, _text: None)
    assert found.state == "stopped" and found.steps[0].status == 500
    assert "0 of 3 changes were made; nobody knows whether this one was: create configmaps" in found.text
    assert [step.state for step in found.steps] == ["unknown", "waiting", "waiting"]
    assert place.sent(made) == FIRST_SENT[:1]
    following = place.approved()
    assert place.approvals.apply(following.id, lambda _done, _count, _text: None).state == "applied"


def test_a_client_that_goes_away_does_not_leave_a_plan_half_applied(place: Place) -> None:
    """Whoever hears of the progress may fail; the plan is applied."""
    made = place.approved()

    def fail(_done: int, _count: int, _text: str) -> None:
        raise RuntimeError("nobody is there")

    assert place.approvals.apply(made.id, fail).state == "applied"
    assert place.sent(made) == FIRST_SENT
