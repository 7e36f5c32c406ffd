"""kubectl_logs: the lines that kubectl prints, whether there are more, and which precondition a pod does not meet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubescript_safety.controlplane import kubelets
from tests.kit import clients, commands, tools, trails
from tests.kit.controlplane import cluster, logs, writer
from tests.kit.controlplane.fixture import facts
from tests.kit.controlplane.server import ControlPlane

LINES = logs.EARLY + logs.LATE
"""What each container of the fixture wrote."""


@pytest.fixture(scope="module")
def call(kubeconfig: Path) -> Iterator[tools.Call]:
    if cluster.elsewhere():
        pytest.skip("needs the tests' own kubelets")
    with tools.calling("--kubeconfig", str(kubeconfig)) as made:
        yield made


def pods(kubeconfig: Path, app: str, namespace: str = "shop", state: str = "") -> list[str]:
    """The names of an app's pods whose node answers, or that are on none; with a text of kubectl's line for each."""
    words = ("get", "pods", "-n", namespace, "-l", f"app={app}", "--no-headers", "-o", "wide")
    listed = tools.typed_by_kubectl(kubeconfig, *words).splitlines()
    return [line.split()[0] for line in listed if facts.NODE_NOT_READY not in line and state in line]


def parts(text: str) -> tuple[str, list[str]]:
    """The line about the log, and the lines of the log."""
    head, *lines = text.splitlines()
    return head, lines


def test_the_last_lines_are_those_of_kubectl(call: tools.Call, kubeconfig: Path) -> None:
    """After one line that says which log it is and that there is more."""
    (pod, *_) = pods(kubeconfig, "orders")
    head, lines = parts(tools.text(call("kubectl_logs", pod=pod, namespace="shop", lines=5)))
    assert head == f"shop/{pod}: the last 5 lines; for older ones raise lines (up to 499)"
    assert lines == tools.typed_by_kubectl(kubeconfig, "logs", "-n", "shop", pod, "--tail", "5").splitlines()


def test_a_hundred_lines_come_unless_told_otherwise(call: tools.Call, kubeconfig: Path) -> None:
    """The contract's default. A log that is shown to its beginning says so, at the very number of its lines too."""
    (pod, *_) = pods(kubeconfig, "orders")
    head, lines = parts(tools.text(call("kubectl_logs", pod=pod, namespace="shop")))
    assert len(lines) == 100 and "the last 100 lines" in head
    head, lines = parts(tools.text(call("kubectl_logs", pod=pod, namespace="shop", lines=LINES)))
    assert len(lines) == LINES and head == f"shop/{pod}: all {LINES} lines"
    head, lines = parts(tools.text(call("kubectl_logs", pod=pod, namespace="shop", lines=LINES - 1)))
    assert len(lines) == LINES - 1 and "the last" in head


def test_since_counts_back_in_kubernetes_units(call: tools.Call, kubeconfig: Path) -> None:
    """Hours and minutes together; the line about the log repeats them. Nothing written since is no error."""
    (pod, *_) = pods(kubeconfig, "orders")
    head, lines = parts(tools.text(call("kubectl_logs", pod=pod, namespace="shop", since="1h30m")))
    assert len(lines) == logs.LATE and head == f"shop/{pod} (since 1h30m): all {logs.LATE} lines"
    assert tools.text(call("kubectl_logs", pod=pod, namespace="shop", since="1s")) == f"shop/{pod} (since 1s): no lines"
    assert len(parts(tools.text(call("kubectl_logs", pod=pod, namespace="shop", since="999999d")))[1]) == 100


def test_a_container_and_its_previous_run(call: tools.Call, kubeconfig: Path) -> None:
    """Both stand in the line about the log."""
    (pod, *_) = pods(kubeconfig, "cart", state="CrashLoopBackOff")
    given = call("kubectl_logs", pod=pod, namespace="shop", container="cart", previous=True, lines=1)
    head, lines = parts(tools.text(given))
    assert head.startswith(f"shop/{pod} (container cart, previous): the last 1 lines")
    printed = tools.typed_by_kubectl(kubeconfig, "logs", "-n", "shop", pod, "--previous", "--tail", "1")
    assert lines == printed.splitlines()


