"""One change of a plan, as its host describes it, with what it does to pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Self

import msgspec

from kubescript.wire import inspection, pods

__all__ = ["Change", "Labels", "accumulate"]

Labels = Mapping[str, str]

_WORKLOADS: Final = frozenset({
    ("", "pods"), ("", "replicationcontrollers"), ("apps", "daemonsets"), ("apps", "deployments"),
    ("apps", "replicasets"), ("apps", "statefulsets"), ("batch", "jobs"),
})  # fmt: skip
"""Group and plural of what makes pods, or is one."""
_LISTS: Final = frozenset({("", "endpoints"), ("discovery.k8s.io", "endpointslices")})
"""Group and plural of what lists endpoints."""


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
    gone: Mapping[str, Labels]
    """The pods that a removal takes, by name, with their labels."""

    @classmethod
    def read(cls, given: dict[str, Any], gone: Mapping[str, Labels]) -> Self:
        """Returns a change that the host describes, with the pods that it takes."""
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
            gone,
        )

    @property
    def key(self) -> tuple[str, str, str]:
        """Identifies the object in its namespace."""
        return self.group, self.resource, self.name

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
    def lists_endpoints(self) -> bool:
        """Whether the object lists endpoints of a Service."""
        return (self.group, self.resource) in _LISTS

    @property
    def is_placed_anew(self) -> bool:
        """Whether the pods of a DaemonSet get other nodes."""
        before, after = self.before, self.after
        return before is not None and after is not None and before.placement != after.placement

    @property
    def moves(self) -> bool:
        """Whether the change may give a Service other endpoints."""
        before, after = self.before, self.after
        if self.removes:
            return bool(self.gone) or self.lists_endpoints
        if before is None or after is None or self.is_placed_anew:
            return self.is_service or self.is_workload or self.lists_endpoints
        if self.is_service:
            return (before.selector, before.takes_unready) != (after.selector, after.takes_unready)
        is_other = before.labels != after.labels or self.counts[0] != self.counts[1]
        return is_other and (self.is_workload or self.lists_endpoints)

    @property
    def counts(self) -> tuple[int, int]:
        """How many pods the object should have before the change, and after it."""
        return _count(self.before, is_pod=self.is_pod), _count(self.after, is_pod=self.is_pod)


def accumulate(changes: Sequence[Change]) -> Iterator[Change]:
    """Yields each change as it is when the earlier ones are done: each was tried alone."""
    known: dict[tuple[str, str, str], inspection.Pods | None] = {}
    for each in changes:
        before = known.get(each.key, each.before)
        after = known[each.key] = pods.combine(before, each.before, each.after)
        yield each._replace(before=before, after=after)


def _pods(given: dict[str, Any] | None) -> inspection.Pods | None:
    return None if given is None else msgspec.convert(given, inspection.Pods)


def _count(said: inspection.Pods | None, *, is_pod: bool) -> int:
    if said is None:
        return 0
    return 1 if is_pod else said.count or 0
