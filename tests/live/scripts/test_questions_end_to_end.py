"""The main job: a script through a real MCP client reaches a real cluster and its answer comes back.

Every question is asked over stdio and HTTP, of the live API server and of a snapshot of it, and the answer is compared
with one worked out from raw JSON through the official client.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.kit import clients
from tests.kit.controlplane import official_client

Raw = Callable[[str], Any]
Expected = Callable[[Raw], Any]


@pytest.fixture(scope="module")
def saved(kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The live cluster, saved as a user saves it."""
    out = tmp_path_factory.mktemp("snapshot") / "saved"
    command = [clients.KUBESCRIPT, "snapshot", str(out), "--kubeconfig", str(kubeconfig), "--log-level", "warning"]
    subprocess.run(command, check=True, timeout=240)
    return out


@pytest.fixture(scope="module")
def raw(kubeconfig: Path) -> Raw:
    """GET a path through the official client, as plain JSON."""
    api = official_client.connect(kubeconfig)

    def get(path: str) -> Any:
        answer = api.call_api("GET", api.configuration.host + path, header_params=_auth(api))
        return json.loads(answer.read() if hasattr(answer, "read") else answer.data)

    return get


def _auth(api: Any) -> dict[str, str]:
    return {"Accept": "application/json"} | {
        s["key"]: s["value"] for s in api.configuration.auth_settings().values() if s["value"]
    }


PODS = "/api/v1/pods"

RESTARTS = """
pods = k8s.coreV1().list_pod_for_all_namespaces()
rows = [(p.metadata.namespace, p.metadata.name, sum(c.restart_count for c in p.status.container_statuses)) for p in pods]
sorted(r for r in rows if r[2] > 0)
"""


def restarts(raw: Raw) -> object:
    """Pods with restarts."""
    rows = (
        [
            p["metadata"]["namespace"],
            p["metadata"]["name"],
            sum(c["restartCount"] for c in p["status"].get("containerStatuses", [])),
        ]
        for p in raw(PODS)["items"]
    )
    return sorted(row for row in rows if row[2] > 0)


NODES_OF_PODS = """
from collections import defaultdict
core = k8s.coreV1()
ready = {n["metadata"]["name"]: next(c["status"] for c in n["status"]["conditions"] if c["type"] == "Ready") for n in core.list_node().items}
sick = defaultdict(int)
for pod in core.listPodForAllNamespaces().items:
    if ready.get(pod.spec.nodeName, "True") != "True":
        sick[pod.spec.nodeName] += 1
dict(sorted(sick.items()))
"""


def nodes_of_pods(raw: Raw) -> object:
    """Pods on nodes that are not ready, per node."""
    sick = {
        n["metadata"]["name"]
        for n in raw("/api/v1/nodes")["items"]
        if any(c["type"] == "Ready" and c["status"] != "True" for c in n["status"]["conditions"])
    }
    names = [p["spec"].get("nodeName") for p in raw(PODS)["items"]]
    return {name: names.count(name) for name in sorted(sick) if name in names}


WITHOUT_LIMITS = """
from kubernetes import client, config
config.load_kube_config()
found = []
for d in client.AppsV1Api().list_deployment_for_all_namespaces().items:
    for c in d.spec.template.spec.containers:
        if c.resources is None or not c.resources.limits:
            found.append(f"{d.metadata.namespace}/{d.metadata.name}:{c.name}")
sorted(found)
"""


def without_limits(raw: Raw) -> object:
    """Containers of deployments that have no limits."""
    return sorted(
        f"{d['metadata']['namespace']}/{d['metadata']['name']}:{c['name']}"
        for d in raw("/apis/apps/v1/deployments")["items"]
        for c in d["spec"]["template"]["spec"]["containers"]
        if not c.get("resources", {}).get("limits")
    )


CERTIFICATES = """
certs = k8s.dynamic().resources.get(api_version="cert-manager.io/v1", kind="Certificate").get()
sorted(c.metadata.name for c in certs.items if any(x["type"] == "Ready" and x["status"] != "True" for x in c.status.conditions))
"""


def certificates(raw: Raw) -> object:
    """Certificates that are not ready."""
    return sorted(
        c["metadata"]["name"]
        for c in raw("/apis/cert-manager.io/v1/certificates")["items"]
        if any(x["type"] == "Ready" and x["status"] != "True" for x in c["status"]["conditions"])
    )


NODE_METRICS = "{m.metadata.name: m.usage['memory'] for m in k8s.metricsV1beta1().list_node_metrics()}"


def node_metrics(raw: Raw) -> object:
    """Memory in use per node."""
    return {m["metadata"]["name"]: m["usage"]["memory"] for m in raw("/apis/metrics.k8s.io/v1beta1/nodes")["items"]}


