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
from kubescript.changes.store import record
from kubescript.fleet import member
from tests.kit import fleets, fork_servers, quiet
from tests.kit.controlplane import official_client, shared
from tests.kit.controlplane.writer import Writer

pytestmark = [pytest.mark.cluster, pytest.mark.promise("P-22"), pytest.mark.timeout(120)]

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


@dataclass
class World:
    """A server with one found cluster, and a caller who may use it while it is of env=dev."""

    opened: app.Application
    found: fleets.Folder
    alice: tenant.Tenant
    core: Any
    namespace: str
    plans: Iterator[int] = field(default_factory=lambda: iter(range(100)))

    def put(self, host: str = "127.0.0.1", **labels: str) -> None:
        """Gives the cluster these labels, and an address on this host, as a source does."""
        cluster = {**self.found.cluster, "server": self.found.cluster["server"].replace("127.0.0.1", host)}
        content = fleets.kubeconfig("one", cluster, self.found.user, labels)
        self.opened.fleet._publish({each.name: each for each in member.list_all(content.encode(), Path("/"), "a test")})

    def remove(self) -> None:
        """Takes the cluster out of the fleet."""
        self.opened.fleet._publish({})

    def reconnect(self) -> None:
        """Closes the caller's connections to the cluster, as when others use too many."""
        self.alice._accesses.forget("one")

    def apply(self, change: Callable[[], None]) -> tuple[str, str, int]:
        """What becomes of an approved plan, and how many objects it makes, if `change` comes when one is made."""
        prefix = f"made-{next(self.plans)}"
        script = (
            f"for i in range({STEPS}):\n    k8s.context('one').coreV1().create_namespaced_config_map("
            f"{self.namespace!r}, {{'metadata': {{'name': f'{prefix}-{{i}}'}}}})\n1"
        )
        asking = types.Caller("session", "a client", "1", "evaluate_script", lasts=False, user=ALICE.name)
        answer = anyio.run(self.alice.evaluator.evaluate, script, 60_000, None, asking)
        assert answer.plan and self.opened.operator.planning is not None, answer.text
        approvals = self.opened.operator.planning.approvals
        planned = approvals.get(answer.plan).plan
        approvals.decide(planned.id, record.Decision("user bob", "page", True, planned.hash))

        def report(done: int, _count: int, what: str) -> None:
            if done == 1 and "looking" not in what:
                change()

        ended = approvals.apply(planned.id, report)
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
