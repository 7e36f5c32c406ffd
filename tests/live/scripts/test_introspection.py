"""What a script finds out about the cluster and the SDK from inside: help, dir, explain, search; few lines each."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import anyio
import pytest

from kubescript.guest.sdk.values import builtin_kinds, operations
from tests.kit import clients
from tests.kit.sdk_transport import Exchange, cluster

LINES = 25

EXPLAINED: dict[str, tuple[str, ...]] = {
    "'deployment.spec.strategy'": (
        "Deployment.spec.strategy <DeploymentStrategy>, apps/v1\nThe deployment strategy to use to replace existing pods with new ones.\n",
        "\n  rollingUpdate <RollingUpdateDeployment>: ",
        '\n  type <string>: Type of deployment. Can be "Recreate" or "RollingUpdate".',
    ),
    "'pod'": ("Pod <Pod>, v1\n", "\n  spec <PodSpec>: ", "\n  status <PodStatus>: "),
    "'po.spec'": ("Pod.spec <PodSpec>, v1\n", "containers <[]Container>*", "nodeSelector <map[string]string>"),
    "'pods.spec.containers.resources'": ("<ResourceRequirements>", "\n  limits <map[string]Quantity>: "),
    "'Pod.spec.containers[0].ports'": ("<[]ContainerPort>", "\n  containerPort <integer> required: "),
    "'job.spec.back_off_limit'": ("Job.spec.backoffLimit <integer>, batch/v1\n", "Defaults to 6"),
    "'deployments.apps', 'spec', 'replicas'": ("Deployment.spec.replicas <integer>, apps/v1\n",),
    "'hpa.spec.metrics', api_version='autoscaling/v2'": ("HorizontalPodAutoscaler.spec.metrics <[]MetricSpec>, autoscaling/v2",),
    "'node.status.capacity'": ("<map[string]Quantity>",),
    "'service.spec.ports.targetPort'": ("<IntOrString>",),
    "'certificates.cert-manager.io'": ("Certificate <Certificate>, cert-manager.io/v1\n", "metadata <ObjectMeta>"),
    "'widget.spec'": ("Widget.spec <object>, example.com/v1", "\n  size <integer>", "\n  colour <string>"),
    "'widgets.example.com.spec.size'": ("Widget.spec.size <integer>, example.com/v1",),
    "'nodes.metrics.k8s.io'": ("<", "metrics.k8s.io/v1beta1"),
}  # fmt: skip

UNEXPLAINED = {
    "'deployment.spec.stratgy'": "404 Not Found: Deployment.spec has no field 'stratgy'; did you mean 'strategy'?",
    "'deploymnt.spec'": "no kind 'deploymnt'; did you mean 'Deployment'?",
    "'pod.spec.hostname.x'": "Pod.spec.hostname has no field 'x'; it has no fields",
    "'certificate.spec.issuer'": "its schema is open: look at an object, k8s.get(...)[0]",
    "''": "explain() takes a text such as 'deployment.spec.strategy'",
}

FOUND: dict[str, str] = {
    "token review": "k8s.authenticationV1().create_token_review(body)",
    "TokenReview": "k8s.authenticationV1().create_token_review(body)",
    "review token": "k8s.authenticationV1().create_token_review(body)",
    "list deployments": "k8s.appsV1().list_namespaced_deployment(namespace)",
    "listNamespacedPod": "k8s.coreV1().list_namespaced_pod(namespace)",
    "pod logs": "k8s.coreV1().read_namespaced_pod_log(name, namespace)",
    "node metrics": "k8s.metricsV1beta1().list_node_metrics()",
    "certificates cert-manager": "k8s.get('certificates.cert-manager.io', namespace=...)  # Certificate, cert-manager.io/v1",
    "widgets": "k8s.get('widgets.example.com', namespace=...)  # Widget, example.com/v1",
    "restart count": "ContainerStatus.restart_count",
    "ingress class": "k8s.networkingV1().list_ingress_class()",
    "quota": "k8s.coreV1().list_namespaced_resource_quota(namespace)",
}

HELPED: dict[str, tuple[str, ...]] = {
    "help()": ("k8s: the cluster.", "Clients: ", "k8s.explain(", "k8s.search(", "quantity('250m')", "k8s.parallel("),
    "help(k8s)": ("k8s: the cluster.",),
    "help(k8s.coreV1().list_namespaced_pod)": ("list_namespaced_pod(namespace, ", "label_selector=None", "GET /api/v1/namespaces/{namespace}/pods"),
    "help(k8s.get)": ('get(resource, name=None, namespace=None): Like kubectl: `k8s.get("pods", namespace="shop")`',),
    "help(quantity)": ("quantity(value): The exact number behind a quantity",),
    "help(table)": ("table(rows, columns=None, *, tsv=False",),
    "help(top)": ("top(rows, key=None, n=10, *, reverse=False): The n rows",),
    "help(age)": ("age(value): The time since",),
    "help('V1PodStatus')": ("V1PodStatus: ", "pod_ip: str"),
    "help('deployment.spec.replicas')": ("Deployment.spec.replicas <integer>, apps/v1",),
    "help(k8s.coreV1().list_namespaced_pod('shop')[0].status)": ("V1PodStatus: ",),
    "def f(x):\n    'What f does.'\nhelp(f)": ("What f does.",),
    "help(len)": ("Return the number of items in a container.",),
}  # fmt: skip


async def _ask(flags: list[str], scripts: list[str]) -> dict[str, str]:
    async with clients.connect("memory", [*flags, "--log-level", "error"]) as client:
        return {script: clients.text(await clients.evaluate(client, script)) for script in scripts}


def _scripts() -> list[str]:
    explained = [f"k8s.explain({each})" for each in (*EXPLAINED, *UNEXPLAINED)]
    return [*explained, *(f"k8s.search({each!r})" for each in FOUND), *HELPED, "len(dir(k8s))"]


@pytest.fixture(scope="module")
def live(kubeconfig: Path) -> dict[str, str]:
    """What each script answers on the real API server."""
    return anyio.run(_ask, ["--kubeconfig", str(kubeconfig)], _scripts())


@pytest.fixture(scope="module")
def saved(kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """And on a snapshot of it."""
    out = tmp_path_factory.mktemp("snapshot") / "saved"
    subprocess.run(
        [clients.KUBESCRIPT, "snapshot", str(out), "--kubeconfig", str(kubeconfig), "--log-level", "error"], check=True
    )
    return anyio.run(_ask, ["--snapshot", str(out)], _scripts())


@pytest.mark.parametrize("arguments", EXPLAINED)
def test_explain_tells_type_meaning_and_parts(arguments: str, live: dict[str, str]) -> None:
    """From the cluster's own OpenAPI, custom resources and aggregated APIs too, in at most 25 lines."""
    told = live[f"k8s.explain({arguments})"]
    assert all(part in told for part in EXPLAINED[arguments]), told
    assert len(told.splitlines()) <= LINES and max(map(len, told.splitlines())) <= 320