GROUPS = "sorted(g.name for g in k8s.discovery().groups() if g.name)"


def groups(raw: Raw) -> object:
    """Names of the API groups."""
    return sorted(g["name"] for g in raw("/apis")["groups"])


SELECTED = """
pods = k8s.coreV1().list_namespaced_pod("shop", label_selector="app in (cart,checkout)", field_selector="status.phase=Running")
sorted(p.metadata.name for p in pods)
"""


def selected(raw: Raw) -> object:
    """What two selectors leave."""
    items = raw(
        "/api/v1/namespaces/shop/pods?labelSelector=app%20in%20(cart,checkout)&fieldSelector=status.phase%3DRunning"
    )["items"]
    return sorted(p["metadata"]["name"] for p in items)


MISSING_SECRETS = """
there = {(s.metadata.namespace, s.metadata.name) for s in k8s.coreV1().list_secret_for_all_namespaces()}
missing = set()
for p in k8s.coreV1().list_pod_for_all_namespaces():
    for c in p.spec.containers:
        for e in c.env or []:
            ref = e.value_from and e.value_from.secret_key_ref
            if ref and (p.metadata.namespace, ref.name) not in there:
                missing.add((p.metadata.namespace, p.metadata.name, ref.name))
sorted(missing)
"""


def missing_secrets(raw: Raw) -> object:
    """Pods that refer to a Secret that does not exist."""
    there = {(s["metadata"]["namespace"], s["metadata"]["name"]) for s in raw("/api/v1/secrets")["items"]}
    found = set()
    for pod in raw(PODS)["items"]:
        space = pod["metadata"]["namespace"]
        for variable in (each for c in pod["spec"]["containers"] for each in c.get("env", ())):
            name = variable.get("valueFrom", {}).get("secretKeyRef", {}).get("name")
            if name and (space, name) not in there:
                found.add((space, pod["metadata"]["name"], name))
    return [list(each) for each in sorted(found)]


PENDING_RELEASES = """
found = k8s.coreV1().list_secret_for_all_namespaces(label_selector="owner=helm,status in (pending-install,pending-upgrade)")
[[s.metadata.namespace, s.metadata.labels["name"], s.metadata.labels["status"]] for s in found]
"""


def pending_releases(raw: Raw) -> object:
    """Helm releases that hang."""
    found = []
    for secret in raw("/api/v1/secrets")["items"]:
        labels = secret["metadata"].get("labels", {})
        if labels.get("owner") == "helm" and labels["status"].startswith("pending"):
            found.append([secret["metadata"]["namespace"], labels["name"], labels["status"]])
    return found


WITHOUT_TLS = """
names = {(s.metadata.namespace, s.metadata.name) for s in k8s.get("secrets")}
sorted(
    [i.metadata.namespace, i.metadata.name]
    for i in k8s.networkingV1().list_ingress_for_all_namespaces()
    if not all((i.metadata.namespace, t.secret_name) in names for t in i.spec.tls or [])
)
"""


def without_tls(raw: Raw) -> object:
    """Ingresses whose TLS Secret does not exist."""
    there = {(s["metadata"]["namespace"], s["metadata"]["name"]) for s in raw("/api/v1/secrets")["items"]}
    found = []
    for ingress in raw("/apis/networking.k8s.io/v1/ingresses")["items"]:
        space, tls = ingress["metadata"]["namespace"], ingress["spec"].get("tls", ())
        if not all((space, each["secretName"]) in there for each in tls):
            found.append([space, ingress["metadata"]["name"]])
    return sorted(found)


QUESTIONS: dict[str, tuple[str, Expected]] = {
    "pods with restarts": (RESTARTS, restarts),
    "pods joined with nodes": (NODES_OF_PODS, nodes_of_pods),
    "deployments lacking limits": (WITHOUT_LIMITS, without_limits),
    "a custom resource": (CERTIFICATES, certificates),
    "node metrics": (NODE_METRICS, node_metrics),
    "API groups": (GROUPS, groups),
    "label and field selectors": (SELECTED, selected),
    "pods whose Secret is missing": (MISSING_SECRETS, missing_secrets),
    "Helm releases that hang": (PENDING_RELEASES, pending_releases),
    "ingresses without their TLS Secret": (WITHOUT_TLS, without_tls),
}


