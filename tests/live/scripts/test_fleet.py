"""Clusters that are found while the server runs: their names, labels and groups in scripts, and which settings they
get."""

from __future__ import annotations

import contextlib
import json
import logging
import re
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
import yaml

from kubescript import accesses, app, config, errors, logs
from kubescript.changes.store import record
from kubescript.cluster import sockets
from tests.kit import clients, commands, fleets, paths
from tests.kit.controlplane.server import ControlPlane

COUNT = "len(k8s.context({!r}).coreV1().list_namespace()) > 0"
SECRETS = "str(k8s.context({!r}).coreV1().list_secret_for_all_namespaces())[:10]"
MORE = """
groups = { production = "env=prod", nowhere = "env=none" }
[[fleet.settings]]
label_selector = "env=prod"
denied_resources = [{ group = "", kind = "Namespace" }]
"""


@pytest.fixture
def folder(tmp_path: Path, control_plane: ControlPlane) -> fleets.Folder:
    return fleets.Folder(tmp_path / "fleet", control_plane)


@pytest.fixture
def log_level() -> Iterator[None]:
    """Restores this process' log level, which a reload sets."""
    level = logging.getLogger().level
    yield
    logs.set_level(logging.getLevelName(level))


@contextlib.contextmanager
def server(
    folder: fleets.Folder, tmp_path: Path, more: str = ""
) -> Iterator[tuple[app.Application, Callable[[str], str]]]:
    """A server with this fleet, and what asks it, script after script."""
    file = tmp_path / "kubescript.toml"
    file.write_text(folder.settings(more))
    with clients.application(["--toolsets", "code", "--config", str(file)]) as opened:

        def ask(script: str) -> str:
            async def run() -> str:
                async with clients.joined(opened) as client:
                    return clients.text(await clients.evaluate(client, script, timeout=60_000))

            return anyio.run(run)

        yield opened, ask


def value(text: str) -> Any:
    """The value of an answer, without the notes under it."""
    return json.loads(text.splitlines()[0])


def test_clusters_come_change_and_go_while_the_server_runs(folder: fleets.Folder, tmp_path: Path) -> None:
    """Scripts see each change with their next call, also the policy that a label brings; the default is the first."""
    with server(folder, tmp_path, MORE) as (opened, ask):
        assert value(ask("k8s.contexts()")) == []
        assert opened.ready().is_ready
        assert "no cluster has been found yet" in ask("k8s.coreV1().list_namespace()")
        folder.add("b", env="dev", region="eu")
        fleets.wait_for(opened.fleet, {"b": {"env": "dev", "region": "eu"}})
        assert value(ask(f"[k8s.name, k8s.contexts(), {COUNT.format('b')}]")) == ["b", ["b"], True]
        folder.add("a", env="dev", region="us")
        fleets.wait_for(opened.fleet, {"a": {"env": "dev", "region": "us"}, "b": {"env": "dev", "region": "eu"}})
        chosen = "k8s.contexts(label_selector='env=dev,region in (eu)'), k8s.contexts(group='production')"
        assert value(ask(f"[k8s.name, k8s.contexts(), {chosen}]")) == ["a", ["a", "b"], ["b"], []]
        folder.add("b", env="prod")
        fleets.wait_for(opened.fleet, {"a": {"env": "dev", "region": "us"}, "b": {"env": "prod"}})
        assert value(ask("k8s.contexts(group='production')")) == ["b"]
        assert "policy." in ask(COUNT.format("b"))
        assert value(ask(f"[{COUNT.format('a')}]")) == [True]
        folder.remove("b")
        fleets.wait_for(opened.fleet, {"a": {"env": "dev", "region": "us"}})
        refused = ask(COUNT.format("b"))
        assert "policy.unknown_context" in refused and "k8s.contexts() gives a" in refused
        assert value(ask(f"[{COUNT.format('a')}]")) == [True]


def test_a_selector_or_group_that_cannot_be_read_is_refused(folder: fleets.Folder, tmp_path: Path) -> None:
    """By an error that says what there is; the next script is answered."""
    folder.add("a", env="prod")
    with server(folder, tmp_path, MORE) as (_, ask):
        assert "there is no group 'x'; there is: production, nowhere" in ask("k8s.contexts(group='x')")
        assert "unable to parse requirement" in ask("k8s.contexts(label_selector='env in prod')")
        assert "more than 512 characters" in ask("k8s.contexts(label_selector='!a,' * 200)")
        assert "more than 32 requirements" in ask("k8s.contexts(label_selector='!a,' * 32 + '!a')")
        assert "takes texts" in ask("k8s.contexts({'env': 'prod'})")
        assert value(ask("k8s.contexts('env=prod')")) == ["a"]


