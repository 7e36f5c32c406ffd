"""A person who runs a script at a terminal is asked about its plan there, and `kubescript plans undo` takes back what was
applied of it, by a plan of its own; on a real API server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
import msgspec
import pytest
from kubernetes import client

from kubescript.redaction import hostile_changes
from kubescript.wire import inspection
from kubescript_sandbox.wire import protocol
from tests.kit import clients, patience, people, plan_mode, trails
from tests.kit.controlplane import official_client
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Object, Writer
from tests.kit.plan_mode import SHOP

pytestmark = pytest.mark.timeout(300)

PASSWORD = "hT7-ux2Qe9vLk4"
MADE = "{'metadata': {'name': '%s'}, 'data': {'a': '1'}}"


def config_map(name: str, **data: str) -> Object:
    """A ConfigMap with this data."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": SHOP}, "data": data}


@dataclass
class Operator:
    """A person with a terminal, and what the cluster has in a namespace, which is `shop` in scripts and on screens."""

    core: Any
    writer: Writer
    namespace: str
    flags: list[str]
    environment: dict[str, str]

    def run(self, script: str, decision: str = "approve") -> tuple[int, str]:
        """Runs a script, and answers about its plan."""
        return self._typed(["run", "-c", script.replace(SHOP, self.namespace)], decision)

    def undo(self, screen: str, decision: str = "approve") -> tuple[int, str]:
        """Takes back the plan that is on a screen."""
        plan = people.plan_on(screen)
        return self._typed(["plans", "undo", plan], decision)

    def _typed(self, words: list[str], decision: str) -> tuple[int, str]:
        code, screen = people.typed([*words, *self.flags], self.environment, decision)
        return code, screen.replace(self.namespace, SHOP)

    def create(self, body: Object) -> None:
        """Creates an object of namespace `shop`."""
        self.writer.create(plan_mode.placed(body, self.namespace))

    def web(self) -> tuple[int, list[str]]:
        """Replicas and images of the one Deployment."""
        apps: Any = client.AppsV1Api(self.core.api_client)
        spec = apps.read_namespaced_deployment("web", self.namespace).spec
        return spec.replicas, [each.image for each in spec.template.spec.containers]

    def data(self, name: str) -> dict[str, str] | None:
        """What a ConfigMap holds; None when there is none."""
        found = {each.metadata.name: each.data for each in self.core.list_namespaced_config_map(self.namespace).items}
        return found.get(name)


@pytest.fixture(scope="module")
def operator(scratch: ControlPlane, namespace: str, tmp_path_factory: pytest.TempPathFactory) -> Operator:
    folder = tmp_path_factory.mktemp("undo")
    core = client.CoreV1Api(official_client.connect(scratch.kubeconfig))
    flags = people.flags(folder, scratch.kubeconfig, "[plans]\nfollow_s = 0\n")  # nothing rolls out here
    made = Operator(core, Writer(scratch.kubeconfig), namespace, flags, people.environment(folder))
    made.create(config_map("settings", level="info", password=PASSWORD))
    return made


def creation(*names: str) -> str:
    """A script that makes ConfigMaps."""
    made = ", ".join(MADE % name for name in names)
    return f"for each in [{made}]:\n    k8s.coreV1().create_namespaced_config_map('shop', each)\n'tried'"


def change(**data: str) -> str:
    """A script that changes a ConfigMap."""
    return f"k8s.coreV1().patch_namespaced_config_map('settings', 'shop', {{'data': {data!r}}})\n'tried'"


def test_what_a_person_declines_at_the_terminal_is_not_made(operator: Operator) -> None:
    code, screen = operator.run(creation("declined"), "decline")
    assert code == 0 and "tried" in screen and "declined: nothing was changed" in screen
    assert operator.data("declined") is None
    code, screen = operator.undo(screen)
    assert code == 1 and "there is nothing to take back" in screen


def test_what_was_made_goes_with_what_depends_on_it_on_the_screen(operator: Operator) -> None:
    """The person sees what the deletion takes along."""
    code, screen = operator.run(creation("made"))
    assert code == 0 and "applied: 1 of 1 changes were made" in screen
    found = operator.core.read_namespaced_config_map("made", operator.namespace)
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "made", "uid": found.metadata.uid}
    owned = config_map("below")
    owned["metadata"]["ownerReferences"] = [owner]
    operator.core.create_namespaced_config_map(operator.namespace, plan_mode.placed(owned, operator.namespace))
    code, screen = operator.undo(screen)
    assert code == 0 and "Delete configmaps shop/made" in screen and "applied: 1 of 1 changes were made" in screen
    assert "takes configmaps below with it" in screen, screen
    assert operator.data("made") is None