def test_one_call_is_enough(kubeconfig: Path, tmp_path: Path) -> None:
    """The log of a pod with one container costs no second call, and is on record like a script's."""
    (pod, *_) = pods(kubeconfig, "orders")
    file = tmp_path / "audit.jsonl"
    with tools.calling("--kubeconfig", str(kubeconfig), "--audit", str(file)) as call:
        tools.text(call("kubectl_logs", pod=pod, namespace="shop"))
    (record,) = trails.records(file, "call")
    assert (record["resource"], record["subresource"], record["name"]) == ("pods", "log", pod)
    assert record["tool"] == "kubectl_logs"


def refused(call: tools.Call, **arguments: Any) -> str:
    """The text of a call that fails, after which the same server answers again."""
    result = call("kubectl_logs", **arguments)
    assert result.is_error
    assert not call("cluster_list").is_error
    return clients.text(result).removeprefix("Error: ")


def test_a_pod_with_several_containers_needs_a_container(call: tools.Call, kubeconfig: Path) -> None:
    """The contract's precondition, with the names there are; a wrong name gets them as well."""
    (pod, *_) = pods(kubeconfig, "storefront")
    told = refused(call, pod=pod, namespace="shop")
    assert told == f"pod {pod} has several containers; give container, one of: storefront, proxy"
    told = refused(call, pod=pod, namespace="shop", container="proxi")
    assert told == f"pod {pod} has no container proxi; there is: storefront, proxy"
    assert not call("kubectl_logs", pod=pod, namespace="shop", container="proxy").is_error


def test_a_container_that_has_not_started_says_why(call: tools.Call, kubeconfig: Path) -> None:
    """Its reason, and where the init container is to blame, its name."""
    (pulls, *_) = pods(kubeconfig, "recommendations")
    assert "waits: ImagePullBackOff: Back-off pulling image" in refused(call, pod=pulls, namespace="shop")
    (fraud, *_) = pods(kubeconfig, "fraud", "payments")
    told = refused(call, pod=fraud, namespace="payments", container="fraud")
    assert told == "container fraud has not started, it waits: PodInitializing; container=migrate"
    text = tools.text(call("kubectl_logs", pod=fraud, namespace="payments", container="migrate", lines=1))
    assert text.endswith("\nmigration 0042 failed: lock timeout")
    (worker, *_) = pods(kubeconfig, "worker", "staging", "Evicted")
    assert "the pod is Evicted: The node was low on resource" in refused(call, pod=worker, namespace="staging")
    (pending, *_) = pods(kubeconfig, "postgres", "payments", "Pending")
    text = tools.text(call("kubectl_logs", pod=pending, namespace="payments"))
    assert text == f"payments/{pending}: no lines; the pod is Pending"


def test_what_is_not_there_is_said(call: tools.Call, kubeconfig: Path) -> None:
    """No previous run, no such pod, a node that is gone: each with what to do instead, and no masked value is counted
    that nobody asked for."""
    (pod, *_) = pods(kubeconfig, "orders")
    told = refused(call, pod=pod, namespace="shop", previous=True)
    assert told == "container orders has no previous log (restarts: 0); leave out previous"
    told = refused(call, pod="orders", namespace="shop")
    assert told.startswith('pods "orders" not found; did you mean \'orders-')
    everything = tools.typed_by_kubectl(kubeconfig, "get", "pods", "-n", "shop", "--no-headers", "-o", "wide")
    lost, container = next(
        (line.split()[0], line.split()[0].split("-")[0])
        for line in everything.splitlines()
        if facts.NODE_NOT_READY in line
    )
    told = refused(call, pod=lost, namespace="shop", container=container)
    assert told.startswith(f"the node of pod {lost} does not give its log: ")


