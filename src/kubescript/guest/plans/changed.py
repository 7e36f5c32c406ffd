"""One change of a plan, as its host describes it, with what it does to pods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Self

import msgspec

from kubescript.wire import inspection, pods

__all__ = ["Change", "merge"]

_WORKLOADS: Final = frozenset({
    ("", "pods"), ("", "replicationcontrollers"), ("apps", "daemonsets"), ("apps", "deployments"),
    ("apps", "replicasets"), ("apps", "statefulsets"), ("batch", "jobs"),
})  # fmt: skip
"""Group and plural of what makes pods, or is one."""


class Change(NamedTuple):
    """A change of an object that makes or selects pods, or scales something that does."""

    group: str
    resource: str
    kind: str
    namespace: str
    name: str
    removes: bool
    orphans: bool
    """Whether the pods of a removed object stay."""
    is_scaling: bool
    """Whether the change is one of the object's scale."""
    before: inspection.Pods | None
    """What the object says about pods; None if nothing, or if it is new."""
    after: inspection.Pods | None
    images: tuple[str, ...]
    """The images before the change."""
    new_images: tuple[str, ...]

    @classmethod
    def read(cls, given: dict[str, Any]) -> Self:
        """Returns a change that the host describes."""
        return cls(
            given["group"],
            given["resource"],
            given.get("kind", ""),
            given["namespace"],
            given["name"],
            given["verb"] == "delete" or given["subresource"] == "eviction",
            given["orphans"],
            given["subresource"] == "scale",
            _pods(given.get("pods")),
            _pods(given.get("new_pods")),
            tuple(given.get("images", ())),
            tuple(given.get("new_images", ())),
        )

    @property
    def is_service(self) -> bool:
        """Whether the object is a Service."""
        return (self.group, self.resource) == ("", "services")

    @property
    def is_pod(self) -> bool:
        """Whether the object is a pod."""
        return (self.group, self.resource) == ("", "pods")

    @property
    def is_workload(self) -> bool:
        """Whether the object makes pods that a Service may select."""
        return (self.group, self.resource) in _WORKLOADS

    @property
    def counts(self) -> tuple[int, int]:
        """How many pods the object should have before the change, and after it."""
        return _count(self.before, is_pod=self.is_pod), _count(self.after, is_pod=self.is_pod)


def merge(changes: Sequence[Change]) -> list[Change]:
    """Returns one change for each object: all of its changes together."""
    merged: dict[tuple[str, str, str], Change] = {}
    for each in changes:
        key = each.group, each.resource, each.name
        so_far = merged.get(key)
        if so_far is None:
            merged[key] = each
        else:
            after = pods.combine(so_far.after, each.before, each.after)
            merged[key] = so_far._replace(after=after, removes=each.removes)
    return list(merged.values())


def _pods(given: dict[str, Any] | None) -> inspection.Pods | None:
    return None if given is None else msgspec.convert(given, inspection.Pods)


def _count(said: inspection.Pods | None, *, is_pod: bool) -> int:
    if said is None:
        return 0
    return 1 if is_pod else said.count or 0
