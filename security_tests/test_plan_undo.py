"""What takes back a plan, while other clients change what the plan has changed; on a real API server."""

from __future__ import annotations

import functools
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from kubernetes import client

from kubescript import app, errors, types
from kubescript import config as settings
from kubescript.changes import planning
from kubescript.changes.store import record
from kubescript.changes.writer import WritableAccess
from tests.kit import fork_servers
from tests.kit.controlplane import logged, official_client
from tests.kit.controlplane.writer import Writer

pytestmark = [pytest.mark.cluster, pytest.mark.promise("P-19")]

NAMESPACE: Final = f"undo-{secrets.token_hex(3)}"
CALLER: Final = types.Caller("a-session", "a client", "1", "evaluate_script")
ARGS: Final = ("--tls", "true", "--trace", "false")


class Plans:
    """Makes plans, applies them, and takes them back."""

    def __init__(self, opened: app.Application, kubeconfig: Path) -> None:
        assert opened.operator.planning is not None
        self._app = opened
        self._planning: planning.Planning = opened.operator.planning
        api = official_client.connect(kubeconfig)
        self.core: Any = client.CoreV1Api(api)
        self.apps: Any = client.AppsV1Api(api)

    @property
    def writer(self) -> Any:
        """What reads and writes in the cluster."""
        access = self._app.operator.contexts.default
        assert isinstance(access, WritableAccess)
        return access.writer

    def applied(self, script: str) -> record.Record:
        """The plan of a script, when it is applied."""
        answer = anyio.run(functools.partial(self._app.operator.evaluator.evaluate, script, None, caller=CALLER))
        assert answer.plan, answer.text
        return self.apply(answer.plan)

    def undo(self, done: record.Record) -> record.Record:
        """The plan that takes a plan back."""
        made = self._planning.undo(done.plan.id, CALLER)
        return self._planning.approvals.get(made.plan.id)

    def apply(self, plan_id: str) -> record.Record:
        """Approves and applies a plan."""
        approvals = self._planning.approvals
        shown = approvals.get(plan_id)
        approvals.decide(plan_id, record.Decision("somebody", "terminal", True, shown.plan.hash))
        ended = approvals.apply(plan_id, lambda _done, _count, _text: None)
        assert ended.state == "applied", ended.text
        return ended

    def args(self) -> list[str]:
        """The arguments of the one container."""
        spec = self.apps.read_namespaced_deployment("web", NAMESPACE).spec
        found: list[str] = spec.template.spec.containers[0].args
        return found

    def set_args(self, *args: str) -> None:
        """Another client changes them."""
        containers = [{"name": "web", "args": args}]
        body = {"spec": {"template": {"spec": {"containers": containers}}}}
        self.apps.patch_namespaced_deployment("web", NAMESPACE, body)


@pytest.fixture(scope="module")
def plans(run_folder: Path, run_process: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plans]:
    plane = logged.attach(run_folder, run_process).plane
    writer = Writer(plane.kubeconfig)
    writer.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    container = {"name": "web", "image": "web:1", "args": list(ARGS)}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    metadata = {"name": "web", "namespace": NAMESPACE}
    writer.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
    file = str(tmp_path_factory.mktemp("plans") / "plans.db")
    chosen = settings.Settings.model_validate(
        {"kubeconfig": plane.kubeconfig, "writes": "plan", "plans": {"store": file, "page": False}}
    )
    with fork_servers.open_application(chosen) as opened:
        yield Plans(opened, plane.kubeconfig)


