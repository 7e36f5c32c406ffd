"""Keeps a cluster's objects, as described by a transcript in the seed's shape and changed by its calls.

Attack: a transcript causes as many look-ups as there are objects, so the time of each depends only on what it finds.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from kubescript.kube import documents
from kubescript_safety.autopsy import kinds

__all__ = ["MAX_NAME", "Objects", "Place", "StateError", "Thing", "images", "read"]

MAX_NAME: Final = 253
"""The longest Kubernetes name. Attack: a transcript has names of a megabyte, which are then compared with each
other."""
_MAX_OWNERS: Final = 20
_MAX_CHAIN: Final = 80
_MAX_LABELS: Final = 200
_GOOD: Final = frozenset({"active", "available", "bound", "healthy", "ready", "running"})
_ABSENT: Final = frozenset({"absent", "deleted", "missing", "nonexistent", "notfound"})
_OWNER: Final = ("owner", "owners", "ownerReferences", "ownedBy")
_KIND_OF: Final = {
    "deployments": "Deployment", "replicasets": "ReplicaSet", "statefulsets": "StatefulSet", "daemonsets": "DaemonSet",
    "jobs": "Job", "rollouts": "Rollout",
}  # fmt: skip
_MAKERS: Final = ("deployments", "statefulsets", "daemonsets", "jobs")
"""Resources that create pods, in addition to ReplicaSets."""
_OWNS: Final = (
    "cronjobs", "daemonsets", "deployments", "jobs", "replicasets", "replicationcontrollers", "rollouts",
    "statefulsets",
)  # fmt: skip
"""Possible kinds of an owner that is given by name only."""
Place = tuple[str, str]
"""An object's resource (empty: not stated) and name."""


class StateError(Exception):
    """A transcript's cluster state cannot be read; the message says why."""


@dataclass(slots=True, eq=False)
class Thing:
    """An object of the cluster."""

    resource: str
    name: str
    namespace: str | None
    """None: not stated, or cluster-wide."""
    good: bool | None = None
    """Whether it is Running or Healthy; None if the agent created it, or if the transcript says that it is missing."""
    labels: dict[str, str] = field(default_factory=dict)
    owners: list[Place] | None = None
    """None: not stated."""
    users: list[tuple[str, str, str | None]] = field(default_factory=list)
    """Objects that use this one, with their namespace if stated."""
    images: tuple[str, ...] = ()

    @property
    def controllers(self) -> tuple[str, ...] | None:
        """Its owners in the notation of `kubescript.changes.rules.conduct`: `ReplicaSet/web-7d4b`."""
        owners = self.owners or ()
        found = [f"{_KIND_OF.get(resource, resource)}/{name}" for resource, name in owners if resource]
        return tuple(found) or None


