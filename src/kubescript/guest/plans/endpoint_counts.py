"""How many endpoints Services have while changes are made, one after another.

The API server selects the pods before. The pods of changed workloads count as many as they should be, and apart from
that as many as are ready already: whether new ones become ready is not known yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kubescript.guest.kubectl.rows import cells
from kubescript.guest.plans import changed, endpoints, pod_lists
from kubescript.kube import selectors
from kubescript.wire import inspection

__all__ = ["Count", "Counts", "lists_for", "own_selector"]


class Count(NamedTuple):
    """The endpoints of one Service."""

    wanted: int = 0
    """How many there should be."""
    ready: int = 0
    """How many of them are ready already."""


class _Workload(NamedTuple):
    """A workload, or a pod, that was changed."""

    name: str
    is_pod: bool
    before: inspection.Pods | None
    """What it said before its first change; None if it is new."""
    last: changed.Change
    selector: str

    def list_pods(self) -> Iterator[tuple[changed.Labels, int]]:
        """Yields the labels and number of the pods that it should have."""
        before, after = self.before, self.last.after
        if after is None:
            return
        _, count = self.last.counts
        if before is None or before.labels == after.labels or self.is_pod:
            yield after.labels, count
            return
        # Pods keep their labels until they are replaced.
        replaced = 0 if after.paused or after.strategy in {"", "OnDelete"} else min(after.replaced, count)
        yield after.labels, replaced
        yield before.labels, count - replaced


class Counts:
    """The endpoints of a namespace's Services, as far as changes were made."""

    def __init__(self, pods: pod_lists.PodLists, listed: Mapping[str, set[str]]) -> None:
        """`listed` has the ready endpoints of Services that select no pods."""
        self._pods = pods
        self._listed = listed
        self._added: Counter[str] = Counter()
        self._gone: set[str] = set()
        self._workloads: dict[tuple[str, str, str], _Workload] = {}

    def make(self, change: changed.Change) -> None:
        """Makes a change, as it is when the earlier ones are done."""
        self._gone.update(change.gone)
        if change.lists_endpoints:
            before, after = change.counts
            self._added[_service_of(change.before)] -= before
            self._added[_service_of(change.after)] += after
        elif change.removes and not change.orphans:
            self._workloads.pop(change.key, None)
        elif change.is_workload and change.moves and not change.removes:
            known = self._workloads.get(change.key)
            if known is None:
                known = _Workload(change.name, change.is_pod, change.before, change, own_selector(change))
            self._workloads[change.key] = known._replace(last=change)

    def count(self, service: endpoints.Service | None) -> Count:
        """Returns how many endpoints a Service has; without one, there are none. Raises ApiException."""
        if service is None:
            return Count()
        if not service.selector:
            ready = len(self._listed.get(service.name, set()) - self._gone)
            left = max(0, ready + self._added[service.name])
            return Count(left, left)
        own = set(self._gone)
        wanted = ready = 0
        for each in self._workloads.values():
            pods = self._find_own(each)
            serving = sum(endpoints.is_endpoint(pod, service) for pod in pods if cells.name(pod) not in self._gone)
            own.update(map(cells.name, pods))
            should = sum(number for labels, number in each.list_pods() if service.selects(labels))
            # Attack: a pod that serves nothing gets the labels of those that do.
            wanted += min(should, serving) if each.is_pod and each.before is not None else should
            ready += min(should, serving)
        found = {cells.name(pod) for pod in self._pods.get(service.query) if endpoints.is_endpoint(pod, service)}
        rest = len(found - own)
        return Count(rest + wanted, rest + ready)

    def _find_own(self, workload: _Workload) -> list[pod_lists.Json]:
        """Returns the pods that belong to a workload now. Raises ApiException."""
        if not workload.selector:
            return []
        found = self._pods.get(workload.selector)
        return [pod for pod in found if cells.name(pod) == workload.name] if workload.is_pod else found


def own_selector(change: changed.Change) -> str:
    """Returns the selector of the pods that belong to an object before its change; an empty string if there is none."""
    if change.before is None:
        return ""
    return selectors.write({"matchLabels": change.before.labels}) if change.is_pod else change.before.selector


def lists_for(change: changed.Change, service: str) -> bool:
    """Says whether an object lists endpoints of a Service, before its change or after it."""
    return service in {_service_of(change.before), _service_of(change.after)}


def _service_of(said: inspection.Pods | None) -> str:
    return said.labels.get(endpoints.LABEL, "") if said is not None else ""
