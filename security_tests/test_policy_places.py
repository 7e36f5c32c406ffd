"""The same objects under another group: a rule about them holds wherever an API server shows them.

The pairs are those that Kubernetes' and OpenShift's servers store together or answer from one another, by their sources.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Final

import pytest

from kubescript.broker import operation
from kubescript.changes.rules import writes
from kubescript.cluster import live
from kubescript.policy import denied_resources, policy
from kubescript.request import request
from kubescript.wire import exchanges
from security_tests.recorder import Recorder
from tests.kit import reading

EXTENSIONS: Final = ("apis", "extensions", "v1beta1")
AUTHORIZATION: Final = ("apis", "authorization.openshift.io", "v1")
RBAC: Final = ("apis", "rbac.authorization.k8s.io", "v1")
PAIRS: Final = (
    ("Event", ("api", "v1", "events"), ("apis", "events.k8s.io", "v1", "events")),
    ("Ingress", ("apis", "networking.k8s.io", "v1", "ingresses"), (*EXTENSIONS, "ingresses")),
    ("NetworkPolicy", ("apis", "networking.k8s.io", "v1", "networkpolicies"), (*EXTENSIONS, "networkpolicies")),
    ("Deployment", ("apis", "apps", "v1", "deployments"), (*EXTENSIONS, "deployments")),
    ("DaemonSet", ("apis", "apps", "v1", "daemonsets"), (*EXTENSIONS, "daemonsets")),
    ("ReplicaSet", ("apis", "apps", "v1", "replicasets"), (*EXTENSIONS, "replicasets")),
    ("Job", ("apis", "batch", "v1", "jobs"), (*EXTENSIONS, "jobs")),
    ("PodSecurityPolicy", ("apis", "policy", "v1beta1", "podsecuritypolicies"), (*EXTENSIONS, "podsecuritypolicies")),
    ("Namespace", ("api", "v1", "namespaces"), ("apis", "project.openshift.io", "v1", "projects")),
    ("Role", (*RBAC, "roles"), (*AUTHORIZATION, "roles")),
    ("RoleBinding", (*RBAC, "rolebindings"), (*AUTHORIZATION, "rolebindings")),
    ("ClusterRole", (*RBAC, "clusterroles"), (*AUTHORIZATION, "clusterroles")),
    ("ClusterRoleBinding", (*RBAC, "clusterrolebindings"), (*AUTHORIZATION, "clusterrolebindings")),
    (
        "SecurityContextConstraints",
        ("apis", "security.openshift.io", "v1", "securitycontextconstraints"),
        ("api", "v1", "securitycontextconstraints"),
    ),
)  # fmt: skip


def group_of(path: tuple[str, ...]) -> str:
    """The group as a rule names it."""
    return "core" if path[0] == "api" else path[1]


def rules(kind: str, path: tuple[str, ...]) -> tuple[denied_resources.DeniedResource, ...]:
    """The ways in which an operator may deny what a path leads to."""
    group = group_of(path)
    return (
        denied_resources.DeniedResource(group, kind=kind),
        denied_resources.DeniedResource(group, resource=path[-1]),
        denied_resources.DeniedResource(group, kind=path[-1]),
    )


@pytest.mark.promise("P-20")
def test_a_rule_holds_for_the_same_objects_under_any_group(tmp_path: Path) -> None:
    """A rule for networking.k8s.io/Ingress let extensions/v1beta1 pass, on clusters up to 1.21."""
    with Recorder() as server:
        cluster = live.Live(server.kubeconfig(tmp_path))
        for kind, one, other in PAIRS:
            for rule, verb in itertools.product(rules(kind, one), ("list", "get", "watch")):
                path = (*other, "a") if verb == "get" else other
                call = exchanges.Call("GET", path, (("watch", "true"),) if verb == "watch" else ())
                door = reading.made(cluster, policy.Policy(rules=(rule,)))
                reply, _ = door.handle(call, operation.Operation(), 10)
                assert reply.fault is not None and reply.fault.code == "policy.denied_resource", (rule, call)
        assert server.seen == []
        reply, response = reading.made(cluster, policy.Policy()).handle(
            exchanges.Call("GET", ("api", "v1", "pods")), operation.Operation(), 10
        )
        assert reply.fault is None and response is not None
        response.close()
        cluster.close()


@pytest.mark.promise("P-20")
def test_a_write_has_no_more_rights_under_another_group() -> None:
    """What may be done to a Deployment of apps is what may be done to the same one of extensions."""
    limits = writes.Policy(verbs={"deployments.apps": ("patch",), "*": ("create", "update", "patch", "delete")})
    for path in (("apis", "apps", "v1"), EXTENSIONS):
        found = request.parse(exchanges.Call("DELETE", (*path, "namespaces", "a", "deployments", "web")))
        denied = writes.find_objection(found, limits)
        assert denied is not None and denied.rule == "writes.verbs", path
    policies = request.parse(exchanges.Call("DELETE", (*EXTENSIONS, "podsecuritypolicies", "strict")))
    denied = writes.find_objection(policies, writes.Policy())
    assert denied is not None and denied.rule == "writes.rbac"
    pods = request.parse(exchanges.Call("DELETE", ("api", "v1", "namespaces", "a", "pods", "p")))
    assert writes.find_objection(pods, limits) is None
