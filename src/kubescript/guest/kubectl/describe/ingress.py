"""Ingresses, with the addresses behind their backends."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any, Final

from kubescript.guest.kubectl.describe import endpoints, subject, values, writer
from kubescript.wire import messages

__all__ = ["write"]

_MAX_SERVICES: Final = 50
"""Services that are read, each by two calls. Attack: an Ingress of 4,000 paths to as many Services."""


def write(about: subject.Subject, out: writer.Writer) -> None:
    """Writes an Ingress."""
    metadata, spec = about.object.get("metadata") or {}, about.object.get("spec") or {}
    behind = _read(about, spec)
    out.field("Name", metadata.get("name"))
    out.labels("Labels", metadata.get("labels"))
    out.field("Namespace", metadata.get("namespace"))
    out.field("Address", _address(about.object.get("status") or {}))
    out.field("Ingress Class", values.text(spec.get("ingressClassName"), "<none>"))
    default = _backend(spec["defaultBackend"], behind) if spec.get("defaultBackend") else "<default>"
    out.field("Default backend", default)
    _tls(out, spec.get("tls"))
    out.title("Rules")
    out.table(("Host", "Path", "Backends"), [])
    rules = [rule for rule in spec.get("rules") or () if rule.get("http")]
    for rule in rules:
        out.row(rule.get("host") or "*", "", level=1)
        for path in rule["http"].get("paths") or ():
            out.row("", f"{values.text(path.get('path'))} ", _backend(path.get("backend") or {}, behind), level=2)
    if not rules:
        out.row("*", "*", default, level=1)
    out.annotations("Annotations", metadata.get("annotations"))


def _read(about: subject.Subject, spec: values.Object) -> dict[str, Any]:
    """Reads the Services of all backends and their endpoints at the same time."""
    reads: dict[str, subject.Read] = {}
    names = dict.fromkeys(values.text(service.get("name")) for service in _services(spec))
    for name in itertools.islice(names, _MAX_SERVICES):
        reads[f"service/{name}"] = functools.partial(about.k8s.coreV1().read_namespaced_service, name, about.namespace)
        reads[f"slices/{name}"] = endpoints.read(about.k8s, name, about.namespace)
    found = subject.together(about.k8s, reads)
    # Attack: 4,000 paths to 4,000 ports of 4,000 endpoints. Each is read once, and not for each path.
    for name, each in found.items():
        if not isinstance(each, Exception):
            found[name] = endpoints.Addresses(each) if name.startswith("slices/") else _port_names(each)
    return found


def _port_names(service: values.Object) -> dict[Any, str]:
    """Returns the names of a Service's ports by number and by name."""
    ports = (service.get("spec") or {}).get("ports") or ()
    found: dict[Any, str] = {}
    for each in ports:
        name = values.text(each.get("name"))
        if name:
            found[name] = name
        found[each.get("port")] = name
    return found


def _services(spec: values.Object) -> Iterator[values.Object]:
    backends = [spec.get("defaultBackend")]
    for rule in spec.get("rules") or ():
        paths = (rule.get("http") or {}).get("paths") or ()
        backends += [path.get("backend") for path in paths]
    for backend in backends:
        if backend and backend.get("service"):
            yield backend["service"]


def _backend(backend: values.Object, behind: dict[str, Any]) -> str:
    service, resource = backend.get("service"), backend.get("resource")
    if service:
        return _behind(service, behind)
    if resource:
        group = values.text(resource.get("apiGroup"), "<none>")
        return f"APIGroup: {group}, Kind: {resource.get('kind')}, Name: {resource.get('name')}"
    return ""


def _behind(service: values.Object, behind: dict[str, Any]) -> str:
    name = values.text(service.get("name"))
    wanted = service.get("port") or {}
    title = f"{name}:{wanted.get('number') or values.text(wanted.get('name'))}"
    if f"service/{name}" not in behind:
        unread = messages.text("describe_not_read", reason=f"more than {_MAX_SERVICES} Services")
        return f"{title} ({unread})"
    slices, ports = behind[f"slices/{name}"], behind[f"service/{name}"]
    for each in (slices, ports):
        if isinstance(each, Exception):
            return f"{title} (<error: {subject.reason(each)}>)"
    port = ports.get(wanted.get("number") or wanted.get("name"), "")
    return f"{title} ({slices.text(port)})"


def _address(status: values.Object) -> str:
    found = (status.get("loadBalancer") or {}).get("ingress") or ()
    return ",".join(sorted({values.text(each.get("ip") or each.get("hostname")) for each in found} - {""}))


def _tls(out: writer.Writer, found: list[values.Object] | None) -> None:
    if not found:
        return
    out.title("TLS")
    for each in found:
        hosts = values.joined(each.get("hosts"), "")
        secret = each.get("secretName")
        out.row(f"{secret} terminates {hosts}" if secret else f"SNI routes {hosts}", level=1)
