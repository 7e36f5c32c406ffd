"""What a plan costs by its size: 1, 10 and 50 steps that patch, set an image or delete, planned beside the same by
the official client, which reads and tries each.

Each of fifty Deployments owns a ReplicaSet and two pods, which deletions and images look at. Nobody is asked: the plans
wait. `KUBESCRIPT_TEST_BASELINE` names the `kubescript` program of another installation, such as an older commit's,
which is then measured in the same rounds in the official client's place.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from kubernetes import client

from benchmarks import clusters, report, servers, stdio
from tests.kit.controlplane import official_client
from tests.kit.controlplane.writer import Writer

__all__ = ["run"]

SIZES: Final = (1, 10, 50)
ROUNDS: Final = 5
NAMESPACE: Final = "plan-sizes"
GOAL: Final = 1.5
SETTINGS: Final = """\
[write_policy]
per_minute = 10000
[plans]
store = "{store}"
page = false
"""
SCRIPTS: Final = {
    "patch": 'k8s.scale("deployments/web-%d" % number, {round}, namespace="plan-sizes")',
    "image": 'k8s.set_image("deployments/web-%d" % number, web="web:{round}", namespace="plan-sizes")',
    "delete": 'k8s.delete("deployments/web-%d" % number, namespace="plan-sizes")',
}
"""What a script does with each Deployment; `round` is another number in each round."""


def run() -> Iterator[report.Row]:
    """The rows of this benchmark."""
    with clusters.broken() as kubeconfig, contextlib.ExitStack() as opened:
        _fill(kubeconfig)
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        server = opened.enter_context(_server(kubeconfig, folder, servers.PROGRAM))
        name, base = "official client, get and dry run", _official(kubeconfig)
        older = os.environ.get("KUBESCRIPT_TEST_BASELINE")
        if older:
            name = older
            base = _scripts(opened.enter_context(_server(kubeconfig, folder, Path(older))))
        ours = _scripts(server)
        spent: defaultdict[tuple[str, int], list[tuple[float, float]]] = defaultdict(list)
        for number in range(ROUNDS + 1):
            for kind in SCRIPTS:
                for size in SIZES:
                    spent[kind, size].append((ours(kind, size, number), base(kind, size, number)))
    for (kind, size), times in spent.items():
        # The first round warms the servers.
        subject = report.median([first for first, _ in times[1:]])
        baseline = report.median([second for _, second in times[1:]])
        what = f"a plan of {size}, {kind}"
        if older:
            yield report.Row(what, "ms", subject, baseline, name, "at_most", GOAL)
        else:
            yield report.Row(what, "ms", subject, baseline, name)


Measure = Callable[[str, int, int], float]
"""A function that does one kind of change with so many objects, in this round; returns milliseconds."""


def _scripts(server: stdio.Server) -> Measure:
    def measure(kind: str, size: int, round_number: int) -> float:
        line = SCRIPTS[kind].format(round=round_number + 3)
        answer = server.call("evaluate_script", {"script": f"for number in range({size}):\n    {line}\n1"})
        return answer.seconds * 1000

    return measure


def _official(kubeconfig: Path) -> Measure:
    apps = client.AppsV1Api(official_client.connect(kubeconfig))

    def measure(kind: str, size: int, round_number: int) -> float:
        started = time.perf_counter()
        for number in range(size):
            name = f"web-{number}"
            apps.read_namespaced_deployment(name, NAMESPACE)
            if kind == "delete":
                apps.delete_namespaced_deployment(name, NAMESPACE, dry_run="All")
                continue
            spec: dict[str, Any] = {"replicas": round_number + 3}
            if kind == "image":
                spec = {"template": {"spec": {"containers": [{"name": "web", "image": f"web:{round_number}"}]}}}
            apps.patch_namespaced_deployment(name, NAMESPACE, {"spec": spec}, dry_run="All")
        return (time.perf_counter() - started) * 1000

    return measure


def _server(kubeconfig: Path, folder: Path, program: Path) -> stdio.Server:
    name = str(program).replace("/", "_")
    file = folder / f"{name}.toml"
    file.write_text(SETTINGS.format(store=folder / f"{name}.db"))
    return servers.kubescript(kubeconfig, "--writes", "plan", "--config", str(file), program=program)


def _fill(kubeconfig: Path) -> None:
    """Makes the Deployments, and what each owns."""
    writer = Writer(kubeconfig)
    writer.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    for number in range(max(SIZES)):
        name = f"web-{number}"
        labels = {"app": name}
        pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
        spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": pod}
        writer.create(_object("apps/v1", "Deployment", name, labels, spec))
        writer.create(_object("apps/v1", "ReplicaSet", f"{name}-1", labels, spec, ("apps/v1", "Deployment", name)))
        for replica in range(2):
            owner = "apps/v1", "ReplicaSet", f"{name}-1"
            writer.create(_object("v1", "Pod", f"{name}-1-{replica}", labels, pod["spec"], owner))


def _object(
    api: str, kind: str, name: str, labels: dict[str, str], spec: Any, owner: tuple[str, str, str] | None = None
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "namespace": NAMESPACE, "labels": labels}
    if owner is not None:
        # The writer adds the uid.
        version, kind_of_owner, name_of_owner = owner
        reference = {"apiVersion": version, "kind": kind_of_owner, "name": name_of_owner, "controller": True}
        metadata["ownerReferences"] = [reference]
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}
