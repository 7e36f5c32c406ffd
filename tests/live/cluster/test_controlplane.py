"""The control plane that other tests rely on keeps its own promises."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from kubescript_safety.controlplane import build
from tests.kit import patience, pids
from tests.kit.controlplane import bulk, official_client, writer
from tests.kit.controlplane.fixture import facts
from tests.kit.controlplane.server import ControlPlane, StartError

pytestmark = pytest.mark.cluster

STARTS_AND_WAITS = """
import time
from tests.kit.controlplane.server import ControlPlane
with ControlPlane() as plane:
    print(plane.folder, *plane.pids(), flush=True)
    time.sleep(1000)
"""


def core(kubeconfig: Path) -> Any:
    return client.CoreV1Api(official_client.connect(kubeconfig))


def test_it_is_the_pinned_version(control_plane: ControlPlane) -> None:
    """The server is ready and says the version that go.mod pins."""
    assert control_plane.ready()
    api: Any = client.VersionApi(official_client.connect(control_plane.kubeconfig))
    assert api.get_code().git_version == build.version()


def test_keys_are_private(control_plane: ControlPlane) -> None:
    """No other user of the machine can read a kubeconfig, a key, or reach the store."""
    assert stat.S_IMODE(control_plane.folder.stat().st_mode) == 0o700
    for file in [control_plane.kubeconfig, *control_plane.folder.glob("*.key")]:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


def test_rbac_holds_for_other_users(control_plane: ControlPlane) -> None:
    """A user without a binding may do nothing."""
    guest = core(control_plane.kubeconfig_for("guest", ("visitors",)))
    with pytest.raises(client.ApiException) as refusal:
        guest.list_namespaced_secret("default")
    assert refusal.value.status == 403


def test_restart_keeps_data(own_plane: ControlPlane) -> None:
    """After a stop and after a crash the server has the same address, certificates and objects."""
    api = core(own_plane.kubeconfig)
    api.create_namespaced_config_map("default", {"metadata": {"name": "kept"}, "data": {"key": "value"}})
    for end in (own_plane.stop, own_plane.kill):
        end()
        assert not own_plane.ready()
        own_plane.start()
        assert api.read_namespaced_config_map("kept", "default").data == {"key": "value"}


def test_nothing_is_left_after_exit() -> None:
    """When the context ends, processes and files are gone."""
    with ControlPlane() as plane:
        processes = plane.pids()
        assert len(processes) == 2 and all(map(pids.is_alive, processes))
    assert not any(map(pids.is_alive, processes))
    assert not plane.folder.exists()


def test_nothing_is_left_after_the_parent_was_killed() -> None:
    """Even SIGKILL, which nobody can handle, leaves no process behind."""
    parent = subprocess.Popen([sys.executable, "-c", STARTS_AND_WAITS], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    folder, *words = parent.stdout.readline().split()
    os.kill(parent.pid, signal.SIGKILL)
    parent.communicate()
    patience.until(lambda: not any(pids.is_alive(int(word)) for word in words))
    subprocess.run(["rm", "-r", "--", folder], check=True)


def test_a_failed_start_shows_why() -> None:
    """When a program refuses to run, the error has the end of its log, and nothing is left."""
    plane = ControlPlane(flags=("--no-such-flag",))
    with pytest.raises(StartError, match="unknown flag: --no-such-flag"):
        plane.__enter__()
    assert not plane.pids() and not plane.folder.exists()


def test_fixture_has_the_pods_it_says(kubeconfig: Path) -> None:
    """The official client finds as many pods in each namespace and state as the table of apps says."""
    pods = core(kubeconfig).list_pod_for_all_namespaces().items
    pods = [pod for pod in pods if pod.metadata.namespace in facts.NAMESPACES]
    assert Counter(pod.metadata.namespace for pod in pods) == facts.pods_by_namespace()
    assert len(pods) == facts.PODS
    states, told = Counter(state_of(pod) for pod in pods), facts.pods_by_state()
    told["running"] += told.pop("not-ready")
    assert states == told


def state_of(pod: Any) -> str:
    """The state as a person reads it off `kubectl get pods`, found without the fixture's own code."""
    if pod.metadata.deletion_timestamp:
        return "terminating"
    waiting = {s.state.waiting.reason for s in pod.status.container_statuses or () if s.state.waiting}
    if "CrashLoopBackOff" in waiting:
        reason = pod.status.container_statuses[0].last_state.terminated.reason
        return "crash-oom" if reason == "OOMKilled" else "crash-error"
    by_reason = {"ImagePullBackOff": "image-pull", "ContainerCreating": "creating", "PodInitializing": "init-error"}
    if waiting:
        return by_reason[waiting.pop()]
    if pod.status.reason == "Evicted":
        return "evicted"
    names = {"Running": "running", "Pending": "unschedulable", "Succeeded": "completed", "Failed": "failed"}
    return names[pod.status.phase]


