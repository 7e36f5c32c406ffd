"""The addresses behind a port of a Service, from its EndpointSlices."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from typing import Final

from kubescript.guest.kubectl.describe import subject, values
from kubescript.guest.sdk import client

__all__ = ["Addresses", "read"]

_SHOWN: Final = 3
_LABEL: Final = "kubernetes.io/service-name"


def read(k8s: client.K8s, service: str, namespace: str) -> subject.Read:
    """Returns the read of a Service's EndpointSlices."""
    slices = k8s.discoveryV1().list_namespaced_endpoint_slice
    return functools.partial(slices, namespace, label_selector=f"{_LABEL}={service}")


class Addresses:
    """The ready addresses behind a Service, by the name of the port."""

    def __init__(self, slices: Sequence[values.Object]) -> None:
        self._exist = bool(slices)
        self._first: dict[str, list[str]] = {}
        self._count: Counter[str] = Counter()
        for each in slices:
            self._add(each)

    def _add(self, found: values.Object) -> None:
        # Attack: 4,000 ports of 4,000 endpoints. Only the addresses that are shown are written.
        hosts = [endpoint["addresses"][0] for endpoint in found.get("endpoints") or () if _is_ready(endpoint)]
        for port in found.get("ports") or [{}]:
            name = values.text(port.get("name"))
            self._count[name] += len(hosts)
            first = self._first.setdefault(name, [])
            first += [_address(host, port.get("port")) for host in hosts[: _SHOWN - len(first)]]

    def text(self, port: str) -> str:
        """Returns the first addresses, and how many more there are."""
        if not self._exist:
            return "<none>"
        text = ",".join(self._first.get(port, ()))
        more = self._count[port] - _SHOWN
        return f"{text} + {more} more..." if more > 0 else text


def _address(host: str, port: int | None) -> str:
    if port is None:  # of a headless Service without ports
        return host
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _is_ready(endpoint: values.Object) -> bool:
    ready = (endpoint.get("conditions") or {}).get("ready")
    return bool(endpoint.get("addresses")) and ready is not False
