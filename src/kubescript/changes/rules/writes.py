"""The policy for writes: which ones may be tried at all. It does no I/O and keeps no state.

`policy` decides whether a cluster may be changed; `find_objection` then judges each write before anything is sent, and
`effects` judges the changes in its dry run. Both deny writes by rules with an id. Those whose level an operator can set
are in `table`.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from kubescript import config
from kubescript.changes import requests
from kubescript.changes.rules import table
from kubescript.kube import kinds
from kubescript.policy import decisions
from kubescript.request import request

__all__ = [
    "COMMAND",
    "Policy",
    "by",
    "check_verb",
    "covers",
    "find_objection",
    "is_in",
    "is_in_scope",
    "may_reach",
    "operation",
    "resource",
    "some",
]  # fmt: skip


COMMAND: Final = "return the kubectl command"
_VERBS: Final = frozenset({"create", "update", "patch", "delete"})
# Other subresources have effects that no dry run shows.
_LIFTED: Final = frozenset({"status", "ephemeralcontainers", "resize", "approval"})
"""The subresources that may be written if `writes.subresource` does not refuse that."""
# These decisions are irrevocable, and no later look at the object could confirm that they were carried out.
_UNPLANNED: Final = frozenset({"bindings", "pods/binding"})
"""Decisions that never become part of a plan."""
_SHOWN: Final = 3
"""How many namespaces or registries a reason lists."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The changes permitted in one cluster; `write_settings` makes it from the settings of the same names."""

    namespaces: tuple[str, ...] = ()
    verbs: Mapping[str, tuple[str, ...]] | None = None
    """The permitted verbs by resource. None: all verbs."""
    targets: str = ""
    replicas: tuple[int, int] = (0, 100)
    registries: tuple[str, ...] = ()
    levels: Mapping[str, config.Level] = field(default_factory=dict)
    """The levels that the operator has set, by the rule's id."""
    is_read: bool = False
    """Whether a person reads the findings of a write before it is sent."""
    expressions: tuple[config.Expression, ...] = ()
    per_minute: int = 120
    unapproved: tuple[str, ...] = ()
    """The namespaces in which people must approve a write, of a cluster in which none is asked."""

    def level(self, rule: table.Rule) -> config.Level:
        """Returns what becomes of a write that a rule covers."""
        chosen = self.levels.get(rule.id, rule.level)
        # Attack: a model writes what only a person may decide, where no person reads its findings.
        return chosen if self.is_read or chosen == "allow" else "refuse"

    @property
    def refusals(self) -> tuple[str, ...]:
        """What is never written, by the levels of the built-in rules, in a word or two each."""
        return tuple(rule.what for rule in table.RULES if self.level(rule) == "refuse")


def find_objection(call: request.Request, rules: Policy) -> decisions.Decision | None:
    """Returns why a write may not even be tried; None if it may."""
    # The first denial is enough; denials that cannot be lifted come first.
    denials = _denials(call, rules)
    return next(denials, None)


def verb(call: request.Request) -> str:
    """Returns a write's effect on its object: an eviction deletes a pod."""
    return "delete" if call.subresource == "eviction" else call.verb


def resource(call: request.Request) -> str:
    """Returns a write's resource as in the settings: `deployments.apps/scale`; for an eviction, `pods`."""
    name = kinds.full_name(call.group, call.resource)
    if call.subresource in {"", "eviction"}:
        return name
    return f"{name}/{call.subresource}"


def operation(call: request.Request, *, exists: bool) -> table.Operation:
    """Returns the operation of a write; `exists` says whether the object exists already."""
    if verb(call) == "delete":
        return "DELETE"
    return "UPDATE" if exists else "CREATE"


def by(rule: table.Rule) -> decisions.Decision:
    """Returns a built-in rule's denial."""
    return _deny(rule.id, rule.reason, COMMAND)


def check_verb(call: request.Request, wanted: str, rules: Policy) -> decisions.Decision | None:
    """Returns why a write may not do `wanted` (create, update, patch, delete) to such an object; None when it may."""
    if rules.verbs is None:
        return None
    names = [resource(call)]
    # Attack: a Deployment in `extensions` is the same object as in `apps`, but falls under a different rule.
    for place in kinds.places(call.group, call.resource):
        same = replace(call, group=place.group, resource=place.plural)
        names.append(resource(same))
    keys = []
    for name in names:
        whole, _, _ = name.partition("/")
        keys += [name, whole]
    # The first of the names decides alone, so that a rule for `*` adds nothing to a rule for the object.
    ruled = [rules.verbs[key] for key in (*keys, "*") if key in rules.verbs]
    allowed = ruled[0] if ruled else ()
    if wanted in allowed:
        return None
    instead = f"permitted: {', '.join(allowed)}" if allowed else COMMAND
    return _deny("writes.verbs", f"{wanted} is not permitted for it", instead)


