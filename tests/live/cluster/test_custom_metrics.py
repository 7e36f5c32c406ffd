"""Custom and external metrics of a real aggregated API: what scripts read by which names, and what stays closed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kit import clients, metrics_adapter, paths, trails
from tests.kit.controlplane import rights
from tests.kit.controlplane.writer import Writer

ROLE = {"apiGroups": ["custom.metrics.k8s.io", "external.metrics.k8s.io"], "resources": ["*"], "verbs": ["get", "list"]}
"""What docs/deploy.md says that an account needs."""
PAGE = (paths.ROOT / "sdk_docs/dynamic.md").read_text("utf-8").split("```python\n")[2].split("```")[0]
CUSTOM = "/apis/custom.metrics.k8s.io/v1beta2"
EXTERNAL = "/apis/external.metrics.k8s.io/v1beta1"


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[metrics_adapter.Adapter]:
    """Two pods and a node with metrics, and an account that may read metrics and nothing else."""
    with metrics_adapter.serving(tmp_path_factory.mktemp("adapter")) as adapter:
        writer = Writer(adapter.plane.kubeconfig)
        pod = {"containers": [{"name": "c", "image": "i"}]}
        for name in ("web-0", "web-1"):
            labels = {"app": "web", "pod": name}
            meta = {"name": name, "namespace": "default", "labels": labels}
            writer.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": pod})
        writer.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-0"}})
        api = "rbac.authorization.k8s.io"
        named = {"metadata": {"name": "metrics"}}
        writer.create({"apiVersion": f"{api}/v1", "kind": "ClusterRole", **named, "rules": [ROLE]})
        subject = {"apiGroup": api, "kind": "User", "name": "reader"}
        role = {"apiGroup": api, "kind": "ClusterRole", "name": "metrics"}
        writer.create(
            {"apiVersion": f"{api}/v1", "kind": "ClusterRoleBinding", **named, "roleRef": role, "subjects": [subject]}
        )
        rights.wait(adapter.plane.kubeconfig, "reader", "get", "pods", group="custom.metrics.k8s.io")
        adapter.write("namespaces/default/pods/web-0/http_requests", "1500m", "verb=get")
        adapter.write("namespaces/default/pods/web-1/http_requests", "7", "verb=post")
        adapter.write("nodes/node-0/heat", "41")
        adapter.write("namespace/default/sales", "12")
        yield adapter


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The audit record."""
    return tmp_path_factory.mktemp("record") / "audit.jsonl"


@pytest.fixture(scope="module")
def ask(adapter: metrics_adapter.Adapter, record: Path) -> Iterator[Callable[[str], str]]:
    """Runs a script with the account's rights; gives the answer's text."""
    key = adapter.plane.kubeconfig_for("reader")
    with clients.asking("--kubeconfig", str(key), "--audit", str(record)) as ask:
        yield lambda script: clients.text(ask(script))


REQUESTS = {"web-0": 1.5, "web-1": 7}
READS = {
    f"k8s.get('{CUSTOM}/namespaces/default/pods/*/http_requests')": REQUESTS,
    f"k8s.get('{CUSTOM}/namespaces/default/pods/*/http_requests?labelSelector=pod=web-1').items": {"web-1": 7},
    f"k8s.get('{CUSTOM}/namespaces/default/pods/*/http_requests?metricLabelSelector=verb%3Dget')": {"web-0": 1.5},
    f"k8s.get('{CUSTOM}/namespaces/default/pods/web-0/http_requests')": {"web-0": 1.5},
    f"k8s.get('{CUSTOM}/nodes/*/heat')": {"node-0": 41},
    f"k8s.get('{CUSTOM}/namespaces/default/metrics/sales')": {"default": 12},
    (
        "k8s.customObjects().get_namespaced_custom_object("
        "'custom.metrics.k8s.io', 'v1beta1', 'default', 'pods', '*/http_requests')['items']"
    ): REQUESTS,
    (
        "k8s.customObjects().list_namespaced_custom_object("
        "'custom.metrics.k8s.io', 'v1beta2', 'default', 'pods/*/http_requests', label_selector='pod=web-0')['items']"
    ): {"web-0": 1.5},
    "k8s.customObjects().list_cluster_custom_object('custom.metrics.k8s.io', 'v1beta2', 'nodes/*/heat')": {
        "node-0": 41
    },
}