def test_listed_clusters_have_labels_and_win_over_found_ones(folder: fleets.Folder, tmp_path: Path) -> None:
    """A found cluster of the same name is not reached, and both kinds are selected by labels."""
    folder.add("a", {"server": "https://127.0.0.1:1"}, env="dev")
    folder.add("c", env="dev")
    whole = tmp_path / "listed"
    listed = fleets.kubeconfig("a", folder.cluster, folder.user)
    whole.write_text(listed)
    more = f'[contexts.a]\nkubeconfig = "{whole}"\nlabels = {{ env = "prod" }}\n'
    with server(folder, tmp_path, more) as (_, ask):
        assert value(ask(f"[k8s.contexts(), k8s.contexts('env=prod'), {COUNT.format('a')}]")) == [
            ["a", "c"],
            ["a"],
            True,
        ]


def test_many_clusters_answer_in_one_script(
    folder: fleets.Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several at a time, although fewer may stay open; the dead ones are named in the answer."""
    monkeypatch.setattr(accesses, "_MAX_OPEN", 4)
    monkeypatch.setattr(sockets.OPEN, "_most", 10)
    for number in range(50):
        folder.add(f"c{number:02}", env="prod")
    for number in range(3):
        folder.add(f"dead{number}", {"server": "https://127.0.0.1:1"}, env="prod")
    script = """
names = k8s.contexts("env=prod")
found = k8s.parallel([lambda c=c: len(k8s.context(c).coreV1().list_namespace()) for c in names])
[len(names), sum(isinstance(each, int) for each in found)]
"""
    with server(folder, tmp_path) as (opened, ask):
        text = ask(script)
        assert value(text) == [53, 50], text
        assert sockets.OPEN.count <= 10
        assert value(ask("[each['name'] for each in k8s.tools.cluster_list(format='json')][:2]")) == ["c00", "c01"]
        anyio.run(opened.operator.evaluator.evaluate, script, 60_000)
        assert sockets.OPEN.count <= 10
        names = re.search("3 calls failed: cluster.unreachable list namespaces in clusters ([^;]*);", text)
        assert names is not None and set(names[1].split(", ")) == {"dead0", "dead1", "dead2"}, text


@pytest.mark.usefixtures("log_level")
def test_a_reload_changes_groups_and_settings(folder: fleets.Folder, tmp_path: Path) -> None:
    """But not where clusters are looked for; what was found stays found."""
    folder.add("a", env="prod")
    with server(folder, tmp_path, MORE) as (opened, ask):
        assert "policy." in ask(COUNT.format("a"))
        path = tmp_path / "new.toml"
        path.write_text(folder.settings('groups = { all = "" }'))
        before = opened.operator
        _, adopt = opened.prepare(config.load({"toolsets": "code"}, path))
        adopt()
        before.close()
        assert value(ask(f"[k8s.contexts(group='all'), {COUNT.format('a')}]")) == [["a"], True]
        path.write_text(folder.settings().replace(str(folder.path), str(tmp_path)))
        with pytest.raises(errors.ConfigError, match=r"fleet\.folder"):
            opened.prepare(config.load({"toolsets": "code"}, path))


def test_all_callers_together_have_so_many_clusters_open(
    folder: fleets.Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the limit, those are closed that were used longest ago, whoever has opened them; their callers go on."""
    monkeypatch.setattr(accesses, "_MOST_OPEN", 8)
    for number in range(6):
        folder.add(f"c{number}")
    script = "[len(k8s.context(c).coreV1().list_namespace()) > 0 for c in k8s.contexts()]"
    with server(folder, tmp_path) as (first, ask_first), server(folder, tmp_path) as (second, ask_second):
        for ask in (ask_first, ask_second):
            assert value(ask(script)) == [True] * 6
        held = [len(each.operator._accesses._held) for each in (first, second)]
        assert held == [2, 6]
        assert value(ask_first(script)) == [True] * 6


PLAN: Final = """
k8s.context("a").coreV1().create_namespaced_config_map("default", {{"metadata": {{"name": "{name}"}}}})
"""


def test_a_plan_is_for_the_settings_of_its_time(folder: fleets.Folder, tmp_path: Path) -> None:
    """A plan for a found cluster is applied there, but not when the cluster has other labels by then, or is gone."""
    tables = '[[fleet.settings]]\nlabel_selector = "env={}"\nwrites = "plan"\nwrite_policy = {{ objects = {} }}\n'
    more = tables.format("dev", 5) + tables.format("test", 6) + f'[plans]\nstore = "{tmp_path / "plans.db"}"\n'
    folder.add("a", env="dev")
    with server(folder, tmp_path, more) as (opened, ask):
        assert opened.operator.planning is not None
        approvals = opened.operator.planning.approvals

        def approve() -> str:
            script = PLAN.format(name=f"fleet-{secrets.token_hex(4)}")
            answer = anyio.run(opened.operator.evaluator.evaluate, script, 60_000)
            made = approvals.get(answer.plan).plan
            assert made.context == "a"
            approvals.decide(made.id, record.Decision("uid 0", "terminal", True, made.hash))
            return made.id

        def apply(plan_id: str) -> str:
            return approvals.apply(plan_id, lambda _done, _count, _text: None).state

        assert apply(approve()) == "applied"
        late, later = approve(), approve()
        folder.add("a", env="test")
        fleets.wait_for(opened.fleet, {"a": {"env": "test"}})
        with pytest.raises(errors.PlanError, match="the policy for writes has changed"):
            apply(late)
        assert apply(approve()) == "applied"
        folder.remove("a")
        fleets.wait_for(opened.fleet, {})
        with pytest.raises(errors.PlanError, match="takes no plans for cluster 'a'"):
            apply(later)
        assert value(ask("k8s.contexts()")) == []


def test_doctor_lists_what_is_found(folder: fleets.Folder, tmp_path: Path) -> None:
    """Each cluster with its labels and whether it answers; what cannot be used is named with the reason, as is what has
    the name of a listed context; only a folder that is not there is wrong."""
    file = tmp_path / "kubescript.toml"
    file.write_text(folder.settings())
    folder.add("a", env="prod", region="eu")
    done = commands.run("doctor", "--config", str(file), environment=commands.BARE)
    assert "ok      fleet         kubeconfig-dir: 1 cluster was found" in done.stdout
    assert "ok      a: found, labels env=prod,region=eu" in done.stdout
    folder.add("dead", {"server": "https://127.0.0.1:1"})
    (folder.path / "broken.yaml").write_text("contexts: [{name: c, context: {cluster: none}}]")
    done = commands.run("doctor", "--config", str(file), environment=commands.BARE)
    assert done.returncode == 0 and "WARNING dead: found, labels none" in done.stdout
    assert "WARNING fleet         the kubeconfig broken.yaml: cluster c cannot be used: the cluster that" in done.stdout
    own = f'[contexts.a]\nkubeconfig = "{folder.path}/a.yaml"\n'
    file.write_text(folder.settings() + own)
    done = commands.run("doctor", "--config", str(file), environment=commands.BARE)
    assert "WARNING fleet         a is left out: a context of the settings has this name" in done.stdout
    file.write_text(folder.settings().replace(str(folder.path), str(folder.path / "none")))
    done = commands.run("doctor", "--config", str(file), environment=commands.BARE)
    assert done.returncode == 1
    assert "FAILED  fleet         kubeconfig-dir: fleet.folder: cannot read" in done.stdout


def test_the_example_of_the_page_is_served(folder: fleets.Folder, tmp_path: Path) -> None:
    """docs/configure.md: its configuration and its labels do what the page says."""
    page = (paths.ROOT / "docs" / "configure.md").read_text("utf-8").partition("### A fleet\n")[2]
    settings, context = re.findall(r"```(?:toml|yaml)\n(.*?)```", page, re.DOTALL)[:2]
    path = tmp_path / "page.toml"
    path.write_text(
        f'{settings.replace("/etc/kubescript/clusters", str(folder.path))}[plans]\nstore = "{tmp_path}/p"\n'
    )
    folder.add("prod-eu")
    written = yaml.safe_load((folder.path / "prod-eu.yaml").read_text()) | yaml.safe_load(context)
    written["contexts"][0]["context"] |= {"cluster": "c", "user": "u"}
    fleets.put(folder.path / "prod-eu.yaml", yaml.safe_dump(written))
    with clients.application(["--config", str(path)]) as opened:
        fleets.wait_for(opened.fleet, {"prod-eu": {"env": "prod", "region": "eu"}})
        (access,) = opened.operator._accesses.values()
        assert opened.settings.writable and access.settings is not None and access.settings.mode == "off"
