"""kubectl_top_nodes, kubectl_top_pods and kubectl_top_containers beside the real kubectl's top."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kit import clients, tools, trails
from tests.kit.controlplane import writer
from tests.kit.controlplane.fixture import facts
from tests.kit.controlplane.server import ControlPlane

ROWS = 50


@pytest.fixture(scope="module")
def call(kubeconfig: Path) -> Iterator[tools.Call]:
    with tools.calling("--kubeconfig", str(kubeconfig)) as made:
        yield made


def cells(text: str) -> list[list[str]]:
    """The table without its blanks: kubectl pads with three and ends each line with some."""
    return [line.split() for line in text.splitlines()]


LIKE_KUBECTL: dict[str, tuple[str, dict[str, Any], str]] = {
    "nodes": ("kubectl_top_nodes", {}, "node"),
    "nodes by CPU": ("kubectl_top_nodes", {"sortBy": "cpu"}, "node --sort-by cpu"),
    "nodes by memory": ("kubectl_top_nodes", {"sortBy": "memory"}, "node --sort-by memory"),
    "pods": ("kubectl_top_pods", {"namespace": "shop"}, "pod -n shop"),
    "pods by CPU": ("kubectl_top_pods", {"namespace": "platform", "sortBy": "cpu"}, "pod -n platform --sort-by cpu"),
    "pods by memory": ("kubectl_top_pods", {"namespace": "batch", "sortBy": "memory"}, "pod -n batch --sort-by memory"),
    "the default namespace": ("kubectl_top_pods", {}, "pod"),
    "containers of pods": (
        "kubectl_top_pods",
        {"namespace": "payments", "containers": True},
        "pod -n payments --containers",
    ),
    "containers of pods by memory": (
        "kubectl_top_pods",
        {"namespace": "payments", "containers": True, "sortBy": "memory"},
        "pod -n payments --containers --sort-by memory",
    ),
    "containers": ("kubectl_top_containers", {"namespace": "payments"}, "pod -n payments --containers"),
}


@pytest.mark.parametrize(("tool", "arguments", "words"), LIKE_KUBECTL.values(), ids=LIKE_KUBECTL)
def test_usage_is_printed_as_kubectl_prints_it(
    tool: str, arguments: dict[str, Any], words: str, call: tools.Call, kubeconfig: Path
) -> None:
    """The same columns, units, percentages and order, in fewer blanks."""
    printed = tools.typed_by_kubectl(kubeconfig, "top", *words.split())
    answer = tools.text(call(tool, **arguments))
    assert cells(answer) == cells(printed)
    assert len(cells(answer)) > 2 and len(answer) < len(printed)


def test_of_many_pods_those_that_use_most_are_shown(call: tools.Call, kubeconfig: Path) -> None:
    """Fifty of all, with how many there are, what all of them use, and how to narrow."""
    printed = tools.typed_by_kubectl(kubeconfig, "top", "pod", "-A", "--sort-by", "cpu", "--sum", "--no-headers")
    *pods, _, total = cells(printed)
    answer = tools.text(call("kubectl_top_pods", allNamespaces=True))
    head, *rows, note = answer.splitlines()
    assert head.split() == ["NAMESPACE", "NAME", "CPU(cores)", "MEMORY(bytes)"]
    # kubectl's order of pods that use the same is its own.
    assert [row.split()[2] for row in rows] == [pod[2] for pod in pods[:ROWS]]
    assert {tuple(row.split()) for row in rows} <= {tuple(pod) for pod in pods}
    assert note == (
        f"{ROWS} of {len(pods)} pods shown, most cpu first; all use {total[0]} and {total[1]}; narrow with namespace"
    )


def test_containers_of_one_pod_or_of_a_name(call: tools.Call, kubeconfig: Path) -> None:
    """podName is a pod's name or a part of it, containerName any part of a container's; each row counts for itself."""
    printed = cells(tools.typed_by_kubectl(kubeconfig, "top", "pod", "-n", "payments", "--containers", "--no-headers"))
    pod = next(row[0] for row in printed if row[1] == "proxy")
    answer = cells(tools.text(call("kubectl_top_containers", namespace="payments", podName=pod)))
    assert answer[1:] == [row for row in printed if row[0] == pod]
    part = pod.split("-")[0]
    answer = cells(tools.text(call("kubectl_top_containers", namespace="payments", podName=part)))
    assert answer[1:] == [row for row in printed if part in row[0]] and len(answer) > 2
    answer = cells(
        tools.text(call("kubectl_top_containers", namespace="payments", containerName="rox", sortBy="memory"))
    )
    proxies = sorted((row for row in printed if row[1] == "proxy"), key=lambda row: -int(row[3].removesuffix("Mi")))
    assert [row[3] for row in answer[1:]] == [row[3] for row in proxies]
    everywhere = tools.text(call("kubectl_top_containers", allNamespaces=True, containerName="proxy"))
    assert {row[2] for row in cells(everywhere)[1:]} == {"proxy", "kube-proxy"}


def test_nothing_measured_is_said(call: tools.Call) -> None:
    """No table, and whether the namespace is there."""
    assert tools.text(call("kubectl_top_containers", podName="nobody")) == (
        "podName and containerName match none of the 5 containers with metrics in default; kubectl_top_pods lists them"
    )
    missing = clients.whole(call("kubectl_top_pods", namespace="shpo"))
    assert "no metrics of pods in shpo" in missing and "no such namespace: shpo" in missing


def test_an_order_that_there_is_not_is_refused(call: tools.Call) -> None:
    """The contract's schema leaves sortBy of containers open."""
    wrong = call("kubectl_top_containers", namespace="shop", sortBy="name")
    assert wrong.is_error and clients.whole(wrong) == "Error: sortBy must be one of cpu, memory, not name"
    assert not call("kubectl_top_containers", namespace="shop", sortBy="cpu").is_error


