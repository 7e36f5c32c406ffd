"""kubectl_cluster_info: what kubectl's cluster-info says, what is unhealthy, and the whole cluster on a page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kit import clients, paths, tools, trails
from tests.kit.controlplane.fixture import facts
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Writer

DEMO = paths.ROOT / "src/kubescript/cli/demo.tar.gz"


@pytest.fixture(scope="module")
def call(kubeconfig: Path) -> Iterator[tools.Call]:
    with tools.calling("--kubeconfig", str(kubeconfig)) as made:
        yield made


def service(name: str, **spec: Any) -> dict[str, Any]:
    """A service of the cluster's own."""
    labels = {"kubernetes.io/cluster-service": "true", "kubernetes.io/name": f"The-{name}"}
    metadata = {"name": name, "namespace": "kube-system", "labels": labels}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


SERVICES = [
    service("by-name", ports=[{"name": "dns", "port": 53}]),
    service("by-port", ports=[{"name": "web", "port": 443}]),
    service("nameless", ports=[{"port": 80}]),
    service("portless", clusterIP="None"),
    service("balanced", type="LoadBalancer", ports=[{"port": 80}]) | {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}}},
]  # fmt: skip


@pytest.fixture(scope="module")
def writer(scratch: ControlPlane) -> Writer:
    return Writer(scratch.kubeconfig)


@pytest.fixture(scope="module")
def of_scratch(scratch: ControlPlane) -> Iterator[tools.Call]:
    with tools.calling("--kubeconfig", str(scratch.kubeconfig)) as made:
        yield made


@pytest.fixture
def served(writer: Writer) -> Iterator[None]:
    """Services as kubectl knows them, with and without names, ports and a load balancer."""
    for each in SERVICES:
        writer.create(each)
    yield
    for each in SERVICES:
        writer.delete(each)


@pytest.mark.usefixtures("served")
def test_the_services_are_those_of_kubectl(of_scratch: tools.Call, scratch: ControlPlane) -> None:
    """With a path in place of the API server's address, which scripts never learn."""
    printed = tools.typed_by_kubectl(scratch.kubeconfig, "cluster-info")
    lines = [line for line in printed.splitlines() if "is running at" in line]
    url = lines[0].split()[-1]
    answer = tools.text(of_scratch("kubectl_cluster_info")).splitlines()
    assert answer[0] == "Kubernetes control plane of test: v1.36.3"
    assert answer[1 : 1 + len(SERVICES)] == [line.replace(url, "").rstrip() for line in lines[1:]]
    assert url not in "\n".join(answer)


def test_what_is_unhealthy_is_one_line(call: tools.Call) -> None:
    """Nodes that are not ready or in distress; the pods of kube-system are well."""
    *_, nodes, counts, unhealthy = tools.text(call("kubectl_cluster_info")).splitlines()
    assert nodes == "nodes: 5 of 6 ready"
    assert unhealthy == (
        f"unhealthy: {facts.NODE_CORDONED} SchedulingDisabled; {facts.NODE_DISK_PRESSURE} DiskPressure; "
        f"{facts.NODE_NOT_READY} NotReady"
    )
    degraded = len(facts.DEGRADED_DEPLOYMENTS)
    pods, deployments, more = counts.split("; ")
    good, every = map(int, re.findall(r"\d+", pods))
    assert 0 < good < every == facts.PODS and pods == f"pods: {good} of {every} as they should be"
    good, every = map(int, re.findall(r"\d+", deployments))
    assert every - good == degraded and deployments.startswith("deployments: ")
    assert more == "dump=true names the others"


FAILING = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "dns-failing", "namespace": "kube-system"},
    "spec": {"containers": [{"name": "dns", "image": "dns:1"}], "nodeName": "node-a2"},
    "status": {
        "phase": "Running",
        "containerStatuses": [
            {
                "name": "dns", "image": "dns:1", "imageID": "", "ready": False, "restartCount": 9,
                "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            }
        ],
    },
}  # fmt: skip


def test_a_failing_pod_of_the_system_is_unhealthy(of_scratch: tools.Call, writer: Writer) -> None:
    """Such as the DNS that everything else needs."""
    writer.create(FAILING)
    text = tools.text(of_scratch("kubectl_cluster_info"))
    writer.delete(FAILING, now=True)
    assert re.search(r"^unhealthy: .*\bkube-system/dns-failing CrashLoopBackOff", text, re.MULTILINE), text


def test_the_dump_is_the_whole_cluster_on_a_page(call: tools.Call) -> None:
    """Nodes, pods by namespace and state, workloads that lack pods, warnings by reason, API groups."""
    answer = tools.text(call("kubectl_cluster_info", dump=True))
    lines = answer.splitlines()
    assert "nodes: 5 of 6 ready; kubelets v1.36.3 5, v1.35.6 1" in lines
    assert f"{facts.NODE_CORDONED} SchedulingDisabled" in lines
    assert f"pods: {facts.PODS}" in lines
    counts = {line.split()[0]: int(line.split()[1]) for line in _section(lines, "pods")}
    assert counts == facts.pods_by_namespace()
    short = {line.split()[0] for line in _section(lines, "deployments")}
    assert short == {f"{namespace}/{name}" for namespace, name in facts.DEGRADED_DEPLOYMENTS}
    assert "shop/cart             4/6" in lines
    assert {line.split()[0] for line in _section(lines, "jobs")} == {"batch/backfill", "batch/import-29300060"}
    reasons = {tuple(line.split()[:3]) for line in _section(lines, "events")}
    assert {("shop", "Pod", "BackOff"), ("-", "Node", "NodeNotReady"), ("staging", "Pod", "Evicted")} <= reasons
    assert _section(lines, "apiservices") == []
    assert len(answer) < 5_000


