"""What the classic tools refuse before anything is sent, in which words, and what Kubernetes allows and so passes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from kubescript.cli import demo
from kubescript.toolsets import arguments, classic
from kubescript.wire import messages
from tests.kit import clients, tools, trails

GET: Final = {"resource": "pods"}
HPA: Final = {"hpaName": "web"}
NAME: Final = "Resource name format does not conform to Kubernetes specifications: "
LONG_NAME: Final = "a" * 254

REFUSED: Final[dict[str, tuple[str, dict[str, Any], str]]] = {
    "gke_auth: a region with blanks": (
        "gke_auth", {"cluster": "x", "region": "Europe West"},
        "region is a location such as europe-west1 or europe-west1-b, not Europe West",
    ),
    # Preconditions of a tool.
    "kubectl_get: namespace and all": (
        "kubectl_get", {**GET, "namespace": "shop", "allNamespaces": True},
        "namespace and allNamespaces cannot be used together",
    ),
    "kubectl_get_yaml: namespace and all": (
        "kubectl_get_yaml", {**GET, "namespace": "shop", "allNamespaces": True},
        "namespace and allNamespaces cannot be used together",
    ),
    "kubectl_get: labels twice": (
        "kubectl_get", {**GET, "labels": {"a": "b"}, "labelSelector": "a=b"},
        "give labels or labelSelector, not both",
    ),
    "kubectl_logs: follow": ("kubectl_logs", {"pod": "web", "follow": True}, "follow is disabled for safety; use lines and since"),
    "kubectl_logs: since": (
        "kubectl_logs", {"pod": "web", "since": "1 hour"},
        "since must be a time such as 10s, 30m, 1h or 1h30m, not 1 hour",
    ),
    "kubectl_edit_hpa: no replicas": ("kubectl_edit_hpa", HPA, "give minReplicas, maxReplicas or both"),
    "kubectl_edit_hpa: replicas crossed": (
        "kubectl_edit_hpa", {**HPA, "minReplicas": 5, "maxReplicas": 2},
        "minReplicas (5) cannot be greater than maxReplicas (2)",
    ),
    # Characters and length.
    **{
        f"text: {character!r}": ("kubectl_get", {**GET, "name": f"web{character}x"}, f"Forbidden character: {shown}")
        for character, shown in [*zip(";&|><`$()", ";&|><`$()", strict=True), ("\0", r"\0")]
    },
    "text: a name with a command": ("kubectl_describe", {"resource": "pod", "name": "a; rm -rf /"}, "Forbidden character: ;"),
    "text: NUL in a selector": ("kubectl_get", {**GET, "labelSelector": "a=b\0"}, r"Forbidden character: \0"),
    "text: 1,001 characters": ("kubectl_get", {"resource": "p" * 1001}, "argument `resource` is longer than 1000 characters"),
    "text: 1,001 characters of labels": (
        "kubectl_get", {**GET, "labels": {f"key{number}": "value" for number in range(150)}},
        "argument `labels` is longer than 1000 characters",
    ),
    # Names.
    "name: capitals with a slash": ("kubectl_get", {**GET, "name": "Web/1"}, f"{NAME}Web/1"),
    "name: a dash first": ("kubectl_logs", {"pod": "-web"}, f"{NAME}-web"),
    "name: dots alone": ("kubectl_get", {**GET, "name": ".."}, f"{NAME}.."),
    "name: 254 characters": ("kubectl_get", {**GET, "name": LONG_NAME}, f"{NAME}{LONG_NAME[:63]}"),
    "name: a space": ("helm_status", {"releaseName": "my release"}, f"{NAME}my release"),
    "name: an empty name": ("kubectl_get", {**GET, "name": ""}, NAME.strip()),
    "name: capitals": ("kubectl_describe", {"resource": "Pod", "name": "Web"}, f"{NAME}Web"),
    "name: an underscore": ("kubectl_get", {"resource": "deploy.apps", "name": "web_1"}, f"{NAME}web_1"),
    "name: a colon": ("kubectl_get_yaml", {"resource": "deployments.v1.apps", "name": "system:web"}, f"{NAME}system:web"),
    "name: a label with a dot": ("kubectl_get", {"resource": "svc", "name": "web.shop"}, f"{NAME}web.shop"),
    "name: a label of 64": ("kubectl_get", {"resource": "namespaces", "name": "a" * 64}, f"{NAME}{'a' * 63}"),
    "name: a role with a slash": ("kubectl_get", {"resource": "clusterroles", "name": "system:a/b"}, f"{NAME}system:a/b"),
    "name: a custom object with a slash": ("kubectl_get", {"resource": "webs.example.com", "name": "a/b"}, f"{NAME}a/b"),
    "name: a container": ("kubectl_logs", {"pod": "web", "container": "web.1"}, f"{NAME}web.1"),
    "name: a deployment": ("kubectl_restart_deployment", {"deploymentName": "Web"}, f"{NAME}Web"),
    "name: a release of 54": ("helm_status", {"releaseName": "a" * 54}, f"{NAME}{'a' * 54}"),
    "name: a namespace": ("kubectl_get", {**GET, "namespace": "Shop"}, f"{NAME}namespace Shop"),
    "name: a namespace of 64": ("kubectl_get", {**GET, "namespace": "a" * 64}, f"{NAME}namespace {'a' * 63}"),
    # Clusters that the server does not have, and filters.
    "cluster: no name": ("kubectl_get", {**GET, "cluster": ""}, f"{NAME}cluster"),
    "cluster: a space": ("kubectl_get", {**GET, "cluster": "prod eu"}, f"{NAME}cluster prod eu"),
    "cluster: two dots": ("helm_list", {"cluster": "prod..eu"}, f"{NAME}cluster prod..eu"),
    "cluster: a dash last": ("kubectl_top_nodes", {"cluster": "prod-"}, f"{NAME}cluster prod-"),
    "cluster: 65 characters": ("kubectl_logs", {"pod": "web", "cluster": "c" * 65}, f"{NAME}cluster {'c' * 63}"),
    "cluster: a command": ("gke_auth", {"cluster": "prod;ls"}, "Forbidden character: ;"),
    **{
        f"filter: {character}": ("helm_list", {"filter": f"web{character}"}, f"Forbidden character: {character}")
        for character in ";&<>`"
    },
    # Labels.
    "label key: a key": ("kubectl_get", {**GET, "labelSelector": "a b=c"}, "Invalid label key: a b"),
    "label key: an empty key": ("kubectl_get", {**GET, "labelSelector": "=c"}, "Invalid label key:"),
    "label key: a key of 64": ("kubectl_get", {**GET, "labels": {"k" * 64: "v"}}, f"Invalid label key: {'k' * 63}"),
    "label key: a prefix": ("kubectl_get", {**GET, "labels": {"Example.com/a": "v"}}, "Invalid label key: Example.com/a"),
    "label key: a prefix of 254": (
        "kubectl_get", {**GET, "labels": {f"{LONG_NAME}/a": "v"}}, f"Invalid label key: {LONG_NAME[:63]}",
    ),
    "label value: a value": ("kubectl_get", {**GET, "labelSelector": "app=a b"}, "Invalid label value: a b"),
    "label value: two equals": ("kubectl_get", {**GET, "labelSelector": "app=a=b"}, "Invalid label value: a=b"),
    "label value: a value of 64": (
        "kubectl_get", {**GET, "labelSelector": f"app={'v' * 64}"}, "Label value length cannot exceed 63 characters",
    ),
    "label value: a value of 64 in labels": (
        "kubectl_get", {**GET, "labels": {"app": "v" * 64}}, "Label value length cannot exceed 63 characters",
    ),
    "label value: a value of 64 in a set": (
        "kubectl_get", {**GET, "labelSelector": f"app in ({'v' * 64})"}, "Label value length cannot exceed 63 characters",
    ),
    "label value: a number": ("kubectl_get", {**GET, "labels": {"app": 1}}, "the value of label app must be a string"),
    "set: in without parentheses": (
        "kubectl_get", {**GET, "labelSelector": "app in nginx"}, 'Invalid "in" expression format; write key in (a, b)',
    ),
    "set: in without an end": (
        "kubectl_get", {**GET, "labelSelector": "app in (nginx"}, 'Invalid "in" expression format; write key in (a, b)',
    ),
    "set: notin of nothing": (
        "kubectl_get", {**GET, "labelSelector": "app notin ()"},
        'Invalid "notin" expression format; write key notin (a, b)',
    ),
    "kubectl_restart_deployment: a timeout": (
        "kubectl_restart_deployment", {"deploymentName": "web", "timeout": 29}, "timeout must be 30 to 1800 seconds, not 29",
    ),
    "kubectl_edit_hpa: a timeout": (
        "kubectl_edit_hpa", {**HPA, "maxReplicas": 2, "timeout": 1801}, "timeout must be 30 to 1800 seconds, not 1801",
    ),
    "gke_auth: a region": (
        "gke_auth", {"cluster": "gke_p_europe-west1_c", "region": "../x"},
        "region is a location such as europe-west1 or europe-west1-b, not ../x",
    ),
    "gke_auth: a region for another name": (
        "gke_auth", {"cluster": "prod", "region": "europe-west1"},
        "region replaces the location in gke_PROJECT_LOCATION_NAME; prod has none, so leave region out",
    ),
    "an argument that is not there": (
        "cluster_list", {"cluster": "prod"}, "unknown argument `cluster`; there is: format, includeStats",
    ),
}  # fmt: skip
"""By the argument or tool: tool, arguments, text after `Error: `."""

BY_SCHEMA: Final[dict[str, tuple[str, dict[str, Any], str]]] = {
    "1,001 lines": ("kubectl_logs", {"pod": "a", "lines": 1001}, "argument `lines`: 1001 is greater than the maximum of 1000"),
    "no line": ("kubectl_logs", {"pod": "a", "lines": 0}, "argument `lines`: 0 is less than the minimum of 1"),
    "a sort": ("kubectl_top_nodes", {"sortBy": "name"}, "argument `sortBy`: 'name' is not one of ['cpu', 'memory']"),
    "101 replicas": (
        "kubectl_scale_deployment", {"deploymentName": "a", "replicas": 101},
        "argument `replicas`: 101 is greater than the maximum of 100",
    ),
    "29 seconds": (
        "kubectl_scale_deployment", {"deploymentName": "a", "replicas": 1, "timeout": 29},
        "argument `timeout`: 29 is less than the minimum of 30",
    ),
    "no replicas": ("kubectl_edit_hpa", {**HPA, "minReplicas": 0}, "argument `minReplicas`: 0 is less than the minimum of 1"),
    "no name": ("kubectl_describe", {"resource": "pod"}, "'name' is a required property"),
    "a text for a number": ("kubectl_logs", {"pod": "a", "lines": "5"}, "argument `lines`: '5' is not of type 'integer'"),
    "a long text": ("kubectl_top_nodes", {"sortBy": "x" * 5000}, "is not one of ['cpu', 'memory']"),
}  # fmt: skip
"""What the schema refuses, in the words of its validator."""


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("record") / "audit.jsonl"


@pytest.fixture(scope="module")
def call(record: Path) -> Iterator[tools.Call]:
    """Tools of a server with writes, on a snapshot."""
    flags = ("--snapshot", str(demo.SNAPSHOT), "--no-read-only", "--audit", str(record))
    with tools.calling(*flags) as made:
        yield made


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_contract_refuses_is_refused_in_its_words(case: str, call: tools.Call, record: Path) -> None:
    """isError, and no script, so no call to the cluster."""
    tool, given, text = REFUSED[case]
    before = len(trails.records(record, "script"))
    refused = call(tool, **given)
    assert refused.is_error
    assert clients.whole(refused).rstrip() == f"Error: {text}"
    assert len(trails.records(record, "script")) == before


@pytest.mark.parametrize("case", BY_SCHEMA)
def test_what_the_schema_refuses_is_named(case: str, call: tools.Call, record: Path) -> None:
    """The argument, the value and the bound, in one short line; nothing is sent."""
    tool, given, text = BY_SCHEMA[case]
    before = len(trails.records(record, "script"))
    refused = call(tool, **given)
    assert refused.is_error
    assert clients.whole(refused).endswith(text)
    assert len(clients.whole(refused)) < 400
    assert len(trails.records(record, "script")) == before


GATEWAYS = {"invalid_discovered", "invalid_image"}
"""Those of the toolset gateway, whose cases are in tests/live/tools/test_gateway.py."""


def test_each_refusal_of_arguments_is_in_the_table() -> None:
    """A new one comes with its case. The texts are the catalogue's."""
    source = Path(arguments.__file__).read_text("utf-8")
    names = {name for name in messages.CATALOGUE if f'Refusal("{name}"' in source} - GATEWAYS
    for name in names:
        beginning = messages.CATALOGUE[name]["en"].partition("{")[0]
        assert any(text.startswith(beginning.rstrip()) for _, _, text in REFUSED.values()), name


