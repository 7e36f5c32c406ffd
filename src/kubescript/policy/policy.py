"""Decides whether a request may be sent, on its parsed fields alone, without I/O or state.

A rule denies its objects altogether, or serves only their metadata, or of Secrets the keys too. The policy denies the
unknown: an unknown subresource of a built-in group, a request whose kind a rule depends on and that cannot be resolved,
a verb that is not plainly a read. The broker calls it for every toolset.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Literal

from kubescript.kube import kinds, metrics_apis
from kubescript.policy import decisions, denied_resources, metrics, namespace_limits
from kubescript.request import releases, request

__all__ = [
    "Named",
    "Policy",
    "Resolver",
    "Writes",
]

Writes = Literal["off", "plan", "direct"]
"""How a cluster may be changed."""

Resolver = Callable[[str, str, str], str | None]
"""(group, version, resource) of a custom or aggregated API → its kind, from discovery; None when unknown."""


Named = Callable[[denied_resources.DeniedResource], bool | None]
"""A check of whether the group of a rule serves what the rule names, or is not served at all; None when unknown."""


_READS: Final = frozenset({"get", "list", "watch"})
# These POSTs store nothing: they are questions to the API server.
_QUESTIONS: Final = frozenset({
    ("authorization.k8s.io", "v1", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "v1", "selfsubjectrulesreviews"),
    ("authorization.k8s.io", "v1", "subjectaccessreviews"),
    ("authorization.k8s.io", "v1", "localsubjectaccessreviews"),
    ("authentication.k8s.io", "v1", "selfsubjectreviews"),
})  # fmt: skip
# Attack: a rule denies Pods, and the statistics of their node have each one's name, containers and claims.
_TOLD_BY_KUBELETS: Final = {"": (), "logs": ("nodes",), "summary": ("nodes", "pods", "persistentvolumeclaims")}
"""What of a kubelet is read → the resources whose objects the answer describes."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The operator's permissions. `defaults` hold in addition to `rules`; pass () to drop them."""

    writes: Writes = "off"
    rules: tuple[denied_resources.DeniedResource, ...] = ()
    defaults: tuple[denied_resources.DeniedResource, ...] = denied_resources.DEFAULT_RULES
    releases: bool = False
    """Whether Helm releases may be read: the toolset `helm` is enabled."""
    nodes: frozenset[str] = frozenset()
    """What may be read from kubelets: `logs`, `summary`."""
    namespaces: tuple[str, ...] | None = None
    """The patterns of the only namespaces that may be seen and changed; None: there is no limit."""
    resolve: Resolver = lambda _group, _version, _resource: None
    named: Named = lambda _rule: None

    def decide(self, call: request.Request) -> decisions.Decision:
        """Returns the verdict on one request."""
        if not call.is_resource:
            return decisions.ALLOW if call.method == "GET" else decisions.deny_write()
        if self.namespaces is None:
            return self._decide(call)
        outside = namespace_limits.find_denial(call, self.namespaces)
        if outside is not None:
            return decisions.Decision("deny", "policy.namespace", *outside)
        decision = self._decide(call)
        if decision.verdict == "allow" and namespace_limits.is_listing(call):
            return replace(decision, namespaces=self.namespaces)
        return decision

    def _decide(self, call: request.Request) -> decisions.Decision:
        """Returns the verdict on one request for a resource, whatever its namespace."""
        if call.group in metrics_apis.GROUPS:
            return self._decide_on_metric(call)
        if call.kubelet:
            return self._decide_on_node(call)
        ruled = self._judge_release(call) or self._apply_rules(call)
        if ruled is not None and ruled.verdict != "allow":
            return ruled
        # A rule that still serves a part opens neither a tunnel nor an unknown subresource.
        tunnel = decisions.deny_tunnel(call)
        if tunnel is not None and call.resource == "nodes" and self.nodes:
            return replace(tunnel, instead="call k8s.node_logs(node) or k8s.node_summary(node)")
        return tunnel or decisions.deny_subresource(call) or ruled or self._decide_by_verb(call)

    def _decide_on_node(self, call: request.Request) -> decisions.Decision:
        """Returns the verdict on a read of a node's kubelet."""
        for resource in _TOLD_BY_KUBELETS[call.kubelet]:
            ruled = self._apply_rules(replace(call, resource=resource))
            if ruled is not None:
                return ruled
        if call.kubelet in self.nodes:
            return decisions.ALLOW
        reason = f"scripts do not read the {call.kubelet} of nodes here"
        instead = f"the operator can set {call.kubelet} = true in [nodes]"
        return decisions.Decision("deny", "policy.nodes", reason, instead)

    def _decide_on_metric(self, call: request.Request) -> decisions.Decision:
        """Returns the verdict on a request to the APIs for custom and external metrics."""
        denial = metrics.find_denial(call)
        if denial is not None:
            return decisions.deny_tunnel(call) or decisions.Decision("deny", "policy.metrics", *denial)
        for described in metrics.list_described(call):
            ruled = self._apply_rules(described)
            if ruled is not None and ruled.verdict == "deny":
                return ruled
        # Attack: an adapter takes `networkpolicy.networking` for objects that a rule denies by their full name.
        denied = [rule for rule in (*self.defaults, *self.rules) if rule.denies_objects]
        if denied and metrics.is_of_unknown(call):
            return decisions.deny_unresolved(denied[0], call)
        return decisions.deny_tunnel(call) or self._apply_rules(call) or decisions.ALLOW

    def _apply_rules(self, call: request.Request) -> decisions.Decision | None:
        """Returns the rules' decision, the strictest if several cover the request."""
        served: denied_resources.DeniedResource | None = None
        for rule in (*self.defaults, *self.rules):
            is_hit = self._matches(rule, call)
            if is_hit and rule.serve != "nothing" and _is_plain_read(call):
                served = _stricter(served, rule)
            elif is_hit:
                return decisions.deny_by(rule, call)
            elif is_hit is None:
                return decisions.deny_unresolved(rule, call)
            elif self._is_mistaken(rule, call):
                return decisions.deny_mistaken(rule)
        if served is None:
            return None
        kind = kinds.kind_of(call.group, call.resource)
        if kind is None:
            kind = self.resolve(call.group, call.version, call.resource)
        return decisions.Decision("allow", served.id, serve=served.serve, kind=kind or "")

    def _judge_release(self, call: request.Request) -> decisions.Decision | None:
        """Returns why a Helm release may not be read; None when it may, or the call is for something else."""
        if not call.is_release:
            return None
        if not self.releases:
            return decisions.DENY_RELEASES
        # The built-in rule for Secrets does not apply, since the masking process never passes a release's Secret; nor
        # does one that serves more than it, the keys. The operator's other rules for Secrets or ConfigMaps do apply.
        own = tuple(rule for rule in self.rules if rule.serve != "keys")
        ruled = replace(self, defaults=(), rules=own)._apply_rules(releases.holder(call))
        if ruled is None or (ruled.serve == "metadata" and call.verb == "list"):
            return None
        return decisions.deny_content(ruled) if ruled.serve == "metadata" else ruled

    def _is_mistaken(self, rule: denied_resources.DeniedResource, call: request.Request) -> bool:
        """Says whether `rule` is about the request's group but names nothing in it, as far as discovery answers."""
        if denied_resources.is_any(rule.group):
            return False
        places = kinds.places(call.group, call.resource)
        groups = map(_group_name, places)
        if rule.group not in groups:
            return False
        # A typo in a rule must not act as a permission: a mistaken rule denies its whole group.
        return not rule.built_in and not self.named(rule)

    def _matches(self, rule: denied_resources.DeniedResource, call: request.Request) -> bool | None:
        """Says whether `rule` covers the request; None when that depends on an unknown kind."""
        # The same objects may be served under a group that the rule does not name.
        places = kinds.places(call.group, call.resource)
        found = [self._matches_place(rule, call, place) for place in places]
        if True in found:
            return True
        return None if None in found else False

    def _matches_place(
        self, rule: denied_resources.DeniedResource, call: request.Request, place: kinds.Place
    ) -> bool | None:
        """Says whether `rule` covers one place where the objects are served; None as in `_matches`."""
        if not denied_resources.is_any(rule.group) and rule.group != _group_name(place):
            return False
        names = {place.plural, f"{place.plural}/{call.subresource}"}
        if not denied_resources.is_any(rule.resource) and rule.resource not in names:
            return False
        wanted = rule.kind.lower()
        if denied_resources.is_any(wanted) or wanted in names:  # the rule's `kind` may contain the plural
            return True
        # A body sent to a subresource has a kind of its own.
        kind_below = kinds.SUBRESOURCE_KINDS.get(call.subresource, "")
        if wanted == kind_below.lower():
            return True
        kind = place.kind or self.resolve(call.group, call.version, call.resource)
        return None if kind is None else kind.lower() == wanted

    def _decide_by_verb(self, call: request.Request) -> decisions.Decision:
        """Allows reads and questions; decides on writes by the operator's setting."""
        if call.verb in _READS and call.method == "GET":
            return decisions.ALLOW
        resource = call.group, call.version, call.resource
        is_plain_create = call.verb == "create" and not call.subresource and not call.name
        if is_plain_create and resource in _QUESTIONS:
            return decisions.ALLOW
        if self.writes == "off":
            return decisions.deny_write()
        return decisions.PLAN if self.writes == "plan" else decisions.DIRECT


def _is_plain_read(call: request.Request) -> bool:
    """Says whether the request reads the objects themselves, not a subresource. For Helm releases, only the list has
    metadata."""
    if call.is_release and call.verb != "list":
        return False
    return call.method == "GET" and call.verb in _READS and not call.subresource


def _stricter(
    first: denied_resources.DeniedResource | None, other: denied_resources.DeniedResource
) -> denied_resources.DeniedResource:
    """Returns the rule that serves less, of two that serve a part; the first if both serve the same."""
    if first is None or (first.serve == "keys" and other.serve == "metadata"):
        return other
    return first


def _group_name(place: kinds.Place) -> str:
    """Returns the group as rules write it."""
    return place.group or "core"
