"""Each supported version of Kubernetes serves what kubescript relies on, by the recorded discovery of its release; what
it does not serve is said to be so."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import mcp_types
import mcp_types.version
import pytest

from kubescript.guest.sdk.values import operations
from tests.kit import api_server, clients, tools
from tests.kit.discovery import api_server as recorded_server
from tests.kit.discovery import recording


class Cluster(NamedTuple):
    """A cluster of a version, asked through a kubescript server."""

    version: str
    ask: Callable[[str], mcp_types.CallToolResult]

    def value(self, script: str) -> Any:
        """The result of a script that returns a list or a dict."""
        return json.loads(tools.text(self.ask(script)).splitlines()[0])


@pytest.fixture(scope="module", params=recording.versions())
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder: Path = tmp_path_factory.mktemp("cluster")
    with recorded_server.serving(request.param) as url:
        kubeconfig = api_server.kubeconfig(folder, url)
        with clients.asking("--kubeconfig", str(kubeconfig), transport="memory") as ask:
            yield Cluster(request.param, ask)


RELIED_ON: Final = {
    "v1": {
        "pods": "get list watch", "pods/log": "get", "pods/status": "get", "pods/eviction": "create",
        "nodes": "get list", "namespaces": "get list", "events": "list", "secrets": "get list",
        "configmaps": "get list", "services": "get list", "serviceaccounts": "get", "resourcequotas": "list",
        "persistentvolumeclaims": "get list", "replicationcontrollers/scale": "get patch",
    },
    "apps/v1": {
        "deployments": "get list patch", "deployments/scale": "get patch", "deployments/status": "get",
        "statefulsets": "get list patch", "statefulsets/scale": "get patch",
        "replicasets": "get list", "replicasets/scale": "get patch",
        "daemonsets": "get list patch", "controllerrevisions": "list",
    },
    "batch/v1": {"jobs": "get list", "cronjobs": "get list"},
    "autoscaling/v2": {"horizontalpodautoscalers": "get list patch"},
    "policy/v1": {"poddisruptionbudgets": "list"},
    "discovery.k8s.io/v1": {"endpointslices": "list"},
    "networking.k8s.io/v1": {"ingresses": "list", "networkpolicies": "list"},
    "rbac.authorization.k8s.io/v1": {"roles": "get", "clusterroles": "get", "rolebindings": "list"},
    "authentication.k8s.io/v1": {"selfsubjectreviews": "create", "tokenreviews": "create"},
    "authorization.k8s.io/v1": {"selfsubjectaccessreviews": "create", "selfsubjectrulesreviews": "create"},
    "apiextensions.k8s.io/v1": {"customresourcedefinitions": "list"},
}  # fmt: skip
"""Group version ▶ resource ▶ the verbs that tools, plans, the doctor and logins use."""


@pytest.mark.parametrize("version", recording.versions())
def test_what_kubescript_relies_on_is_served(version: str) -> None:
    """Without alpha and beta versions, which clusters do not serve by default."""
    served = recording.served(version)
    for group_version, resources in RELIED_ON.items():
        verbs = {entry["name"]: entry["verbs"] for entry in served[group_version]}
        for resource, wanted in resources.items():
            assert set(wanted.split()) <= set(verbs[resource]), f"{group_version} {resource}"


def _lists() -> dict[str, dict[str, str]]:
    """Class of the SDK ▶ each method that lists a kind of the whole cluster ▶ its path."""
    found: dict[str, dict[str, str]] = {}
    for api in operations.apis():
        for name in operations.operations(api):
            operation = operations.operation(api, name)
            if name.startswith("list_") and operation.verb == "GET" and "{" not in operation.path:
                found.setdefault(api, {})[name] = operation.path
    return found


LISTS: Final = """
from kubernetes import client
answers = {{}}
for api, methods in {methods}.items():
    for method in methods:
        try:
            answers[f"{{api}}.{{method}}"] = len(getattr(getattr(client, api)(), method)().items)
        except ApiException as error:
            answers[f"{{api}}.{{method}}"] = error.message
answers
"""
NOT_SERVED: Final = "the cluster serves no such kind; k8s.search('words') or k8s.discovery().api_resources() finds it"


def test_every_list_is_answered_or_said_to_be_absent(cluster: Cluster) -> None:
    """A method of the SDK whose kind this version does not serve says so; all others work."""
    lists = _lists()
    methods = {api: list(paths) for api, paths in lists.items()}
    answers = cluster.value(LISTS.format(methods=methods))
    served = {
        f"{version}/{entry['name']}"
        for version, entries in recording.served(cluster.version).items()
        for entry in entries
    }
    expected = {}
    for api, paths in lists.items():
        for method, path in paths.items():
            is_served = path.removeprefix("/apis/").removeprefix("/api/") in served
            expected[f"{api}.{method}"] = 0 if is_served else NOT_SERVED
    assert answers == expected
    assert list(expected.values()).count(0) > 45


KINDS: Final = """
names = ("deploy", "hpa", "pdb", "endpointslices", "Lease", "clusterroles.rbac.authorization.k8s.io")
lists = [len(k8s.get(name)) for name in names]
[k8s.discovery().server_version().git_version, lists, str(k8s.search("evict pod")), str(k8s.explain("hpa.spec.metrics"))]
"""


def test_kinds_are_found_in_the_versions_discovery(cluster: Cluster) -> None:
    """By the names that kubectl accepts, by search and by explain; a kind that comes in a later version is not found, and
    the next call works."""
    version, lists, found, explained = cluster.value(KINDS)
    assert version == cluster.version and lists == [0] * 6
    assert "create_namespaced_pod_eviction" in found and "autoscaling/v2" in explained
    missing = cluster.ask("k8s.get('rollouts.argoproj.io')")
    assert missing.is_error and "group argoproj.io is not served" in clients.whole(missing)
    assert cluster.value("[len(k8s.coreV1().list_node().items)]") == [0]


def test_the_page_of_support_says_what_is_so() -> None:
    """The versions that are recorded, that the protocol's library speaks, and that the package declares."""
    folder = Path(__file__).parents[3]
    page = (folder / "docs" / "support.md").read_text("utf-8")
    minors = [version.removeprefix("v").rpartition(".")[0] for version in recording.versions()]
    assert f"| Kubernetes | {minors[0]} to {minors[-1]} |" in page
    assert f"| MCP | {', '.join(mcp_types.version.SUPPORTED_PROTOCOL_VERSIONS)} |" in page
    project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    found = [each.rpartition(" ")[2] for each in project["classifiers"] if " :: Python :: 3." in each]
    assert f"| Python | {found[0]} to {found[-1]} |" in page