def test_without_nodes_there_are_no_percentages(kubeconfig: Path, tmp_path: Path) -> None:
    """A rule that denies nodes leaves what metrics say of them."""
    settings = tmp_path / "kubescript.toml"
    settings.write_text('[[denied_resources]]\ngroup = ""\nkind = "Node"\n')
    with tools.calling("--kubeconfig", str(kubeconfig), "--config", str(settings)) as call:
        answer = tools.text(call("kubectl_top_nodes"))
    assert "m" in cells(answer)[1][1] and "%" not in answer.replace("(%)", "")
    assert "without percentages, for the nodes could not be read" in answer
    settings.write_text('[[denied_resources]]\ngroup = "metrics.k8s.io"\n')
    with tools.calling("--kubeconfig", str(kubeconfig), "--config", str(settings)) as call:
        denied = call("kubectl_top_nodes")
        assert denied.is_error and "policy" in clients.text(denied)
        assert not call("kubectl_cluster_info").is_error


SERVICE = {
    "apiVersion": "apiregistration.k8s.io/v1",
    "kind": "APIService",
    "metadata": {"name": "v1beta1.metrics.k8s.io"},
    "spec": {
        "group": "metrics.k8s.io",
        "version": "v1beta1",
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
        "insecureSkipTLSVerify": True,
        "service": {"name": "metrics-server", "namespace": "kube-system"},
    },
}
"""What an installation of metrics-server registers."""


def test_a_cluster_without_metrics_is_a_precondition() -> None:
    """Not installed (404), then installed and not running (503): the contract's error, with what to do."""
    with ControlPlane() as plane, tools.calling("--kubeconfig", str(plane.kubeconfig)) as call:
        for tool in ("kubectl_top_nodes", "kubectl_top_pods", "kubectl_top_containers"):
            _unmet(call(tool))
        writer.Writer(plane.kubeconfig).create(SERVICE)
        for tool in ("kubectl_top_nodes", "kubectl_top_pods"):
            _unmet(call(tool))
        text = tools.text(call("kubectl_cluster_info", dump=True))
        assert "\napiservices: 1 of " in text and "v1beta1.metrics.k8s.io ServiceNotFound" in text


def _unmet(result: Any) -> None:
    text = clients.whole(result)
    assert result.is_error and result.meta["errorType"] == "PrerequisiteError", text
    assert text.startswith("Error: prerequisite check failed")
    assert "no metrics in this cluster: metrics-server is not installed, or does not run" in text
    assert "install or repair metrics-server in test" in text


def test_a_snapshot_without_metrics_says_so(tmp_path: Path) -> None:
    """Nobody can install metrics-server in a file."""
    with tools.calling("--snapshot", str(trails.snapshot(tmp_path))) as call:
        result = call("kubectl_top_pods", namespace="shop")
        assert result.is_error and "captured" in clients.whole(result)
        assert "metrics-server" not in clients.whole(result)
        assert not call("cluster_list").is_error


def test_nodes_without_metrics_are_listed(call: tools.Call) -> None:
    """As kubectl lists them: a node that does not report is what somebody looks for."""
    rows = cells(tools.text(call("kubectl_top_nodes")))
    assert rows[-1] == [facts.NODE_NOT_READY, *["<unknown>"] * 4] and len(rows) == 1 + facts.NODES