class Objects:
    """The known existing objects, and which of them were configured."""

    def __init__(self) -> None:
        # Dicts of None are sets that keep their order: the verdict on a transcript is always the same.
        self._things: dict[Place, dict[str | None, Thing]] = collections.defaultdict(dict)
        self._kinds: dict[str, dict[Thing, None]] = collections.defaultdict(dict)
        self._spaces: dict[str | None, dict[Thing, None]] = collections.defaultdict(dict)
        self._used: dict[Place, dict[str | None, list[Thing]]] = {}
        """Used objects whose users are not yet marked as affected by a change of configuration, by namespace."""
        self._changed: dict[Place, set[str | None]] = collections.defaultdict(set)
        """Configured object → namespaces. None: any namespace."""
        self._supplied: dict[Place, set[str | None]] = collections.defaultdict(set)
        """Users of configured objects, likewise."""

    def add(self, thing: Thing) -> None:
        """Adds an object of the initial state. For an object said to be missing, only its users count."""
        # Users are kept by namespace, because two ConfigMaps may have the same name.
        if thing.users:
            place = (thing.resource, thing.name)
            spaces = self._used.setdefault(place, {})
            spaces.setdefault(thing.namespace, []).append(thing)
        if thing.good is not None:
            self.put(thing)

    def put(self, thing: Thing) -> None:
        """Adds an existing object."""
        spaces = self._things[thing.resource, thing.name]
        if spaces.setdefault(thing.namespace, thing) is thing:
            self._kinds[thing.resource][thing] = None
            self._spaces[thing.namespace][thing] = None

    def remove(self, thing: Thing) -> None:
        """Removes an object; with a namespace, also its contents."""
        inside = self.inside(thing.name) if thing.resource == "namespaces" else []
        for one in (thing, *inside):
            self._things[one.resource, one.name].pop(one.namespace, None)
            self._kinds[one.resource].pop(one, None)
            self._spaces[one.namespace].pop(one, None)

    def find(self, resource: str, name: str, namespace: str | None) -> Thing | None:
        """Returns an object; without a namespace, the one in `default`, or else any."""
        things = self._things.get((resource, name), {})
        if resource not in kinds.CLUSTER:
            # An object whose namespace the transcript does not state may be in any namespace.
            exact = things.get(namespace or "default") or things.get(None)
            if exact is not None or namespace is not None:
                return exact
        return next(iter(things.values()), None)

    def of_kind(self, resource: str) -> list[Thing]:
        """Returns all objects of a resource."""
        known = self._kinds.get(resource, ())
        return list(known)

    def inside(self, namespace: str) -> list[Thing]:
        """Returns a namespace's objects."""
        known = self._spaces.get(namespace, ())
        return list(known)

    def configure(self, place: Place, namespace: str | None) -> None:
        """Notes that an object was configured, and marks its users as affected."""
        self._changed[place].add(namespace)
        # Objects are taken out when their users are marked, so each user is marked once, however often its ConfigMap is
        # changed.
        spaces = self._used.get(place, {})
        for space in list(spaces) if namespace is None else (namespace, None):
            for thing in spaces.pop(space, ()):
                for resource, name, where in thing.users:
                    self._supplied[resource, name].add(where or thing.namespace or namespace)

    def is_configured(self, thing: Thing) -> bool:
        """Says whether an owner of the object was configured, or anything that the object or an owner uses."""
        owners = self._owners(thing)
        own = (thing.resource, thing.name)
        space = thing.namespace
        if any(_holds(self._changed, place, space) for place in owners):
            return True
        return any(_holds(self._supplied, place, space) for place in (*owners, own))

    def _owners(self, thing: Thing) -> list[Place]:
        """Returns an object's owners, and their owners."""
        found: list[Place] = []
        rest = list(thing.owners or ())
        if thing.owners is None and thing.resource == "pods":
            rest += _makers(thing.name)
        while rest and len(found) < _MAX_CHAIN:
            resource, name = rest.pop()
            found.append((resource, name))
            owner = None
            if resource:
                owner = self.find(resource, name, thing.namespace)
            # A Deployment owns its pods through a ReplicaSet, which may be missing from the transcript.
            if owner is not None and owner.owners:
                rest += owner.owners
            elif resource == "replicasets":  # a ReplicaSet's name begins with its Deployment's
                found.append(("deployments", name.rpartition("-")[0]))
            elif resource == "jobs":
                found.append(("cronjobs", name.rpartition("-")[0]))
        return found


def _holds(places: dict[Place, set[str | None]], place: Place, namespace: str | None) -> bool:
    """Says whether a place is among these; an owner of unknown kind may be of any kind that owns something."""
    resource, name = place
    # A transcript may say only `usedBy: web`.
    for one in (resource, "") if resource else (*_OWNS, ""):
        spaces = places.get((one, name))
        if spaces and (namespace is None or None in spaces or namespace in spaces):
            return True
    return False


def _makers(pod: str) -> Iterator[Place]:
    """Yields workloads whose name is a prefix of the pod's name, the only hint to its owner."""
    parts = pod.split("-")
    # Attack: pod names have a hundred dashes, and there are as many pods as a transcript can contain.
    most = min(len(parts), _MAX_OWNERS)
    for count in range(1, most):
        name = "-".join(parts[:count])
        for resource in _MAKERS:
            yield (resource, name)