def read(ask: Callable[[str], str], found: str) -> Any:
    """The values of a list of metrics, by what they describe."""
    return json.loads(ask(f"{{v.describedObject.name: float(quantity(v.value)) for v in {found}}}"))


@pytest.mark.parametrize("found", READS)
def test_custom_metrics(ask: Callable[[str], str], found: str) -> None:
    """A metric of pods, of one, of nodes and of a namespace is read by its path and as a custom object."""
    assert read(ask, found) == READS[found]


def test_the_lines_of_the_page_run(ask: Callable[[str], str]) -> None:
    """Each of them, for metrics that there are."""
    custom, external = PAGE.replace("/shop/", "/default/").replace("queue_length", "my-external-metric").splitlines()
    assert read(ask, custom) == REQUESTS
    assert json.loads(ask(f"[v.value for v in {external}]")) == ["42", "43"]


def test_external_metrics(ask: Callable[[str], str]) -> None:
    """An external metric is read by its path and as a custom object, and selected by its labels."""
    path = f"{EXTERNAL}/namespaces/default/my-external-metric"
    assert json.loads(ask(f"[v.value for v in k8s.get('{path}')]")) == ["42", "43"]
    assert json.loads(ask(f"[v.value for v in k8s.get('{path}?labelSelector=foo=baz')]")) == ["43"]
    external = "'external.metrics.k8s.io', 'v1beta1', 'default', 'my-external-metric'"
    listed = f"k8s.customObjects().list_namespaced_custom_object({external})"
    assert json.loads(ask(f"[v.value for v in {listed}]")) == ["42", "43"]


REFUSED = {
    f"k8s.get('{CUSTOM}/namespaces/default/pods/web-0')": "this path names no metric; get pods/*/METRIC",
    f"k8s.get('{CUSTOM}/namespaces/default/pod/web-0/http_requests')": "no built-in resource has this name; write the plural",
    f"k8s.get('{CUSTOM}/namespaces/default/pods/web-0/http_requests/more')": "no resource has that many parts",
    f"k8s.get('{CUSTOM}/namespaces/default/pods/web-0/proxy')": "proxy is never available",
    f"k8s.get('{CUSTOM}/namespaces/default/pods/*/http_requests?watchers=1')": "unknown query parameter",
    f"k8s.get('{CUSTOM}/namespaces/default/pods/*/http_requests', namespace='default')": "takes a path alone",
    "k8s.customMetricsV1beta1()": "k8s.get('/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/pods/*/http_requests')",
    (
        "k8s.customObjects().delete_namespaced_custom_object("
        "'custom.metrics.k8s.io', 'v1beta2', 'default', 'pods', 'web-0/http_requests')"
    ): "metrics can only be read",
}


@pytest.mark.parametrize("refused", REFUSED)
def test_what_is_no_read_of_a_metric_is_refused(ask: Callable[[str], str], refused: str) -> None:
    """The refusal says what to write, and the next read works."""
    assert REFUSED[refused] in ask(refused)
    assert read(ask, next(iter(READS))) == REQUESTS


def test_the_role_of_a_record_is_enough(ask: Callable[[str], str], record: Path) -> None:
    """`audit role` grants each metric that was read, of all objects where all were meant."""
    assert read(ask, next(iter(READS))) == REQUESTS
    done = trails.run("audit", "role", str(record))
    assert "pods/http_requests" in done.stdout and "'*'" not in done.stdout, done.stdout + done.stderr
