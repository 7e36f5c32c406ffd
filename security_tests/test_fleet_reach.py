"""Callers of found clusters, assuming a worker that names whatever it likes: which clusters their calls reach, while
clusters and labels come and go."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from kubescript import app, config, errors, tenant
from kubescript.auth import access_rules, user
from kubescript.broker import operation
from kubescript.fleet import member
from kubescript.wire import exchanges
from security_tests.recorder import Recorder
from tests.kit import fleets, fork_servers, quiet

pytestmark = [pytest.mark.promise("P-22")]

PATH: Final = ("api", "v1", "namespaces", "home", "configmaps")
ALICE: Final = user.User("alice", "tokens_file", "uid-alice", ())
SETTINGS: Final = """
toolsets = ["code"]
transport = "http"
sandbox = {{ strict = false }}
[auth]
tokens_file = "{tokens}"
[fleet]
source = "kubeconfig-dir"
folder = "{folder}"
groups = {{ production = "env=prod" }}
[[fleet.settings]]
label_selector = "locked=true"
denied_resources = [{{ group = "", kind = "ConfigMap" }}]
[contexts.listed]
kubeconfig = "{listed}"
labels = {{ env = "prod" }}
[[access]]
users = ["alice"]
contexts = ["dev-*-never-a-pattern", "mine", "theirs", "listed", "moving"]
context_selector = "env=dev"
"""


class World:
    """A server whose found clusters are these recorders, and a caller who may use those of env=dev by four names."""

    def __init__(self, opened: app.Application, servers: Mapping[str, Recorder]) -> None:
        self.opened = opened
        self.servers = servers
        narrowed = access_rules.narrow(opened.settings, ALICE)
        self.alice: tenant.Tenant = opened.tenant(ALICE, narrowed, opened.operator)

    def make(self, name: str, server: str, **labels: str) -> member.Member:
        """A found cluster that is this recorder."""
        cluster = {"server": f"http://127.0.0.1:{self.servers[server].port}"}
        content = fleets.kubeconfig(name, cluster, {"token": f"token-of-{server}"}, labels)
        (found,), _ = member.list_all(content.encode(), Path("/"), "a test")
        return found

    def publish(self, *found: member.Member) -> None:
        """Puts these clusters in force, as a source does."""
        self.opened.fleet._publish({each.name: each for each in found})

    def call(self, context: str, path: tuple[str, ...] = PATH, **more: Any) -> tuple[str, bytes]:
        """What becomes of a worker's call: the fault's code, and the body."""
        asked = exchanges.Call("GET", path, context=context, **more)
        reply, response = self.alice.contexts.handle(asked, operation.Operation(), 120.0)
        body = b"".join(response.chunks) if response is not None else b""
        return (reply.fault.code if reply.fault is not None else ""), body

    def rate(self, name: str, server: str) -> object:
        """The counter of writes to a cluster, opened anew."""
        self.publish(self.make(name, server, env="dev"))
        found = self.alice._accesses[name]
        return found.writer._rate

    def reached(self) -> set[str]:
        """The servers that have got a request since the last time."""
        return {name for name, server in self.servers.items() if server.take()}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("reach")
    (folder / "found").mkdir()
    with contextlib.ExitStack() as held:
        held.enter_context(quiet.silence())
        servers = {name: held.enter_context(Recorder()) for name in ("a", "b", "listed")}
        listed = folder / "listed"
        listed.write_text(
            fleets.kubeconfig("listed", {"server": f"http://127.0.0.1:{servers['listed'].port}"}, {"token": "t"})
        )
        tokens = folder / "tokens.csv"
        tokens.write_text("0123456789abcdef0123456789abcdef,alice,uid-alice,\n")
        tokens.chmod(0o600)
        file = folder / "kubescript.toml"
        file.write_text(SETTINGS.format(tokens=tokens, folder=folder / "found", listed=listed))
        opened = held.enter_context(app.opened(config.load({}, file), fork_servers.workers()))
        made = World(opened, servers)
        held.callback(made.alice.close)
        yield made


def test_a_caller_reaches_found_clusters_within_names_and_labels(world: World) -> None:
    """Both must hold; a listed cluster's name stays its own, whoever else takes it, and lists tell no more."""
    world.publish(
        world.make("mine", "a", env="dev"),
        world.make("theirs", "b", env="prod"),
        world.make("other", "b", env="dev"),
        world.make("listed", "b", env="dev"),
    )
    for name in ("theirs", "other", "listed", "mine ", "Mine", "dev-*-never-a-pattern", "*", "unknown"):
        assert world.call(name)[0] == "policy.unknown_context"
        assert world.reached() == set()
    for query in ((), (("group", "production"),), (("labelSelector", "env"),), (("labelSelector", "env=prod"),)):
        code, body = world.call("", exchanges.CONTEXTS, query=query)
        wanted = [] if "prod" in str(query) else ["mine"]
        assert (code, json.loads(body)) == ("", wanted)
    assert world.call("mine")[0] == world.call("")[0] == ""
    assert world.reached() == {"a"}


def test_a_cluster_that_goes_is_out_of_reach_with_the_next_call(world: World) -> None:
    """So is one whose labels change, whose settings become others then, and one that was replaced has no old
    connection."""
    world.publish(world.make("mine", "a", env="dev"))
    assert world.call("mine")[0] == "" and world.reached() == {"a"}
    world.publish(world.make("mine", "a", env="dev", locked="true"))
    assert world.call("mine")[0].startswith("policy.") and world.reached() == set()
    world.publish(world.make("mine", "a", env="prod"))
    assert world.call("mine")[0] == "policy.unknown_context" and world.reached() == set()
    counted = world.rate("mine", "a")
    world.publish(world.make("mine", "b", env="dev"))
    assert world.call("mine")[0] == "" and world.reached() == {"b"}
    assert world.rate("mine", "b") is counted, "a script starts its count of writes anew"
    world.publish()
    assert world.call("mine")[0] == "policy.unknown_context"
    assert world.call("")[0] == "cluster.config"
    assert world.reached() == set()
    world.publish(world.make("mine", "a", env="dev"))
    assert world.call("mine")[0] == "" and world.reached() == {"a"}


def test_a_race_of_labels_reaches_nothing_else(world: World) -> None:
    """One name is in turn a permitted cluster and a forbidden one, a thousand times, while calls come from four
    threads: the forbidden one hears of none."""
    permitted, forbidden = world.make("moving", "a", env="dev"), world.make("moving", "b", env="prod")
    over = threading.Event()
    codes: set[str] = set()

    def call() -> None:
        while not over.is_set():
            codes.add(world.call("moving")[0])

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(1000):
        world.publish(permitted)
        world.publish(forbidden)
    world.publish(permitted)
    while "" not in codes:
        pass
    over.set()
    for thread in threads:
        thread.join()
    assert codes <= {"", "policy.unknown_context"}
    assert world.reached() == {"a"}


def test_a_caller_whom_no_listed_cluster_is_for_waits_for_a_found_one(world: World) -> None:
    """Without a fleet, a table that permits no cluster refuses its caller; with one, only the call is refused."""
    settings = world.opened.settings
    assert access_rules.narrow(settings, ALICE).contexts == {}
    without = settings.model_copy(update={"fleet": config.Fleet()})
    with pytest.raises(errors.AuthError, match="names no context"):
        access_rules.narrow(without, ALICE)
