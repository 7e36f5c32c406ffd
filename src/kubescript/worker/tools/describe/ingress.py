"""Ingresses, with the addresses behind their backends."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from kubescript.worker.tools.describe import endpoints, subject, values, writer

__all__ = ["write"]


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
    for name in {values.text(service.get("name")) for service in _services(spec)}:
        reads[f"service/{name}"] = functools.partial(about.k8s.coreV1().read_namespaced_service, name, about.namespace)
        reads[f"slices/{name}"] = endpoints.read(about.k8s, name, about.namespace)
    return subject.together(about.k8s, reads)


def _services(spec: values.Object) -> Iterator[values.Object]:
    backends = [spec.get("defaultBackend") or {}]
    for rule in spec.get("rules") or ():
        backends += [path.get("backend") or {} for path in (rule.get("http") or {}).get("paths") or ()]
    yield from (backend["service"] for backend in backends if backend.get("service"))


def _backend(backend: values.Object, behind: dict[str, Any]) -> str:
    service, resource = backend.get("service"), backend.get("resource")
    if service:
        return _behind(service, behind)
    if resource:
        group = values.text(resource.get("apiGroup"), "<none>")
        return f"APIGroup: {group}, Kind: {resource.get('kind')}, Name: {resource.get('name')}"
    return ""


def _behind(service: values.Object, behind: dict[str, Any]) -> str:
    name, wanted = values.text(service.get("name")), service.get("port") or {}
    title = f"{name}:{wanted.get('number') or values.text(wanted.get('name'))}"
    slices, found = behind[f"slices/{name}"], behind[f"service/{name}"]
    for each in (slices, found):
        if isinstance(each, Exception):
            return f"{title} (<error: {subject.reason(each)}>)"
    port = ""
    for each in (found.get("spec") or {}).get("ports") or ():
        if wanted.get("number") == each.get("port") or (wanted.get("name") and wanted["name"] == each.get("name")):
            port = values.text(each.get("name"))
    return f"{title} ({endpoints.addresses(slices, port)})"


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
