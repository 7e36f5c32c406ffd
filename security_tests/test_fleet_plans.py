"""Plans for found clusters, whose cluster changes while they are applied: on a real API server."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from kubernetes import client

from kubescript import app, config, tenant, types
from kubescript.auth import access_rules, user
from kubescript.changes import approval
from kubescript.changes.store import record
from kubescript.evaluator import Evaluator
from kubescript.fleet import member
from tests.kit import fleets, fork_servers, quiet, unfinished
from tests.kit.controlplane import logged, official_client, shared
from tests.kit.controlplane.writer import Writer

pytestmark = [pytest.mark.cluster, pytest.mark.promise("P-22")]

ALICE: Final = user.User("alice", "tokens_file", "uid-alice", ())
STEPS: Final = 3
SETTINGS: Final = """
toolsets = ["code"]
transport = "http"
writes = "plan"
sandbox = {{ strict = false }}
[plans]
store = "{folder}/plans.db"
[auth]
tokens_file = "{folder}/tokens.csv"
[fleet]
source = "kubeconfig-dir"
folder = "{folder}/found"
[[fleet.settings]]
label_selector = "locked=true"
writes = "off"
[[access]]
users = ["alice"]
context_selector = "env=dev"
"""


NEW: Final = {"metadata": {"name": "new"}}
POD: Final = {
    "containers": [{"name": "app", "image": "example.com/app:1"}],
    "volumes": [{"name": "used", "configMap": {"name": "used"}}],
}
LABELS: Final = {"app": "web"}
DEPLOYMENT: Final[Any] = {
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 0,
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": POD},
    },
}


@dataclass
class World:
    """A server with one found cluster, and a caller who may use it while it is of env=dev."""

    opened: app.Application
    found: fleets.Folder
    alice: tenant.Tenant
    core: Any
    namespace: str
    plans: Iterator[int] = field(default_factory=lambda: iter(range(100)))

    def put(self, host: str = "127.0.0.1", server: fleets.Folder | None = None, **labels: str) -> None:
        """Gives the cluster these labels, and an address on this host, as a source does; with `server`, that one takes
        its name over."""
        led = server or self.found
        cluster = {**led.cluster, "server": led.cluster["server"].replace("127.0.0.1", host)}
        content = fleets.kubeconfig("one", cluster, led.user, labels)
        members, _ = member.list_all(content.encode(), Path("/"), "a test")
        self.opened.fleet._publish({each.name: each for each in members})

    def remove(self) -> None:
        """Takes the cluster out of the fleet."""
        self.opened.fleet._publish({})

    def reconnect(self) -> None:
        """Closes the caller's connections to the cluster, as when others use too many."""
        self.alice._accesses.forget("one")

    @property
    def approvals(self) -> approval.Approvals:
        assert self.opened.operator.planning is not None
        return self.opened.operator.planning.approvals

    def approve(self, script: str) -> str:
        """The approved plan of the caller's script."""
        asking = types.Caller("session", "a client", "1", "evaluate_script", lasts=False, user=ALICE.name)
        answer = anyio.run(self.alice.evaluator.evaluate, script, 60_000, None, asking)
        assert answer.plan, answer.text
        made = self.approvals.get(answer.plan).plan
        rules = tuple({finding.rule for finding in made.critical})
        self.approvals.decide(made.id, record.Decision("user bob", "page", True, made.hash, "a test", rules))
        return made.id

    def apply(self, change: Callable[[], None]) -> tuple[str, str, int]:
        """What becomes of an approved plan, and how many objects it makes, if `change` comes when one is made."""
        prefix = f"made-{next(self.plans)}"
        script = (
            f"for i in range({STEPS}):\n    k8s.context('one').coreV1().create_namespaced_config_map("
            f"{self.namespace!r}, {{'metadata': {{'name': f'{prefix}-{{i}}'}}}})\n1"
        )
        planned = self.approve(script)

        def report(done: int, _count: int, what: str) -> None:
            if done == 1 and "looking" not in what:
                change()

        ended = self.approvals.apply(planned, report)
        names = [each.metadata.name for each in self.core.list_namespaced_config_map(self.namespace).items]
        return ended.state, ended.text, sum(name.startswith(prefix) for name in names)