@pytest.mark.parametrize("transport", clients.TRANSPORTS)
@pytest.mark.parametrize("source", ["live", "snapshot"])
def test_scripts_answer_like_the_official_client(
    transport: str, source: str, kubeconfig: Path, saved: Path, raw: Raw
) -> None:
    """Ten questions, each with the answer that the official client gives, on every transport and both kinds of
    cluster."""
    flags = ["--kubeconfig", str(kubeconfig)] if source == "live" else ["--snapshot", str(saved)]

    async def ask() -> None:
        async with clients.connect(transport, flags) as client:
            for question, (script, expected) in QUESTIONS.items():
                result = await clients.evaluate(client, script)
                assert not result.is_error, (question, clients.text(result))
                wanted = expected(raw)
                if (
                    source == "snapshot" and question == "API groups"
                ):  # a snapshot knows the groups it has objects of, and more
                    assert set(json.loads(clients.text(result))) <= set(wanted)
                    continue
                assert json.loads(clients.text(result)) == wanted, question
                assert wanted, question

    anyio.run(ask)


SECRETS = {
    "core client": "k8s.coreV1().list_secret_for_all_namespaces()",
    "one secret": "k8s.coreV1().read_namespaced_secret('db', 'shop')",
    "dynamic client": "k8s.dynamic().resources.get(api_version='v1', kind='Secret').get(namespace='shop')",
    "custom objects": "k8s.customObjects().list_cluster_custom_object('', 'v1', 'secrets')",
    "virtual module": "from kubernetes import client\nclient.CoreV1Api().list_namespaced_secret('shop')",
    "service account token": "k8s.coreV1().create_namespaced_service_account_token('default', 'shop', {'spec': {}})",
}


@pytest.mark.parametrize("source", ["live", "snapshot"])
def test_secrets_are_refused_by_every_path(source: str, kubeconfig: Path, saved: Path, tmp_path: Path) -> None:
    """Where a rule serves nothing of them, Secrets are denied through each client, caught or not; the answer says so,
    and the next question is answered."""
    rules = tmp_path / "rules.toml"
    rules.write_text('denied_resources = [{group = "", kind = "Secret"}]\n')
    flags = ["--kubeconfig", str(kubeconfig)] if source == "live" else ["--snapshot", str(saved)]
    flags += ["--config", str(rules)]

    async def ask() -> None:
        async with clients.connect("memory", flags) as client:
            for path, script in SECRETS.items():
                result = await clients.evaluate(client, script)
                assert result.is_error, path
                assert "hunter2" not in clients.text(result)
                *imports, last = script.split("\n")
                swallowed = "\n".join([*imports, f"try:\n    x = {last}\nexcept Exception as error:\n    x = []\nx"])
                noted = await clients.evaluate(client, swallowed)
                if path != "custom objects":  # the official client's own empty-group path is no API path at all
                    assert "denied" in clients.text(result), (path, clients.text(result))
                    assert "denied" in clients.text(noted), (path, clients.text(noted))
            assert clients.text(await clients.evaluate(client, "len(k8s.coreV1().list_node())")) == "6"

    anyio.run(ask)


METADATA = {
    "core client": "k8s.coreV1().list_namespaced_secret('shop', field_selector='metadata.name=cart-db')[0]",
    "one secret": "k8s.coreV1().read_namespaced_secret('cart-db', 'shop')",
    "dynamic client": "k8s.dynamic().resources.get(api_version='v1', kind='Secret').get('cart-db', 'shop')",
    "watch": "next(e['object'] for e in watch.Watch().stream(k8s.coreV1().list_namespaced_secret, 'shop') if e['object'].metadata.name == 'cart-db')",
    "kubectl style": "k8s.get('secret', 'cart-db', 'shop')",
}  # fmt: skip


@pytest.mark.parametrize("source", ["live", "snapshot"])
def test_secrets_are_metadata_by_every_path(source: str, kubeconfig: Path, saved: Path) -> None:
    """Each client sees the name of a Secret and when it was made; its values, keys and type are withheld, and say so."""
    flags = ["--kubeconfig", str(kubeconfig)] if source == "live" else ["--snapshot", str(saved)]

    async def ask() -> None:
        async with clients.connect("memory", flags) as client:
            for path, script in METADATA.items():
                start = f"from kubernetes import watch\ns = {script}\n"
                shown = clients.text(
                    await clients.evaluate(client, f"{start}[s.kind, s.metadata.name, age(s) != '', s]")
                )
                assert json.loads(shown)[:3] == ["Secret", "cart-db", True], (path, shown)
                assert "password" not in shown and "Opaque" not in shown, (path, shown)
                for field in ("data", "type"):
                    withheld = await clients.evaluate(client, f"{start}s.{field}")
                    assert withheld.is_error and "Secrets are served as metadata" in clients.text(withheld), path
            assert clients.text(await clients.evaluate(client, "len(k8s.coreV1().list_node())")) == "6"

    anyio.run(ask)