def is_in(namespace: str, patterns: Iterable[str]) -> bool:
    """Says whether one of the patterns matches; `*` also matches objects without a namespace."""
    return any(fnmatch.fnmatchcase(namespace, pattern) for pattern in patterns)


def is_in_scope(namespace: str, patterns: Collection[str]) -> bool:
    """Says whether a change in a namespace is within a scope; one outside namespaces is only if "" is listed."""
    # `*` means every namespace, but not objects without one.
    return is_in(namespace, patterns) if namespace else "" in patterns


def may_reach(namespace: str | None, patterns: Collection[str]) -> bool:
    """Says whether a change is, or may be, in a namespace that one of the patterns matches; None stands for all
    namespaces."""
    return bool(patterns) if namespace is None else is_in(namespace, patterns)


def covers(namespace: str | None, patterns: Collection[str]) -> bool:
    """Says whether a change is certainly in namespaces that the patterns match; None stands for all namespaces."""
    return "*" in patterns if namespace is None else is_in(namespace, patterns)


def some(names: tuple[str, ...]) -> str:
    """Returns the first few names, for a reason."""
    shown = [name or '""' for name in names[:_SHOWN]]
    if len(names) > _SHOWN:
        shown.append("…")
    return ", ".join(shown)


def _denials(call: request.Request, rules: Policy) -> Iterator[decisions.Decision]:
    """Yields the objections to a request; those that cannot be lifted come first."""
    yield from _always(call)
    if rules.namespaces and not is_in_scope(call.namespace, rules.namespaces):
        yield _deny("writes.scope", f"only namespaces {some(rules.namespaces)} may be changed", COMMAND)
    # Attack: a definition is deleted, and all objects of its kind go with it, wherever they are.
    is_anywhere = requests.removes(call) and not call.namespace
    if may_reach(None if is_anywhere else call.namespace, rules.unapproved):
        yield _deny(
            "writes.approvals",
            'people must approve this change, and with `writes = "direct"` nobody is asked',
            'the operator can set `writes = "plan"`, or take the namespace out of `write_policy.approvals`',
        )
    yield from _list_refusals(call, rules)
    refused = check_verb(call, verb(call), rules)
    if refused is not None:
        yield refused
    if call.verb not in _list_verbs(call):
        yield _deny("writes.verbs", f"no API server lets one {call.verb} it by name", COMMAND)


def _always(call: request.Request) -> Iterator[decisions.Decision]:
    """Yields the objections that no setting lifts."""
    names = {call.resource, f"{call.resource}/{call.subresource}"}
    if not call.group and names & _UNPLANNED:
        yield _deny("writes.dry_run", "a binding cannot be tried first", COMMAND)
    is_many = call.verb == "deletecollection"
    if not call.is_resource or (call.verb not in _VERBS and not is_many):
        yield _deny("writes.verbs", "this is no write of an object", COMMAND)
    if is_many or (call.verb != "create" and not call.name):
        yield _deny("writes.collections", "a write names one object", "delete each object by its name")
    if not table.is_plain(call) and call.subresource not in _LIFTED:
        yield by(table.SUBRESOURCE)
    options = dict(call.query)
    if options.get("labelSelector") or options.get("fieldSelector"):
        yield _deny("writes.selector", "a write takes no selector", "list first, then write each object by its name")
    is_creation = call.verb == "create" and not call.subresource
    if is_creation and not requests.name(call):
        yield _deny("writes.generate_name", "a plan names what it makes", "set metadata.name, not generateName")


def _list_verbs(call: request.Request) -> frozenset[str]:
    """Returns the verbs that API servers support for such an object."""
    # Any other verb might have effects that no dry run shows.
    if call.subresource == "eviction":
        return frozenset({"create"})
    if call.subresource:
        return frozenset({"update", "patch"})
    return _VERBS - {"create"} if call.name else _VERBS


def _list_refusals(call: request.Request, rules: Policy) -> Iterator[decisions.Decision]:
    """Yields the built-in rules that refuse a write, whatever its dry run shows."""
    possible = _list_operations(call)
    for rule in table.RULES:
        if rules.level(rule) == "refuse" and rule.is_about(call):
            refused = possible & rule.operations
            possible -= refused
            if refused and not possible:
                yield by(rule)


def _list_operations(call: request.Request) -> frozenset[table.Operation]:
    """Returns the operations that a write may turn out to be."""
    # Only its dry run shows whether an apply creates its object.
    is_apply = call.content_type.startswith("application/apply-patch")
    states = (False, True) if is_apply else (call.verb != "create",)
    return frozenset(operation(call, exists=exists) for exists in states)


def _deny(rule: str, reason: str, instead: str) -> decisions.Decision:
    return decisions.Decision("deny", rule, reason, instead)
