"""What the policy answers: a verdict, and for a denial the reason and what to do instead."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Final, Literal

from kubescript.kube import kinds
from kubescript.policy import denied_resources
from kubescript.request import request

__all__ = [
    "ALLOW",
    "DENY_RELEASES",
    "DIRECT",
    "PLAN",
    "Decision",
    "Verdict",
    "deny_by",
    "deny_content",
    "deny_mistaken",
    "deny_subresource",
    "deny_tunnel",
    "deny_unresolved",
    "deny_write",
]

Verdict = Literal["allow", "deny", "plan", "direct"]
"""`plan`: dry-run it and add it to a plan. `direct`: dry-run it, and send it when no rule objects."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict and, unless it is "allow", the rule, the reason and what to do instead, as text for the model. It
    quotes no names from the request, which may come from the cluster."""

    verdict: Verdict
    rule: str = ""
    """Stable id: policy.read_only, policy.tunnel, policy.subresource, policy.denied_resource, policy.unresolved_kind,
    policy.mistaken_rule, policy.releases, policy.namespace, policy.metrics, policy.nodes. When only a part is served:
    the operator's rule, `core/Secret`."""
    reason: str = ""
    instead: str = ""
    serve: Literal["whole"] | denied_resources.Serve = "whole"
    """The part of the objects that an allowed request may return."""
    kind: str = ""
    """When only a part is served: the kind of the objects; empty when unknown."""
    namespaces: tuple[str, ...] = ()
    """When the answer has Namespaces of which only some may pass: the patterns of their names."""


ALLOW: Final = Decision("allow")
PLAN: Final = Decision("plan")
DIRECT: Final = Decision("direct")
DENY_RELEASES: Final = Decision(
    "deny",
    "policy.releases",
    "Helm releases are served only with the toolset helm",
    "the operator can add helm to --toolsets",
)

_CUSTOM_SUBRESOURCES: Final = frozenset({"status", "scale"})
_INSTEAD_OF: Final = {
    "exec": "read logs, status and events",
    "attach": "read logs",
    "portforward": "read endpoints and the pods' readiness",
    "proxy": "read the object, its status and events",
}


def deny_by(rule: denied_resources.DeniedResource, call: request.Request) -> Decision:
    """Denies what a rule covers."""
    reason = f"the operator denies {rule.id}"
    instead = "do without it"
    if call.method != "GET" and (rule.serve != "nothing" or call.resource == "secrets"):
        what = "Secrets are" if call.resource == "secrets" else "this is"
        reason = f"{what} not written here, by the rule {rule.id}"
        instead = "return the kubectl command instead"
    elif rule.serve != "nothing":
        reason = f"only metadata of {rule.id} is served"
        if rule.serve == "keys":
            reason = f"only metadata and key names of {rule.id} are served"
        instead = "get, list or watch the objects themselves"
    elif call.resource == "secrets":
        instead = "look at what refers to it (env, volumes)"
    return Decision("deny", "policy.denied_resource", reason, instead)


def deny_content(ruled: Decision) -> Decision:
    """Denies a Helm release stored in objects of which the operator serves only the metadata."""
    reason = f"only metadata of {ruled.rule} is served, and the release is kept in one"
    return Decision("deny", "policy.denied_resource", reason, "list the releases")


def deny_unresolved(rule: denied_resources.DeniedResource, call: request.Request) -> Decision:
    """Denies what a rule may cover, since the kind is unknown."""
    reason = f"kind unknown, and the operator denies {rule.id}"
    instead = "check group, version and plural"
    built_in = kinds.BUILT_IN.get(call.group, {})
    close = difflib.get_close_matches(call.resource, built_in, n=1)
    if close:
        instead = f"did you mean {close[0]}?"
    return Decision("deny", "policy.unresolved_kind", reason, instead)


def deny_mistaken(rule: denied_resources.DeniedResource) -> Decision:
    """Denies a group of which a rule names nothing that is there."""
    reason = f"rule {rule.id} matches nothing, so its group is denied"
    return Decision("deny", "policy.mistaken_rule", reason, "the operator must fix it")


def deny_tunnel(call: request.Request) -> Decision | None:
    """Denies requests that open a tunnel, whose traffic no policy can see."""
    if call.subresource in request.CONNECT:
        kind = call.subresource
    elif call.verb == "proxy":
        kind = "proxy"
    else:
        return None
    reason = f"{kind} is never available"
    return Decision("deny", "policy.tunnel", reason, _INSTEAD_OF[kind])


def deny_subresource(call: request.Request) -> Decision | None:
    """Denies subresources that are not on the list of known ones."""
    # An unknown subresource may have any effect, even on GET, as nodes/proxy has.
    if not call.subresource:
        return None
    known = _CUSTOM_SUBRESOURCES
    if call.group in kinds.BUILT_IN:
        known = kinds.READ_SUBRESOURCES if call.method == "GET" else kinds.WRITE_SUBRESOURCES
    if call.subresource in known:
        return None
    reason = "this subresource is not known to be safe"
    return Decision("deny", "policy.subresource", reason, "read the object itself")


def deny_write() -> Decision:
    """Denies every write on a read-only server."""
    instead = "return the kubectl command instead"
    return Decision("deny", "policy.read_only", "this server is read-only", instead)
