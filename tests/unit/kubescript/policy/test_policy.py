"""The policy's verdict on every official method, on the ways round a denied resource, and on what nobody knows."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re

import msgspec
import pytest

from kubescript import errors
from kubescript.kube import kinds
from kubescript.policy import decisions, denied_resources, policy
from kubescript.request import request
from kubescript.wire import exchanges


def ask(method: str, path: str, rules: policy.Policy | None = None, query: str = "") -> decisions.Decision:
    pairs = tuple(tuple(pair.split("=", 1)) for pair in query.split("&") if pair)
    body = msgspec.Raw(b"{}" if method in {"POST", "PUT", "PATCH"} else b"null")
    content_type = "merge-patch" if method == "PATCH" else "json"
    call = exchanges.Call(method, tuple(path.split("/")), pairs, body, content_type)  # type: ignore[arg-type]
    return (rules or policy.Policy()).decide(request.parse(call))


HARMLESS_POSTS = {
    "apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
    "apis/authorization.k8s.io/v1/subjectaccessreviews", "apis/authorization.k8s.io/v1/namespaces/x/localsubjectaccessreviews",
    "apis/authentication.k8s.io/v1/selfsubjectreviews",
}  # fmt: skip


def official_methods() -> list[tuple[str, str]]:
    """(HTTP method, path) of every operation of the official client, read from its own source."""
    import kubernetes.client.api as api

    found = set()
    for module in pkgutil.iter_modules(api.__path__):
        source = inspect.getsource(importlib.import_module(f"{api.__name__}.{module.name}"))
        for method, path in re.findall(r"method='([A-Z]+)',\s+resource_path='([^']+)'", source):
            found.add((method, re.sub(r"\{[^}]*\}", "x", path).strip("/")))
    return sorted(found)


def test_every_official_method() -> None:
    """Of all operations of the official client, a read-only server lets pass GETs of objects and the questions on the
    list, nothing else."""
    methods = official_methods()
    assert len(methods) > 900
    for method, path in methods:
        if method in {"HEAD", "OPTIONS"}:
            continue  # the protocol has no such methods
        try:
            decision = ask(method, path)
        except errors.RequestError:
            assert method != "GET" or path.startswith("logs") or "x" in path.split("/")[:2], (method, path)
            continue
        segments = path.split("/")
        allowed = path in HARMLESS_POSTS if method == "POST" else method == "GET"
        if ("secrets" in segments and method != "GET") or {"exec", "attach", "portforward", "proxy"} & set(segments):
            allowed = False
        assert (decision.verdict == "allow") is allowed, (method, path, decision)
        assert allowed or (decision.rule and decision.reason and decision.instead)
        assert (decision.serve == "metadata") is (allowed and "secrets" in segments), path


@pytest.mark.slow  # all modules of the official client
def test_the_table_knows_every_official_kind() -> None:
    """Every built-in resource of the official client is in kube/kinds.py: a newer client that adds one is noticed here."""
    for _, path in official_methods():
        parts = path.split("/")
        if (
            parts[0] not in {"api", "apis"}
            or "x" in parts[:3]
            or len(parts) < (3 if parts[0] == "api" else 4)
            or "watch" in parts
        ):
            continue
        read = request.parse(exchanges.Call("GET", tuple(part if part else "x" for part in parts)))
        assert kinds.kind_of(read.group, read.resource), path


ROUNDABOUTS = [
    "api/v1/secrets", "api/v1/namespaces/a/secrets", "api/v1/namespaces/a/secrets/b", "api/v1/watch/secrets",
    "api/v1/watch/namespaces/a/secrets/b", "api/v1/namespaces/a/secrets/b/status", "api/v1/proxy/namespaces/a/secrets/b", "api/v2/secrets",
]  # fmt: skip


NO_SECRETS = denied_resources.DeniedResource("core", kind="Secret")
"""The rule of an operator who wants nothing of Secrets to be served."""


@pytest.mark.parametrize("path", ROUNDABOUTS)
@pytest.mark.parametrize("read_only", [True, False])
def test_secrets_have_no_back_door(path: str, read_only: bool) -> None:
    """A rule that serves nothing denies Secrets by every path, also on a server that may write, and whatever milder
    rules stand beside it."""
    for defaults in ((), denied_resources.DEFAULT_RULES):
        rules = policy.Policy(
            "off" if read_only else "direct", (NO_SECRETS, denied_resources.DeniedResource("apps")), defaults
        )
        decision = ask("GET", path, rules)
        assert (decision.verdict, decision.rule) == ("deny", "policy.denied_resource")
        assert "Secret" in decision.reason and decision.instead
        assert ask("GET", "api/v1/pods", rules).verdict == "allow"


PLAIN = {path for path in ROUNDABOUTS if not path.endswith("/status") and "proxy" not in path}
"""Those that read the objects themselves."""


@pytest.mark.parametrize("path", ROUNDABOUTS)
@pytest.mark.parametrize("rules", [policy.Policy(), policy.Policy(writes="direct")])
def test_secrets_are_served_as_metadata(path: str, rules: policy.Policy) -> None:
    """Without a rule of the operator's, get, list and watch of Secrets bring metadata, and all else is denied."""
    decision = ask("GET", path, rules)
    if path in PLAIN:
        assert decision == decisions.Decision("allow", "core/Secret", serve="metadata", kind="Secret")
    else:
        assert (decision.verdict, decision.rule) == ("deny", "policy.denied_resource")
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert ask(method, "api/v1/namespaces/a/secrets/b", rules).rule == "policy.denied_resource"
    assert ask("GET", "api/v1/pods", rules) == decisions.Decision("allow")


