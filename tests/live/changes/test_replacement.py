"""A script that deletes an object and makes another one of its name leaves one plan, which does both in order and waits in
between; on a real API server."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import anyio
import pytest
from kubernetes import client

from kubescript import app, errors, types
from kubescript import config as settings
from kubescript.changes import planning, replacement
from kubescript.changes.store import record
from kubescript.cluster import live
from kubescript.request import request
from tests.kit import fork_servers, patience, plan_mode
from tests.kit.controlplane import official_client
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Object, Writer
from tests.kit.plan_mode import SHOP

FINALIZER: Final = "example.com/stays"
KEPT: Final = {"metadata": {"finalizers": [FINALIZER]}}


@dataclass
class Server:
    """A server in plan mode, whose plans a test approves, and what the cluster has in a namespace, which is `shop` in
    scripts."""

    application: app.Application
    core: Any
    writer: Writer
    namespace: str

    @property
    def planning(self) -> planning.Planning:
        assert self.application.operator.planning is not None
        return self.application.operator.planning

    def answer(self, script: str) -> types.Answer:
        """The answer to a script."""
        evaluate = self.application.operator.evaluator.evaluate
        placed = script.replace(SHOP, self.namespace)
        return anyio.run(functools.partial(evaluate, placed, 60_000, caller=types.Caller("s", "test")))

    def shown(self, script: str) -> record.Record:
        """The plan that a script leaves."""
        answer = self.answer(script)
        assert answer.plan, answer.text
        return self.planning.approvals.get(answer.plan)

    def apply(self, shown: record.Record) -> record.Record:
        """Approves and applies a plan."""
        self.planning.approvals.decide(shown.plan.id, record.Decision("somebody", "terminal", True, shown.plan.hash))
        return self.planning.approvals.apply(shown.plan.id, lambda _done, _count, _text: None)

    def create(self, name: str, **more: Any) -> str:
        """Makes a ConfigMap; returns its uid."""
        metadata = {"name": name, "namespace": self.namespace, **more.pop("metadata", {})}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "1"}, **more}
        uid: str = self.core.create_namespaced_config_map(self.namespace, body).metadata.uid
        return uid

    def found(self, name: str) -> Any:
        """A ConfigMap; None if there is none."""
        found = self.core.list_namespaced_config_map(self.namespace, field_selector=f"metadata.name={name}").items
        return found[0] if found else None

    def release(self, name: str) -> None:
        """Takes the finalizer from a ConfigMap."""
        self.core.patch_namespaced_config_map(name, self.namespace, {"metadata": {"finalizers": None}})


@pytest.fixture(scope="module")
def server(scratch: ControlPlane, namespace: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    given = {
        "kubeconfig": scratch.kubeconfig,
        "writes": "plan",
        "plans": {"store": str(tmp_path_factory.mktemp("plans") / "plans.db"), "page": False},
    }
    core = client.CoreV1Api(official_client.connect(scratch.kubeconfig))
    chosen = settings.Settings.model_validate(given)
    with fork_servers.open_application(chosen) as opened:
        yield Server(opened, core, Writer(scratch.kubeconfig), namespace)


def anew(name: str) -> str:
    """A script that replaces a ConfigMap."""
    return (
        f"core = k8s.coreV1()\ncore.delete_namespaced_config_map({name!r}, 'shop')\n"
        f"core.create_namespaced_config_map('shop', {{'metadata': {{'name': {name!r}}}, 'data': {{'b': '2'}}}})\n"
        f"core.read_namespaced_config_map({name!r}, 'shop').data.to_dict()"
    )


JOB: Final[Object] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "import", "namespace": SHOP},
    "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a:1"}]}}},
}


def test_an_object_that_nobody_may_change_is_replaced(server: Server) -> None:
    """The script reads the new one; the person is told of the time between the two; the old one goes first."""
    old = server.create("fixed", immutable=True)
    answer = server.answer(anew("fixed"))
    assert '{"b":"2"}' in answer.text, answer.text
    assert answer.plan is not None
    shown = server.planning.approvals.get(answer.plan)
    deletion, creation = shown.plan.steps
    assert (deletion.verb, creation.verb, creation.replaces) == ("delete", "create", old)
    assert {row.path: row.new for row in creation.rows if row.path.startswith("data")} == {"data.b": '"2"'}
    (finding,) = [each for each in creation.findings if each.rule == "writes.replacement"]
    assert "in between there is none, and pods that need it do not start" in finding.message
    ended = server.apply(shown)
    assert (ended.state, ended.text) == ("applied", "2 of 2 changes were made")
    assert server.found("fixed").data == {"b": "2"} and server.found("fixed").metadata.uid != old


def test_what_the_api_server_makes_of_the_name_is_shown_and_made(server: Server) -> None:
    """A Job's name is a label of its pods, and its template cannot be changed: by apply as well."""
    server.writer.create(plan_mode.placed(JOB, server.namespace))
    changed = {**JOB, "spec": {"template": {"spec": {**JOB["spec"]["template"]["spec"], "activeDeadlineSeconds": 9}}}}
    shown = server.shown(f"k8s.delete('jobs/import', namespace='shop')\nk8s.apply({changed!r}).metadata.name")
    values = {row.path: row.new for row in shown.plan.steps[1].rows}
    assert values["spec.template.spec.activeDeadlineSeconds"] == "9"
    assert values['spec.template.metadata.labels["batch.kubernetes.io/job-name"]'] == '"import"', values
    ended = server.apply(shown)
    assert ended.state == "applied", ended.text
    job: Any = client.BatchV1Api(server.core.api_client).read_namespaced_job("import", server.namespace)
    assert job.spec.template.spec.active_deadline_seconds == 9


