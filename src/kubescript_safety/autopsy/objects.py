"""A cluster's objects, as described by a transcript in the seed's shape and changed by its calls.

Attack: a transcript causes as many look-ups as there are objects, so each takes time only for what it finds.
"""

from __future__ import annotations

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
"""Resources that create pods, besides ReplicaSets."""
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
        found = [f"{_KIND_OF.get(resource, resource)}/{name}" for resource, name in self.owners or () if resource]
        return tuple(found) or None


class Objects:
    """The known existing objects, and which of them were configured."""

    def __init__(self) -> None:
        self._things: dict[Place, dict[str | None, Thing]] = {}
        self._kinds: dict[str, dict[Thing, None]] = {}
        self._spaces: dict[str | None, dict[Thing, None]] = {}
        self._used: dict[Place, dict[str | None, list[Thing]]] = {}
        """Used objects, by namespace, whose users are not yet marked as affected by a change of configuration."""
        self._changed: dict[Place, set[str | None]] = {}
        """Configured object → namespaces. None: any namespace."""
        self._supplied: dict[Place, set[str | None]] = {}
        """Users of configured objects, likewise."""

    def add(self, thing: Thing) -> None:
        """Adds an object of the initial state. For an object said to be missing, only its users count."""
        if thing.users:
            spaces = self._used.setdefault((thing.resource, thing.name), {})
            spaces.setdefault(thing.namespace, []).append(thing)
        if thing.good is not None:
            self.put(thing)

    def put(self, thing: Thing) -> None:
        """Adds an existing object."""
        if self._things.setdefault((thing.resource, thing.name), {}).setdefault(thing.namespace, thing) is thing:
            self._kinds.setdefault(thing.resource, {})[thing] = None
            self._spaces.setdefault(thing.namespace, {})[thing] = None

    def remove(self, thing: Thing) -> None:
        """Removes an object, and with a namespace its contents."""
        for one in [thing, *(self.inside(thing.name) if thing.resource == "namespaces" else ())]:
            self._things.get((one.resource, one.name), {}).pop(one.namespace, None)
            self._kinds.get(one.resource, {}).pop(one, None)
            self._spaces.get(one.namespace, {}).pop(one, None)

    def find(self, resource: str, name: str, namespace: str | None) -> Thing | None:
        """Returns an object; without a namespace, the one in `default`, or else any."""
        things = self._things.get((resource, name), {})
        if resource not in kinds.CLUSTER:
            exact = things.get(namespace or "default") or things.get(None)
            if exact is not None or namespace is not None:
                return exact
        return next(iter(things.values()), None)

    def of_kind(self, resource: str) -> list[Thing]:
        """Returns all objects of a resource."""
        return list(self._kinds.get(resource, ()))

    def inside(self, namespace: str) -> list[Thing]:
        """Returns a namespace's objects."""
        return list(self._spaces.get(namespace, ()))

    def configure(self, place: Place, namespace: str | None) -> None:
        """Notes that an object was configured, and marks its users as affected."""
        self._changed.setdefault(place, set()).add(namespace)
        spaces = self._used.get(place, {})
        for space in list(spaces) if namespace is None else (namespace, None):
            for thing in spaces.pop(space, ()):
                for resource, name, where in thing.users:
                    self._supplied.setdefault((resource, name), set()).add(where or thing.namespace or namespace)

    def is_configured(self, thing: Thing) -> bool:
        """Says whether an owner of the object was configured, or something that the object or an owner uses."""
        owners = self._owners(thing)
        own = [*owners, (thing.resource, thing.name)]
        return any(_holds(self._changed, place, thing.namespace) for place in owners) or any(
            _holds(self._supplied, place, thing.namespace) for place in own
        )

    def _owners(self, thing: Thing) -> list[Place]:
        """Returns an object's owners, and their owners."""
        found: list[Place] = []
        rest = list(thing.owners or ())
        if thing.owners is None and thing.resource == "pods":
            rest += _makers(thing.name)
        while rest and len(found) < _MAX_CHAIN:
            resource, name = rest.pop()
            found.append((resource, name))
            owner = self.find(resource, name, thing.namespace) if resource else None
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
    for one in (resource, "") if resource else (*_OWNS, ""):
        spaces = places.get((one, name))
        if spaces and (namespace is None or None in spaces or namespace in spaces):
            return True
    return False