# rules, path → what is served
MILD, STRICT = (
    denied_resources.DeniedResource(kind="Thing", serve="metadata"),
    denied_resources.DeniedResource("custom.io"),
)
SERVED = [
    ((MILD,), "apis/custom.io/v1/things/t", "metadata"),
    ((MILD,), "apis/custom.io/v1/things/t/status", ""),
    ((MILD, STRICT), "apis/custom.io/v1/things/t", ""),
    ((STRICT, MILD), "apis/custom.io/v1/things/t", ""),
    ((MILD,), "apis/custom.io/v1/mysteries/t", ""),  # its kind is not known
    ((denied_resources.DeniedResource("custom.io", kind="Thingy", serve="metadata"),), "apis/custom.io/v1/things/t", ""),
    ((denied_resources.DeniedResource(serve="metadata"),), "api/v1/pods", "metadata"),
    ((denied_resources.DeniedResource(serve="metadata"),), "api/v1/namespaces/a/pods/b/log", ""),
]  # fmt: skip


@pytest.mark.parametrize(("rules", "path", "served"), SERVED)
def test_the_strictest_rule_counts(rules: tuple[denied_resources.DeniedResource, ...], path: str, served: str) -> None:
    """Metadata is served when every rule that covers the request says so; a kind that is not known is denied."""
    decision = ask("GET", path, policy.Policy(rules=rules, resolve=kind_of_things))
    assert (decision.serve if decision.verdict == "allow" else "") == served


def test_tokens_cannot_be_minted() -> None:
    """A writing server still refuses TokenRequest; the operator may drop the default rules knowingly."""
    path = "api/v1/namespaces/a/serviceaccounts/default/token"
    assert ask("POST", path, policy.Policy(writes="direct")).rule == "policy.denied_resource"
    assert ask("POST", path, policy.Policy(writes="direct", defaults=())).verdict == "direct"
    assert ask("GET", "api/v1/secrets", policy.Policy(defaults=())).verdict == "allow"


TUNNELS = [
    "api/v1/namespaces/a/pods/b/exec", "api/v1/namespaces/a/pods/b/attach", "api/v1/namespaces/a/pods/b/portforward",
    "api/v1/namespaces/a/pods/b/proxy", "api/v1/namespaces/a/services/b/proxy/x/y", "api/v1/nodes/n/proxy/run", "api/v1/proxy/nodes/n",
    "apis/custom.io/v1/things/t/proxy", "apis/subresources.kubevirt.io/v1/namespaces/a/virtualmachineinstances/v/portforward",
]  # fmt: skip


@pytest.mark.parametrize("path", TUNNELS)
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("read_only", [True, False])
def test_tunnels(path: str, method: str, read_only: bool) -> None:
    """Exec, attach, port-forward and proxy are refused whatever the method and whether or not the server may write."""
    decision = ask(
        method, path, policy.Policy("off" if read_only else "direct"), "command=ls&command=-l" if "exec" in path else ""
    )
    assert (decision.verdict, decision.rule) == ("deny", "policy.tunnel")


SUBRESOURCES = [
    ("api/v1/namespaces/a/pods/b/log", True), ("api/v1/namespaces/a/pods/b/status", True), ("api/v1/namespaces/a/pods/b/newfangled", False),
    ("api/v1/nodes/n/configz", False), ("apis/apps/v1/namespaces/a/deployments/b/scale", True), ("api/v1/namespaces/a/pods/b/resize", True),
    ("apis/custom.io/v1/things/t/status", True), ("apis/custom.io/v1/things/t/scale", True), ("apis/custom.io/v1/things/t/log", False),
    ("apis/subresources.kubevirt.io/v1/namespaces/a/virtualmachineinstances/v/console", False),
]  # fmt: skip


