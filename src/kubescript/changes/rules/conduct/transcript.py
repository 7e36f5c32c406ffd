"""A transcript: what was changed, in order, as far as the rules need it.

`plans.review` makes one of a plan, `audit.changes` of an audit file. A request that was refused, that failed or that
was only a dry run changes nothing and is in no transcript. What is not known is None: a rule that needs it says so and
judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

import msgspec

from kubescript.kube import field_paths, kinds, paths

__all__ = ["Change", "Method", "Transcript"]

Method = Literal["create", "apply", "patch", "replace", "delete", "evict"]
_REPLICAS: Final = "spec.replicas"
_TOGETHER_S: Final = 900.0
"""Seconds between two changes of one session that are parts of one thing. A session may last for days."""
_NEAR: Final = 200
"""Changes before and behind another one that are looked at. An audit file may have a million changes."""


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
    """Empty where the API server chooses it, and for a deletecollection."""
    content_type: str = ""
    """Of the request's body; tells an apply from the other patches."""
    existed: bool | None = None
    """Whether there was an object of that name."""
    healthy: bool | None = None
    """Whether the object was as it should be. None also for kinds that have no health, such as a ConfigMap."""
    running: bool | None = None
    """Whether the object did something that ends with it: a pod that runs, a workload with replicas, a Job that is not
    finished, a claim that is bound. None also for kinds of which that cannot be said."""
    terminating: bool | None = None
    """Whether the object was being deleted already."""
    labels: dict[str, str] | None = None
    """Before the change; of an object that is created, those that it gets."""
    owners: tuple[str, ...] | None = None
    """The controllers of the object, nearest first: `ReplicaSet/web-7d4b9c6f5`."""
    node: str = ""
    """Where a pod runs; empty when that is not known."""
    uses: tuple[str, ...] | None = None
    """The ConfigMaps, Secrets and claims that a pod refers to: `configmaps/settings`. None: not known."""
    images: tuple[str, ...] | None = None
    """The images of its containers before the change."""
    new_images: tuple[str, ...] = ()
    """The images that the change sets."""
    replicas: int | None = None
    """How many replicas the request asks for; None also when it says nothing of them."""
    fields: tuple[str, ...] | None = None
    """Paths of the fields that the request changes, such as `spec.template.spec.containers[web].image`."""
    named: tuple[str, ...] | None = None
    """Paths of all fields that the request's body names, with `[]` for each item of a list."""
    dropped: tuple[str, ...] = ()
    """Paths of the fields that go away because an apply or a replace does not name them."""
    finalizers: tuple[str, ...] = ()
    """Finalizers that the request removes."""
    locked: bool = False
    """Whether the request names the version of the object that it was written for (`metadata.resourceVersion`)."""
    orphans: bool = False
    """Whether a deletion leaves alone what belongs to the object (`propagationPolicy: Orphan`)."""
    purpose: str = ""
    """What the object is for; two objects of one kind with one purpose do the same job. See `creation.purpose`."""
    at: float = 0.0
    """Seconds since the epoch."""

    @property
    def method(self) -> Method:
        """How the object is changed."""
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
        """What tells the object from all others."""
        return self.group, self.resource, self.namespace, self.name

    @property
    def target(self) -> str:
        """`deployments.apps/scale shop/web`: what the change is about."""
        resource = kinds.full_name(self.group, self.resource)
        below = f"/{self.subresource}" if self.subresource else ""
        where = "/".join(filter(None, (self.namespace, self.name)))
        return f"{resource}{below} {where}".rstrip()

    @property
    def only_scales(self) -> bool:
        """Whether it changes the number of replicas and nothing else."""
        if self.subresource == "scale":
            return True
        touched = self.fields or [path for path in self.named or () if not field_paths.is_identity(path)]
        return bool(touched) and all(field_paths.plain(path) == _REPLICAS for path in touched)


class Transcript(msgspec.Struct, frozen=True):
    """Changes of one plan, or of one session of a client, in their order."""

    changes: tuple[Change, ...]

    def before(self, index: int) -> tuple[Change, ...]:
        """Returns the last changes before the one with this index."""
        return self.changes[max(0, index - _NEAR) : index]

    def near(self, index: int) -> Iterator[tuple[int, Change]]:
        """Yields the other changes that are parts of one thing with the one that has this index, with their indexes."""
        at = self.changes[index].at
        first = max(0, index - _NEAR)
        for position, other in enumerate(self.changes[first : index + _NEAR], first):
            is_unknown = not at or not other.at
            if position != index and (is_unknown or abs(other.at - at) <= _TOGETHER_S):
                yield position, other

    def after(self, index: int) -> Iterator[Change]:
        """Yields those of them that come later."""
        return (change for position, change in self.near(index) if position > index)
