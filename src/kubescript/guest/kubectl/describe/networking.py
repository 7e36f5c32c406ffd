"""Services and Ingresses, and the endpoints behind them."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kubescript.guest.kubectl.describe import subject, text_writer, texts
from kubescript.guest.sdk import client
from kubescript.wire import messages

__all__ = ["reads", "write", "write_ingress"]


def reads(k8s: client.K8s, name: str, namespace: str) -> dict[str, subject.Read]:
    """Returns the call that reads the Service's endpoints."""
    return {"slices": _read_slices(k8s, name, namespace)}


def write(about: subject.Subject, out: text_writer.Writer) -> None:
    """Writes a Service."""
    metadata, spec = about.object.get("metadata") or {}, about.object.get("spec") or {}
    out.field("Name", metadata.get("name"))
    out.field("Namespace", metadata.get("namespace"))
    out.labels("Labels", metadata.get("labels"))
    out.annotations("Annotations", metadata.get("annotations"))
    out.field("Selector", texts.labels(spec.get("selector")))
    out.field("Type", spec.get("type"))
    _addresses(out, spec, about.object.get("status") or {})
    found = about.beside.get("slices")
    if not isinstance(found, Exception):
        found = Addresses(about.get_list("slices"))
    for port in spec.get("ports") or ():
        _port(out, port, found)
    out.field("Session Affinity", spec.get("sessionAffinity"))
    _traffic(out, spec)


def _addresses(out: text_writer.Writer, spec: texts.Object, status: texts.Object) -> None:
    out.optional_field("IP Family Policy", spec.get("ipFamilyPolicy"))
    out.field("IP Families", texts.join(spec.get("ipFamilies")))
    out.field("IP", spec.get("clusterIP"))
    out.field("IPs", texts.join(spec.get("clusterIPs")))
    out.optional_field("External IPs", texts.join(spec.get("externalIPs"), ""))
    out.optional_field("Desired LoadBalancer IP", spec.get("loadBalancerIP"))
    out.optional_field("External Name", spec.get("externalName"))
    balancers = (status.get("loadBalancer") or {}).get("ingress") or ()
    out.optional_field("LoadBalancer Ingress", ", ".join(map(_balancer, balancers)))


def _balancer(found: texts.Object) -> str:
    if not found.get("ip"):
        return texts.text(found.get("hostname"))
    mode = f" ({found['ipMode']})" if found.get("ipMode") else ""
    return f"{found['ip']}{mode}"


def _port(out: text_writer.Writer, port: texts.Object, found: Addresses | Exception) -> None:
    name, protocol = port.get("name") or "<unset>", texts.text(port.get("protocol"))
    out.row("Port:", name, f"{port.get('port', 0)}/{protocol}")
    out.field("TargetPort", f"{texts.text(port.get('targetPort'), '0')}/{protocol}")
    out.optional_field("AppProtocol", port.get("appProtocol"))
    if port.get("nodePort"):
        out.row("NodePort:", name, f"{port['nodePort']}/{protocol}")
    if isinstance(found, Exception):
        out.field("Endpoints", f"<error: {subject.reason(found)}>")
    else:
        out.field("Endpoints", found.text(texts.text(port.get("name"))))


def _traffic(out: text_writer.Writer, spec: texts.Object) -> None:
    out.optional_field("External Traffic Policy", spec.get("externalTrafficPolicy"))
    out.optional_field("Internal Traffic Policy", spec.get("internalTrafficPolicy"))
    out.optional_field("HealthCheck NodePort", spec.get("healthCheckNodePort") or None)
    out.optional_field("LoadBalancer Source Ranges", texts.join(spec.get("loadBalancerSourceRanges"), ""))
    out.optional_field("Traffic Distribution", spec.get("trafficDistribution"))


_SHOWN: Final = 3
_LABEL: Final = "kubernetes.io/service-name"


def _read_slices(k8s: client.K8s, service: str, namespace: str) -> subject.Read:
    """Returns the call that reads a Service's EndpointSlices."""
    slices = k8s.discoveryV1().list_namespaced_endpoint_slice
    return functools.partial(slices, namespace, label_selector=f"{_LABEL}={service}")


class Addresses:
    """The ready addresses behind a Service, by port name."""

    def __init__(self, slices: Sequence[texts.Object]) -> None:
        self._exist = bool(slices)
        self._first: dict[str, list[str]] = {}
        self._count: Counter[str] = Counter()
        for each in slices:
            self._add(each)

    def _add(self, found: texts.Object) -> None:
        # Attack: a Service has 4,000 ports with 4,000 endpoints each, so only the addresses to be shown are written.
        hosts = [endpoint["addresses"][0] for endpoint in found.get("endpoints") or () if _is_ready(endpoint)]
        for port in found.get("ports") or [{}]:
            name = texts.text(port.get("name"))
            self._count[name] += len(hosts)
            first = self._first.setdefault(name, [])
            first += [_address(host, port.get("port")) for host in hosts[: _SHOWN - len(first)]]

    def text(self, port: str) -> str:
        """Returns the first addresses, and the number of others."""
        if not self._exist:
            return "<none>"
        text = ",".join(self._first.get(port, ()))
        more = self._count[port] - _SHOWN
        return f"{text} + {more} more..." if more > 0 else text


