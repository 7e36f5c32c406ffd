"""A namespace's Services: the pods that they select, and the endpoints that they have."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kubescript.guest.kubectl.describe import subject
from kubescript.guest.kubectl.rows import cells
from kubescript.guest.plans import reads
from kubescript.guest.sdk import client
from kubescript.guest.sdk.calls import watch
from kubescript.guest.sdk.values import exceptions

__all__ = ["LABEL", "Endpoints", "Service", "find", "find_ready", "is_endpoint", "read_services"]

LABEL: Final = "kubernetes.io/service-name"
"""The label of lists of endpoints that names their Service."""
_MAX_COUNTS: Final = 10
"""How often endpoints are counted at most."""
_MAX_NAMES: Final = 5
"""How many Services one line lists."""
_OVER: Final = frozenset({"Succeeded", "Failed"})


class Service(NamedTuple):
    """A Service that has endpoints."""

    name: str
    selector: dict[str, str]
    """Empty if something else lists its endpoints."""
    takes_unready: bool = False
    """Whether pods that are not ready are endpoints too."""

    @property
    def query(self) -> str:
        """The selector in the syntax of queries."""
        return cells.selector({"matchLabels": self.selector})

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Says whether pods with these labels are selected."""
        return bool(self.selector) and self.selector.items() <= labels.items()


def read_services(found: Iterable[reads.Json]) -> list[Service]:
    """Returns those of a namespace's Services that have endpoints."""
    services = []
    for each in found:
        if cells.at(each, "spec.type") != "ExternalName":
            selector = cells.at(each, "spec.selector", {})
            takes_unready = cells.at(each, "spec.publishNotReadyAddresses", False)
            services.append(Service(cells.name(each), selector, takes_unready))
    return services


def is_endpoint(pod: reads.Json, service: Service) -> bool:
    """Says whether a pod that the Service selects is one of its ready endpoints."""
    if cells.at(pod, "metadata.deletionTimestamp") or cells.at(pod, "status.phase") in _OVER:
        return False
    return service.takes_unready or cells.condition(pod, "Ready") == "True"


def find_ready(slices: Iterable[reads.Json]) -> dict[str, set[str]]:
    """Returns the ready endpoints of each Service, by its name: the names of pods, and what else tells one apart."""
    ready: defaultdict[str, set[str]] = defaultdict(set)
    for each in slices:
        service = cells.at(each, "metadata.labels", {}).get(LABEL, "")
        for endpoint in cells.elements(each, "endpoints"):
            # An endpoint without the condition is ready.
            if cells.at(endpoint, "conditions.ready", True):
                ready[service].add(_identify(endpoint))
    return ready


def _identify(endpoint: reads.Json) -> str:
    """Returns what tells an endpoint apart: with two address families it is in two slices."""
    target = cells.at(endpoint, "targetRef")
    if target is None:
        return str(endpoint.get("addresses"))
    return str(target.get("name")) if target.get("kind") == "Pod" else f"{target.get('kind')}/{target.get('name')}"


class Endpoints(NamedTuple):
    """The ready endpoints of some of a namespace's Services."""

    services: Sequence[Service] = ()
    ready: Mapping[str, int] = {}
    """The number of ready endpoints by the name of the Service; Services whose endpoints could not be read are
    missing."""
    problem: str = ""
    """Why the Services could not be read."""

    def describe(self, services: Sequence[Service]) -> str:
        """Returns `services/web: 3 ready endpoints, services/api: …`, with at most a few of these Services."""
        parts = [f"services/{each.name}: {self.describe_one(each.name)}" for each in services[:_MAX_NAMES]]
        if len(services) > _MAX_NAMES:
            parts.append(f"and {len(services) - _MAX_NAMES} more services")
        return ", ".join(parts)

    def describe_one(self, name: str) -> str:
        """Returns `3 ready endpoints`, or that they could not be read."""
        ready = self.ready.get(name)
        if ready is None:
            return "endpoints could not be read"
        return f"{ready} ready endpoint" + "s" * (ready != 1)


def find(
    k8s: client.K8s, namespace: str, names: Collection[str], pods: Sequence[Mapping[str, str]], deadline: float
) -> Endpoints:
    """Returns the endpoints of the Services with these names, and of those that select pods with one of these sets of
    labels, once they are settled or the monotonic time is `deadline`."""
    answers = subject.together(k8s, {"services": reads.reader(k8s, "services", namespace)})
    listed = answers["services"]
    if isinstance(listed, Exception):
        return Endpoints(problem=cells.line(subject.reason(listed)))

    def is_wanted(service: Service) -> bool:
        return bool(service.selector) and (service.name in names or any(map(service.selects, pods)))

    services = list(filter(is_wanted, read_services(listed)))
    if not services:
        return Endpoints()
    return Endpoints(services, _wait_for(k8s, namespace, services, deadline))


def _wait_for(k8s: client.K8s, namespace: str, services: Sequence[Service], deadline: float) -> dict[str, int]:
    """Returns the number of ready endpoints of each Service, once they are those of its pods. Services whose endpoints
    cannot be read are left out."""
    names = ",".join(each.name for each in services)
    selector = f"{LABEL} in ({names})"
    listing = k8s.discoveryV1().list_namespaced_endpoint_slice
    ready: dict[str, int] = {}
    # Each change of an EndpointSlice is a reason to count again; the number of its changes is bounded all the same.
    for _ in range(_MAX_COUNTS):
        try:
            listed = listing(namespace, label_selector=selector)
            found = find_ready(subject.plain(listed))
            ready = {each.name: len(found.get(each.name, ())) for each in services}
            left = deadline - time.monotonic()
            if left <= 0 or _is_settled(k8s, namespace, services, ready):
                break
            _wait_for_change(listing, namespace, selector, listed.metadata.resource_version, left)
        except exceptions.ApiException:
            break
    return ready


def _is_settled(k8s: client.K8s, namespace: str, services: Sequence[Service], ready: Mapping[str, int]) -> bool:
    """Says whether each Service has as many ready endpoints as its pods should be."""
    wanted = {each.name: reads.reader(k8s, "pods", namespace, each.query) for each in services}
    answers = subject.together(k8s, wanted)
    for each in services:
        pods = answers[each.name]
        # Pods that cannot be read are not waited for.
        if isinstance(pods, list) and sum(is_endpoint(pod, each) for pod in pods) != ready[each.name]:
            return False
    return True


def _wait_for_change(listing: Any, namespace: str, selector: str, version: str, seconds: float) -> None:
    """Waits until one of these objects changes, for at most the given time. Raises ApiException."""
    changes = watch.Watch().stream(
        listing,
        namespace,
        label_selector=selector,
        resource_version=version,
        timeout_seconds=max(1, round(seconds)),
    )
    for _ in changes:
        return
