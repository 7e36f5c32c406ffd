"""A server is stopped (SIGSTOP) while it applies a plan, another one takes the plan over, and the first one continues.
By the API server's own audit log it then sends nothing more, whatever the other server or a person has done meanwhile.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import secrets
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from unittest import mock

import anyio
import pytest
from kubernetes import client

from kubescript import app, config, errors, types
from kubescript.changes import approval, planner, planning, recovery, requests, work
from kubescript.changes.store import record
from kubescript.changes.view import plain
from kubescript.changes.writer import WritableAccess
from kubescript.cluster import connections
from kubescript.request import request
from kubescript_safety.controlplane import audit
from kubescript_sandbox.host import cancellation, spawner
from tests.kit import clients, kill_points, patience, people, rollouts, terminals, trails
from tests.kit.controlplane import logged, official_client
from tests.kit.listener import Listener

pytestmark = [pytest.mark.promise("P-19"), pytest.mark.timeout(600)]

HOOK_S: Final = 3
"""How long a webhook holds a write up."""
WRITES: Final = {
    "create": 'k8s.coreV1().create_namespaced_config_map(NAMESPACE, {"metadata": {"name": "new-N"}, "data": {"a": "2"}})\n',
    "apply": 'k8s.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "born-N", "namespace": NAMESPACE}, "data": {"a": "2"}})\n',
    "patch": 'k8s.coreV1().patch_namespaced_config_map("old-N", NAMESPACE, {"data": {"a": "2"}})\n',
    "apply again": 'k8s.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "old-N", "namespace": NAMESPACE}, "data": {"a": "2"}}, force=True)\n',
}
NAMES: Final = {"create": "new", "apply": "born", "patch": "old", "apply again": "old"}
OLD: Final = {"a": "1"}
NEW: Final = {"a": "2"}
THEIRS: Final = {"a": "theirs"}
CALLER: Final = types.Caller("a-session", "a client", "1", "evaluate_script")
_numbers: Final = itertools.count(1)


@dataclass(frozen=True)
class Place:
    """A namespace, a server in this process, and processes of servers that are stopped."""

    cluster: logged.Logged
    namespace: str
    application: app.Application
    servers: kill_points.Deaths
    core: Any

    @property
    def planning(self) -> planning.Planning:
        assert self.application.operator.planning is not None
        return self.application.operator.planning

    def stricter(self) -> approval.Approvals:
        """A server with other settings for writes, which stops the plans that it takes over."""
        settings = self.application.settings.model_copy(update={"write_policy": config.WritePolicy(per_minute=9)})
        access = self.application.operator.contexts.default
        assert isinstance(access, WritableAccess)
        keeper = recovery.Keeper(settings.plans)
        run = self.application.operator.evaluator.run_aside
        return planning.Planning(settings, {"": access}, self.application.audit, keeper, run).approvals

    def flags(self, folder: Path) -> list[str]:
        """The flags of the program for the same plans."""
        given = self.application.settings
        parts = f'[plans]\nstore = "{given.plans.store}"\npage = false\nfollow_s = 0\n'
        parts += f'[audit]\nfile = "{given.audit.file}"\n[write_policy]\nper_minute = 10000\n'
        return people.flags(folder, given.kubeconfig or Path(), parts)

    def approved(self, *writes: str) -> Case:
        """A plan with these writes, for objects that no other plan has."""
        number = next(_numbers)
        script = "".join(WRITES[write] for write in writes).replace("-N", f"-{number}")
        self.make(f"old-{number}", OLD)
        evaluate = self.application.operator.evaluator.evaluate
        answer = anyio.run(evaluate, f"NAMESPACE = {self.namespace!r}\n{script}1", 60_000, None, CALLER)
        assert answer.plan, answer.text
        self.decide(answer.plan)
        return Case(self, answer.plan, tuple(f"{NAMES[write]}-{number}" for write in writes))

    def decide(self, plan_id: str) -> None:
        approvals = self.planning.approvals
        made = approvals.get(plan_id).plan
        approvals.decide(plan_id, record.Decision(planner.local_user(), "terminal", True, made.hash))

    def make(self, name: str, data: dict[str, str]) -> None:
        self.core.create_namespaced_config_map(self.namespace, {"metadata": {"name": name}, "data": data})

    @contextlib.contextmanager
    def before_a_send(self, act: Callable[[], object]) -> Iterator[None]:
        """Acts once right before a request of this process is sent in earnest."""
        left = [act]
        check_sending = connections.Exchange.check_sending

        def checked(exchange: connections.Exchange) -> None:
            if left and exchange._send_by < math.inf:
                left.pop()()
            check_sending(exchange)

        with mock.patch.object(connections.Exchange, "check_sending", checked):
            yield

    def ends(self) -> list[dict[str, Any]]:
        """The ends of plans that are on record."""
        file = self.application.settings.audit.file
        assert file is not None
        return trails.records(file, "applied")

    def data(self) -> dict[str, Any]:
        """What all objects hold."""
        listed = self.core.list_namespaced_config_map(self.namespace).items
        return {each.metadata.name: each.data for each in listed}

    def send(self, call: request.Request) -> int:
        """The status that answers a request; 0 if the API server hangs up."""
        cluster = self.application.operator.contexts.default.cluster
        try:
            answer = cluster.perform(call, 60, cancellation.Cancellation())
        except errors.ClusterError:
            return 0
        answer.close()
        return answer.status

    def writes(self) -> list[audit.Event]:
        """What kubescript has sent in earnest."""
        return self.cluster.writes(rollouts.USER, self.namespace)


@dataclass(frozen=True)
class Case:
    """One plan."""

    place: Place
    plan: str
    names: tuple[str, ...]

    def end(self, how: str) -> None:
        """Another server takes the plan over."""
        approvals = self.place.planning.approvals
        if how == "stopped":
            approvals = self.place.stricter()
        ended = approvals.apply(self.plan, lambda _done, _count, _text: None)
        assert ended.state == ("stopped" if how == "stopped" else "applied"), ended.text
        if how == "taken back":
            self.take_back()
        for name in self.names if how in {"deleted", "made anew"} else ():
            self.place.core.delete_namespaced_config_map(name, self.place.namespace)
            if how == "made anew":
                self.place.make(name, THEIRS)

    def take_back(self) -> None:
        planning = self.place.planning
        reverse = planning.undo(self.plan, CALLER).plan
        self.place.decide(reverse.id)
        ended = planning.approvals.apply(reverse.id, lambda _done, _count, _text: None)
        assert ended.state == "applied", ended.text

    def found(self) -> tuple[Any, ...]:
        """What there is now."""
        data = self.place.data()
        return tuple(data.get(name) for name in self.names)

    def record(self) -> record.Record:
        return self.place.planning.approvals.get(self.plan)


@pytest.fixture(scope="module")
def place(
    run_folder: Path, run_process: int, tmp_path_factory: pytest.TempPathFactory, source: spawner.Spawner
) -> Iterator[Place]:
    cluster, namespace = logged.attach(run_folder, run_process), f"stopped-{secrets.token_hex(3)}"
    core: Any = client.CoreV1Api(official_client.connect(cluster.plane.kubeconfig))
    core.create_namespace({"metadata": {"name": namespace}})
    folder = tmp_path_factory.mktemp("stopped")
    kubeconfig = cluster.plane.kubeconfig_for(rollouts.USER, ("system:masters",))
    file = str(folder / "state" / "plans.db")
    audit_file = folder / "audit.jsonl"
    given = {"kubeconfig": kubeconfig, "writes": "plan", "toolsets": ["code"], "plans": {"store": file, "page": False}}
    given |= {"audit": {"file": audit_file}, "write_policy": {"per_minute": 10_000}}
    settings = config.Settings.model_validate(given)
    with (
        pytest.MonkeyPatch.context() as patch,
        kill_points.opened(settings, audit_file) as servers,
        app.opened(settings, source) as application,
    ):
        # Otherwise this server would go on with a test's plan at any moment: each look comes after half a minute.
        patch.setattr(recovery.Keeper, "recover", lambda _keeper, _approvals: None)
        yield Place(cluster, namespace, application, servers, core)


ENDS: Final = {
    ("create", "applied"): NEW,
    ("create", "stopped"): None,
    ("create", "taken back"): None,
    ("create", "deleted"): None,
    ("create", "made anew"): THEIRS,
    ("patch", "applied"): NEW,
    ("patch", "stopped"): OLD,
    ("patch", "taken back"): OLD,
    ("patch", "made anew"): THEIRS,
    ("apply", "stopped"): None,
    ("apply again", "made anew"): THEIRS,
}
"""What there is after a write that another server ended in this way."""
LATER: Final = {"try 2": "try 5", "mark 2": "mark 6", "send 1": "send 2", "bytes 1": "bytes 3", "mark 3": "mark 7"}
"""The same point at the second step of three."""


@pytest.mark.parametrize("at", ["try 2", "mark 2", "send 1", "bytes 1", "mark 3"])
def test_a_server_that_was_stopped_sends_nothing_more(at: str, place: Place, attacks: Callable[[int], None]) -> None:
    """Before its last dry run, before its mark, after the mark, right before the bytes go out, and when the request was
    carried out. Neither does it put an end of the plan on record."""
    attacks(len(ENDS) + 1)
    cases = {(write, how): place.approved(write) for write, how in ENDS}
    cases["all", "applied"] = place.approved("create", "patch", "apply")
    for case in cases.values():
        place.servers.stop(case.plan, at if len(case.names) == 1 else LATER[at], sleeps=True)
    for (_, how), case in cases.items():
        case.end(how)
    before = [case.record() for case in cases.values()], place.writes(), place.ends()
    for case in cases.values():
        life = place.servers.resume(case.plan)
        assert life.error.startswith("plan.decided"), life
    assert ([case.record() for case in cases.values()], place.writes(), place.ends()) == before
    assert cases.pop(("all", "applied")).found() == (NEW, NEW, NEW)
    was_sent = at == "mark 3"
    for end, case in cases.items():
        expected = NEW if was_sent and end[1] == "stopped" else ENDS[end]
        assert case.found() == (expected,), end
    following = place.approved("patch")
    following.end("applied")
    assert following.found() == (NEW,)


@pytest.mark.parametrize("write", ["create", "apply", "patch"])
def test_what_lands_at_the_last_moment_is_recorded_as_done(write: str, place: Place) -> None:
    """The stopped server's request arrives when the next one has looked for it, and just before that one's own."""
    case = place.approved(write)
    place.servers.stop(case.plan, "held 1")
    first = case.record().steps[0].audit_id
    with place.before_a_send(lambda: place.servers.resume(case.plan)):
        ended = place.planning.approvals.apply(case.plan, lambda _done, _count, _text: None)
    assert case.found() == (NEW,)
    (done,) = [event for event in place.writes() if event.audit_id == first]
    assert done.status < 300
    assert ended.state == "applied" and ended.steps[0].audit_id == first, ended


def test_an_object_that_goes_at_the_last_moment_is_not_made_again(place: Place) -> None:
    """A person deletes it when it has been tried, and just before the request is sent."""
    for write in ("patch", "apply again"):
        case = place.approved(write)
        place.servers.stop(case.plan, "bytes 1")
        place.core.delete_namespaced_config_map(*case.names, place.namespace)
        assert not place.servers.resume(case.plan).error
        assert case.record().state == "stopped" and case.found() == (None,)
    following = place.approved("apply")
    following.end("applied")
    assert following.found() == (NEW,)


def test_a_plan_that_no_other_server_has_taken_over_goes_on(place: Place) -> None:
    """The server that was stopped says that its step was not sent; the next look at the plan applies it."""
    case = place.approved("create", "patch")
    place.servers.stop(case.plan, "bytes 1", sleeps=True)
    error = place.servers.resume(case.plan).error
    assert error.startswith("cluster.late") and "0 of 2 changes were made; this one was not sent: create" in error
    assert [step.state for step in case.record().steps] == ["not sent", "waiting"]
    assert "[✗] not sent: this server was stopped" in plain.text(case.record()) and case.found() == (None, OLD)
    place.servers.recover()
    assert case.record().state == "applied" and case.found() == (NEW, NEW)


@pytest.mark.parametrize(("method", "media"), [("PUT", "application/json"), ("PATCH", "application/apply-patch+yaml")])
def test_no_write_makes_a_deleted_object_again(method: str, media: str, place: Place) -> None:
    """Of a Lease, an API server would: a PUT and an apply may create one."""
    leases: Any = client.CoordinationV1Api(place.core.api_client)
    name = f"lease-{method.lower()}"
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}}
    made = leases.create_namespaced_lease(place.namespace, body).metadata
    call = request.Request(
        method=method,
        path=f"/apis/coordination.k8s.io/v1/namespaces/{place.namespace}/leases/{name}",
        query=(("fieldManager", "us"),),
        verb={"PUT": "update", "PATCH": "patch"}[method],
        is_resource=True,
        name=name,
        body=json.dumps(body | {"spec": {"holderIdentity": "us"}}).encode(),
        content_type=media,
    )
    leases.delete_namespaced_lease(name, place.namespace)
    assert place.send(requests.guard(call, made.uid, made.resource_version)) == 409
    assert name not in {each.metadata.name for each in leases.list_namespaced_lease(place.namespace).items}
    again = leases.create_namespaced_lease(place.namespace, body).metadata
    assert place.send(requests.guard(call, again.uid, again.resource_version)) == 200


def test_undo_takes_back_only_what_the_plan_is_known_to_have_made(place: Place) -> None:
    """An apply has the script's field manager, so another client may have made what is found; a plan that goes on has
    not ended."""
    case = place.approved("apply")
    place.servers.stop(case.plan, "mark 3")
    with pytest.raises(errors.PlanError, match="still being applied"):
        case.take_back()
    case.end("applied")
    with pytest.raises(errors.PlanError, match="it is not known whether the object of that name"):
        case.take_back()
    assert place.servers.resume(case.plan).error.startswith("plan.decided") and case.found() == (NEW,)
    following = place.approved("apply")
    following.end("taken back")
    assert following.found() == (None,)


def test_the_program_itself_sends_nothing_more(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person approves, the program is stopped, another one applies the plan, and a person deletes the object."""
    monkeypatch.setattr(clients, "KUBESCRIPT", kill_points.program(tmp_path))
    case = place.approved("create")
    words = ["approve", case.plan, *place.flags(tmp_path)]
    screen = terminals.Screen(words, {**people.environment(tmp_path), kill_points.STOPS_AT: "bytes 1"})
    try:
        patience.until(lambda: _is_stopped(screen.process.pid), 120)
        time.sleep(kill_points.SEND_S + 0.5)
        case.end("deleted")
        before = case.record(), place.writes(), place.ends()
        assert screen.end(signal.SIGCONT) == 1 and "this one was not sent: create configmaps" in screen.text, (
            screen.text
        )
    finally:
        screen.process.kill()
    assert (case.record(), place.writes(), place.ends()) == before and case.found() == (None,)