def test_the_pods_of_a_job_go_with_it(operator: Operator) -> None:
    """By default an API server would orphan them, and keep the job until that is done."""
    pod = {"restartPolicy": "Never", "containers": [{"name": "a", "image": "registry.example.com/a:1"}]}
    job = {"metadata": {"name": "import"}, "spec": {"template": {"spec": pod}}}
    code, screen = operator.run(f"k8s.batchV1().create_namespaced_job('shop', {job!r}).kind")
    jobs = client.BatchV1Api(operator.core.api_client)
    assert code == 0 and len(jobs.list_namespaced_job(operator.namespace).items) == 1, screen
    code, screen = operator.undo(screen)
    assert code == 0 and "applied: 1 of 1 changes were made" in screen
    assert jobs.list_namespaced_job(operator.namespace).items == []


def test_what_was_changed_is_changed_back_and_forth(operator: Operator) -> None:
    """What takes back is a plan like any other: it can be declined, and taken back as well."""
    before = operator.data("settings")
    assert before is not None
    code, screen = operator.run(change(level="debug", extra="x/~1"))
    after = before | {"level": "debug", "extra": "x/~1"}
    assert code == 0 and operator.data("settings") == after
    code, _ = operator.undo(screen, "decline")
    assert code == 0 and operator.data("settings") == after
    code, screen = operator.undo(screen)
    assert code == 0 and operator.data("settings") == before
    code, screen = operator.undo(screen)
    assert code == 0 and operator.data("settings") == after


RELEASE: Final = """
k8s.scale("deployments/web", 5, namespace="shop")
k8s.set_image("deployments/web", side="log:2", namespace="shop")
notes = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "notes", "namespace": "shop"}, "data": {"a": "2"}}
k8s.apply(notes, force=True)
"tried"
"""


