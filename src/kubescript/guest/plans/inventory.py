"""The objects of one namespace, by uid, with their owners: what a deletion takes along, and what it leaves.

Each kind is listed once, as metadata, however many changes there are in the namespace.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kubescript.guest.kubectl import tool_kinds
from kubescript.guest.kubectl.describe import subject
from kubescript.guest.kubectl.rows import cells
from kubescript.guest.plans import served_kinds
from kubescript.guest.sdk import client
from kubescript.guest.sdk.objects import list_objects, schemas
from kubescript.guest.sdk.values import exceptions, lazy_json
from kubescript.wire import exchanges

__all__ = [
    "Found", "Inventory", "Lists", "Owner", "Removal", "fetch", "find", "read", "read_lists", "read_whole",
]  # fmt: skip

Json = dict[str, Any]
Accept = exchanges.Accept

_KEPT: Final = frozenset({
    "creationTimestamp", "deletionTimestamp", "finalizers", "name", "namespace", "ownerReferences", "uid",
})  # fmt: skip
_KEPT_OF_PODS: Final = _KEPT | {"labels"}
_REPLACED: Final = frozenset({
    "controllerrevisions.apps", "endpointslices.discovery.k8s.io", "jobs.batch", "pods", "replicasets.apps",
    "replicationcontrollers",
})  # fmt: skip
"""Kinds whose objects controllers make anew."""
MAX_OBJECTS: Final = 5_000
"""How many objects of one kind are read."""


class Owner(NamedTuple):
    """One owner reference."""

    uid: str
    kind: tuple[str, str]
    """Group and kind, as in the reference."""
    is_controller: bool


class Found(NamedTuple):
    """One object."""

    kind: tool_kinds.Kind
    name: str
    uid: str
    owners: tuple[Owner, ...]
    metadata: Json

    @property
    def full_name(self) -> str:
        """The name after the namespace, if the object has one: `shop/web`."""
        namespace = cells.at(self.metadata, "namespace", "")
        return f"{namespace}/{self.name}" if namespace else self.name

    @property
    def is_controlled(self) -> bool:
        """Whether a controller makes the object."""
        return any(owner.is_controller for owner in self.owners)

    @property
    def is_replaced(self) -> bool:
        """Whether a controller makes the object and replaces it, so that it comes and goes by itself."""
        # Attack: a claim, a Secret or a custom object with a controller has data of its own.
        return self.is_controlled and self.kind.full_name in _REPLACED

    @property
    def is_terminating(self) -> bool:
        """Whether the object is being deleted."""
        return bool(self.metadata.get("deletionTimestamp"))


class Removal(NamedTuple):
    """One object to be deleted."""

    kind: tool_kinds.Kind
    namespace: str
    name: str
    uid: str
    orphans: bool
    """Whether the object's dependents are spared."""


class Lists(NamedTuple):
    """The objects of some kinds."""

    listed: dict[tool_kinds.Kind, list[Json]]
    missing: list[str]
    """Kinds that were not read, or not completely, with the reason."""
    partial: set[tool_kinds.Kind]
    """Kinds that were not read completely."""

    def add(self, more: Lists) -> Lists:
        """Returns these lists and more of them."""
        return Lists(self.listed | more.listed, self.missing + more.missing, self.partial | more.partial)


class Inventory:
    """One namespace's objects."""

    def __init__(self, lists: Lists, missing: Sequence[str] = ()) -> None:
        """`missing` is not looked at, beyond what `lists` does not have."""
        self.missing = [*missing, *lists.missing]
        """Kinds that were not read, or not completely, with the reason."""
        self.objects: dict[str, Found] = {}
        """Maps each uid to its object."""
        self.owners: set[tuple[str, str]] = set()
        """Group and kind of what objects name as their owners."""
        self.whole = Lists({}, [], set())
        """The objects that were read as a whole; see `read_whole`."""
        self._owned: defaultdict[str, list[Found]] = defaultdict(list)
        self._read = {(kind.group, kind.kind) for kind in lists.listed.keys() - lists.partial}
        """Group and kind of what was read completely."""
        for kind, objects in lists.listed.items():
            for each in objects:
                found = find(kind, each)
                self.objects[found.uid] = found
                for owner in found.owners:
                    self._owned[owner.uid].append(found)
                    self.owners.add(owner.kind)

    def note(self, missing: Sequence[str]) -> None:
        """Notes what else could not be read."""
        self.missing += [each for each in missing if each not in self.missing]

    def list_owned(self, uid: str) -> Sequence[Found]:
        """Returns the objects that name an owner."""
        return self._owned.get(uid, ())

    def collect(self, roots: Sequence[str]) -> dict[str, Found]:
        """Returns the objects that are deleted along with all of these, by uid: those whose owners are all gone."""
        # Attack: a namespace has objects that own one another in a circle, or thousands that own one another.
        gone: dict[str, Found] = {}
        waiting = list(roots)
        is_gone = set(roots)
        while waiting:
            for each in self.list_owned(waiting.pop()):
                if each.uid not in is_gone and not self._lives(each, is_gone):
                    is_gone.add(each.uid)
                    gone[each.uid] = each
                    waiting.append(each.uid)
        return gone

    def _lives(self, found: Found, gone: set[str]) -> bool:
        """Says whether an object keeps an owner that is known to exist."""
        return any(owner.uid not in gone and owner.uid in self.objects for owner in found.owners)

    def top(self, found: Found) -> Found | None:
        """Returns the outermost controller of an object, which is the object itself if nothing controls it; None if
        its controller is gone, so that it is about to be deleted."""
        seen = set()
        while found.uid not in seen:
            seen.add(found.uid)
            controllers = [owner for owner in found.owners if owner.is_controller]
            if not controllers:
                return found
            above = self.objects.get(controllers[0].uid)
            if above is None:
                # Kinds that were not read, such as nodes, may control objects too.
                return None if controllers[0].kind in self._read else found
            found = above
        return found