def _makers(pod: str) -> Iterator[Place]:
    """Yields workloads whose name is a prefix of the pod's name, the only hint to its owner."""
    parts = pod.split("-")
    for count in range(1, min(len(parts), _MAX_OWNERS)):
        name = "-".join(parts[:count])
        yield from ((resource, name) for resource in _MAKERS)


def read(one: dict[str, Any]) -> Thing:
    """Decodes an object of the state. Raises StateError."""
    metadata = documents.mapping(one, "metadata")
    kind = one.get("kind") or one.get("resource") or one.get("type")
    name, namespace = one.get("name") or metadata.get("name"), one.get("namespace") or metadata.get("namespace")
    if not isinstance(kind, str) or not isinstance(name, str):
        raise StateError("each of clusterState.resources needs kind and name")
    word = _word(one.get("status", one.get("phase", one.get("health"))))
    owners = next((one[key] for key in _OWNER if key in one), metadata.get("ownerReferences"))
    is_said = owners is not None or any(key in one for key in _OWNER)
    labels = documents.mapping(one, "labels") or documents.mapping(metadata, "labels")
    pairs = ((key, value) for key, value in labels.items() if isinstance(value, str))
    refs = itertools.islice(_refs(owners), _MAX_OWNERS)
    return Thing(
        resource=kinds.resource(kind)[:MAX_NAME],
        name=name[:MAX_NAME],
        namespace=namespace[:MAX_NAME] if isinstance(namespace, str) and namespace else None,
        good=None if word in _ABSENT else word in _GOOD or one.get("healthy") is True,
        labels=dict(itertools.islice(pairs, _MAX_LABELS)),
        owners=[(resource, name) for resource, name, _ in refs] if is_said else None,
        users=list(_refs(one.get("usedBy"))),
        images=tuple(itertools.islice(dict.fromkeys(images(one)), _MAX_OWNERS)),
    )


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
    return "".join(filter(str.isalpha, first[0].lower())) if first else ""


def _ready(status: dict[str, Any]) -> str:
    """Returns "healthy" if counters or conditions say so, or else an empty text."""
    wanted, ready = status.get("replicas"), status.get("readyReplicas", status.get("availableReplicas"))
    if isinstance(wanted, int) and isinstance(ready, int):
        return "healthy" if ready >= wanted > 0 else ""
    conditions = status.get("conditions")
    for one in conditions if isinstance(conditions, list) else ():
        if isinstance(one, dict) and one.get("type") in {"Ready", "Available"} and one.get("status") in {"True", True}:
            return "healthy"
    return ""


def _refs(value: Any) -> Iterator[tuple[str, str, str | None]]:
    """Yields references to objects: `Deployment/web`, `web`, `shop/Deployment/web`, or kind and name apart."""
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, dict) and isinstance(one.get("name"), str):
            kind, space = one.get("kind"), one.get("namespace")
            resource = kinds.resource(kind) if isinstance(kind, str) else ""
            yield resource, one["name"][:MAX_NAME], space if isinstance(space, str) and space else None
        elif isinstance(one, str) and one.strip(" /:"):
            parts = [part for part in one.replace(":", "/").replace(" ", "/").split("/") if part]
            kind = next((part for part in reversed(parts[:-1]) if kinds.is_kind(part) or part[:1].isupper()), "")
            yield (kinds.resource(kind) if kind else ""), parts[-1][:MAX_NAME], None


def images(value: Any) -> Iterator[str]:
    """Yields the images in an object."""
    for each in documents.walk(value):
        image = each.get("image")
        if isinstance(image, str) and image:
            yield image
        listed = each.get("images")
        yield from (one for one in listed if isinstance(one, str)) if isinstance(listed, list) else ()