@pytest.mark.parametrize(("path", "allowed"), SUBRESOURCES)
def test_subresources(path: str, allowed: bool) -> None:
    """Only subresources known to be reads are read; anything unknown is denied, built in or not."""
    decision = ask("GET", path)
    assert (decision.verdict == "allow") is allowed
    assert allowed or decision.rule == "policy.subresource"


def kind_of_things(group: str, version: str, resource: str) -> str | None:
    return {"things": "Thing"}.get(resource)


# rule, method, path → denied?
RULES = [
    (denied_resources.DeniedResource(kind="ConfigMap"), "GET", "api/v1/configmaps", True),
    (denied_resources.DeniedResource(kind="configmap"), "GET", "api/v1/namespaces/a/configmaps/b", True),
    (denied_resources.DeniedResource(resource="configmaps"), "GET", "api/v1/namespaces/a/configmaps/b", True),
    (denied_resources.DeniedResource(kind="ConfigMap"), "GET", "api/v1/pods", False),
    (denied_resources.DeniedResource(resource="pods"), "GET", "api/v1/namespaces/a/pods/b/log", True),
    (denied_resources.DeniedResource(resource="pods/log"), "GET", "api/v1/namespaces/a/pods/b/log", True),
    (denied_resources.DeniedResource(resource="pods/log"), "GET", "api/v1/namespaces/a/pods/b", False),
    (denied_resources.DeniedResource(kind="Scale"), "GET", "apis/apps/v1/namespaces/a/deployments/b/scale", True),
    (denied_resources.DeniedResource(kind="Scale"), "GET", "apis/apps/v1/namespaces/a/deployments/b", False),
    (denied_resources.DeniedResource("apps"), "GET", "apis/apps/v1/deployments", True),
    # every version serves the same objects, and so do the two groups of events
    (denied_resources.DeniedResource("apps", "v1beta1"), "GET", "apis/apps/v1/deployments", True),
    (denied_resources.DeniedResource("core", kind="Event"), "GET", "apis/events.k8s.io/v1/events", True),
    (denied_resources.DeniedResource("events.k8s.io", kind="Event"), "GET", "api/v1/namespaces/a/events", True),
    (denied_resources.DeniedResource("*", "*", "Event", "*"), "GET", "apis/events.k8s.io/v1/events", True),
    (denied_resources.DeniedResource(), "GET", "api/v1/pods", True),
    (denied_resources.DeniedResource(kind="Thing"), "GET", "apis/custom.io/v1/things", True),
    (denied_resources.DeniedResource("custom.io", kind="Thing"), "GET", "apis/custom.io/v1/things/t/status", True),
    (denied_resources.DeniedResource("other.io", kind="Thing"), "GET", "apis/custom.io/v1/things", False),
    (denied_resources.DeniedResource(kind="Gadget"), "GET", "apis/custom.io/v1/things", False),
    (denied_resources.DeniedResource(kind="Gadget"), "GET", "apis/custom.io/v1/mysteries", True),
    (denied_resources.DeniedResource("other.io", kind="Gadget"), "GET", "apis/custom.io/v1/mysteries", False),
    (denied_resources.DeniedResource(kind="SelfSubjectAccessReview"), "POST", "apis/authorization.k8s.io/v1/selfsubjectaccessreviews", True),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "method", "path", "denied"), RULES)
def test_rules(rule: denied_resources.DeniedResource, method: str, path: str, denied: bool) -> None:
    """A rule covers what its fields name, by resource or by kind, subresources included; an unresolvable kind is
    denied."""
    decision = ask(method, path, policy.Policy(rules=(rule,), resolve=kind_of_things))
    assert (decision.verdict == "deny") is denied
    assert not denied or decision.rule in {"policy.denied_resource", "policy.unresolved_kind"}


WRITES = [
    ("POST", "api/v1/pods"),
    ("PUT", "api/v1/namespaces/a/pods/b"),
    ("PATCH", "api/v1/namespaces/a/pods/b"),
    ("DELETE", "api/v1/pods"),
]


@pytest.mark.parametrize(("method", "path"), WRITES)
def test_read_only_is_a_setting(method: str, path: str) -> None:
    """Writes are denied with a way out in words, unless the operator permits writing."""
    decision = ask(method, path)
    assert decision.rule == "policy.read_only" and "kubectl command" in decision.instead
    assert ask(method, path, policy.Policy(writes="direct")).verdict == "direct"
    assert ask(method, path, policy.Policy(writes="plan")).verdict == "plan"