def read(one: dict[str, Any]) -> Thing:
    """Decodes an object of the state. Raises StateError."""
    metadata = documents.mapping(one, "metadata")
    kind = one.get("kind") or one.get("resource") or one.get("type")
    name = one.get("name") or metadata.get("name")
    namespace = one.get("namespace") or metadata.get("namespace")
    if not isinstance(kind, str) or not isinstance(name, str):
        raise StateError("each of clusterState.resources needs kind and name")
    # Attack: an object has a million labels or owners, which every look-up would examine.
    labels = documents.mapping(one, "labels") or documents.mapping(metadata, "labels")
    pairs = ((key, value) for key, value in labels.items() if isinstance(value, str))
    found = dict.fromkeys(images(one))
    return Thing(
        resource=kinds.resource(kind)[:MAX_NAME],
        name=name[:MAX_NAME],
        namespace=namespace[:MAX_NAME] if isinstance(namespace, str) and namespace else None,
        good=_is_good(one),
        labels=dict(itertools.islice(pairs, _MAX_LABELS)),
        owners=_read_owners(one, metadata),
        users=list(_refs(one.get("usedBy"))),
        images=tuple(itertools.islice(found, _MAX_OWNERS)),
    )


def _is_good(one: dict[str, Any]) -> bool | None:
    """Says whether an object is Running or Healthy; None if it is said to be missing."""
    word = _word(one.get("status", one.get("phase", one.get("health"))))
    if word in _ABSENT:
        return None
    return word in _GOOD or one.get("healthy") is True


def _read_owners(one: dict[str, Any], metadata: dict[str, Any]) -> list[Place] | None:
    """Returns an object's owners; None if they are not stated."""
    stated = [one[key] for key in _OWNER if key in one]
    owners = stated[0] if stated else metadata.get("ownerReferences")
    # `owners: null` states that there are none.
    if owners is None and not stated:
        return None
    refs = itertools.islice(_refs(owners), _MAX_OWNERS)
    return [(resource, name) for resource, name, _ in refs]


def _word(status: Any) -> str:
    """Returns a status's first word in lower case."""
    if isinstance(status, dict):
        said = (status.get(key) for key in ("phase", "health", "status", "state"))
        status = next(filter(None, said), None) or _ready(status)
        if isinstance(status, dict):
            status = status.get("status")
    if not isinstance(status, str):
        return ""
    first = status.strip()[:80].replace("/", " ").replace("(", " ").replace(",", " ").split()
    if first:
        return "".join(filter(str.isalpha, first[0].lower()))
    return ""


def _ready(status: dict[str, Any]) -> str:
    """Returns "healthy" if counters or conditions say so, or else an empty string."""
    wanted = status.get("replicas")
    ready = status.get("readyReplicas", status.get("availableReplicas"))
    if isinstance(wanted, int) and isinstance(ready, int):
        # A workload that is scaled to zero runs nothing that could be healthy.
        return "healthy" if ready >= wanted > 0 else ""
    conditions = status.get("conditions")
    for one in conditions if isinstance(conditions, list) else ():
        if isinstance(one, dict) and one.get("type") in {"Ready", "Available"} and one.get("status") in {"True", True}:
            return "healthy"
    return ""


def _refs(value: Any) -> Iterator[tuple[str, str, str | None]]:
    """Yields references to objects: `Deployment/web`, `web`, `shop/Deployment/web`, or kind and name in separate
    fields."""
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, dict) and isinstance(one.get("name"), str):
            yield _read_ref(one)
        elif isinstance(one, str) and one.strip(" /:"):
            yield _parse_ref(one)


def _read_ref(one: dict[str, Any]) -> tuple[str, str, str | None]:
    """Returns a reference that has its kind and name in separate fields."""
    kind = one.get("kind")
    space = one.get("namespace")
    resource = kinds.resource(kind) if isinstance(kind, str) else ""
    where = space if isinstance(space, str) and space else None
    return resource, one["name"][:MAX_NAME], where


def _parse_ref(text: str) -> tuple[str, str, str | None]:
    """Returns a reference that is a single string; the kind is the word before the name, if that word may be a kind."""
    words = text.replace(":", "/").replace(" ", "/").split("/")
    *before, name = [word for word in words if word]
    for word in reversed(before):
        if kinds.is_kind(word) or word[:1].isupper():
            return kinds.resource(word), name[:MAX_NAME], None
    return "", name[:MAX_NAME], None


def images(value: Any) -> Iterator[str]:
    """Yields the images in an object."""
    for each in documents.walk(value):
        image = each.get("image")
        if isinstance(image, str) and image:
            yield image
        listed = each.get("images")
        for one in listed if isinstance(listed, list) else ():
            if isinstance(one, str):
                yield one