def test_a_model_hears_that_another_server_may_go_on(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When its own server comes too late for a step that a person has approved."""
    monkeypatch.setattr(work, "LEASE_S", 0.0)
    script = WRITES["create"].replace("new-N", "told").replace("NAMESPACE", repr(place.namespace))
    with people.talk(place.flags(tmp_path), people.environment(tmp_path), people.Client()) as talk:
        with monkeypatch.context() as patched:
            patched.setattr(work, "_SEND_S", -1.0)
            told = clients.text(talk.ask(f"{script}1"))
        assert "error cluster.late; this server changes nothing more, and another one may go on" in told, told
        assert "this one was not sent: create configmaps" in told and "told" not in place.data()
        case = Case(place, people.plan_on(told), ("told",))
        case.end("applied")
        assert case.found() == (NEW,) and "and applied" in clients.text(talk.ask("1"))


def _is_stopped(pid: int) -> bool:
    _, _, status = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")
    return status.startswith("T")


def test_an_api_server_gives_up_in_time_on_what_was_sent(place: Place) -> None:
    """A webhook holds each kind of write up, and then lets it pass: nothing is written any more."""
    asked = threading.Event()

    def hold(_: socket.socket) -> None:
        asked.set()
        time.sleep(HOOK_S)

    slow, core = Listener(hold), place.core
    hooks: Any = client.AdmissionregistrationV1Api(core.api_client)
    for name in ("patched", "applied-again", "replaced", "removed"):
        place.make(name, OLD)
    before = place.data()
    hooks.create_validating_webhook_configuration(_webhook(place.namespace, slow.port))
    try:
        calls = [requests.bound(call, 1) for call in _slow_writes(place.namespace)]
        # The API server takes a second or two to hear of the webhook; a slow one may give up before that.
        patience.until(lambda: place.send(requests.dry_run(calls[1])) == 504 and asked.is_set(), 60)
        with futures.ThreadPoolExecutor(5) as threads:
            statuses = list(threads.map(place.send, calls))
        assert set(statuses) <= {0, 504}, statuses
        time.sleep(HOOK_S)
    finally:
        hooks.delete_validating_webhook_configuration(place.namespace)
        slow.close()
    assert place.data() == before
    following = place.approved("patch")
    following.end("applied")


def _webhook(namespace: str, port: int) -> dict[str, Any]:
    """A webhook for ConfigMaps of a namespace, which may fail."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}
    hook = {
        "name": "slow.example.com",
        "clientConfig": {"url": f"https://127.0.0.1:{port}/"},
        "rules": [rule],
        "failurePolicy": "Ignore",
        "timeoutSeconds": HOOK_S,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
    }
    return {"metadata": {"name": namespace}, "webhooks": [hook]}


def _slow_writes(namespace: str) -> Iterator[request.Request]:
    """One write of each kind."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    writes = (
        ("POST", "", "application/json", {"metadata": {"name": "created"}}),
        ("PATCH", "/patched", "application/merge-patch+json", {"data": NEW}),
        (
            "PATCH",
            "/applied-again",
            "application/apply-patch+yaml",
            {"apiVersion": "v1", "kind": "ConfigMap", "data": NEW},
        ),
        ("PUT", "/replaced", "application/json", {"metadata": {"name": "replaced"}, "data": NEW}),
        ("DELETE", "/removed", "application/json", {"apiVersion": "v1", "kind": "DeleteOptions"}),
    )
    for method, name, media, body in writes:
        query = (("fieldManager", "us"), ("force", "true")) if "apply" in media else ()
        yield request.Request(
            method=method,
            path=path + name,
            query=query,
            verb=method.lower(),
            is_resource=True,
            body=json.dumps(body).encode(),
            content_type=media,
        )