def read(k8s: client.K8s, namespace: str, served: served_kinds.Served, deleted: Iterable[str] = ()) -> Inventory:
    """Reads a namespace's objects of the kinds that are looked at; of rare kinds only if they are among the full names
    `deleted`, or own what was read."""
    lists = Lists({}, [], set())
    rare = {kind.full_name: kind for kind in served.rare}
    wanted = [*served.kinds, *(rare.pop(name) for name in set(deleted) & rare.keys())]
    while True:
        lists = lists.add(read_lists(k8s, namespace, dict.fromkeys(wanted, "metadata")))
        found = Inventory(lists, served.missing)
        wanted = [kind for kind in rare.values() if (kind.group, kind.kind) in found.owners]
        if not wanted:
            return found
        for kind in wanted:
            del rare[kind.full_name]


def read_whole(
    k8s: client.K8s, namespace: str, found: Inventory, wanted: Iterable[str]
) -> dict[tool_kinds.Kind, list[Json]]:
    """Returns the whole objects of these kinds. Kinds without objects, and those that were read before, are not read
    again."""
    present = {each.kind.full_name: each.kind for each in found.objects.values()}
    chosen = [present[name] for name in wanted if name in present]
    accepts: dict[tool_kinds.Kind, Accept] = {kind: "json" for kind in chosen if kind not in found.whole.listed}
    lists = read_lists(k8s, namespace, accepts)
    found.whole = found.whole.add(lists)
    found.note(lists.missing)
    return {kind: found.whole.listed[kind] for kind in chosen if kind in found.whole.listed}


def fetch(k8s: client.K8s, removals: Iterable[Removal], accept: Accept = "json") -> dict[str, Json]:
    """Returns the objects that are deleted, by uid; those that cannot be read are missing."""
    reads = {}
    for each in removals:
        call = exchanges.Call("GET", each.kind.path(each.namespace or None, each.name), accept=accept)
        reads[each.uid] = functools.partial(_fetch, k8s, call)
    answers = subject.together(k8s, reads)
    return {uid: data for uid, data in answers.items() if isinstance(data, dict)}


def _fetch(k8s: client.K8s, call: exchanges.Call) -> Any:
    data, _ = k8s._session.fetch(call, schemas.OBJECT)
    return data


def read_lists(
    k8s: client.K8s, namespace: str | None, accepts: Mapping[tool_kinds.Kind, Accept], *query: tuple[str, str]
) -> Lists:
    """Returns the objects of each kind in a namespace, or in the cluster."""
    reads = {}
    for kind, accept in accepts.items():
        bounded = (*query, ("limit", str(MAX_OBJECTS)))
        call = exchanges.Call("GET", kind.path(namespace), bounded, accept=accept)
        kept = _KEPT_OF_PODS if kind.full_name == "pods" else _KEPT
        reads[kind.full_name] = _reader(k8s, call, kept)
    answers = subject.together(k8s, reads)
    found = Lists({}, [], set())
    for kind in accepts:
        answer = answers[kind.full_name]
        if isinstance(answer, Exception):
            # A kind that the cluster no longer serves has no objects.
            if not isinstance(answer, exceptions.NotFoundException):
                reason = getattr(answer, "status", None) or subject.reason(answer)
                found.missing.append(f"{kind.full_name} ({reason})")
            continue
        found.listed[kind], gap = answer
        if gap:
            found.partial.add(kind)
            found.missing.append(f"{kind.full_name} {gap}")
    return found


def _reader(k8s: client.K8s, call: exchanges.Call, kept: frozenset[str]) -> Callable[[], tuple[list[Json], str]]:
    """Returns a function that makes a call; it returns the objects, of whose metadata these fields are kept, and what
    of them is missing."""

    def fetch() -> tuple[list[Json], str]:
        found, reply = k8s._session.fetch_list(call, schemas.OBJECT, "")
        if call.accept == "metadata":
            # A namespace may have many objects, and managedFields is most of their metadata.
            return [_cut(lazy_json.whole(each._data), kept) for each in found], _find_gap(found)
        objects: list[Json] = subject.plain(found)
        # The policy may withhold all but the metadata.
        return objects, "(of which only metadata may be read)" if reply.metadata_rule else _find_gap(found)

    return fetch


def _find_gap(found: list_objects.ListObject) -> str:
    """Returns which objects of a list are missing, if there are more."""
    return f"beyond the first {MAX_OBJECTS:,}" if found.metadata._continue else ""


def _cut(data: Json, kept: frozenset[str]) -> Json:
    """Returns the part of an object's metadata that is needed here."""
    metadata = cells.at(data, "metadata", {})
    return {"metadata": {key: metadata[key] for key in kept & metadata.keys()}}


def find(kind: tool_kinds.Kind, data: Json) -> Found:
    """Returns an object with its owners."""
    metadata = cells.at(data, "metadata", {})
    owners = tuple(_list_owners(data))
    return Found(kind, str(metadata.get("name", "")), str(metadata.get("uid", "")), owners, metadata)


def _list_owners(data: Json) -> Iterator[Owner]:
    for each in cells.elements(data, "metadata.ownerReferences"):
        # The version is left out: an object is the same in all versions of its kind.
        group, _, _ = str(each.get("apiVersion", "")).rpartition("/")
        kind = group, str(each.get("kind", ""))
        yield Owner(str(each.get("uid", "")), kind, each.get("controller") is True)