def test_the_states_of_pods_are_those_of_kubectl(call: tools.Call, kubeconfig: Path) -> None:
    """Also of a pod whose init container fails, and of one that was evicted."""
    lines = tools.text(call("kubectl_cluster_info", dump=True)).splitlines()
    states = {row.split()[0]: row.split(maxsplit=2)[2] for row in _section(lines, "pods")}
    for namespace, strange in (("payments", "Init:Error"), ("staging", "Evicted")):
        printed = tools.typed_by_kubectl(kubeconfig, "get", "pods", "-n", namespace, "--no-headers").splitlines()
        typed = Counter(line.split()[2] for line in printed)
        told = Counter(
            {name: int(count) for name, count in (each.split(" ") for each in states[namespace].split(", "))}
        )
        told["Running"] += told.pop("NotReady", 0)
        assert told == typed and typed[strange]


def _section(lines: list[str], title: str) -> list[str]:
    """The rows under a title."""
    start = next(number for number, line in enumerate(lines) if line.startswith(f"{title}: "))
    rows = []
    for line in lines[start + 1 :]:
        if line.partition(": ")[0].isalpha() and line.partition(": ")[0].islower():
            break
        rows.append(line)
    return rows


def test_a_snapshot_has_the_same(call: tools.Call) -> None:
    """But for the ages of events."""
    with tools.calling("--snapshot", str(DEMO)) as saved:
        assert tools.text(saved("kubectl_cluster_info")) == tools.text(call("kubectl_cluster_info"))
        whole = tools.text(saved("kubectl_cluster_info", dump=True)).splitlines()
    live = tools.text(call("kubectl_cluster_info", dump=True)).splitlines()
    end = next(number for number, line in enumerate(live) if line.startswith("events: "))
    assert whole[:end] == live[:end]


def test_what_is_missing_from_a_snapshot_is_said(tmp_path: Path) -> None:
    """Each section by itself: the others are there."""
    with tools.calling("--snapshot", str(trails.snapshot(tmp_path))) as call:
        text = tools.text(call("kubectl_cluster_info", dump=True))
    assert "pods: 1\nshop  1  NotReady 1" in text
    assert "nodes could not be read: " in text and "deployments could not be read: " in text


def test_who_may_read_little_gets_that_and_the_reasons(control_plane: ControlPlane) -> None:
    """RBAC refuses every list of a stranger; the version is for everybody."""
    stranger = control_plane.kubeconfig_for("nobody-in-particular")
    with tools.calling("--kubeconfig", str(stranger)) as call:
        text = tools.text(call("kubectl_cluster_info"))
        assert text.startswith("Kubernetes control plane of test: v1.36.3")
        assert "nodes could not be read: nodes is forbidden" in text
        assert "\npods could not be read: " in text and "nothing unhealthy" not in text
        assert tools.text(call("kubectl_cluster_info", dump=True)).count("could not be read: ") == 8


def test_a_dead_cluster_is_a_precondition(tmp_path: Path) -> None:
    """The contract's error, after one attempt."""
    config = tmp_path / "kubeconfig"
    config.write_text(
        f"""
apiVersion: v1
kind: Config
current-context: dead
clusters: [{{name: dead, cluster: {{server: "http://127.0.0.1:{clients.free_port()}"}}}}]
users: [{{name: dead, user: {{}}}}]
contexts: [{{name: dead, context: {{cluster: dead, user: dead}}}}]
"""
    )
    file = tmp_path / "audit.jsonl"
    with tools.calling("--kubeconfig", str(config), "--audit", str(file)) as call:
        for dump in (False, True):
            result = call("kubectl_cluster_info", dump=dump)
            assert result.is_error and result.meta is not None
            assert result.meta["errorType"] == "PrerequisiteError" and result.meta["cluster"] == "dead"
        assert not call("cluster_list").is_error
    assert len(trails.records(file, "call")) == 2


def test_in_chinese(tmp_path: Path, kubeconfig: Path) -> None:
    """The contract's language, where the operator asks for it."""
    settings = tmp_path / "kubescript.toml"
    settings.write_text('language = "zh"\n')
    with tools.calling("--kubeconfig", str(kubeconfig), "--config", str(settings)) as call:
        assert "節點: 6 個中 5 個就緒" in tools.text(call("kubectl_cluster_info"))
        assert "pods: 200" in tools.text(call("kubectl_cluster_info", dump=True))


def test_what_is_denied_is_said(tmp_path: Path, kubeconfig: Path) -> None:
    """A rule about pods leaves the other sections."""
    settings = tmp_path / "kubescript.toml"
    settings.write_text('[[denied_resources]]\ngroup = ""\nkind = "Pod"\n')
    with tools.calling("--kubeconfig", str(kubeconfig), "--config", str(settings)) as call:
        text = tools.text(call("kubectl_cluster_info", dump=True))
        assert "pods could not be read: " in text and "\ndeployments: 9 of " in text
        assert "\npods could not be read: " in tools.text(call("kubectl_cluster_info"))