def test_an_unknown_cluster_is_a_prerequisite(call: tools.Call, record: Path) -> None:
    """Never another cluster: the contract's error, with its metadata and the names there are."""
    cluster = "prod-x"
    before = len(trails.records(record, "script"))
    refused = call("kubectl_get", resource="pods", cluster=cluster)
    assert refused.is_error
    assert clients.whole(refused) == (
        "Error: prerequisite check failed\n\n"
        f"Details: this server has no cluster {cluster}; it has: test\n\n"
        "Suggested action: name one of the clusters above"
    )
    assert refused.meta is not None
    assert {key: refused.meta[key] for key in ("errorType", "cluster", "tool", "requiresAction")} == {
        "errorType": "PrerequisiteError", "cluster": cluster, "tool": "kubectl_get", "requiresAction": True,
    }  # fmt: skip
    assert refused.meta["suggestion"] in clients.whole(refused)
    assert len(trails.records(record, "script")) == before


def test_a_null_is_an_argument_that_is_left_out(call: tools.Call) -> None:
    """Some clients send every argument that a schema names; one that must be there is still missed."""
    nodes = call("kubectl_get", resource="nodes", name=None, namespace=None, labels=None, cluster=None)
    assert tools.told(nodes)["items"]
    missed = call("kubectl_get", resource=None)
    assert missed.is_error and "'resource' is a required property" in clients.whole(missed)


