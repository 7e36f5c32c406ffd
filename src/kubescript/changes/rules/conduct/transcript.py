"""A transcript: the changes, in order, as far as the rules need them.

`changes.review` makes one from a plan, `audit.recorded_changes` from an audit file. A request that was refused, failed
or was only a dry run changes nothing and is not in a transcript. Unknown values are None: a rule that needs such a
value reports this and judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

import msgspec

from kubescript.kube import field_paths, kinds, paths

__all__ = ["Change", "Method", "Transcript"]

Method = Literal["create", "apply", "patch", "replace", "delete", "evict"]
_REPLICAS: Final = "spec.replicas"
# There is a limit because a session may last for days.
_TOGETHER_S: Final = 900.0
"""The maximum number of seconds between two related changes in one session."""
# An audit file may have a million changes, which are not compared pair by pair.
_NEAR: Final = 200
"""How many changes before and after another one are considered."""


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """One request that changes something."""

    verb: str
    """create, update, patch, delete or deletecollection."""
    group: str
    version: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    """The object's name. Empty if the API server chooses it, and for a deletecollection."""
    content_type: str = ""
    """The type of the request's body; it distinguishes an apply from other patches."""
    existed: bool | None = None
    """Whether an object of that name existed."""
    healthy: bool | None = None
    """Whether the object was in its desired state. None also for kinds without health, such as ConfigMaps."""
    running: bool | None = None
    """Whether removing the object interrupts something: a running pod, a workload with replicas, an unfinished Job, a
    bound claim. None also for kinds without such a state."""
    terminating: bool | None = None
    """Whether the object was already being deleted."""
    labels: dict[str, str] | None = None
    """The object's labels before the change; for a new object, the labels that it is given."""
    owners: tuple[str, ...] | None = None
    """The controllers of the object, nearest first: `ReplicaSet/web-7d4b9c6f5`."""
    node: str = ""
    """The node on which a pod runs; empty if it is unknown."""
    uses: tuple[str, ...] | None = None
    """What a pod, or the pods of a workload, refer to: `configmaps/settings`. None: unknown."""
    images: tuple[str, ...] | None = None
    """The images of the object's containers before the change."""
    new_images: tuple[str, ...] = ()
    """The images that the change sets."""
    replicas: int | None = None
    """The number of replicas that the request asks for; None also if it does not mention them."""
    fields: tuple[str, ...] | None = None
    """The paths of the fields that the request changes, such as `spec.template.spec.containers[web].image`."""
    named: tuple[str, ...] | None = None
    """The paths of all fields that the request's body names, with `[]` for each list item."""
    dropped: tuple[str, ...] = ()
    """The paths of the fields that are removed because an apply or a replace does not name them."""
    finalizers: tuple[str, ...] = ()
    """The finalizers that the request removes."""
    locked: bool = False
    """Whether the request names the version of the object for which it was written (`metadata.resourceVersion`)."""
    orphans: bool = False
    """Whether a deletion spares the object's dependents (`propagationPolicy: Orphan`)."""
    purpose: str = ""
    """The object's purpose; two objects with the same kind and purpose do the same job. See `creation.purpose`."""
    at: float = 0.0
    """When the change was made, in seconds since the epoch."""

    @property
    def method(self) -> Method:
        """The way in which the object is changed."""
        if self.verb == "create":
            return "evict" if self.subresource == "eviction" else "create"
        if self.verb == "update":
            return "replace"
        if self.verb == "patch":
            return "apply" if "apply-patch" in self.content_type else "patch"
        return "delete"

    @property
    def removes(self) -> bool:
        """Whether the object is deleted or evicted."""
        return self.method in {"delete", "evict"}

    @property
    def key(self) -> paths.Key:
        """Identifies the object."""
        return self.group, self.resource, self.namespace, self.name

    @property
    def target(self) -> str:
        """`deployments.apps/scale shop/web`: the target of the change."""
        resource = kinds.full_name(self.group, self.resource)
        if self.subresource:
            resource += f"/{self.subresource}"
        names = filter(None, (self.namespace, self.name))
        return f"{resource} {'/'.join(names)}".rstrip()

    @property
    def only_scales(self) -> bool:
        """Whether only the number of replicas changes."""
        if self.subresource == "scale":
            return True
        touched = self.fields
        if not touched:
            # If the changes themselves are unknown, the fields that the request names show the same.
            named = self.named or ()
            touched = tuple(path for path in named if not field_paths.is_identity(path))
        return bool(touched) and all(field_paths.plain(path) == _REPLICAS for path in touched)


class Transcript(msgspec.Struct, frozen=True):
    """Changes of one plan, or of one client session, in order."""

    changes: tuple[Change, ...]

    def before(self, index: int) -> tuple[Change, ...]:
        """Returns the last changes before the one with this index."""
        first = max(0, index - _NEAR)
        return self.changes[first:index]

    def near(self, index: int) -> Iterator[tuple[int, Change]]:
        """Yields the other changes related to this one, with their indexes."""
        at = self.changes[index].at
        first = max(0, index - _NEAR)
        for position, other in enumerate(self.changes[first : index + _NEAR], first):
            if position == index:
                continue
            # The changes of a plan have no times; they all belong together.
            is_unknown = not at or not other.at
            if is_unknown or abs(other.at - at) <= _TOGETHER_S:
                yield position, other

    def after(self, index: int) -> Iterator[Change]:
        """Yields the related changes that come later."""
        for position, change in self.near(index):
            if position > index:
                yield change