def _address(host: str, port: int | None) -> str:
    if port is None:  # a headless Service without ports
        return host
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _is_ready(endpoint: texts.Object) -> bool:
    ready = (endpoint.get("conditions") or {}).get("ready")
    return bool(endpoint.get("addresses")) and ready is not False


_MAX_SERVICES: Final = 50
"""How many Services are read, each with two calls. Attack: an Ingress has 4,000 paths to as many Services."""


def write_ingress(about: subject.Subject, out: text_writer.Writer) -> None:
    """Writes an Ingress."""
    metadata, spec = about.object.get("metadata") or {}, about.object.get("spec") or {}
    behind = _read(about, spec)
    out.field("Name", metadata.get("name"))
    out.labels("Labels", metadata.get("labels"))
    out.field("Namespace", metadata.get("namespace"))
    out.field("Address", _ingress_address(about.object.get("status") or {}))
    out.field("Ingress Class", texts.text(spec.get("ingressClassName"), "<none>"))
    default = _backend(spec["defaultBackend"], behind) if spec.get("defaultBackend") else "<default>"
    out.field("Default backend", default)
    _tls(out, spec.get("tls"))
    out.title("Rules")
    out.table(("Host", "Path", "Backends"), [])
    rules = [rule for rule in spec.get("rules") or () if rule.get("http")]
    for rule in rules:
        out.row(rule.get("host") or "*", "", level=1)
        for path in rule["http"].get("paths") or ():
            out.row("", f"{texts.text(path.get('path'))} ", _backend(path.get("backend") or {}, behind), level=2)
    if not rules:
        out.row("*", "*", default, level=1)
    out.annotations("Annotations", metadata.get("annotations"))


def _read(about: subject.Subject, spec: texts.Object) -> dict[str, Any]:
    """Reads the Services of all backends and their endpoints in parallel."""
    reads: dict[str, subject.Read] = {}
    names = dict.fromkeys(texts.text(service.get("name")) for service in _services(spec))
    for name in itertools.islice(names, _MAX_SERVICES):
        reads[f"service/{name}"] = functools.partial(about.k8s.coreV1().read_namespaced_service, name, about.namespace)
        reads[f"slices/{name}"] = _read_slices(about.k8s, name, about.namespace)
    found = subject.together(about.k8s, reads)
    # Attack: an Ingress has 4,000 paths to 4,000 ports with 4,000 endpoints, so each Service is processed once, not per
    # path.
    for name, each in found.items():
        if not isinstance(each, Exception):
            found[name] = Addresses(each) if name.startswith("slices/") else _port_names(each)
    return found


def _port_names(service: texts.Object) -> dict[Any, str]:
    """Returns the names of a Service's ports by number and by name."""
    ports = (service.get("spec") or {}).get("ports") or ()
    found: dict[Any, str] = {}
    for each in ports:
        name = texts.text(each.get("name"))
        if name:
            found[name] = name
        found[each.get("port")] = name
    return found


def _services(spec: texts.Object) -> Iterator[texts.Object]:
    backends = [spec.get("defaultBackend")]
    for rule in spec.get("rules") or ():
        paths = (rule.get("http") or {}).get("paths") or ()
        backends += [path.get("backend") for path in paths]
    for backend in backends:
        if backend and backend.get("service"):
            yield backend["service"]


def _backend(backend: texts.Object, behind: dict[str, Any]) -> str:
    service, resource = backend.get("service"), backend.get("resource")
    if service:
        return _behind(service, behind)
    if resource:
        group = texts.text(resource.get("apiGroup"), "<none>")
        return f"APIGroup: {group}, Kind: {resource.get('kind')}, Name: {resource.get('name')}"
    return ""


def _behind(service: texts.Object, behind: dict[str, Any]) -> str:
    name = texts.text(service.get("name"))
    wanted = service.get("port") or {}
    title = f"{name}:{wanted.get('number') or texts.text(wanted.get('name'))}"
    if f"service/{name}" not in behind:
        unread = messages.text("describe_not_read", reason=f"more than {_MAX_SERVICES} Services")
        return f"{title} ({unread})"
    slices, ports = behind[f"slices/{name}"], behind[f"service/{name}"]
    for each in (slices, ports):
        if isinstance(each, Exception):
            return f"{title} (<error: {subject.reason(each)}>)"
    port = ports.get(wanted.get("number") or wanted.get("name"), "")
    return f"{title} ({slices.text(port)})"


def _ingress_address(status: texts.Object) -> str:
    found = (status.get("loadBalancer") or {}).get("ingress") or ()
    return ",".join(sorted({texts.text(each.get("ip") or each.get("hostname")) for each in found} - {""}))


def _tls(out: text_writer.Writer, found: list[texts.Object] | None) -> None:
    if not found:
        return
    out.title("TLS")
    for each in found:
        hosts = texts.join(each.get("hosts"), "")
        secret = each.get("secretName")
        out.row(f"{secret} terminates {hosts}" if secret else f"SNI routes {hosts}", level=1)
