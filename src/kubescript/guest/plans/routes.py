"""Who leads traffic to a Service or reads a certificate: ingresses, routes of the Gateway API and of OpenShift,
StatefulSets, and the API server's own webhooks and aggregated APIs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

from kubescript.guest.kubectl import tool_kinds
from kubescript.guest.kubectl.rows import cells
from kubescript.guest.plans import inventory
from kubescript.guest.sdk import client

__all__ = ["ROUTED", "find", "find_callers", "list_kinds"]

Json = dict[str, Any]

ROUTED: Final = frozenset({"secrets", "services"})
"""Kinds to which routes refer."""
_INGRESSES: Final = "ingresses.networking.k8s.io"
_ROUTES: Final = "routes.route.openshift.io"
_SETS: Final = "statefulsets.apps"
_GATEWAY: Final = "gateway.networking.k8s.io"
_CALLERS: Final = (
    "validatingwebhookconfigurations.admissionregistration.k8s.io",
    "mutatingwebhookconfigurations.admissionregistration.k8s.io",
    "apiservices.apiregistration.k8s.io",
)
"""Kinds by which the API server itself calls a Service."""


def list_kinds(found: inventory.Inventory) -> Iterator[str]:
    """Yields the kinds of routes of which the namespace has objects."""
    yield from (_INGRESSES, _ROUTES, _SETS)
    yield from {each.kind.full_name for each in found.objects.values() if each.kind.group == _GATEWAY}


def find(kind: tool_kinds.Kind, data: Json, resource: str, name: str) -> Iterator[str]:
    """Yields a message if an object refers to the Service or Secret of this name."""
    user = f"{kind.full_name}/{cells.line(cells.name(data))}"
    if resource == "secrets":
        if kind.full_name == _INGRESSES and name in _list_certificates(data):
            yield f"read by {user} for TLS"
    elif resource == "services" and name in _list_services(kind, data):
        word = "named as its Service by" if kind.full_name == _SETS else "routed to by"
        yield f"{word} {user}"


def _list_certificates(ingress: Json) -> set[str]:
    """Returns the names of the Secrets with an ingress's certificates."""
    return {str(each.get("secretName")) for each in cells.elements(ingress, "spec.tls")}


def _list_services(kind: tool_kinds.Kind, data: Json) -> set[str]:
    """Returns the names of the Services to which an object refers."""
    if kind.full_name == _INGRESSES:
        return set(_list_backends(data))
    if kind.full_name == _SETS:
        return {str(cells.at(data, "spec.serviceName", ""))}
    if kind.full_name == _ROUTES:
        others = cells.elements(data, "spec.alternateBackends")
        return {str(cells.at(data, "spec.to.name", "")), *(str(each.get("name")) for each in others)}
    references = [each for rule in cells.elements(data, "spec.rules") for each in cells.elements(rule, "backendRefs")]
    return {str(each.get("name")) for each in references if each.get("kind", "Service") == "Service"}


def _list_backends(ingress: Json) -> Iterator[str]:
    """Yields the names of the Services of an ingress."""
    yield str(cells.at(ingress, "spec.defaultBackend.service.name", ""))
    for rule in cells.elements(ingress, "spec.rules"):
        for path in cells.elements(rule, "http.paths"):
            yield str(cells.at(path, "backend.service.name", ""))


def find_callers(k8s: client.K8s) -> tuple[dict[tuple[str, str], list[str]], list[str]]:
    """Returns a message for each webhook or aggregated API by which the API server calls a Service, by the Service's
    namespace and name; and the kinds that could not be read, with the reason."""
    kinds = [tool_kinds.find(k8s, each) for each in _CALLERS]
    accepts: dict[tool_kinds.Kind, inventory.Accept] = dict.fromkeys(kinds, "json")
    lists = inventory.read_lists(k8s, None, accepts)
    found: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for kind, objects in lists.listed.items():
        for each in objects:
            message = f"called by the API server for {kind.full_name}/{cells.line(cells.name(each))}"
            for service in _list_called(each):
                found[service].append(message)
    return found, lists.missing


def _list_called(data: Json) -> set[tuple[str, str]]:
    """Returns the namespaces and names of the Services that a webhook configuration or an APIService calls."""
    webhooks = cells.elements(data, "webhooks")
    found = [cells.at(each, "clientConfig.service", {}) for each in webhooks]
    found.append(cells.at(data, "spec.service", {}))
    called = set()
    for service in found:
        called.add((str(service.get("namespace")), str(service.get("name"))))
    return called