@pytest.fixture
def world(run_folder: Path, run_process: int, tmp_path: Path) -> Iterator[World]:
    scratch = shared.attach("scratch", run_folder, run_process)
    namespace = f"fleet-plans-{secrets.token_hex(3)}"
    Writer(scratch.kubeconfig).create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    found = fleets.Folder(tmp_path / "found", scratch)
    tokens = tmp_path / "tokens.csv"
    tokens.write_text("0123456789abcdef0123456789abcdef,alice,uid-alice,\n")
    tokens.chmod(0o600)
    file = tmp_path / "kubescript.toml"
    file.write_text(SETTINGS.format(folder=tmp_path))
    with quiet.silence(), app.opened(config.load({}, file), fork_servers.workers()) as opened:
        own = opened.tenant(ALICE, access_rules.narrow(opened.settings, ALICE), opened.operator)
        core: Any = client.CoreV1Api(official_client.connect(scratch.kubeconfig))
        with contextlib.closing(own):
            made = World(opened, found, own, core, namespace)
            made.put(env="dev")
            yield made


def test_a_plan_stops_when_its_cluster_leaves_its_authors_reach(world: World) -> None:
    """Nothing more is sent of it when the cluster has other labels or settings, is gone or is another one by then; the
    same cluster by a new connection is no reason to stop."""
    no_plans = "plan.policy: this server takes no plans for cluster 'one'"
    changes = {
        "labels": (lambda: world.put(env="prod"), no_plans),
        "settings": (lambda: world.put(env="dev", locked="true"), no_plans),
        "removal": (world.remove, no_plans),
        "address": (lambda: world.put("localhost", env="dev"), "plan.changed: the plan was made for another cluster"),
    }
    for name, (change, why) in changes.items():
        state, text, made = world.apply(change)
        assert (name, state, made) == (name, "stopped", 1) and text.startswith(why)
        world.put(env="dev")
    assert world.apply(world.reconnect)[::2] == ("applied", STEPS)


@pytest.mark.promise("P-19")
def test_what_a_plan_means_is_asked_of_its_cluster_alone(
    world: World, run_folder: Path, run_process: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another server, where nothing uses the object, has the cluster's name while it is looked for what does."""
    other = fleets.Folder(tmp_path / "other", logged.attach(run_folder, run_process).plane)
    world.core.create_namespaced_config_map(world.namespace, {"metadata": {"name": "used"}})
    script = f"k8s.context('one').coreV1().delete_namespaced_config_map('used', {world.namespace!r})"
    planned = world.approve(script)
    client.AppsV1Api(world.core.api_client).create_namespaced_deployment(world.namespace, DEPLOYMENT)
    look = Evaluator.run_aside

    def swap(*arguments: Any) -> Any:
        world.put(server=other, env="dev")
        try:
            return look(*arguments)
        finally:
            world.put(env="dev")

    with monkeypatch.context() as patched:
        patched.setattr(Evaluator, "run_aside", swap)
        ended = world.approvals.apply(planned, lambda *_: None)
    assert ended.state == "stopped" and "writes.used: mounted by deployments.apps/web" in ended.text
    assert world.core.read_namespaced_config_map("used", world.namespace)
    assert world.approvals.apply(world.approve(script), lambda *_: None).state == "applied"


def test_a_plan_of_a_dead_server_goes_on_once_its_cluster_is_back(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """However often it was looked for while the cluster was not known, or another one had its name; that is logged
    once."""
    planned = world.approve(f"k8s.context('one').coreV1().create_namespaced_config_map({world.namespace!r}, {NEW!r})")
    assert world.opened.operator.planning is not None
    world.opened.operator.planning.store().claim(planned, "dead", lease_s=0)
    caplog.set_level("WARNING", "kubescript")
    for change, why in (
        (world.remove, "takes no plans"),
        (lambda: world.put("localhost", env="dev"), "another cluster"),
    ):
        caplog.clear()
        change()
        unfinished.resume(world.approvals)
        unfinished.resume(world.approvals)
        assert world.approvals.get(planned).state == "applying"
        (told,) = (each.getMessage() for each in caplog.records if planned in each.getMessage())
        assert why in told
    world.put(env="dev")
    unfinished.resume(world.approvals)
    assert world.approvals.get(planned).state == "applied"
