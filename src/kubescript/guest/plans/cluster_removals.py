"""The effects of deleting objects of the whole cluster: a namespace's contents, a node's pods, the objects of a
definition, and who uses a class or a volume."""

from __future__ import annotations

from typing import Any, Final

from kubescript.guest.kubectl import tool_kinds
from kubescript.guest.kubectl.rows import cells
from kubescript.guest.plans import impact_report, inventory, removals, served_kinds, users
from kubescript.guest.sdk import client
from kubescript.kube import kinds

__all__ = ["report"]

Json = dict[str, Any]

_CLASSES: Final = {
    "ingressclasses.networking.k8s.io": (("ingresses", "spec.ingressClassName"),),
    "priorityclasses.scheduling.k8s.io": (("pods", "spec.priorityClassName"),),
    "runtimeclasses.node.k8s.io": (("pods", "spec.runtimeClassName"),),
    "storageclasses.storage.k8s.io": (
        ("persistentvolumeclaims", "spec.storageClassName"),
        ("persistentvolumes", "spec.storageClassName"),
    ),
}
"""Classes, and the fields that name them."""


def report(k8s: client.K8s, served: served_kinds.Served, removal: inventory.Removal, one: impact_report.Report) -> None:
    """Reports the effects of one deletion. Raises ApiException."""
    kind = removal.kind
    if kinds.is_namespace(kind.group, kind.plural):
        _report_content(k8s, served, removal.name, one)
    elif kind.full_name == "nodes":
        _report_all(k8s, tool_kinds.find(k8s, "pods"), one, ("fieldSelector", f"spec.nodeName={removal.name}"))
    elif kind.full_name == "customresourcedefinitions.apiextensions.k8s.io":
        # The definition is named after the kind that it defines.
        _report_all(k8s, tool_kinds.find(k8s, removal.name), one)
    elif kind.full_name == "persistentvolumes":
        _report_claim(k8s, removal, one)
    for plural, field in _CLASSES.get(kind.full_name, ()):
        _report_users(k8s, tool_kinds.find(k8s, plural), field, removal.name, one)
    _report_itself(k8s, removal, one)
    # Attack: a Secret of another namespace names it as its owner.
    one.tell("not looked at: what names it as its owner, in any namespace")


def _report_content(k8s: client.K8s, served: served_kinds.Served, namespace: str, one: impact_report.Report) -> None:
    """Adds the lines of a namespace: its contents."""
    found = inventory.read(k8s, namespace, served)
    removals.tell_taken(one, found.objects.values())
    removals.tell_gaps(one, found.missing)


def _report_all(k8s: client.K8s, kind: tool_kinds.Kind, one: impact_report.Report, *query: tuple[str, str]) -> None:
    """Adds a line about the objects of a kind in the whole cluster."""
    lists = inventory.read_lists(k8s, None, {kind: "metadata"}, *query)
    found = inventory.Inventory(lists)
    removals.tell_taken(one, found.objects.values(), names_namespaces=True)
    removals.tell_gaps(one, found.missing)


def _report_users(k8s: client.K8s, kind: tool_kinds.Kind, field: str, name: str, one: impact_report.Report) -> None:
    """Adds a finding about the objects that name a class, and a line with their number."""
    found = inventory.read_lists(k8s, None, {kind: "json"})
    objects = found.listed.get(kind, [])
    named = [each for each in objects if cells.at(each, field) == name]
    if named:
        one.find(users.RULE, "warning", f"named by {kind.full_name} ({field})")
        line = f"{len(named)} {kind.full_name} name it ({field})"
        affected = [inventory.find(kind, each) for each in named]
        uids = removals.list_lasting(affected)
        one.affect(line, f"named by {kind.full_name}", len(named), uids)
    removals.tell_gaps(one, found.missing)


def _report_claim(k8s: client.K8s, removal: inventory.Removal, one: impact_report.Report) -> None:
    """Adds a finding about the claim that is bound to a volume."""
    volume = inventory.fetch(k8s, [removal]).get(removal.uid, {})
    claim = cells.at(volume, "spec.claimRef", {})
    if claim and cells.at(volume, "status.phase") == "Bound":
        name = cells.line(f"{claim.get('namespace')}/{claim.get('name')}")
        one.find(users.RULE, "critical", f"bound to persistentvolumeclaims {name}")


def _report_itself(k8s: client.K8s, removal: inventory.Removal, one: impact_report.Report) -> None:
    """Adds the lines about the object's finalizers and age."""
    for data in inventory.fetch(k8s, [removal], "metadata").values():
        found = inventory.find(removal.kind, data)
        removals.tell_object(one, found)