def test_follow_is_refused(call: tools.Call) -> None:
    """The contract switches it off."""
    assert refused(call, pod="orders", follow=True) == "follow is disabled for safety; use lines and since"


LOGS = {
    "bytes": "\n".join(f"line {number} " + "x" * 150 for number in range(1_000)),
    "lines": "\n".join(f"line {number}" for number in range(1_000)),
}
"""By the name of the pod, which is what they have too much of."""


@pytest.fixture(scope="module")
def chatty(scratch: ControlPlane, namespace: str) -> Iterator[tools.Call]:
    """A server of a cluster with pods whose logs fit in no answer, named as LOGS names them."""
    status = {"name": "app", "image": "a", "imageID": "", "ready": True, "restartCount": 0, "state": {"running": {}}}
    answers = {
        "addresses": [{"type": "Hostname", "address": namespace}],
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": namespace}, "status": answers}
    pods = [
        {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, "annotations": {kubelets.ANNOTATION: text}},
            "spec": {"nodeName": namespace, "containers": [{"name": "app", "image": "a"}]},
            "status": {"phase": "Running", "containerStatuses": [status]},
        }
        for name, text in LOGS.items()
    ]  # fmt: skip
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": namespace}}
    writer.Writer(scratch.kubeconfig).create_all([[node, account], pods])
    with tools.calling("--kubeconfig", str(scratch.kubeconfig)) as made:
        yield made


@pytest.mark.parametrize("pod", LOGS)
def test_of_a_long_log_the_newest_lines_stay(pod: str, chatty: tools.Call, namespace: str) -> None:
    """An answer that is full, of bytes or of lines, loses old lines and not new ones, and says so."""
    head, lines = parts(tools.text(chatty("kubectl_logs", pod=pod, namespace=namespace, lines=1000)))
    more = "no more fit in an answer; for others give since, container or previous"
    assert head == f"{namespace}/{pod}: the last {len(lines)} lines, {more}"
    assert 300 < len(lines) < 500
    assert lines == LOGS[pod].splitlines()[-len(lines) :]


def test_a_snapshot_has_the_logs_that_were_saved(kubeconfig: Path, tmp_path: Path) -> None:
    """As the cluster had them; of a log that was not saved it says that."""
    (pod, *_) = pods(kubeconfig, "orders")
    out = tmp_path / "saved"
    commands.run("snapshot", str(out), "--logs", "20", "--kubeconfig", str(kubeconfig)).check_returncode()
    printed = tools.typed_by_kubectl(kubeconfig, "logs", "-n", "shop", pod, "--tail", "3").splitlines()
    with tools.calling("--snapshot", str(out)) as call:
        assert parts(tools.text(call("kubectl_logs", pod=pod, namespace="shop", lines=3)))[1] == printed
        told = refused(call, pod=pod, namespace="shop", previous=True)
        assert told == (
            f"shop/{pod} (previous): this saved cluster does not hold the log (cluster.not_captured); "
            "kubectl_describe of the pod has the last words of its containers"
        )
        (double, *_) = pods(kubeconfig, "storefront")
        assert "give container, one of: storefront, proxy" in refused(call, pod=double, namespace="shop")


def test_denied_logs_are_denied(kubeconfig: Path, tmp_path: Path) -> None:
    """The operator's rule stands over the tool, in the words that scripts get."""
    settings = tmp_path / "kubescript.toml"
    settings.write_text('[[denied_resources]]\ngroup = ""\nkind = "Pod"\n')
    with tools.calling("--kubeconfig", str(kubeconfig), "--config", str(settings)) as call:
        result = call("kubectl_logs", pod="orders", namespace="shop")
        assert result.is_error and "policy" in clients.text(result)
        assert not call("kubectl_top_nodes").is_error
