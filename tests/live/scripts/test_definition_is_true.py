"""Each sentence of the tool's definition, by a script that relies on it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import mcp_types
import pytest

from kubescript.cli import demo
from kubescript.toolsets import code
from tests.kit import clients, tokens

Ask = Callable[[str], mcp_types.CallToolResult]
TEXT: Final = Path(code.__file__).with_name("evaluate_script.txt").read_text("utf-8")
POD: Final = "pod = k8s.coreV1().list_namespaced_pod('shop')[0]\n"
CERTIFICATE: Final = "c = k8s.get('certificates.cert-manager.io')[0]\n"
FAILS: Final = """
def fails(read):
    try:
        read()
    except (KeyError, AttributeError) as error:
        return type(error).__name__
"""
DENIED: Final = """
from kubernetes.client import ApiException
try:
    k8s.coreV1().delete_namespaced_pod("a", "shop")
except ApiException as error:
    result = [error.status, error.reason]
result
"""

SENTENCES: Final[dict[str, tuple[str, Any]]] = {
    "below what print() wrote": ("print('first')\n'last'", "first\nlast"),
    "namespace (default namespace)": ("namespace", "default"),
    "ctx (.name, .remaining_ms, .progress(done, total, text))": (
        "ctx.progress(1, 2, 'half')\n[type(ctx.name).__name__, 0 < ctx.remaining_ms <= 30_000, ctx.budget.calls]",
        ["str", True, 1000],
    ),
    'quantity("250m") → 0.25': ("quantity('250m')", 0.25),
    '(None and "" give 0)': ("[quantity(None), quantity('')]", [0, 0]),
    "age(obj) → timedelta that prints like 3d4h": (
        f"{POD}[age(pod) > timedelta(minutes=1), f'{{age(timedelta(days=3, hours=4))}}']",
        [True, "3d4h"],
    ),
    "table(rows) → aligned text": ("table([{'a': 1, 'bb': 'x'}])", "a  bb\n1  x"),
    'key: "spec.replicas", a column number or a function': (
        ("d = k8s.appsV1().list_deployment_for_all_namespaces()\n"
        "[top(d, 'spec.replicas', 1)[0].spec.replicas == max(x.spec.replicas for x in d),"
        " top([['a', 1], ['b', 2]], 1, 1), top([1, 2], lambda x: -x, 1)]"),
        [True, [["b", 2]], [1]],
    ),
    "k8s.coreV1(), appsV1(), batchV1(), networkingV1(), rbacV1(), discoveryV1()": (
        ("[len(each) >= 0 for each in (k8s.coreV1().list_node(), k8s.appsV1().list_deployment_for_all_namespaces(),"
        " k8s.batchV1().list_job_for_all_namespaces(), k8s.networkingV1().list_ingress_for_all_namespaces(),"
        " k8s.rbacV1().list_cluster_role(), k8s.discoveryV1().list_endpoint_slice_for_all_namespaces())]"),
        [True] * 6,
    ),
    "k8s.metricsV1beta1(): list_node_metrics(), list_pod_metrics_for_all_namespaces()": (
        "m = k8s.metricsV1beta1()\n[len(m.list_node_metrics()) > 1, len(m.list_pod_metrics_for_all_namespaces()) > 1]",
        [True, True],
    ),
    "all optional but the kind": (
        ("[len(k8s.get('pods')) > len(k8s.get('pods', namespace='shop')) > 0,"
        " k8s.get('deployments', 'storefront', namespace='shop').metadata.name,"
        " len(k8s.get('pods', label_selector='app=none'))]"),
        [True, "storefront", 0],
    ),
    "k8s.discovery(): api_resources(), groups()": (
        "d = k8s.discovery()\n[any(r.name == 'pods' for r in d.api_resources()), len(d.groups()) > 1]",
        [True, True],
    ),
    "a failed one gives its ApiException in place": (
        "r = k8s.parallel([lambda: k8s.coreV1().read_node('none'), lambda: 7])\n[r[0].status, r[1]]",
        [404, 7],
    ),
    'k8s.explain("deployment.spec.strategy"), k8s.search("token review") and help(method) explain': (
        "help(k8s.coreV1().list_node)\n[len(k8s.explain('deployment.spec.strategy')) > 9, len(k8s.search('token review')) > 9]",
        ...,
    ),
    "`from kubernetes import client, config, watch` works too": (
        "from kubernetes import client, config, watch\nconfig.load_kube_config()\nlen(client.CoreV1Api().list_node()) > 0",
        True,
    ),
    "no async/await, no threads (concurrent.futures works)": (
        "from concurrent.futures import ThreadPoolExecutor\nlist(ThreadPoolExecutor().map(lambda n: n + 1, [1]))",
        [2],
    ),
    'pod.status.pod_ip, pod.status.podIP and pod["status"]["podIP"] all work': (
        f"{POD}pod.status.pod_ip == pod.status.podIP == pod['status']['podIP'] != None",
        True,
    ),
    "Missing fields are None (`x.ready_replicas or 0`), missing lists and maps empty": (
        (f"{POD}{CERTIFICATE}[pod.metadata.deletion_timestamp, pod['metadata']['deletionTimestamp'], c.status.none,"
        " len(pod.spec.image_pull_secrets), len(pod.spec.node_selector)]"),
        [None, None, None, 0, 0],
    ),
    "but a missing key of labels, annotations or data, or of a custom object by [...], raises: use .get(key)": (
        (f"{POD}{CERTIFICATE}{FAILS}[fails(lambda: pod.metadata.labels['none']), fails(lambda: pod.metadata.labels.none),"
        " pod.metadata.labels.get('none'), fails(lambda: c['spec']['none']), c['spec'].get('none')]"),
        ["KeyError", "AttributeError", None, "KeyError", None],
    ),
    "snake_case times (.creation_timestamp) are aware UTC datetimes; .creationTimestamp and [...] are ISO text": (
        (f"{POD}m = pod.metadata\n[str(m.creation_timestamp.tzinfo), type(m.creationTimestamp).__name__,"
        " type(m['creationTimestamp']).__name__, m['creation_timestamp'] == m.creationTimestamp]"),
        ["UTC", "str", "str", True],
    ),
    "Lists iterate directly and are whole; no paging": (
        "pods = k8s.coreV1().list_pod_for_all_namespaces()\n[len([p for p in pods]) == len(pods.items) > 100, pods.metadata._continue]",
        [True, None],
    ),
    "Failed and denied calls raise ApiException (.status, .reason)": (DENIED, [403, "Forbidden"]),
    "Most of the stdlib is there": ("import re, json, math, statistics, itertools, datetime, ipaddress\n1", 1),
}  # fmt: skip


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    with clients.asking("--snapshot", str(demo.SNAPSHOT)) as asked:
        yield asked


@pytest.mark.parametrize("sentence", SENTENCES)
def test_what_the_definition_says_is_so(sentence: str, ask: Ask) -> None:
    """The words are in the definition, and a script that takes them at their word gets what they promise."""
    assert sentence in TEXT
    script, expected = SENTENCES[sentence]
    result = ask(script)
    assert not result.is_error, clients.whole(result)
    text = clients.text(result).partition("\n[")[0] if expected is not ... else ""
    if expected is not ...:
        assert (text if isinstance(expected, str) else json.loads(text)) == expected


def test_the_marks_are_as_the_definition_says(ask: Ask) -> None:
    """Text from the cluster stands between them, and a number does not."""
    assert "An answer with text from the cluster stands between [untrusted N] and [end N]" in TEXT
    assert clients.whole(ask(f"{POD}pod.metadata.name")).startswith("[untrusted ")
    assert clients.whole(ask("len(k8s.coreV1().list_node())")).isdigit()


SECRET: Final = {
    "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": {"password": "aHVudGVyMi1jYW5hcnk="},
    "metadata": {"name": "web-tls", "namespace": "shop", "labels": {"app": "web"}},
}  # fmt: skip
SETTINGS: Final = {
    "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "shop"},
    "data": {"password": "hunter2-canary-x9", "also_password": "hunter2-canary-x9"},
}  # fmt: skip
READ: Final = """
from kubernetes.client import ApiException
s = k8s.coreV1().list_namespaced_secret("shop")[0]
told = []
for field in ("data", "string_data", "type"):
    try:
        getattr(s, field)
    except ApiException:
        told.append(field)
m = k8s.coreV1().list_namespaced_config_map("shop")[0].data
[s.metadata.name, s.metadata.labels.app, told, m["password"] == m["also_password"], m["password"][:13]]
"""


def test_secrets_are_as_the_definition_says(tmp_path: Path) -> None:
    """Metadata alone of Secrets, masks elsewhere, equal for equal values."""
    assert "Secrets come as {secrets}; secret values elsewhere are masked" in TEXT
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [SECRET, SETTINGS]}))
    with clients.asking("--snapshot", str(file)) as ask:
        answer = clients.text(ask(READ)).partition("\n[")[0]
        denied = clients.whole(ask("k8s.coreV1().list_namespaced_secret('shop')[0].data"))
    assert denied.startswith("MetadataOnlyError: 403 policy.metadata_only: Secrets") and tokens.count(denied) <= 45
    assert json.loads(answer) == ["web-tls", "web", ["data", "string_data", "type"], True, "\u00abredacted:pas"]