@pytest.mark.parametrize("arguments", UNEXPLAINED)
def test_explain_names_the_nearest(arguments: str, live: dict[str, str]) -> None:
    """A kind or field that does not exist is an error in one line."""
    assert UNEXPLAINED[arguments] in live[f"k8s.explain({arguments})"].splitlines()[0]


@pytest.mark.parametrize(
    "arguments", ["'deployment.spec.strategy'", "'job.spec.back_off_limit'", "'po.spec'", "'widget.spec'"]
)
def test_explain_on_a_snapshot(arguments: str, saved: dict[str, str]) -> None:
    """Types from the bundled models, which is said; custom resources from their definitions; and no complaint below."""
    told = saved[f"k8s.explain({arguments})"]
    title = EXPLAINED[arguments][0].partition("\n")[0].partition(" <")[0]
    assert told.startswith(title), told
    assert "types only: no OpenAPI here" in told or "widget" in arguments
    assert "size <integer>" in told or "widget" not in arguments
    assert "[failed" not in told and "[denied" not in told


@pytest.mark.parametrize("words", FOUND)
def test_search_finds_by_words(words: str, live: dict[str, str]) -> None:
    """Any order, camelCase or snake_case, plural or singular: the best line is there, of at most ten."""
    told = live[f"k8s.search({words!r})"].splitlines()
    assert FOUND[words] in told and len(told) <= 10


@pytest.mark.parametrize("script", HELPED)
def test_help_is_a_few_lines(script: str, live: dict[str, str]) -> None:
    """What one needs to write the next line, no dump."""
    told = live[script]
    assert all(part in told for part in HELPED[script]), told
    assert len(told) < 3_000 and len(told.splitlines()) <= LINES


def test_dir_of_k8s_is_short(live: dict[str, str]) -> None:
    """The clients that have objects, and the functions."""
    assert 30 < json.loads(live["len(dir(k8s))"]) < 80


def test_every_document_is_read_once(kubeconfig: Path) -> None:
    """A megabyte of OpenAPI is fetched for the first field of a group version, and for no other."""
    script = (
        "before = ctx.remaining_ms\nfor f in ('pod', 'pod.spec', 'service.spec', 'node.status'): k8s.explain(f)\n'done'"
    )
    command = [clients.KUBESCRIPT, "run", "-", "--kubeconfig", str(kubeconfig), "--log-level", "debug"]
    done = subprocess.run(command, input=script, capture_output=True, text=True, timeout=240, check=True)
    assert done.stdout == "done\n"
    assert done.stderr.count('"what":"GET /openapi/v3/api/v1"') == 1


def test_a_cluster_without_openapi_is_explained_from_the_models() -> None:
    """Neither a 404 nor a broken document is an error."""
    for answer in ({}, {"openapi/v3/apis/apps/v1": b"{"}, {"openapi/v3/apis/apps/v1": Exchange(b"no", 503)}):
        k8s, _ = cluster(answer)
        assert k8s.explain("deployment.spec.strategy").splitlines() == [
            "Deployment.spec.strategy <DeploymentStrategy>, apps/v1 (types only: no OpenAPI here)",
            "  rollingUpdate <RollingUpdateDeployment>",
            "  type <string>",
        ]


def test_the_catalogue_knows_every_built_in_kind() -> None:
    """Each kind with a read method is found by its plural, its kind and plural.group."""
    for kind in builtin_kinds.kinds():
        for name in (kind.plural, kind.kind, f"{kind.plural}.{kind.group}".rstrip(".")):
            found: Any = builtin_kinds.find(name)
            assert found is not None and found.plural == kind.plural, (name, found)
    assert {"pods", "deployments", "events", "ingresses", "cronjobs"} <= {kind.plural for kind in builtin_kinds.kinds()}
    assert all(kind.model in operations.models() for kind in builtin_kinds.kinds())