def test_every_kind_of_change_is_changed_back(operator: Operator) -> None:
    """Replicas by their subresource, an image by the name of its container, and a field that is applied."""
    containers = [{"name": "app", "image": "app:1"}, {"name": "side", "image": "log:1"}]
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}}
    web = {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": SHOP},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    }  # fmt: skip
    operator.create(web)
    operator.create(config_map("notes", a="1"))
    code, screen = operator.run(RELEASE)
    assert code == 0 and operator.web() == (5, ["app:1", "log:2"]) and operator.data("notes") == {"a": "2"}, screen
    code, screen = operator.undo(screen)
    assert code == 0 and "applied: 3 of 3 changes were made" in screen, screen
    assert operator.web() == (2, ["app:1", "log:1"]) and operator.data("notes") == {"a": "1"}


def test_what_is_gone_already_is_left_out_of_what_is_taken_back(operator: Operator) -> None:
    """The person is told, and the rest is taken back."""
    code, screen = operator.run(creation("still", "gone"))
    operator.core.delete_namespaced_config_map("gone", operator.namespace)
    code, undone = operator.undo(screen)
    assert code == 0 and "gone, so nothing is taken back of: create configmaps shop/gone" in undone, undone
    assert "applied: 1 of 1 changes were made" in undone and operator.data("still") is None
    code, again = operator.undo(screen)
    assert code == 1 and "the object of `create configmaps shop/still` is gone" in again, again


def test_an_object_that_somebody_has_made_anew_is_not_taken_back(operator: Operator) -> None:
    """It is not the plan's, although it has its name; neither is one that is made anew once the reverse is approved."""
    for script, name in ((creation("anew"), "anew"), (change(level="other"), "settings")):
        before = operator.data(name)
        code, screen = operator.run(script)
        operator.core.delete_namespaced_config_map(name, operator.namespace)
        operator.create(config_map(name, **(before or {}), theirs="yes"))
        code, undone = operator.undo(screen)
        assert code == 1 and "another object has been made under that name" in undone, undone
        assert operator.data(name) == {**(before or {}), "theirs": "yes"}


def test_a_value_that_is_masked_does_not_come_back(operator: Operator) -> None:
    """The person is told, and nothing is changed."""
    code, screen = operator.run(change(password="kW3-mm8Zr5tBn1"))
    assert code == 0 and PASSWORD not in screen
    assert "since this cannot: patch configmaps" in screen, screen
    after = operator.data("settings")
    code, undone = operator.undo(screen)
    assert code == 1 and "patch configmaps shop/settings cannot be taken back" in undone and PASSWORD not in undone
    assert operator.data("settings") == after


def test_a_way_back_that_is_longer_than_a_masking_process_makes_is_refused() -> None:
    """What such a process answers is hostile: it may have been taken over."""
    facts = inspection.Facts(uid="x", digest="0" * 64)

    def read(undo: str) -> inspection.Changes:
        answer = inspection.Changes(facts, facts, digest="0" * 64, requested="0" * 64, undo=undo)
        return hostile_changes.read(msgspec.json.encode(answer), has_before=True, has_after=True)

    assert read("x" * inspection.MAX_UNDO).undo
    with pytest.raises(protocol.ProtocolError):
        read("x" * (inspection.MAX_UNDO + 1))


def test_of_a_plan_that_stopped_what_was_done_is_taken_back(operator: Operator) -> None:
    """A quota lets one object more be made, which no dry run knows."""
    count = len(operator.core.list_namespaced_config_map(operator.namespace).items)
    hard = {"count/configmaps": str(count + 1)}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few", "namespace": operator.namespace}}
    operator.writer.create(quota | {"spec": {"hard": hard}})
    operator.writer.write_status(quota, {"hard": hard, "used": {"count/configmaps": str(count)}})
    try:
        code, screen = operator.run(creation("one", "two"))
        ending = " ".join(screen.split())  # the terminal's lines are folded
        assert code == 1 and "1 of 2 changes were made" in ending and "exceeded quota: few" in ending, screen
        assert (operator.data("one"), operator.data("two")) == ({"a": "1"}, None)
        code, screen = operator.undo(screen)
        assert code == 0 and "applied: 1 of 1 changes were made" in screen
        assert "configmaps shop/two" not in screen
        assert operator.data("one") is None
    finally:
        operator.writer.delete(quota)


TOKEN: Final = "token-of-bob-0123456789"
LIMITED: Final = """
[auth]
tokens_file = "{folder}/tokens.csv"
[audit]
file = "{folder}/audit.jsonl"
[plans]
follow_s = 0
[contexts.prod]
context = "test"
[contexts.lab]
context = "test"
[[access]]
users = ["bob"]
contexts = ["lab"]
"""


def counted(port: int) -> list[str]:
    """What the metrics say of the calls of API servers, which is a moment behind."""
    seen = httpx2.get(f"http://127.0.0.1:{port}/metrics", headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60).text
    return [line for line in seen.splitlines() if line.startswith("kubescript_api_calls_total{")]


def test_what_a_caller_of_one_of_several_clusters_does_names_it(
    scratch: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """In plans, so that they are taken back there, in metrics, and in all records, also of what is about to be sent."""
    tokens = tmp_path / "tokens.csv"
    tokens.write_text(f"{TOKEN},bob,uid-bob\n")
    tokens.chmod(0o600)
    flags = people.flags(tmp_path, scratch.kubeconfig, LIMITED.format(folder=tmp_path))
    environment = people.environment(tmp_path)
    with (
        clients.running(("--toolsets", "code", *flags), **environment) as (port, _),
        people.joined(port, token=TOKEN) as bob,
    ):
        plan = bob.plan(f"k8s.coreV1().create_namespaced_config_map({namespace!r}, {MADE % 'of-bob'})")
        patience.until(lambda: bool(counted(port)))
        assert all('context="lab"' in line for line in counted(port))
    for command in ("approve", plan), ("plans", "undo", plan):
        code, screen = people.typed([*command, *flags], environment)
        assert code == 0 and "1 of 1 changes" in screen, screen
    core: Any = client.CoreV1Api(official_client.connect(scratch.kubeconfig))
    assert "of-bob" not in {each.metadata.name for each in core.list_namespaced_config_map(namespace).items}
    named = [each for each in trails.records(tmp_path / "audit.jsonl") if each["type"] in {"call", "sent", "plan"}]
    assert {each["type"] for each in named} == {"call", "sent", "plan"}
    assert {each["context"] for each in named} == {"lab"}
