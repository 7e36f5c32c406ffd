"""How many endpoints Services have before a plan's changes, and after all of them.

The API server selects the pods before. After the changes, the pods of changed workloads count as many as they should
be: whether they become ready is not known yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from kubescript.guest.kubectl.describe import subject
from kubescript.guest.kubectl.rows import cells
from kubescript.guest.plans import changed, endpoints, pod_lists, reads
from kubescript.guest.sdk.values import exceptions
from kubescript.wire import inspection

__all__ = ["Effect", "Namespace"]

_MAX_SERVICES: Final = 40
"""How many Services of a namespace are counted."""


class Effect(NamedTuple):
    """What becomes of the endpoints of one Service."""

    text: str
    is_outage: bool = False
    """Whether the Service loses all its endpoints."""
    is_unknown: bool = False
    """Whether the endpoints could not be counted."""
    is_empty: bool = False
    """Whether the Service selects nothing, before and after."""
    service: str = ""
    """The Service, if the effect is on one."""


class _Pair(NamedTuple):
    """A Service before and after the plan; None where it does not exist or selects nothing."""

    name: str
    before: endpoints.Service | None
    after: endpoints.Service | None
    is_changed: bool = False
    is_removed: bool = False


class Namespace:
    """The Services of one namespace, and the changes of a plan that concern their pods."""

    def __init__(self, look: reads.Reads, namespace: str, changes: Sequence[changed.Change]) -> None:
        self._look = look
        self._namespace = namespace
        self._pods = pod_lists.PodLists(look, namespace)
        self._workloads = changed.merge([each for each in changes if each.is_workload and not each.orphans])
        self._services = {each.name: each for each in changed.merge([each for each in changes if each.is_service])}
        self._is_wanted = any(_moves(each) and not each.removes for each in changes)
        self._pairs: list[_Pair] = []
        self._counted: list[changed.Change] = []
        self._problems: list[str] = []
        if self._is_wanted:
            look.want("services", namespace)

    def select(self) -> None:
        """Asks for the pods of the Services that the changes concern, once the Services are read."""
        if not self._is_wanted:
            return
        try:
            listed = self._look.get("services", self._namespace)
        except exceptions.ApiException as error:
            self._problems.append(f"services could not be read: {cells.line(subject.reason(error))}")
            return
        if len(listed) >= reads.LIMIT:
            self._problems.append(f"only the first {reads.LIMIT} services were looked at")
        self._find_pairs(endpoints.read_services(listed))
        queries = []
        for pair in self._pairs:
            queries += [service.query for service in (pair.before, pair.after) if service is not None]
        self._counted = [each for each in self._workloads if any(_is_concerned(pair, each) for pair in self._pairs)]
        self._pods.want([*queries, *filter(None, map(_own_selector, self._counted))])

    def settle(self) -> None:
        """Asks for what is missing once the pods are read."""
        self._pods.settle()

    def _find_pairs(self, services: Sequence[endpoints.Service]) -> None:
        """Finds the Services that the changes concern."""
        readable = [each for each in services if pod_lists.LABEL.issuperset("".join(each.selector.values()))]
        masked = len(services) - len(readable)
        if masked:
            self._problems.append(f"services whose selector is masked were not counted: {masked}")
        concerned = [pair for pair in self._pair(readable) if self._concerns(pair)]
        self._pairs = concerned[:_MAX_SERVICES]
        if len(concerned) > _MAX_SERVICES:
            self._problems.append(f"endpoints of {len(concerned) - _MAX_SERVICES} more services were not counted")

    def list_problems(self, change: changed.Change) -> Sequence[str]:
        """Returns sentences about what was not looked at for a change."""
        return self._problems if _moves(change) and not change.removes else ()

    def describe(self, change: changed.Change) -> Iterator[Effect]:
        """Yields what the plan does to the endpoints of the Services that a change concerns."""
        if not _moves(change) or change.removes:
            return
        for pair in self._pairs:
            is_own = change.is_service and change.name == pair.name
            if is_own or (change.is_workload and _is_concerned(pair, change)):
                yield from self._describe_pair(pair)

    def _pair(self, listed: Sequence[endpoints.Service]) -> Iterator[_Pair]:
        """Yields each Service before and after the plan."""
        now = {each.name: each for each in listed}
        for name in sorted(now.keys() | self._services.keys()):
            change = self._services.get(name)
            if change is None:
                yield _Pair(name, now[name], now[name])
                continue
            before, after = _service(name, change.before), _service(name, change.after)
            yield _Pair(name, before, after, is_changed=True, is_removed=change.removes)

    def _concerns(self, pair: _Pair) -> bool:
        """Says whether the changes concern the endpoints of a Service."""
        return pair.is_changed or any(_is_concerned(pair, each) for each in self._workloads)

    def _describe_pair(self, pair: _Pair) -> Iterator[Effect]:
        name = cells.line(pair.name)
        try:
            before = len(self._list_endpoints(pair.before)) if pair.before is not None else 0
            after = self._count_after(pair.after)
        except exceptions.ApiException as error:
            text = f"endpoints of services/{name} could not be counted: {cells.line(subject.reason(error))}"
            yield Effect(text, is_unknown=True)
            return
        # Attack: a Service that no longer selects pods, such as one of type ExternalName, has no endpoints either.
        is_outage = after == 0 and before > 0 and not pair.is_removed
        is_empty = after == before == 0 and pair.is_changed and pair.after is not None
        if before != after or pair.is_changed:
            text = f"endpoints of services/{name}: {before} → {after}"
            yield Effect(text, is_outage=is_outage, is_empty=is_empty, service=f"services/{name}")

    def _count_after(self, service: endpoints.Service | None) -> int:
        """Returns how many endpoints a Service should have after the plan. Raises ApiException."""
        if service is None:
            return 0
        own: set[str] = set()
        count = 0
        for each in self._counted:
            own |= self._list_own(each)
            count += sum(pods for labels, pods in _list_new_pods(each) if service.selects(labels))
        return count + len(self._list_endpoints(service) - own)

    def _list_own(self, change: changed.Change) -> set[str]:
        """Returns the names of the pods that belong to a changed object now. Raises ApiException."""
        if change.is_pod:
            return {change.name}
        selector = _own_selector(change)
        return set(map(cells.name, self._pods.get(selector))) if selector else set()

    def _list_endpoints(self, service: endpoints.Service) -> set[str]:
        """Returns the names of the pods that are ready endpoints of a Service now. Raises ApiException."""
        return {cells.name(pod) for pod in self._pods.get(service.query) if endpoints.is_endpoint(pod, service)}


def _own_selector(change: changed.Change) -> str:
    """Returns the selector of the pods that belong to an object before its change; an empty string if there is none."""
    return "" if change.is_pod or change.before is None else change.before.selector


def _moves(change: changed.Change) -> bool:
    """Says whether a change may give a Service other endpoints."""
    before, after = change.before, change.after
    if change.is_service:
        return before is None or after is None or _selection(before) != _selection(after)
    if not change.is_workload:
        return False
    return before is None or after is None or before.labels != after.labels or change.counts[0] != change.counts[1]


def _selection(pods: inspection.Pods) -> tuple[str, bool]:
    return pods.selector, pods.takes_unready


def _is_concerned(pair: _Pair, change: changed.Change) -> bool:
    """Says whether pods of a changed object are, or become, endpoints of a Service."""
    if not _moves(change):
        return False
    if pair.before is not None and change.before is not None and pair.before.selects(change.before.labels):
        return True
    return pair.after is not None and change.after is not None and pair.after.selects(change.after.labels)


def _list_new_pods(change: changed.Change) -> list[tuple[Mapping[str, str], int]]:
    """Returns the labels and number of the pods that an object should have after its change."""
    before, after = change.before, change.after
    if after is None or not _moves(change):
        return []
    _, count = change.counts
    if before is None or before.labels == after.labels or change.is_pod:
        return [(after.labels, count)]
    # Pods keep their labels until they are replaced.
    replaced = 0 if after.paused or after.strategy in {"", "OnDelete"} else min(after.replaced, count)
    return [(after.labels, replaced), (before.labels, count - replaced)]


def _service(name: str, pods: inspection.Pods | None) -> endpoints.Service | None:
    """Returns a Service of a plan; None if it selects nothing."""
    if pods is None or not pods.selector:
        return None
    pairs = (term.partition("=") for term in pods.selector.split(","))
    return endpoints.Service(name, {key: value for key, _, value in pairs}, pods.takes_unready)
