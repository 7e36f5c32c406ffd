"""Who uses what is deleted: pods that mount a ConfigMap or run as a service account, routes to a Service.

A user is named by its outermost controller, since pods come and go. A user that is deleted earlier in the plan, or
whose controller is already gone, is none. What pods use that exist now is critical: they work on, and fail at their
next start. If the user is deleted later in the plan, it is a warning: the plan may stop before that.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kubescript.guest.kubectl import tool_kinds
from kubescript.guest.kubectl.rows import cells
from kubescript.guest.plans import impact_report, inventory, routes
from kubescript.guest.sdk import client
from kubescript.kube import pod_references

__all__ = ["RULE", "report"]

Json = dict[str, Any]
Listed = Mapping[tool_kinds.Kind, Sequence[Json]]
Ends = Mapping[str, int]
"""Maps the uids of objects to the index of the deletion with which each goes."""

RULE: Final = "writes.used"
_USED: Final = frozenset({"configmaps", "persistentvolumeclaims", "secrets", "serviceaccounts"})
"""Kinds of the core group to which pods refer."""
_TEMPLATES: Final = {
    "cronjobs.batch": "spec.jobTemplate.spec.template.spec",
    "daemonsets.apps": "spec.template.spec",
    "deployments.apps": "spec.template.spec",
    "jobs.batch": "spec.template.spec",
    "replicasets.apps": "spec.template.spec",
    "replicationcontrollers": "spec.template.spec",
    "statefulsets.apps": "spec.template.spec",
}
"""Where a workload has the spec of its pods."""
_ENDED: Final = frozenset({"Failed", "Succeeded"})
_MOUNTED: Final = "mounted by"
_REFERRED: Final = "referred to by"
_LATER: Final = ", which the plan deletes later"
_NEXT_START: Final = ", whose pods run on and need it at their next start"


class _User(NamedTuple):
    """An object that may use others."""

    kind: tool_kinds.Kind
    data: Json
    found: inventory.Found
    end: float
    """The index of the deletion with which it goes; infinite if it stays."""


class _Use(NamedTuple):
    """One use of an object."""

    message: str
    level: str
    end: float
    """See `_User.end`."""


_Uses = Mapping[pod_references.Reference, set[_Use]]


def report(
    k8s: client.K8s,
    namespace: str,
    found: inventory.Inventory,
    ends: Ends,
    removals: Sequence[tuple[inventory.Removal, impact_report.Report]],
) -> None:
    """Reports who uses the objects that are deleted, unless an earlier deletion takes the user."""
    names = {each.kind.full_name for each, _ in removals}
    if names & _USED:
        listed = inventory.read_whole(k8s, namespace, found, ["pods", "serviceaccounts", *_TEMPLATES])
        _report_uses(_find_uses(list(_list_users(listed, found, ends)), found, ends), removals)
    if names & routes.ROUTED:
        listed = inventory.read_whole(k8s, namespace, found, routes.list_kinds(found))
        _report_routes(list(_list_users(listed, found, ends)), removals)
    if "services" in names:
        callers, missing = routes.find_callers(k8s)
        found.note(missing)
        for each, one in removals:
            if each.kind.full_name == "services":
                for message in callers.get((namespace, each.name), ()):
                    one.find(RULE, "critical", message)


def _report_uses(uses: _Uses, removals: Sequence[tuple[inventory.Removal, impact_report.Report]]) -> None:
    for index, (each, one) in enumerate(removals):
        if each.kind.full_name not in _USED:
            continue
        levels: dict[str, str] = {}
        for use in uses.get((each.kind.plural, each.name), ()):
            if use.end == math.inf:
                # One of the pods that use it may have ended, and another one not.
                levels[use.message] = "critical" if levels.get(use.message) == "critical" else use.level
            elif use.end > index:
                # Attack: a step in between fails, so that the user stays.
                levels[use.message + _LATER] = "warning"
        for message, level in sorted(levels.items()):
            one.find(RULE, level, message + _NEXT_START if level == "critical" else message)


def _report_routes(users: Sequence[_User], removals: Sequence[tuple[inventory.Removal, impact_report.Report]]) -> None:
    for index, (each, one) in enumerate(removals):
        for user in users:
            if user.end <= index:
                continue
            later = "" if user.end == math.inf else _LATER
            for message in routes.find(user.kind, user.data, each.kind.full_name, each.name):
                one.find(RULE, "warning", message + later)


def _list_users(listed: Listed, found: inventory.Inventory, ends: Ends) -> Iterator[_User]:
    """Yields the objects that are not being deleted already."""
    for kind, objects in listed.items():
        for each in objects:
            own = found.objects.get(cells.at(each, "metadata.uid", ""))
            if own is not None and not own.is_terminating:
                yield _User(kind, each, own, ends.get(own.uid, math.inf))


def _find_uses(users: Iterable[_User], found: inventory.Inventory, ends: Ends) -> _Uses:
    """Returns who uses which object."""
    uses: defaultdict[pod_references.Reference, set[_Use]] = defaultdict(set)
    for each in users:
        # The templates of what is controlled may be old ones; its pods show what is used.
        is_pod = each.kind.full_name == "pods"
        named = found.top(each.found)
        if named is None or (each.found.is_controlled and not is_pod):
            continue
        end = min(each.end, ends.get(named.uid, math.inf))
        spec = each.data if each.kind.full_name == "serviceaccounts" else _spec(each.kind, each.data)
        mounted = pod_references.find({"volumes": cells.at(spec, "volumes")})
        for reference in pod_references.find(spec):
            word = _MOUNTED if reference in mounted else _REFERRED
            message = f"{word} {named.kind.full_name}/{cells.line(named.name)}"
            uses[reference].add(_Use(message, "critical" if is_pod else "warning", end))
    return uses


def _spec(kind: tool_kinds.Kind, data: Json) -> Any:
    """Returns the spec of the pods that an object is or makes; None if they have ended."""
    if kind.full_name == "pods":
        return None if cells.at(data, "status.phase") in _ENDED else cells.at(data, "spec")
    if cells.condition(data, "Complete") == "True" or cells.condition(data, "Failed") == "True":
        return None
    return cells.at(data, _TEMPLATES[kind.full_name])