NOWHERE: Final = """\
{apiVersion: v1, kind: Config, current-context: prod,
 clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}],
 users: [{name: u, user: {token: t}}],
 contexts: [{name: prod, context: {cluster: c, user: u}}]}
"""


def test_a_dead_cluster_is_a_prerequisite(tmp_path: Path) -> None:
    """The contract's error, in the server's own words: no marks and no second `Error:` in it."""
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(NOWHERE)
    with tools.calling("--kubeconfig", str(kubeconfig)) as call:
        for refused in (call("kubectl_get", **GET), call("kubectl_logs", pod="web")):
            assert refused.is_error
            assert clients.whole(refused) == (
                "Error: prerequisite check failed\n\n"
                "Details: the API server at 127.0.0.1:1 cannot be reached: [Errno 111] Connection refused\n\n"
                "Suggested action: check that the API server of prod is up and that the server's kubeconfig is right "
                "(`kubescript doctor`)"
            )
            assert refused.meta is not None
            assert refused.meta["errorType"] == "PrerequisiteError" and refused.meta["cluster"] == "prod"
            assert "kubescript/untrusted" not in refused.meta


ALLOWED: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "a name with dots": ("kubectl_get", {"resource": "configmaps", "name": "kube-root-ca.crt"}),
    "a name with colons": ("kubectl_get", {"resource": "clusterroles", "name": "system:node"}),
    "a name of a custom kind": ("kubectl_get", {"resource": "images.image.openshift.io", "name": "sha256:0a"}),
    "an event": ("kubectl_get", {"resource": "events", "name": "Web_1.17a"}),
    "a budget": ("kubectl_get", {"resource": "pdb", "name": "Web_1"}),
    "an address": ("kubectl_get", {"resource": "ipaddresses", "name": "2001:db8::1"}),
    "a name with capitals": ("kubectl_get", {"resource": "clusterrolebindings", "name": "Admins_of@shop"}),
    "a set": ("kubectl_get", {**GET, "labelSelector": "app in (a, b),tier notin (db,),!old,zone"}),
    "comparisons": ("kubectl_get", {**GET, "labelSelector": "a=b,c==d,e!=f,example.com/g=,h>3,i<4"}),
    "no value": ("kubectl_get", {**GET, "labels": {"example.com/app": "", "tier": "db"}}),
    "empty labels beside a selector": ("kubectl_get", {**GET, "labels": {}, "labelSelector": "a"}),
    "not all namespaces": ("kubectl_get", {**GET, "namespace": "shop", "allNamespaces": False}),
    "1,000 characters": ("kubectl_get", {**GET, "labelSelector": ",".join(["a=b"] * 250)}),
    "a time": ("kubectl_logs", {"pod": "web", "since": "1h30m"}),
    "a regular expression": ("helm_list", {"filter": "^(web|db)-[0-9]+$"}),
    "an ARN": ("kubectl_get", {**GET, "cluster": "arn:aws:eks:eu-west-1:123456789012:cluster/prod"}),
    "a name that the operator gave": ("kubectl_get", {**GET, "cluster": "prod (old) & new"}),
    "one bound of two": ("kubectl_edit_hpa", {**HPA, "minReplicas": 2}),
    "equal bounds": ("kubectl_edit_hpa", {**HPA, "minReplicas": 2, "maxReplicas": 2}),
}
"""What Kubernetes or the operator allows, and the contract would forbid or does not name."""