def test_fixture_has_the_faults_it_says(kubeconfig: Path) -> None:
    """Broken nodes, deployments, services and bindings are those that the facts name."""
    connection = official_client.connect(kubeconfig)
    nodes = core(kubeconfig).list_node().items
    ready = {n.metadata.name for n in nodes for c in n.status.conditions if (c.type, c.status) == ("Ready", "True")}
    assert (len(nodes), {n.metadata.name for n in nodes} - ready) == (facts.NODES, {facts.NODE_NOT_READY})
    apps: Any = client.AppsV1Api(connection)
    deployments = apps.list_deployment_for_all_namespaces().items
    degraded = {(d.metadata.namespace, d.metadata.name) for d in deployments if d.status.unavailable_replicas}
    assert degraded == facts.DEGRADED_DEPLOYMENTS
    rbac: Any = client.RbacAuthorizationV1Api(connection)
    binding = rbac.read_cluster_role_binding(facts.BROAD_BINDING)
    assert binding.role_ref.name == "cluster-admin"
    discovery: Any = client.DiscoveryV1Api(connection)
    slices = discovery.list_namespaced_endpoint_slice(facts.DEAD_SERVICE[0]).items
    without = {s.metadata.labels["kubernetes.io/service-name"] for s in slices if not s.endpoints}
    assert without == {facts.DEAD_SERVICE[1]}


def test_pods_belong_to_what_runs_them(kubeconfig: Path) -> None:
    """Every owner that a pod names exists, with the same uid."""
    connection = official_client.connect(kubeconfig)
    apps: Any = client.AppsV1Api(connection)
    batch: Any = client.BatchV1Api(connection)
    listed = (
        apps.list_replica_set_for_all_namespaces(), apps.list_stateful_set_for_all_namespaces(),
        apps.list_daemon_set_for_all_namespaces(), batch.list_job_for_all_namespaces(), core(kubeconfig).list_node(),
    )  # fmt: skip
    owners = {owner.metadata.uid for kind in listed for owner in kind.items}
    for pod in core(kubeconfig).list_pod_for_all_namespaces().items:
        assert {reference.uid for reference in pod.metadata.owner_references or ()} <= owners, pod.metadata.name


def test_usage_is_served_as_by_metrics_server(kubeconfig: Path) -> None:
    """Node usage is at the usual path, except for the node that does not answer."""
    api: Any = client.CustomObjectsApi(official_client.connect(kubeconfig))
    listed = api.list_cluster_custom_object("metrics.k8s.io", "v1beta1", "nodes")
    names = {item["metadata"]["name"] for item in listed["items"]}
    assert listed["kind"] == "NodeMetricsList"
    assert len(names) == facts.NODES - 1 and facts.NODE_NOT_READY not in names


def test_bulk_pods_are_large() -> None:
    """Each pod of the bulk load has at least 9 KB as served, and the restarts it should have."""
    with ControlPlane() as plane:  # one of its own: other tests count the pods of the shared one
        bulk.load(plane.kubeconfig, 20)
        api = core(plane.kubeconfig)
        served = api.list_namespaced_pod(bulk.NAMESPACE, _preload_content=False).data
        pods = api.list_namespaced_pod(bulk.NAMESPACE).items
    assert len(served) >= 20 * 9_000
    assert [p.status.container_statuses[0].restart_count for p in pods] == [
        bulk.restarts(int(p.metadata.labels["index"])) for p in pods
    ]


@pytest.mark.parametrize(
    ("kind", "resource"),
    [("Pod", "pods"), ("Ingress", "ingresses"), ("NetworkPolicy", "networkpolicies"), ("PodMetrics", "pods")],
)
def test_resource_of_a_kind(kind: str, resource: str) -> None:
    """The writer knows the resource of each kind it writes."""
    assert writer.plural(kind) == resource
