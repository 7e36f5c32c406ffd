"""Who uses what is deleted: pods that mount a ConfigMap or run as a service account, routes to a Service.

A user is named by its outermost controller, since pods come and go. A user that is deleted too, or whose controller is
already gone, is none. What pods use that exist now is critical: they work on, and fail at their next start.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from kubescript.guest.kubectl import tool_kinds
from kubescript.guest.kubectl.rows import cells
from kubescript.guest.plans import impact_report, inventory, routes
from kubescript.guest.sdk import client
from kubescript.kube import pod_references

__all__ = ["RULE", "report"]

Json = dict[str, Any]
Objects = Mapping[str, inventory.Found]
Listed = Mapping[tool_kinds.Kind, Sequence[Json]]

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

_Uses = dict[pod_references.Reference, dict[str, str]]
"""Maps what is used to its users, as messages with their levels."""


class Removed(Protocol):
    """One object to be deleted."""

    @property
    def kind(self) -> tool_kinds.Kind:
        """Its kind."""

    @property
    def name(self) -> str:
        """Its name."""


def report(
    k8s: client.K8s,
    namespace: str,
    found: inventory.Inventory,
    gone: Objects,
    removals: Sequence[tuple[Removed, impact_report.Report]],
) -> None:
    """Reports who uses the objects that are deleted, and stays."""
    used = [(each, one) for each, one in removals if each.kind.full_name in _USED]
    if used:
        uses = _find_uses(_read(k8s, namespace, found, ["pods", "serviceaccounts", *_TEMPLATES]), found, gone)
        for each, one in used:
            for message, level in sorted(uses[each.kind.plural, each.name].items()):
                one.find(RULE, level, message)
    names = {each.kind.full_name for each, _ in removals}
    if names & routes.ROUTED:
        routed = _read(k8s, namespace, found, routes.list_kinds(found))
        staying = list(_list_staying(routed, found, gone))
        for each, one in removals:
            for message in routes.find(staying, each.kind.full_name, each.name):
                one.find(RULE, "warning", message)
    services = [(each, one) for each, one in removals if each.kind.full_name == "services"]
    if services:
        callers, missing = routes.find_callers(k8s)
        found.note(missing)
        for each, one in services:
            for message in callers.get((namespace, each.name), ()):
                one.find(RULE, "critical", message)


def _read(k8s: client.K8s, namespace: str, found: inventory.Inventory, wanted: Iterable[str]) -> Listed:
    """Returns the whole objects of these kinds. Kinds without objects are not read again."""
    present = {each.kind.full_name: each.kind for each in found.objects.values()}
    accepts: dict[tool_kinds.Kind, inventory.Accept] = {present[name]: "json" for name in wanted if name in present}
    lists = inventory.read_lists(k8s, namespace, accepts)
    found.note(lists.missing)
    return lists.listed


def _list_staying(listed: Listed, found: inventory.Inventory, gone: Objects) -> Iterator[tuple[tool_kinds.Kind, Json]]:
    """Yields the objects that are neither deleted nor about to be."""
    for kind, objects in listed.items():
        for each in objects:
            own = found.objects.get(cells.at(each, "metadata.uid", ""))
            if own is not None and own.uid not in gone and not own.is_terminating:
                yield kind, each


def _find_uses(listed: Listed, found: inventory.Inventory, gone: Objects) -> _Uses:
    """Returns who uses which object."""
    uses: defaultdict[pod_references.Reference, dict[str, str]] = defaultdict(dict)
    for kind, each in _list_staying(listed, found, gone):
        own = found.objects[cells.at(each, "metadata.uid", "")]
        # The templates of what is controlled may be old ones; its pods show what is used.
        is_pod = kind.full_name == "pods"
        user = found.top(own)
        if user is None or user.uid in gone or (own.is_controlled and not is_pod):
            continue
        spec = each if kind.full_name == "serviceaccounts" else _spec(kind, each)
        mounted = pod_references.find({"volumes": cells.at(spec, "volumes")})
        for reference in pod_references.find(spec):
            word = _MOUNTED if reference in mounted else _REFERRED
            message = f"{word} {user.kind.full_name}/{cells.line(user.name)}"
            level = "critical" if is_pod else uses[reference].get(message, "warning")
            uses[reference][message] = level
    return uses


def _spec(kind: tool_kinds.Kind, data: Json) -> Any:
    """Returns the spec of the pods that an object is or makes; None if they have ended."""
    if kind.full_name == "pods":
        return None if cells.at(data, "status.phase") in _ENDED else cells.at(data, "spec")
    if cells.condition(data, "Complete") == "True" or cells.condition(data, "Failed") == "True":
        return None
    return cells.at(data, _TEMPLATES[kind.full_name])