@pytest.mark.parametrize("case", ALLOWED)
def test_what_kubernetes_allows_passes(case: str) -> None:
    """The arguments come out as they went in, but for those that are null."""
    tool, given = ALLOWED[case]
    passed = arguments.check(tool, given, tuple(classic.SCHEMAS[tool]["properties"]))
    assert passed == {name: value for name, value in given.items() if value is not None}


HOSTILE: Final = {
    "letters": "a", "spaces": " ", "commas": ",", "parentheses": "(", "closed": ")", "not": "!", "equals": "=",
    "a set": "a in ", "times": "1h", "digits": "9", "prefixes": "a/", "keys": "a ", "dashes": "a-", "dots": ".",
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_text_is_checked_at_once(case: str) -> None:
    """Twenty million characters in each argument, and a thousand, which is where patterns begin to be tried. Both take
    milliseconds; a pattern that tries again at each character would take minutes."""
    started = time.process_time()
    for length in (1_000, 20_000_000):
        text = (HOSTILE[case] * (length // len(HOSTILE[case])))[:length]
        for name in ("name", "namespace", "labelSelector", "since", "cluster", "filter"):
            _try("kubectl_get", {name: text})
        _try("kubectl_get", {"labels": {text: text}})
        _try("kubectl_get", {"labels": dict.fromkeys((f"{number}{text[:50]}" for number in range(500)), text[:50])})
        _try("kubectl_get", {text: text})
    assert time.process_time() - started < 5
    assert arguments.check("kubectl_get", {"name": "web"}, ("name",)) == {"name": "web"}


def _try(tool: str, given: dict[str, Any]) -> None:
    known = ("name", "namespace", "labelSelector", "since", "cluster", "filter", "labels")
    with contextlib.suppress(arguments.Refusal):
        arguments.check(tool, given, known)
