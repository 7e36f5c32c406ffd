"""The chart as Helm installs it on a real cluster, in a namespace that takes restricted pods only: the real scheduler and
controllers act on what it makes, and simulated kubelets run its pods."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from kubescript_safety.controlplane import build, child, commands, live
from tests.kit import chart, helm, patience

_QUIET: Final = frozenset({"events", "events.events.k8s.io", "leases.coordination.k8s.io", "componentstatuses"})
"""What the cluster itself writes all the time."""
_ALL: Final[dict[str, Any]] = {
    "replicas": 3,
    "config": {
        "http": {"url": "https://kubescript.example.com/mcp", "stateless": True},
        "fleet": {"source": "secrets", "label_selector": "kubescript.io/cluster=true"},
        "auth": {"token_review": True},
    },
    "tls": {"secret": "kubescript-tls"},
    "store": {"secret": "kubescript"},
    "metrics": dict.fromkeys(("enabled", "serviceMonitor", "prometheusRule", "dashboard", "alerts"), True),
    "ingress": {"enabled": True},
    "httpRoute": {"parentRefs": [{"name": "public"}]},
}
"""Everything that the chart can make at once."""


class Installed:
    """A namespace for restricted pods."""

    def __init__(self, cluster: live.Cluster, kubectl: chart.Kubectl, home: Path) -> None:
        self._kubectl, self._home = kubectl, home
        self._place = cluster.plane.kubeconfig, home
        self.namespace = f"chart-{secrets.token_hex(3)}"
        metadata = {"name": self.namespace, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}
        self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        # The simulated kubelets start no pod whose Secrets are not there.
        for name in ("kubescript", "kubescript-tls"):
            secret = {
                "metadata": {"name": name, "namespace": self.namespace},
                "stringData": {"store": "postgresql://a"},
            }
            self.apply({"apiVersion": "v1", "kind": "Secret", **secret})

    def apply(self, *objects: dict[str, Any]) -> None:
        """Creates objects."""
        self._kubectl("create", "--filename=-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def get(self, *words: str) -> Any:
        """What kubectl says of objects in the namespace."""
        return json.loads(self._kubectl("get", "--namespace", self.namespace, "--output=json", *words))

    def helm(self, *words: str) -> None:
        """Runs Helm, which waits until pods are ready, or gone; of two equal flags the later one counts."""
        verb, *others = words
        helm.run(*self._place, verb, "--wait", "--namespace", self.namespace, *others)

    def values(self, given: dict[str, Any]) -> tuple[str, str]:
        """The flag for these values."""
        file = self._home / "values.json"
        file.write_text(json.dumps(given))
        return "--values", str(file)

    def listing(self) -> set[str]:
        """All objects of the cluster, of every kind that can be listed."""
        kinds = set(self._kubectl("api-resources", "--verbs=list", "--output=name").split()) - _QUIET
        template = (
            '{{range .items}}{{.apiVersion}} {{.kind}} {{.metadata.namespace}}/{{.metadata.name}}{{"\\n"}}{{end}}'
        )
        found = self._kubectl("get", ",".join(sorted(kinds)), "--all-namespaces", f"--output=go-template={template}")
        return set(found.splitlines())


@pytest.fixture
def installed(live_cluster: live.Cluster, administrator: chart.Kubectl, tmp_path: Path) -> Iterator[Installed]:
    """A namespace, which is gone afterwards."""
    for node in live.NODES:  # as a kubelet does
        administrator("label", "nodes", node, f"kubernetes.io/hostname={node}")
    made = Installed(live_cluster, administrator, tmp_path)
    yield made
    administrator("delete", "namespace", made.namespace)
    administrator("label", "nodes", "--all", "kubernetes.io/hostname-")


@pytest.fixture
def autoscaler(live_cluster: live.Cluster, tmp_path: Path) -> Iterator[None]:
    """Kubernetes' own controller of autoscalers, which other tests do without."""
    plane = live_cluster.plane
    user = plane.kubeconfig_for("autoscaler", ("system:masters",))
    command = commands.controllers(build.programs(build.CONTROLLERS), plane.folder, user)
    only = ["--controllers=horizontal-pod-autoscaler-controller", "--horizontal-pod-autoscaler-sync-period=1s"]
    controller = child.Child([*command, *only], tmp_path / "autoscaler.log")
    controller.start()
    yield
    controller.close()


def check_rolled_out(installed: Installed, replicas: int) -> None:
    """Fails unless so many pods are ready where Service and budget find them."""
    status = installed.get("deployment/kubescript")["status"]
    assert status["readyReplicas"] == status["updatedReplicas"] == replicas

    def settled() -> bool:
        slices = installed.get("endpointslices", "--selector=kubernetes.io/service-name=kubescript")["items"]
        ready = [each for one in slices for each in one["endpoints"] if each["conditions"]["ready"]]
        budget = installed.get("poddisruptionbudget/kubescript")["status"]
        return bool(len(ready) == budget["currentHealthy"] == replicas and budget["disruptionsAllowed"] == 1)

    patience.until(settled, 120)


def test_a_release_comes_changes_and_goes(
    installed: Installed, administrator: chart.Kubectl, custom_resources: None, autoscaler: None
) -> None:
    """Installed with all that the chart makes, upgraded to another version whose autoscaler begins with the pods that are
    there, rolled back, beside a release of the same name elsewhere; uninstalled, it leaves nothing."""
    before = installed.listing()
    installed.helm("install", "kubescript", str(chart.CHART), *installed.values(_ALL))
    check_rolled_out(installed, 3)
    pods = installed.get("pods")["items"]
    assert len({pod["spec"]["nodeName"] for pod in pods}) == len(live.NODES)
    elsewhere = ("--namespace", "default")
    installed.helm("install", "kubescript", str(chart.CHART), "--set", "replicas=0", *elsewhere)
    upgrade = {"autoscaling": {"enabled": True, "minReplicas": 2, "maxReplicas": 4}, "image": {"tag": "0.3.0"}}
    installed.helm("upgrade", "kubescript", str(chart.CHART), *installed.values(_ALL | upgrade))
    patience.until(
        lambda: "kubescript_queue_depth" in json.dumps(installed.get("hpa/kubescript").get("status", {})), 120
    )
    conditions = installed.get("hpa/kubescript")["status"]["conditions"]
    assert ("AbleToScale", "True") in {(each["type"], each["status"]) for each in conditions}
    # Had one pod been left, it would have made two of it: without metrics it goes to its least number, and no further.
    check_rolled_out(installed, 3)
    images = {pod["spec"]["containers"][0]["image"].rpartition(":")[2] for pod in installed.get("pods")["items"]}
    assert images == {"0.3.0"}
    installed.helm("rollback", "kubescript", "1")
    check_rolled_out(installed, 3)
    assert not installed.get("hpa")["items"]
    installed.helm("uninstall", "kubescript", *elsewhere)
    installed.helm("uninstall", "kubescript")
    patience.until(lambda: not installed.listing() - before, 120)


def test_only_restricted_pods_run_there(installed: Installed) -> None:
    """The cluster of these tests refuses a pod that is less confined than the chart's."""
    pod = {
        "metadata": {"name": "loose", "namespace": installed.namespace},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    with pytest.raises(AssertionError, match="must set securityContext"):
        installed.apply({"apiVersion": "v1", "kind": "Pod", **pod})
