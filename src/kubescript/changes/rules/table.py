"""The built-in rules for writes that have a level: what each covers, and what becomes of such a write.

`writes` applies them to requests, and `effects` to what a dry run shows. Rules that no setting changes have no entry
here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from kubescript import config
from kubescript.kube import kinds
from kubescript.request import request

__all__ = ["OPERATIONS", "RULES", "SUBRESOURCE", "Operation", "Rule", "is_plain"]

Operation = Literal["CREATE", "UPDATE", "DELETE"]
"""What a write does to its object, in Kubernetes' admission terms."""
OPERATIONS: Final[frozenset[Operation]] = frozenset({"CREATE", "UPDATE", "DELETE"})
_RBAC: Final = "rbac.authorization.k8s.io"
_ROLES: Final = ((_RBAC, "roles"), (_RBAC, "rolebindings"))
_TRUST: Final = (
    ("config.openshift.io", "apiservers"), ("config.openshift.io", "authentications"),
    ("config.openshift.io", "images"), ("config.openshift.io", "oauths"), ("config.openshift.io", "proxies"),
    ("operator.openshift.io", "authentications"), ("operator.openshift.io", "kubeapiservers"),
    ("operator.openshift.io", "openshiftapiservers"),
)  # fmt: skip
"""OpenShift's settings of who may log in, and of which certificates are trusted."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A built-in rule."""

    id: str
    level: config.Level
    """What becomes of such a write in a plan that a person reads, unless the operator sets another level."""
    reason: str
    """Why it is refused, where it is."""
    notice: str
    """What a person who approves it must know."""
    what: str
    """What it covers in a word or two, for the definition of the tool."""
    resources: tuple[tuple[str, str], ...] = ()
    """The (group, resource) of the objects that the rule covers, in every version; "*" covers the whole group."""
    besides: tuple[tuple[str, str], ...] = ()
    """Of a whole group, the objects that another rule covers."""
    operations: frozenset[Operation] = OPERATIONS
    """What a write does to such an object if the rule covers it."""
    risks: tuple[str, ...] = ()
    """The changes that the rule covers, from `inspection.RISKS`."""

    def is_about(self, call: request.Request) -> bool:
        """Says whether the rule covers some writes to the object of a call."""
        if self is SUBRESOURCE:
            return not is_plain(call)
        if (call.group, call.resource) in self.besides:
            return False
        # Attack: the same objects are also served in another group, which the rule does not name.
        for place in kinds.places(call.group, call.resource):
            names = ("*", place.plural, f"{place.plural}/{call.subresource}")
            if any((place.group, name) in self.resources for name in names):
                return True
        return False


def is_plain(call: request.Request) -> bool:
    """Says whether a write is for the object itself, its number of replicas or its eviction."""
    # A status is a controller's observation, not a person's intent.
    if call.subresource in {"", "scale"}:
        return True
    return (call.group, call.resource, call.subresource) == ("", "pods", "eviction")