def config_map(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": {"mode": "safe"}}


@pytest.mark.parametrize("made", [False, True], ids=["changed", "made"])
def test_an_object_that_takes_the_place_of_the_plans_own_while_undo_looks_is_left_alone(
    made: bool, plans: Plans, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its look at the uid and its dry run, another client makes an object of that name; then nothing is planned,
    and where the object stays, it is taken back."""
    name, core = f"swapped-{made}".lower(), plans.core
    script = f"k8s.coreV1().create_namespaced_config_map({NAMESPACE!r}, {config_map(name)!r})\n1"
    if not made:
        core.create_namespaced_config_map(NAMESPACE, config_map(name))
        body = {"data": {"mode": "fast"}}
        script = f"k8s.coreV1().patch_namespaced_config_map({name!r}, {NAMESPACE!r}, {body!r})\n1"
    done = plans.applied(script)
    read = plans.writer.read_facts

    def swap(*arguments: Any) -> Any:
        facts = read(*arguments)
        core.delete_namespaced_config_map(name, NAMESPACE)
        core.create_namespaced_config_map(NAMESPACE, {**config_map(name), "data": {"mode": "theirs"}})
        return facts

    with monkeypatch.context() as patched:
        patched.setattr(plans.writer, "read_facts", swap)
        with pytest.raises(errors.PlanError, match="another object has been made under that name") as refused:
            plans.undo(done)
    assert refused.value.code == "plan.no_undo"
    assert core.read_namespaced_config_map(name, NAMESPACE).data == {"mode": "theirs"}
    core.delete_namespaced_config_map(name, NAMESPACE)
    if not made:
        core.create_namespaced_config_map(NAMESPACE, config_map(name))
    plans.apply(plans.undo(plans.applied(script)).plan.id)


def test_an_item_that_another_client_has_moved_is_not_mistaken_for_one_of_its_place(plans: Plans) -> None:
    """In a list whose items have no names, the same value may stand where the plan has changed another item; then the
    list is not taken back, until it is as the plan left it."""
    args = [*ARGS[:-1], "true"]
    body = {"spec": {"template": {"spec": {"containers": [{"name": "web", "args": args}]}}}}
    done = plans.applied(f"k8s.AppsV1Api().patch_namespaced_deployment('web', {NAMESPACE!r}, {body!r})\n1")
    moved = ("--log", "info", *args)
    plans.set_args(*moved)
    with pytest.raises(errors.PlanError, match="another client has changed") as refused:
        plans.undo(done)
    assert refused.value.code == "plan.no_undo"
    assert plans.args() == list(moved)
    plans.set_args(*args)
    plans.apply(plans.undo(done).plan.id)
    assert plans.args() == list(ARGS)


def containers(plans: Plans) -> dict[str, str]:
    """The images of the containers, by their names."""
    found = plans.apps.read_namespaced_deployment("web", NAMESPACE).spec.template.spec.containers
    return {each.name: each.image for each in found}


def patch_containers(*containers: dict[str, Any]) -> str:
    """A script that patches the containers."""
    body = {"spec": {"template": {"spec": {"containers": containers}}}}
    return f"k8s.AppsV1Api().patch_namespaced_deployment('web', {NAMESPACE!r}, {body!r})\n1"


def test_what_another_client_has_mended_in_a_list_stays(plans: Plans) -> None:
    """An item that the plan has added is taken back alone. A list of which it has removed an item is taken back only as
    the plan left it."""
    added = plans.applied(patch_containers({"name": "debug", "image": "debug:1"}))
    plans.applied(patch_containers({"name": "web", "image": "web:2-security-fix"}))
    plans.apply(plans.undo(added).plan.id)
    assert containers(plans) == {"web": "web:2-security-fix"}
    plans.applied(patch_containers({"name": "debug", "image": "debug:1"}))
    removed = plans.applied(patch_containers({"name": "debug", "$patch": "delete"}))
    plans.applied(patch_containers({"name": "web", "image": "web:3-security-fix"}))
    with pytest.raises(errors.PlanError, match="another client has changed the same list"):
        plans.undo(removed)
    plans.applied(patch_containers({"name": "web", "image": "web:2-security-fix"}))
    plans.apply(plans.undo(removed).plan.id)
    assert containers(plans) == {"debug": "debug:1", "web": "web:2-security-fix"}


@pytest.fixture(autouse=True)
def counted(attacks: Callable[[int], None]) -> None:
    """Each test is one attack."""
    attacks(1)
