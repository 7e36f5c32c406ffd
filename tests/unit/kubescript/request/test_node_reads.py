"""What a hostile call for a node's kubelet may say, and which two requests it can become."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubescript import errors
from kubescript.policy import decisions, denied_resources, policy
from kubescript.request import nodes, request
from kubescript.wire import exchanges

BOTH = policy.Policy("direct", nodes=frozenset({"logs", "summary"}))


def call(*rest: str, method: str = "GET", **query: str) -> exchanges.Call:
    return exchanges.Call(method, (*exchanges.NODES, *rest), tuple(query.items()))  # type: ignore[arg-type]


LOGS = call("node-0.eu", "logs", query="kubelet", tail="200")
SUMMARY = call("node-0.eu", "summary")


def test_the_two_requests() -> None:
    """A call becomes one of two fixed paths below the node."""
    logs = nodes.parse(LOGS)
    assert (logs.method, logs.path) == ("GET", "/api/v1/nodes/node-0.eu/proxy/logs/")
    assert logs.query == (("query", "kubelet"), ("tailLines", "200"))
    summary = nodes.parse(SUMMARY)
    assert (summary.method, summary.path, summary.query) == ("GET", "/api/v1/nodes/node-0.eu/proxy/stats/summary", ())


NAMES = [
    "", ".", "..", "a/b", "a%2fb", "%2e%2e", "a:9999", "https:a:10250", "a/../b", "a/proxy/run", "A", "a_b", "-a", "a.", "a..b", "a?x=1", "a#", "a b",
    "a\n", "\u0430", "a" * 254,
]  # fmt: skip
SERVICES = [
    "", " ", "/var/log/syslog", "../syslog", "pods/a/b/0.log", "a\\b", "-u", "--file=/etc/shadow", "kubelet&query=/etc/shadow", "a b", "a\nb", "a%2fb",
    "\u0430", "a" * 129,
]  # fmt: skip
REFUSED = [
    *(call(name, "logs", query="kubelet", tail="1") for name in NAMES),
    *(call(name, "summary") for name in NAMES),
    *(call("a", "logs", query=service, tail="1") for service in SERVICES),
    *(call("a", "logs", query="kubelet", tail=tail) for tail in ("", "0", "-1", "10001", "1e3", "1_0", "\u0661", "x")),
    *(call("a", what, query="kubelet", tail="1") for what in ("", "log", "logs/", "stats", "run", "exec", "metrics", "summary")),
    *(call("a", "logs", query="kubelet", tail="1", method=method) for method in ("POST", "PUT", "PATCH", "DELETE")),
    call("a", "logs"), call("a", "logs", query="kubelet"), call("a", "logs", query="a", tail="1", pattern="(a+)+$"),
    call(), call("a"), call("a", "logs", "syslog", query="a", tail="1"), call("a", "proxy", "logs", query="a", tail="1"),
    exchanges.Call("GET", (*exchanges.NODES, "a", "logs"), (("query", "a"), ("tail", "1"), ("query", "/etc/shadow"))),
]  # fmt: skip


@pytest.mark.parametrize("asked", REFUSED)
def test_all_else_is_refused(asked: exchanges.Call) -> None:
    """Other nodes' names, services, numbers, paths, verbs and arguments are refused, and the next call is parsed."""
    with pytest.raises(errors.RequestError):
        nodes.parse(asked)
    assert nodes.parse(LOGS).name == "node-0.eu"


def test_scripts_have_no_other_way_to_a_kubelet() -> None:
    """What the operator permits opens no tunnel: the same paths are refused as a script's own."""
    for path in ("proxy/logs/", "proxy/logs", "proxy/stats/summary", "proxy/run/a/b/c", "proxy"):
        segments = tuple(each for each in f"api/v1/nodes/a/{path}".split("/") if each)
        assert BOTH.decide(request.parse(exchanges.Call("GET", segments))).rule == "policy.tunnel", path
    assert BOTH.decide(request.parse(exchanges.Call("GET", ("api", "v1", "nodes", "a", "logs")))).verdict == "deny"


RULES = [
    denied_resources.DeniedResource("core", kind="Node"), denied_resources.DeniedResource("core", resource="nodes/proxy"),
    denied_resources.DeniedResource("core", kind="Node", serve="metadata"), denied_resources.DeniedResource(kind="ProxyOptions"),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "name"), [(LOGS, "logs"), (SUMMARY, "summary")])
def test_the_operator_permits_each(asked: exchanges.Call, name: str) -> None:
    """Each read needs its setting, and is refused by rules about nodes, and to callers limited to namespaces."""
    read = nodes.parse(asked)
    own = frozenset({name})
    assert policy.Policy(nodes=own).decide(read) == decisions.Decision("allow")
    refused = policy.Policy(nodes=frozenset({"logs", "summary"}) - own).decide(read)
    assert refused.rule == "policy.nodes" and f"{name} = true in [nodes]" in refused.instead
    for rule in RULES:
        assert policy.Policy(nodes=own, rules=(rule,)).decide(read).rule == "policy.denied_resource", rule
    assert policy.Policy(nodes=own, namespaces=("*",)).decide(read).rule == "policy.namespace"


@pytest.mark.parametrize("kind", ["Pod", "PersistentVolumeClaim"])
@pytest.mark.parametrize("serve", ["nothing", "metadata"])
def test_statistics_tell_nothing_of_denied_objects(kind: str, serve: denied_resources.Serve) -> None:
    """A node's statistics name its pods and their claims. The node's log, and statistics beside another rule, are read."""
    rule = denied_resources.DeniedResource("core", kind=kind, serve=serve)
    other = denied_resources.DeniedResource("core", kind="ConfigMap", serve=serve)
    denied = replace(BOTH, rules=(rule,))
    assert denied.decide(nodes.parse(SUMMARY)).rule == "policy.denied_resource"
    assert denied.decide(nodes.parse(LOGS)).verdict == "allow"
    assert replace(BOTH, rules=(other,)).decide(nodes.parse(SUMMARY)).verdict == "allow"