SUBRESOURCE: Final = Rule(
    "writes.subresource",
    "refuse",
    "this subresource is not written here",
    "writes a subresource, which controllers write otherwise",
    "status",
)
RULES: Final = (
    Rule("writes.secrets", "refuse", "Secrets are not changed here", "changes a Secret", "Secrets", (("", "secrets"),)),
    Rule(
        "writes.rbac",
        "refuse",
        "rights in the whole cluster are not changed here",
        "changes rights in the whole cluster, or trust in certificates, tokens or users",
        "cluster-wide rights",
        (
            (_RBAC, "*"), ("certificates.k8s.io", "*"), ("authentication.k8s.io", "*"), ("authorization.k8s.io", "*"),
            ("policy", "podsecuritypolicies"), ("", "serviceaccounts/token"),
            # OpenShift serves the same objects, and its own kinds of rights, in these groups.
            ("authorization.openshift.io", "*"), ("oauth.openshift.io", "*"), ("user.openshift.io", "*"),
            ("security.openshift.io", "*"), *_TRUST,
        ),
        besides=_ROLES,
    ),
    Rule(
        "writes.roles",
        "critical",
        "roles are not changed here",
        "changes the rights of users or programs. Who may run pods in a namespace can read its Secrets, and act as its "
        "service accounts",
        "Roles",
        _ROLES,
    ),
    Rule(
        "writes.escalation",
        "refuse",
        "a role or binding that leads to further rights is not made here",
        "gives rights that lead to more than they say: over everything, Secrets, tokens, roles or commands in pods, or "
        "to everyone, or to programs of other namespaces",
        "escalating roles",
        risks=("escalation",),
    ),
    Rule(
        "writes.webhooks",
        "refuse",
        "admission and APIs are not changed here",
        "changes what the API server lets pass, or where it sends requests",
        "webhooks",
        (("admissionregistration.k8s.io", "*"), ("apiregistration.k8s.io", "*")),
    ),
    Rule(
        "writes.crds",
        "critical",
        "definitions of resources are not changed here",
        "changes a definition of resources; without it, all objects of its kind are gone",
        "CRDs",
        (("apiextensions.k8s.io", "*"),),
    ),
    Rule(
        "writes.namespaces.create",
        "warn",
        "namespaces are not created here",
        "creates a namespace",
        "new namespaces",
        (("", "namespaces"), ("project.openshift.io", "*")),
        operations=frozenset({"CREATE"}),
    ),
    Rule(
        "writes.namespaces.change",
        "critical",
        "namespaces are not changed here",
        "changes a namespace. Its labels decide what its pods may do, and which policies apply to them",
        "changes of namespaces",
        (("", "namespaces"), ("project.openshift.io", "*")),
        operations=frozenset({"UPDATE"}),
    ),
    Rule(
        "writes.namespaces.delete",
        "critical",
        "namespaces are not deleted here",
        "deletes a namespace, and everything in it",
        "deletion of namespaces",
        (("", "namespaces"), ("project.openshift.io", "*")),
        operations=frozenset({"DELETE"}),
    ),
    Rule(
        "writes.nodes",
        "warn",
        "nodes are not changed here",
        "changes a node, which runs pods of any namespace",
        "nodes",
        (("", "nodes"),),
    ),
    Rule(
        "writes.nodes.other",
        "critical",
        "of a node, only labels, annotations, taints and unschedulable may change",
        "creates or deletes a node, or changes more of it than labels, annotations, taints and unschedulable",
        "new nodes",
        (("", "nodes"),),
        operations=frozenset({"CREATE", "DELETE"}),
        risks=("node",),
    ),
    Rule(
        "writes.cluster",
        "critical",
        "settings of the whole cluster are not changed here",
        "changes settings of the whole cluster, or what its nodes are and run",
        "cluster settings",
        (
            ("config.openshift.io", "*"), ("operator.openshift.io", "*"), ("machineconfiguration.openshift.io", "*"),
            ("machine.openshift.io", "*"),
        ),
        besides=_TRUST,
    ),
    Rule(
        "writes.service_account",
        "critical",
        "service accounts stay as they are",
        "changes a service account, or the one as which pods act",
        "service accounts",
        (("", "serviceaccounts"),),
        risks=("serviceAccount",),
    ),
    Rule(
        "writes.finalizers",
        "critical",
        "finalizers are not removed here",
        "removes finalizers, so that what waits for them is not cleaned up",
        "finalizers",
        risks=("finalizers",),
    ),
    Rule(
        "writes.owners",
        "critical",
        "owner references stay as they are",
        "changes owner references, which decide by whose deletion the object is deleted too",
        "owner references",
        risks=("ownerReferences",),
    ),
    Rule(
        "writes.privileged",
        "critical",
        "privileged containers and capabilities are not permitted",
        "gives containers powers over their node: privileged, hostProcess, capabilities, or an unmasked /proc",
        "privileged pods",
        risks=("privileged",),
    ),
    Rule(
        "writes.host_path",
        "critical",
        "hostPath and local volumes are not permitted",
        "gives pods files of their node: hostPath or local volumes",
        "hostPath",
        risks=("hostPath",),
    ),
    Rule(
        "writes.host_namespaces",
        "critical",
        "hostNetwork, hostPID and hostIPC are not permitted",
        "gives pods the network or the processes of their node: hostNetwork, hostPID, hostIPC",
        "hostNetwork",
        risks=("hostIPC", "hostNetwork", "hostPID"),
    ),
    SUBRESOURCE,
)  # fmt: skip
"""All of them. The operator sets other levels by their ids: `write_policy.levels`."""