@contextlib.contextmanager
def at_the_second_look(name: str, act: Callable[[], object]) -> Iterator[None]:
    """Acts when the application has seen that a deleted object is still there, and looks again."""
    perform = live.Live.perform
    deleted: list[bool] = []
    looks: list[bool] = []

    def performed(self: live.Live, call: request.Request, *arguments: Any) -> types.Response:
        if deleted and call.method == "GET" and call.name == name:
            looks.append(True)
            if len(looks) == 2:
                act()
        answer = perform(self, call, *arguments)
        if call.verb == "delete" and not call.dry_run:
            deleted.append(True)
        return answer

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(live.Live, "perform", performed)
        yield
    assert len(looks) >= 2


def test_it_waits_until_the_old_one_is_gone(server: Server) -> None:
    """A finalizer holds it for a while."""
    old = server.create("held", **KEPT)
    shown = server.shown(anew("held"))
    with at_the_second_look("held", lambda: server.release("held")):
        ended = server.apply(shown)
    assert ended.state == "applied" and server.found("held").data == {"b": "2"}, ended.text
    assert server.found("held").metadata.uid != old


def test_an_api_server_that_is_away_for_a_moment_is_asked_again(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise there would be neither the old object nor the new one."""
    server.create("away")
    shown = server.shown(anew("away"))
    perform = live.Live.perform
    left: list[bool] = []

    def performed(self: live.Live, call: request.Request, *arguments: Any) -> types.Response:
        if left and call.method == "GET":
            left.pop()
            raise errors.ClusterError("no route to host")
        answer = perform(self, call, *arguments)
        if call.verb == "delete" and not call.dry_run:
            left.extend([True, True, True])
        return answer

    with monkeypatch.context() as patched:
        patched.setattr(live.Live, "perform", performed)
        ended = server.apply(shown)
    assert ended.state == "applied" and not left, ended.text
    assert server.found("away").data == {"b": "2"}


def test_what_does_not_go_in_time_is_not_replaced(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan stops and says so; the next one works."""
    server.create("stuck", **KEPT)
    with monkeypatch.context() as patched:
        patched.setattr(replacement, "_WAIT_S", 0.3)
        ended = server.apply(server.shown(anew("stuck")))
    assert ended.state == "stopped" and "look at its finalizers" in ended.text
    assert f"configmaps {server.namespace}/stuck is deleted, and not made anew" in ended.text
    server.release("stuck")
    assert server.found("stuck") is None
    server.create("stuck")
    assert server.apply(server.shown(anew("stuck"))).state == "applied"


def test_what_somebody_else_makes_in_between_stays(server: Server) -> None:
    """It was never shown."""
    server.create("raced", **KEPT)
    shown = server.shown(anew("raced"))

    def take() -> None:
        server.release("raced")
        server.create("raced", data={"theirs": "3"})

    with at_the_second_look("raced", take):
        ended = server.apply(shown)
    assert ended.state == "stopped" and "1 of 2 changes were made" in ended.text, ended.text
    assert server.found("raced").data == {"theirs": "3"}
    assert server.apply(server.shown(anew("raced"))).state == "applied"


def test_what_cannot_be_tried_beside_the_old_one_is_refused(server: Server) -> None:
    """Both would have the same port. What the API server refuses for another reason is told too."""
    port = {"port": 80, "nodePort": 31_234}
    service = {"metadata": {"name": "door"}, "spec": {"type": "NodePort", "ports": [port]}}
    server.core.create_namespaced_service(server.namespace, service)
    script = "k8s.delete('services/door', namespace='shop')\nk8s.coreV1().create_namespaced_service('shop', {})"
    answer = server.answer(script.replace("{}", repr(service)))
    assert answer.is_error and "port is already allocated" in answer.text and "delete the old one in one" in answer.text
    server.create("wrong")
    answer = server.answer(anew("wrong").replace("'b': '2'", "'b c': '2'"))
    assert answer.is_error and "a valid config key must consist of" in answer.text, answer.text
    assert server.apply(server.shown(anew("wrong"))).state == "applied"


def test_what_the_cluster_refuses_under_this_very_name_deletes_nothing(server: Server) -> None:
    """A policy of the cluster would say so only when the old object is gone; so it is asked before."""
    server.create("denied")
    policy = f"names-{server.namespace}"
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]
    within = {"matchLabels": {"kubernetes.io/metadata.name": server.namespace}}
    admission: Any = client.AdmissionregistrationV1Api(server.core.api_client)
    constraints = {"resourceRules": rules, "namespaceSelector": within}
    validations = [{"expression": "object.metadata.name != 'denied'", "message": "this name is not for you"}]
    spec = {"failurePolicy": "Fail", "matchConstraints": constraints, "validations": validations}
    admission.create_validating_admission_policy({"metadata": {"name": policy}, "spec": spec})
    binding = {"policyName": policy, "validationActions": ["Deny"]}
    admission.create_validating_admission_policy_binding({"metadata": {"name": policy}, "spec": binding})
    try:
        answer = server.answer(anew("denied"))
        deadline = time.monotonic() + patience.scaled(60)
        while not answer.is_error and time.monotonic() < deadline:  # the API server learns of a policy after a while
            answer = server.answer(anew("denied"))
        assert answer.is_error and "this name is not for you" in answer.text, answer.text
    finally:
        admission.delete_validating_admission_policy_binding(policy)
        admission.delete_validating_admission_policy(policy)
    assert server.found("denied").data == {"a": "1"}


def test_a_replacement_is_not_taken_back(server: Server) -> None:
    """The old object is nowhere; so nothing of the plan is taken back."""
    server.create("gone")
    shown = server.shown(anew("gone"))
    assert server.apply(shown).state == "applied"
    with pytest.raises(Exception, match="cannot be taken back, so nothing of the plan is"):
        server.planning.undo(shown.plan.id, types.Caller("s", "test"))
    assert server.found("gone").data == {"b": "2"}


def test_what_is_replaced_can_be_written_once(server: Server) -> None:
    """A third write is none that its dry run shows; the creation can have its values."""
    server.create("once")
    patch = "core.patch_namespaced_config_map('once', 'shop', {'data': {'c': '3'}})"
    answer = server.answer(f"{anew('once')}\n{patch}")
    assert answer.is_error and "put both changes into one request" in answer.text, answer.text
    answer = server.answer(f"{anew('once')}\ncore.delete_namespaced_config_map('once', 'shop')")
    assert answer.is_error and "already changes" in answer.text, answer.text
    assert server.found("once").data == {"a": "1"}
