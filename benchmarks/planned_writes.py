"""What a write costs that is planned, beside the same by the official client, which reads and tries it too, and
beside one that is sent at once.

Twenty Deployments get another number of replicas by one script. Nobody is asked: the plan waits for somebody.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from kubernetes import client

from benchmarks import clusters, report, servers, stdio
from tests.kit.controlplane import official_client
from tests.kit.controlplane.writer import Writer

__all__ = ["run"]

COUNT: Final = 20
ROUNDS: Final = 7
NAMES: Final = [f"planned-{number}" for number in range(COUNT)]
MODES: Final = {"off": "off", "idle": "plan", "plan": "plan", "direct": "direct"}
"""Servers, and the mode of each."""
SCRIPT: Final = """\
for name in {names!r}:
    k8s.AppsV1Api().patch_namespaced_deployment(name, "default", {{"spec": {{"replicas": {replicas}}}}})
1
"""
LIMIT: Final = "[write_policy]\nper_minute = 10000\n"


def run() -> Iterator[report.Row | str]:
    """The rows of this benchmark."""
    with clusters.broken() as kubeconfig, contextlib.ExitStack() as opened:
        writer = Writer(kubeconfig)
        for name in NAMES:
            writer.create(_deployment(name))
        folder = opened.enter_context(tempfile.TemporaryDirectory())
        running = {name: opened.enter_context(_server(kubeconfig, Path(folder), mode)) for name, mode in MODES.items()}
        official = client.AppsV1Api(official_client.connect(kubeconfig))
        spent: dict[str, list[float]] = {name: [] for name in ("plan", "direct", "official")}
        empty: dict[str, list[float]] = {name: [] for name in ("off", "idle", "plan")}
        for replicas in range(2, 2 + ROUNDS + 1):
            for mode in ("plan", "direct"):
                script = SCRIPT.format(names=NAMES, replicas=replicas)
                spent[mode].append(_ask(running[mode], script))
            spent["official"].append(_by_hand(official, replicas + 100))
            for mode, seconds in empty.items():
                _ask(running[mode], "1")  # the first after a pause pays for it
                seconds.append(_ask(running[mode], "1"))
    yield from _rows(spent, empty)


def _rows(spent: dict[str, list[float]], empty: dict[str, list[float]]) -> Iterator[report.Row]:
    # The first round warms the servers: rules, store, connections.
    each = {name: report.median(seconds[1:]) / COUNT for name, seconds in spent.items()}
    by_hand = each["official"]
    for mode in ("plan", "direct"):
        what = f"a write, {mode}"
        yield report.Row(what, "ms", each[mode], by_hand, "official client, get and dry run")
    first, *others = spent["plan"]
    later = report.median(others)
    yield report.Row("the first plan of a server", "ms", first, later, "a later one")
    off, idle, waiting = (report.median(empty[name][1:]) for name in ("off", "idle", "plan"))
    yield report.Row("a script without writes, plan", "ms", idle, off, "writes off", "at_most", 1.1)
    yield report.Row("the same while plans of its session wait", "ms", waiting, off, "writes off")


def _server(kubeconfig: Path, folder: Path, mode: str) -> stdio.Server:
    store = f'[plans]\nstore = "{folder}/plans.db"\npage = false\n'
    file = folder / f"{mode}.toml"
    file.write_text(LIMIT + store)
    return servers.kubescript(kubeconfig, "--writes", mode, "--config", str(file))


def _ask(server: stdio.Server, script: str) -> float:
    answer = server.call("evaluate_script", {"script": script})
    # A script that was refused has no speed.
    if answer.result.get("isError"):
        raise RuntimeError(stdio.text(answer))
    return answer.seconds * 1000


def _by_hand(official: client.AppsV1Api, replicas: int) -> float:
    """Milliseconds in which the official client reads each object and tries the patch."""
    started = time.perf_counter()
    for name in NAMES:
        official.read_namespaced_deployment(name, "default")
        official.patch_namespaced_deployment(name, "default", {"spec": {"replicas": replicas}}, dry_run="All")
    return (time.perf_counter() - started) * 1000


def _deployment(name: str) -> dict[str, Any]:
    labels = {"app": name}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": pod},
    }
