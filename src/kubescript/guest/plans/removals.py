"""The effects of deletions in namespaces: what goes with an object, what is left without it, and what keeps it.

Each namespace is read once, however many deletions it has.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from kubescript.guest.kubectl.rows import cells
from kubescript.guest.plans import impact_report, inventory, remaining, served_kinds, users
from kubescript.guest.sdk import client

__all__ = ["list_lasting", "report", "tell_gaps", "tell_object", "tell_taken"]

Json = dict[str, Any]
_COLLECTED: Final = frozenset({"foregroundDeletion", "orphan"})
"""Finalizers with which the garbage collector itself carries out a deletion."""
_CLAIMS: Final = "writes.claims"
_MAX_NAMES: Final = 5
"""How many names one line lists."""
_MAX_GAPS: Final = 8
"""How many kinds one line lists that were not looked at."""


Reports = Sequence[tuple[inventory.Removal, impact_report.Report]]


def report(k8s: client.K8s, served: served_kinds.Served, namespace: str, removals: Reports) -> None:
    """Reports the effects of one namespace's deletions. Raises ApiException."""
    deleted = [removal for removal, _ in removals]
    found = inventory.read(k8s, namespace, served, [each.kind.full_name for each in deleted])
    gone = found.collect([each.uid for each in deleted if not each.orphans])
    for each in deleted:
        # The object itself goes in any case.
        if each.uid in found.objects:
            gone[each.uid] = found.objects[each.uid]
    losses = remaining.Losses(k8s, namespace, found, gone)
    ends: dict[str, int] = {}
    for index, (removal, one) in enumerate(removals):
        taken = _list_taken(found, removal, gone)
        uids = [removal.uid, *(each.uid for each in taken)]
        ends |= dict.fromkeys(uids, index)
        tell_taken(one, taken)
        _tell_orphans(one, found, removal, gone)
        _note_pods(one, [*taken, *filter(None, [found.objects.get(removal.uid)])])
        losses.report(removal, one)
    users.report(k8s, namespace, found, ends, removals)
    sizes = _count_keys(k8s, deleted)
    for removal, one in removals:
        tell_object(one, found.objects.get(removal.uid), sizes.get(removal.uid, ""))
        tell_gaps(one, found.missing)


def _count_keys(k8s: client.K8s, removals: Sequence[inventory.Removal]) -> dict[str, str]:
    """Returns how much the deleted ConfigMaps hold, by uid."""
    maps = [each for each in removals if each.kind.full_name == "configmaps"]
    sizes = {}
    for uid, data in inventory.fetch(k8s, maps).items():
        count = len(cells.at(data, "data", {})) + len(cells.at(data, "binaryData", {}))
        sizes[uid] = f"; {count} keys"
    return sizes


def _list_taken(
    found: inventory.Inventory, removal: inventory.Removal, gone: Mapping[str, inventory.Found]
) -> list[inventory.Found]:
    """Returns the objects that are deleted along with one object, directly owned ones first."""
    if removal.orphans:
        return []
    taken: dict[str, inventory.Found] = {}
    waiting = deque([removal.uid])
    while waiting:
        for each in found.list_owned(waiting.popleft()):
            if each.uid in gone and each.uid not in taken and each.uid != removal.uid:
                taken[each.uid] = each
                waiting.append(each.uid)
    return list(taken.values())


def tell_taken(one: impact_report.Report, taken: Iterable[inventory.Found], *, names_namespaces: bool = False) -> None:
    """Adds a line for each kind whose objects are deleted too."""
    for kind, objects in _by_kind(taken).items():
        line = f"takes {_write_count(kind, objects, names_namespaces=names_namespaces)} with it"
        one.affect(line, f"takes {kind}", len(objects), list_lasting(objects))
        if kind == "persistentvolumeclaims" and not all(map(_is_ephemeral, objects)):
            one.find(_CLAIMS, "critical", "takes persistentvolumeclaims with it, and their data")


def _is_ephemeral(claim: inventory.Found) -> bool:
    """Says whether a claim is a pod's own, which ends with the pod in any case."""
    return any(owner.is_controller and owner.kind == ("", "Pod") for owner in claim.owners)


def _note_pods(one: impact_report.Report, gone: Iterable[inventory.Found]) -> None:
    """Notes the pods among the objects that a deletion takes, itself included."""
    for each in gone:
        if each.kind.full_name == "pods":
            one.gone[each.name] = cells.at(each.metadata, "labels", {})


def _tell_orphans(
    one: impact_report.Report,
    found: inventory.Inventory,
    removal: inventory.Removal,
    gone: Mapping[str, inventory.Found],
) -> None:
    """Adds a line for each kind whose objects lose their owner and stay."""
    if not removal.orphans:
        return
    left = [each for each in found.list_owned(removal.uid) if each.uid not in gone]
    for kind, objects in _by_kind(left).items():
        line = f"leaves {_write_count(kind, objects)} without an owner"
        one.affect(line, f"leaves {kind}", len(objects), list_lasting(objects))


def tell_gaps(one: impact_report.Report, missing: Sequence[str]) -> None:
    """Adds a line about what could not be looked at, or not completely."""
    if not missing:
        return
    shown = ", ".join(missing[:_MAX_GAPS])
    more = f", and {len(missing) - _MAX_GAPS} more" if len(missing) > _MAX_GAPS else ""
    one.tell(f"not looked at: {shown}{more}")
    for each in missing:
        # Attack: another kind cannot be looked at by then, and what a deletion takes is of that kind.
        one.compare(f"not looked at: {each.partition(' (')[0]}", 1)


def tell_object(one: impact_report.Report, found: inventory.Found | None, size: str = "") -> None:
    """Adds lines about the deleted object itself: what delays its end, and its age and size."""
    if found is None:
        return
    held = [cells.line(each) for each in cells.elements(found.metadata, "finalizers") if each not in _COLLECTED]
    if held:
        line = f"stays until its finalizers ({', '.join(held[:_MAX_NAMES])}) are removed by their controllers"
        one.affect(line, "stays until its finalizers are removed", len(held))
    created = found.metadata.get("creationTimestamp")
    if created:
        one.tell(f"created {cells.since(created)} ago{size}")


def list_lasting(objects: Iterable[inventory.Found]) -> Iterator[str]:
    """Yields the uids of objects that no controller makes anew."""
    for each in objects:
        if not each.is_replaced:
            yield each.uid


def _by_kind(objects: Iterable[inventory.Found]) -> dict[str, list[inventory.Found]]:
    """Returns the objects by kind."""
    found = defaultdict(list)
    for each in objects:
        found[each.kind.full_name].append(each)
    return found


def _write_count(kind: str, objects: Sequence[inventory.Found], *, names_namespaces: bool = False) -> str:
    """Returns `3 pods (web-1, web-2, web-3)`, or `pods web-1`; on demand `pods shop/web-1`."""
    # Attack: a name with a line end would add a line to the text that the approver reads.
    names = sorted(cells.line(each.full_name if names_namespaces else each.name) for each in objects)
    if len(names) == 1:
        return f"{kind} {names[0]}"
    shown = ", ".join(names[:_MAX_NAMES])
    more = ", …" if len(names) > _MAX_NAMES else ""
    return f"{len(names)} {kind} ({shown}{more})"
