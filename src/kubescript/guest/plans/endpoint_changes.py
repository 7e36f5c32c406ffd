"""How many endpoints Services have before each change of a plan, and after it.

Attack: a change takes all endpoints, and a later one, which is never sent, gives them back. So each change is judged as
if it were the last one that is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from kubescript.guest.kubectl.describe import subject
from kubescript.guest.kubectl.rows import cells
from kubescript.guest.plans import changed, endpoint_counts, endpoints, impact_report, pod_lists, reads
from kubescript.guest.sdk.values import exceptions
from kubescript.wire import inspection

__all__ = ["Namespace"]

_RULE: Final = "writes.endpoints"
_SLICES: Final = "endpointslices"
_MAX_SERVICES: Final = 40
"""How many Services of a namespace are counted."""

_Counted = endpoint_counts.Count | str
"""The endpoints of a Service, or why they could not be counted."""


class Namespace:
    """The Services of one namespace, and the changes of a plan there."""

    def __init__(
        self, look: reads.Reads, namespace: str, pairs: Sequence[tuple[changed.Change, impact_report.Report]]
    ) -> None:
        self._look = look
        self._namespace = namespace
        self._pods = pod_lists.PodLists(look, namespace)
        self._changes = list(changed.accumulate([change for change, _ in pairs]))
        self._reports = [one for _, one in pairs]
        self._is_wanted = any(each.moves for each in self._changes)
        self._services: dict[str, endpoints.Service | None] = {}
        """The Services, as far as changes were made."""
        self._states: dict[str, list[endpoints.Service]] = {}
        """What each Service that is counted is at some time."""
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
        self._find_services(listed)
        states = [each for found in self._states.values() for each in found]
        own = [endpoint_counts.own_selector(each) for each in self._changes if self._list_concerned(each)]
        self._pods.want(filter(None, [*(each.query for each in states if each.selector), *own]))
        if not all(each.selector for each in states):
            self._look.want(_SLICES, self._namespace)

    def settle(self) -> None:
        """Asks for what is missing once the pods are read."""
        self._pods.settle()

    def report(self) -> None:
        """Reports what each change does to the endpoints of the Services that it concerns."""
        if not self._is_wanted:
            return
        counts = endpoint_counts.Counts(self._pods, self._read_listed())
        empty: dict[str, impact_report.Report] = {}
        for change, one in zip(self._changes, self._reports, strict=True):
            names = self._list_concerned(change)
            before = [self._count(counts, name) for name in names]
            counts.make(change)
            if change.is_service and (change.moves or change.removes):
                self._services[change.name] = _service(change.name, change.after)
            after = [self._count(counts, name) for name in names]
            if change.moves:
                # Attack: a plan has more Services than are counted before the one that it puts out of service.
                for text in self._problems:
                    one.find(_RULE, "critical", text)
            for name, old, new in zip(names, before, after, strict=True):
                _tell(one, change, name, old, new)
                if old == new == endpoint_counts.Count() and self._services.get(name) is not None:
                    empty[name] = one
        # Its pods may come with a later change.
        for name, one in empty.items():
            if self._count(counts, name) == endpoint_counts.Count():
                text = f"no pod is selected: {_write_endpoints(name)}: 0 → 0"
                one.find(_RULE, "warning", text, _write_service(name))

    def _find_services(self, listed: Iterable[reads.Json]) -> None:
        """Finds the Services that the changes concern."""
        services = endpoints.read_services(listed)
        readable = {each.name: each for each in services if pod_lists.is_readable(each.selector)}
        masked = len(services) - len(readable)
        if masked:
            self._problems.append(f"services whose selector is masked were not counted: {masked}")
        states = {name: [each] for name, each in readable.items()}
        changes = [each for each in self._changes if each.is_service]
        # The first change of a Service has its state before.
        for each in reversed(changes):
            before = _service(each.name, each.before)
            if before is not None:
                readable[each.name] = before
            found = filter(None, (before, _service(each.name, each.after)))
            states.setdefault(each.name, []).extend(found)
        own = {each.name for each in changes if each.moves}
        concerned = [name for name in sorted(states) if name in own or self._is_concerned(states[name])]
        self._states = {name: states[name] for name in concerned[:_MAX_SERVICES]}
        self._services = {name: readable.get(name) for name in self._states}
        if len(concerned) > _MAX_SERVICES:
            self._problems.append(f"endpoints of {len(concerned) - _MAX_SERVICES} more services were not counted")

    def _is_concerned(self, states: Sequence[endpoints.Service]) -> bool:
        return any(_concerns(change, each) for change in self._changes for each in states)

    def _list_concerned(self, change: changed.Change) -> list[str]:
        """Returns the names of the Services whose endpoints a change may change."""
        if change.is_service:
            is_counted = change.moves and change.name in self._states
            return [change.name] if is_counted else []
        return [name for name, states in self._states.items() if any(_concerns(change, each) for each in states)]

    def _read_listed(self) -> dict[str, set[str]]:
        """Returns the ready endpoints that are listed for Services without a selector."""
        if all(each.selector for found in self._states.values() for each in found):
            return {}
        try:
            return endpoints.find_ready(self._look.get(_SLICES, self._namespace))
        except exceptions.ApiException as error:
            self._problems.append(f"{_SLICES} could not be read: {cells.line(subject.reason(error))}")
            return {}

    def _count(self, counts: endpoint_counts.Counts, name: str) -> _Counted:
        try:
            return counts.count(self._services.get(name))
        except exceptions.ApiException as error:
            return cells.line(subject.reason(error))


def _tell(one: impact_report.Report, change: changed.Change, name: str, before: _Counted, after: _Counted) -> None:
    """Reports what a change does to the endpoints of one Service."""
    about = _write_service(name)
    if isinstance(before, str) or isinstance(after, str):
        problem = before if isinstance(before, str) else after
        one.find(_RULE, "critical", f"{_write_endpoints(name)} could not be counted: {problem}", about)
        return
    if change.is_placed_anew:
        # Attack: a DaemonSet selects nodes that do not exist, and all its pods end at once.
        text = f"{_write_endpoints(name)}: {before.wanted} → unknown, since its pods get other nodes"
        one.find(_RULE, "critical", text, about)
        return
    text = f"{_write_endpoints(name)}: {before.wanted} → {after.wanted}"
    if before.wanted != after.wanted or change.is_service:
        one.tell(text)
    one.leave(_write_endpoints(name), max(0, before.wanted - after.wanted), after.wanted)
    # Attack: a Service that no longer selects pods, such as one of type ExternalName, has no endpoints either.
    if before.ready and not after.ready:
        until = " until new pods are ready" if after.wanted else ""
        one.find(_RULE, "critical", f"no endpoint is left{until}: {text}", about)


def _write_service(name: str) -> str:
    return f"services/{cells.line(name)}"


def _write_endpoints(name: str) -> str:
    return f"endpoints of {_write_service(name)}"


def _concerns(change: changed.Change, service: endpoints.Service) -> bool:
    """Says whether pods that a change makes, relabels or takes are, or become, endpoints of a Service."""
    if not change.moves or change.is_service:
        return False
    if change.lists_endpoints:
        return not service.selector and endpoint_counts.lists_for(change, service.name)
    # Which pods are listed for a Service without a selector is not known yet.
    if not service.selector:
        return bool(change.gone)
    return any(service.selects(each) or not pod_lists.is_readable(each) for each in _list_labels(change))


def _list_labels(change: changed.Change) -> Iterator[changed.Labels]:
    """Yields the labels of the pods that a change concerns."""
    yield from change.gone.values()
    if change.is_workload and not change.removes:
        yield from (each.labels for each in (change.before, change.after) if each is not None)


def _service(name: str, pods: inspection.Pods | None) -> endpoints.Service | None:
    """Returns a Service of a plan; None if it selects nothing."""
    if pods is None or not pods.selector:
        return None
    pairs = (term.partition("=") for term in pods.selector.split(","))
    return endpoints.Service(name, {key: value for key, _, value in pairs}, pods.takes_unready)
