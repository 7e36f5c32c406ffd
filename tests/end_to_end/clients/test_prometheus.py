"""The chart's alert rules and its dashboard, as promtool and a real Prometheus see them that scrapes a real server."""

from __future__ import annotations

import contextlib
import functools
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import anyio
import httpx2
import pytest
import yaml
from mcp.client import Client

from tests.kit import api_server, clients, http_server, patience, prometheus
from tests.kit.engines.prometheus import Prometheus

HERE: Final = Path(__file__).parent
METRIC: Final = re.compile(r"\b(?:kubescript|process)_\w+")
PODS: Final = api_server.whole(json.dumps({
    "kind": "PodList", "apiVersion": "v1", "items": [{
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"containers": [{"name": "c", "env": [{"name": "PASSWORD", "value": "correct-horse-7-battery"}]}]},
    }],
}).encode())  # fmt: skip
LIST: Final = "len(k8s.context({!r}).coreV1().list_namespaced_pod('shop'))"


def rules() -> list[dict[str, Any]]:
    """The rules."""
    found: list[dict[str, Any]] = yaml.safe_load(prometheus.ALERTS.read_text("utf-8"))["groups"][0]["rules"]
    return found


def expressions() -> list[str]:
    """What the dashboard's panels show."""
    panels = json.loads(prometheus.DASHBOARD.read_text("utf-8"))["panels"]
    return [target["expr"].replace("$__rate_interval", "5s") for panel in panels for target in panel["targets"]]


def test_promtool_accepts_the_rules_and_each_fires_and_resolves() -> None:
    """A test of promtool's own for every rule: series for which it fires, and for which it no longer does."""
    for words in (("check", "rules", str(prometheus.ALERTS)), ("test", "rules", str(HERE / "alerts_test.yaml"))):
        done = prometheus.promtool(*words)
        assert done.returncode == 0, done.stdout + done.stderr
    tests = yaml.safe_load((HERE / "alerts_test.yaml").read_text("utf-8"))["tests"]
    judged = [each["alert_rule_test"] for each in tests]
    for rule in rules():
        seen = [bool(one.get("exp_alerts")) for each in judged for one in each if one["alertname"] == rule["alert"]]
        assert {True, False} <= set(seen), rule["alert"]


class Served:
    """A server of two clusters, of which one is away, and the Prometheus that scrapes it."""

    def __init__(self, port: int, away: int, seen: Prometheus) -> None:
        self.port = port
        self.away = away
        """The port where the cluster `away` should be."""
        self.seen = seen

    def run(self, *scripts: str, timeout: int = 20_000) -> None:
        """Runs scripts, all at the same time."""

        async def ask() -> None:
            async with (
                Client(f"http://127.0.0.1:{self.port}/mcp", mode="legacy") as client,
                anyio.create_task_group() as tasks,
            ):
                for script in scripts:
                    tasks.start_soon(functools.partial(clients.evaluate, client, script, timeout=timeout))

        anyio.run(ask)

    def firing_once(self, is_so: Callable[[set[tuple[str, str]]], bool]) -> set[tuple[str, str]]:
        """The alerts that fire at the moment at which this is so of them. The cluster `away` is called all the time: an
        alert is over five seconds after the last call, which a slow machine may need to look again."""
        seen: list[set[tuple[str, str]]] = []

        def is_there() -> bool:
            self.run(LIST.format("away"))
            seen.append(self.firing())
            return is_so(seen[-1])

        patience.until(is_there, 120)
        return seen[-1]

    def firing(self) -> set[tuple[str, str]]:
        """The alerts that fire, each with its label `context`, as soon as the server is scraped."""
        seen: list[set[tuple[str, str]]] = []

        def is_scraped() -> bool:
            # A busy machine misses scrapes now and then, and KubescriptGone fires until the next one.
            found = [each for each in self.seen.get("alerts")["alerts"] if each["state"] == "firing"]
            seen.append({(each["labels"]["alertname"], each["labels"].get("context", "")) for each in found})
            return ("KubescriptGone", "") not in seen[-1]

        patience.until(is_scraped)
        return seen[-1]

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The series that an expression has now. Fails when it is none."""
        found: list[dict[str, Any]] = self.seen.get("query", query=expression)["result"]
        return found


def judging(folder: Path, scraped: int) -> Prometheus:
    """A Prometheus of the server with this port for metrics, with the chart's rules over seconds in place of minutes."""
    text = re.sub(r"for: \d+m", "for: 1s", prometheus.ALERTS.read_text("utf-8").replace("[5m]", "[5s]"))
    groups = yaml.safe_load(text)["groups"]
    return Prometheus(folder, rules=groups, targets=[f"127.0.0.1:{scraped}"], every="500ms", old=True)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("prometheus")
    away, metrics = clients.free_port(), clients.free_port()
    with contextlib.ExitStack() as stack:
        here = api_server.Server()
        stack.callback(here.close)
        settings = f'toolsets = ["code"]\n[http]\nmetrics_port = {metrics}\n[sandbox]\nmax_scripts = 1\n'
        for name, url in (("here", here.url), ("away", f"http://127.0.0.1:{away}")):
            (folder / name).mkdir()
            file = api_server.kubeconfig(folder / name, url)
            settings += f'[contexts.{name}]\ncontext = "test"\nkubeconfig = "{file}"\n'
        (folder / "server.toml").write_text(settings)
        port = stack.enter_context(http_server.serving(("--config", str(folder / "server.toml"))))
        httpx2.get(f"http://127.0.0.1:{port}/ready", timeout=60)
        here.steps.append(PODS)
        seen = stack.enter_context(judging(folder, metrics))
        patience.until(lambda: bool(seen.get("query", query="kubescript_info")["result"]))
        yield Served(port, away, seen)


def test_every_metric_of_the_dashboard_and_the_rules_is_scraped(served: Served) -> None:
    """From a server that has been busy: calls, masked values, limits, refusals. No alert fires for that."""
    served.run(LIST.format("here"))
    served.run(*["while True: pass"] * 2, timeout=500)
    httpx2.get(f"http://127.0.0.1:{served.port}/info", headers={"Origin": "https://a.example"}, timeout=60)
    used = {name for text in (*expressions(), *(rule["expr"] for rule in rules())) for name in METRIC.findall(text)}
    patience.until(lambda: set(served.seen.get("label/__name__/values")) >= used)
    patience.until(lambda: bool(served.query('kubescript_api_calls_total{context="here",status="200"} > 0')))
    for expression in expressions():
        served.query(expression)
    assert served.query("sum(kubescript_redactions_total) > 0")
    assert served.firing() == set()


def test_a_cluster_that_does_not_serve_raises_its_alert_until_it_does(served: Served) -> None:
    """One that is away, and one that refuses the token: each by name, and without one for the cluster beside it."""
    gone, refuses = ("KubescriptClusterUnreachable", "away"), ("KubescriptClusterRefuses", "away")
    assert served.firing_once(lambda found: gone in found) == {gone}
    back = api_server.Server(port=served.away)
    back.steps = [api_server.whole(b"{}", "401 Unauthorized")] * 1_000
    try:
        assert served.firing_once(lambda found: refuses in found and gone not in found) == {refuses}
        back.steps.clear()
        assert served.firing_once(lambda found: refuses not in found) == set()
    finally:
        back.close()
