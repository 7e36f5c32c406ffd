"""The addresses behind a port of a Service, from its EndpointSlices."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kubescript.worker.sdk import client
from kubescript.worker.tools.describe import subject, values

__all__ = ["addresses", "read"]

_SHOWN: Final = 3
_LABEL: Final = "kubernetes.io/service-name"


def read(k8s: client.K8s, service: str, namespace: str) -> subject.Read:
    """Returns the read of a Service's EndpointSlices."""
    slices = k8s.discoveryV1().list_namespaced_endpoint_slice
    return functools.partial(slices, namespace, label_selector=f"{_LABEL}={service}")


def addresses(slices: Sequence[values.Object], port: str) -> str:
    """Returns the first ready addresses of a port, and how many more there are."""
    if not slices:
        return "<none>"
    found = [address for each in slices for address in _of_slice(each, port)]
    text = ",".join(found[:_SHOWN])
    return f"{text} + {len(found) - _SHOWN} more..." if len(found) > _SHOWN else text


def _of_slice(found: values.Object, port: str) -> Iterator[str]:
    endpoints = [each for each in found.get("endpoints") or () if _is_ready(each)]
    ports: list[dict[str, Any]] = found.get("ports") or []
    if not ports:  # of a headless Service without ports
        yield from (each["addresses"][0] for each in endpoints)
    for each in ports:
        if values.text(each.get("name")) == port:
            for endpoint in endpoints:
                host = endpoint["addresses"][0]
                yield f"[{host}]:{each.get('port')}" if ":" in host else f"{host}:{each.get('port')}"


def _is_ready(endpoint: values.Object) -> bool:
    ready = (endpoint.get("conditions") or {}).get("ready")
    return bool(endpoint.get("addresses")) and ready is not False