@pytest.mark.parametrize("path", [
    "apis/authorization.k8s.io/v1/selfsubjectaccessreviews/x", "apis/authorization.k8s.io/v1beta1/selfsubjectaccessreviews",
    "apis/authentication.k8s.io/v1/tokenreviews", "apis/evil.io/v1/selfsubjectaccessreviews",
])  # fmt: skip
def test_questions_are_listed_exactly(path: str) -> None:
    """A POST that only resembles a harmless question is a write."""
    assert ask("POST", path).verdict == "deny"


def test_misspelt_resource() -> None:
    """A built-in resource nobody knows is denied with the nearest name."""
    assert "pods" in ask("GET", "api/v1/pod").instead


CUSTOM, EXTERNAL = "apis/custom.metrics.k8s.io/v1beta2", "apis/external.metrics.k8s.io/v1beta1"
METRICS = [
    f"{CUSTOM}/namespaces/a/pods/*/http_requests", f"{CUSTOM}/namespaces/a/pods/b/status", f"{CUSTOM}/nodes/*/heat",
    f"{CUSTOM}/namespaces/a/deployments.apps/b/m", f"{CUSTOM}/namespaces/a/metrics/m", f"{EXTERNAL}/namespaces/a/queue_length",
]  # fmt: skip
NO_METRICS = [
    f"{CUSTOM}/namespaces/a/pods", f"{CUSTOM}/namespaces/a/pods/b", f"{CUSTOM}/metrics/m", f"{CUSTOM}/namespaces/a/pod/b/m",
    f"{CUSTOM}/namespaces/a/pods/b/proxy", f"{CUSTOM}/namespaces/a/pods/b/proxy/x", f"{CUSTOM}/proxy/pods/b", f"{CUSTOM}/watch/pods/b",
    f"{EXTERNAL}/queue_length", f"{EXTERNAL}/namespaces/a/m/b", f"{EXTERNAL}/namespaces/a/m/b/c", f"{EXTERNAL}/watch/namespaces/a/m",
]  # fmt: skip


@pytest.mark.parametrize("writes", ["off", "plan", "direct"])
def test_metrics_are_read_and_nothing_else(writes: policy.Writes) -> None:
    """Of the APIs for custom and external metrics exactly the paths that name a metric are read, and none is written,
    watched or followed further, whatever the server permits."""
    rules = policy.Policy(writes)
    for path in METRICS:
        assert ask("GET", path, rules) == decisions.Decision("allow"), path
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            assert ask(method, path, rules).rule == "policy.metrics", (method, path)
    for path in NO_METRICS:
        assert ask("GET", path, rules).rule in {"policy.metrics", "policy.tunnel"}, path
    assert ask("GET", f"{EXTERNAL}/namespaces/a/m", rules, "watch=true").rule == "policy.metrics"


def test_metrics_show_no_denied_objects() -> None:
    """A rule against objects denies the metrics that name them, by every name that an adapter may take for theirs; a
    rule against the API denies it."""
    rules = policy.Policy(rules=(denied_resources.DeniedResource("networking.k8s.io", resource="networkpolicies"),))
    names = (
        "networkpolicies",
        "networkpolicies.networking.k8s.io",
        "networkpolicies.networking",
        "networkpolicies.extensions",
    )
    for name in (*names, "networkpolicy", "networkpolicy.networking", "things.custom.io"):
        assert ask("GET", f"{CUSTOM}/namespaces/a/{name}/*/m", rules).verdict == "deny", name
    assert ask("GET", METRICS[0], rules).verdict == "allow"
    assert ask("GET", f"{CUSTOM}/namespaces/a/things.custom.io/*/m").verdict == "allow"
    for group in ("custom.metrics.k8s.io", "external.metrics.k8s.io"):
        rules = policy.Policy(rules=(denied_resources.DeniedResource(group),))
        assert [ask("GET", path, rules).verdict == "deny" for path in METRICS] == [group in path for path in METRICS]


def test_metrics_stay_within_namespaces() -> None:
    """Who is limited to namespaces reads the metrics of what is in them, and not those of nodes in any path."""
    limited = policy.Policy(namespaces=("a",))
    verdicts = [ask("GET", path, limited).verdict for path in METRICS]
    assert verdicts == ["allow", "allow", "deny", "allow", "allow", "allow"]
    others = [path.replace("namespaces/a/", "namespaces/b/") for path in METRICS]
    others += [
        f"{CUSTOM}/namespaces/a/nodes/*/m",
        f"{CUSTOM}/namespaces/a/node/n/m",
        f"{CUSTOM}/namespaces/a",
        f"{CUSTOM}/namespaces/a/status",
    ]
    for path in others:
        assert ask("GET", path, limited).verdict == "deny", path
