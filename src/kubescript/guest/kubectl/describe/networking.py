"""Services and Ingresses, and the endpoints behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kubescript.guest.kubectl.describe import subject, texts
from kubescript.guest.kubectl.describe.subject import Read, Subject
from kubescript.guest.kubectl.describe.text_writer import Writer
from kubescript.guest.kubectl.describe.texts import Object
from kubescript.guest.sdk import client
from kubescript.wire import messages

__all__ = ["reads", "write", "write_ingress"]

_OTHER_ADDRESSES: Final = {"Desired LoadBalancer IP": "loadBalancerIP", "External Name": "externalName"}
_POLICIES: Final = {
    "External Traffic Policy": "externalTrafficPolicy",
    "Internal Traffic Policy": "internalTrafficPolicy",
}
# How many addresses of a port are shown, as in kubectl. The others are only counted.
_SHOWN: Final = 3
# The label by which an EndpointSlice names its Service.
_LABEL: Final = "kubernetes.io/service-name"


def reads(k8s: client.K8s, name: str, namespace: str) -> dict[str, Read]:
    """Returns the call that reads the Service's endpoints."""
    return {"slices": _read_slices(k8s, name, namespace)}


def write(about: Subject, out: Writer) -> None:
    """Writes a Service."""
    spec = about.spec
    out.names(about.metadata)
    out.labels_and_annotations(about.metadata)
    out.field("Selector", texts.labels(spec.get("selector")))
    out.field("Type", spec.get("type"))
    _write_addresses(out, spec, about.status)
    endpoints = about.beside.get("slices")
    if not isinstance(endpoints, Exception):
        endpoints = Addresses(about.get_list("slices"))
    for port in spec.get("ports") or ():
        _write_port(out, port, endpoints)
    out.field("Session Affinity", spec.get("sessionAffinity"))
    _write_traffic(out, spec)


def _write_addresses(out: Writer, spec: Object, status: Object) -> None:
    """Writes where clients inside and outside the cluster reach a Service."""
    out.optional_field("IP Family Policy", spec.get("ipFamilyPolicy"))
    out.field("IP Families", texts.join(spec.get("ipFamilies")))
    out.field("IP", spec.get("clusterIP"))
    out.field("IPs", texts.join(spec.get("clusterIPs")))
    out.optional_field("External IPs", texts.join(spec.get("externalIPs"), ""))
    out.optional_fields(spec, _OTHER_ADDRESSES)
    balancer = status.get("loadBalancer") or {}
    ingress = map(_balancer_address, balancer.get("ingress") or ())
    out.optional_field("LoadBalancer Ingress", ", ".join(ingress))


def _balancer_address(found: Object) -> str:
    """Returns an address such as `10.0.0.1 (VIP)`, or a host's name."""
    address = found.get("ip")
    if not address:
        return texts.text(found.get("hostname"))
    mode = found.get("ipMode")
    if not mode:
        return f"{address}"
    return f"{address} ({mode})"


def _write_port(out: Writer, port: Object, endpoints: Addresses | Exception) -> None:
    """Writes a port of a Service with the addresses behind it."""
    name = port.get("name") or "<unset>"
    protocol = texts.text(port.get("protocol"))
    target = texts.text(port.get("targetPort"), "0")
    out.row("Port:", name, f"{port.get('port', 0)}/{protocol}")
    out.field("TargetPort", f"{target}/{protocol}")
    out.optional_field("AppProtocol", port.get("appProtocol"))
    node_port = port.get("nodePort")
    if node_port:
        out.row("NodePort:", name, f"{node_port}/{protocol}")
    if isinstance(endpoints, Exception):
        out.field("Endpoints", f"<error: {subject.reason(endpoints)}>")
        return
    own_name = texts.text(port.get("name"))
    out.field("Endpoints", endpoints.text(own_name))


def _write_traffic(out: Writer, spec: Object) -> None:
    """Writes which traffic reaches which pods."""
    out.optional_fields(spec, _POLICIES)
    # A Service without such a port may have a 0 in this field.
    out.optional_field("HealthCheck NodePort", spec.get("healthCheckNodePort") or None)
    ranges = texts.join(spec.get("loadBalancerSourceRanges"), "")
    out.optional_field("LoadBalancer Source Ranges", ranges)
    out.optional_field("Traffic Distribution", spec.get("trafficDistribution"))


# --- endpoints --------------------------------------------------------------------------------------------------------


def _read_slices(k8s: client.K8s, service: str, namespace: str) -> Read:
    """Returns the call that reads a Service's EndpointSlices."""
    list_slices = k8s.discoveryV1().list_namespaced_endpoint_slice
    selector = f"{_LABEL}={service}"

    def read() -> Any:
        return list_slices(namespace, label_selector=selector)

    return read


class Addresses:
    """The ready addresses behind a Service, by port name."""

    def __init__(self, slices: Sequence[Object]) -> None:
        self._exist = bool(slices)
        self._first: dict[str, list[str]] = {}
        self._count: Counter[str] = Counter()
        for each in slices:
            self._add(each)

    def _add(self, found: Object) -> None:
        """Adds the addresses of one EndpointSlice."""
        # Attack: a Service has 4,000 ports with 4,000 endpoints each, so only the addresses to be shown are written.
        endpoints = found.get("endpoints") or ()
        hosts = [endpoint["addresses"][0] for endpoint in endpoints if _is_ready(endpoint)]
        for port in found.get("ports") or [{}]:
            name = texts.text(port.get("name"))
            self._count[name] += len(hosts)
            first = self._first.setdefault(name, [])
            places = _SHOWN - len(first)
            first += [_address(host, port.get("port")) for host in hosts[:places]]

    def text(self, port: str) -> str:
        """Returns the first addresses, and the number of others."""
        if not self._exist:
            return "<none>"
        text = ",".join(self._first.get(port, ()))
        more = self._count[port] - _SHOWN
        if more <= 0:
            return text
        return f"{text} + {more} more..."


def _address(host: str, port: int | None) -> str:
    """Returns an address such as `10.0.0.1:80` or `[::1]:80`."""
    if port is None:  # a headless Service without ports
        return host
    if ":" in host:
        return f"[{host}]:{port}"
    return f"{host}:{port}"


def _is_ready(endpoint: Object) -> bool:
    conditions = endpoint.get("conditions") or {}
    # An endpoint without this condition counts as ready.
    if conditions.get("ready") is False:
        return False
    return bool(endpoint.get("addresses"))


# --- Ingresses --------------------------------------------------------------------------------------------------------

# How many Services are read at most, each with two calls. Attack: an Ingress has 4,000 paths to as many Services.
_MAX_SERVICES: Final = 50

Services = dict[str, Any]
"""`service/NAME` → the names of a Service's ports, `slices/NAME` → its addresses; or a failed call's ApiException."""


def write_ingress(about: Subject, out: Writer) -> None:
    """Writes an Ingress."""
    metadata = about.metadata
    spec = about.spec
    services = _read_services(about)
    out.field("Name", metadata.get("name"))
    out.labels("Labels", metadata.get("labels"))
    out.field("Namespace", metadata.get("namespace"))
    out.field("Address", _ingress_address(about.status))
    out.field("Ingress Class", texts.text(spec.get("ingressClassName"), "<none>"))
    default = "<default>"
    if spec.get("defaultBackend"):
        default = _describe_backend(spec["defaultBackend"], services)
    out.field("Default backend", default)
    _write_tls(out, spec.get("tls"))
    out.title("Rules")
    out.table(("Host", "Path", "Backends"), [])
    rules = [rule for rule in spec.get("rules") or () if rule.get("http")]
    for rule in rules:
        _write_rule(out, rule, services)
    if not rules:
        out.row("*", "*", default, level=1)
    out.annotations("Annotations", metadata.get("annotations"))


def _write_rule(out: Writer, rule: Object, services: Services) -> None:
    """Writes the host of a rule, and below it the path and the backend of each of its paths."""
    host = rule.get("host") or "*"
    out.row(host, "", level=1)
    for path in rule["http"].get("paths") or ():
        text = texts.text(path.get("path"))
        backend = _describe_backend(path.get("backend") or {}, services)
        out.row("", f"{text} ", backend, level=2)


def _read_services(about: Subject) -> Services:
    """Reads the Services of all backends and their endpoints in parallel."""
    reads: dict[str, Read] = {}
    names = _service_names(about.spec)
    for name in names[:_MAX_SERVICES]:
        reads[f"service/{name}"] = _read_service(about, name)
        reads[f"slices/{name}"] = _read_slices(about.k8s, name, about.namespace)
    found = subject.together(about.k8s, reads)
    return {key: _digest(key, answer) for key, answer in found.items()}


def _service_names(spec: Object) -> list[str]:
    """Returns the names of the Services of all backends, without duplicates."""
    names = [texts.text(service.get("name")) for service in _backend_services(spec)]
    return list(dict.fromkeys(names))


def _read_service(about: Subject, name: str) -> Read:
    """Returns the call that reads a Service."""
    read_service = about.k8s.coreV1().read_namespaced_service
    namespace = about.namespace
    return lambda: read_service(name, namespace)


def _digest(key: str, answer: Any) -> Any:
    """Returns the part of an answer that is needed to describe the backends."""
    # Attack: an Ingress has 4,000 paths to 4,000 ports with 4,000 endpoints, so each Service is processed only once,
    # and not for each path.
    if isinstance(answer, Exception):
        return answer
    if key.startswith("slices/"):
        return Addresses(answer)
    return _port_names(answer)


def _port_names(service: Object) -> dict[Any, str]:
    """Returns the names of a Service's ports by number and by name."""
    spec = service.get("spec") or {}
    found: dict[Any, str] = {}
    for port in spec.get("ports") or ():
        name = texts.text(port.get("name"))
        if name:
            found[name] = name
        found[port.get("port")] = name
    return found


def _backend_services(spec: Object) -> Iterator[Object]:
    """Yields the references to Services of all backends."""
    for backend in _backends(spec):
        if backend and backend.get("service"):
            yield backend["service"]


def _backends(spec: Object) -> Iterator[Object | None]:
    """Yields all backends of an Ingress; None for one that is not set."""
    yield spec.get("defaultBackend")
    for rule in spec.get("rules") or ():
        http = rule.get("http") or {}
        for path in http.get("paths") or ():
            yield path.get("backend")


def _describe_backend(backend: Object, services: Services) -> str:
    """Describes where an Ingress sends its requests: to a Service or to any other object."""
    service = backend.get("service")
    if service:
        return _describe_service(service, services)
    resource = backend.get("resource")
    if not resource:
        return ""
    group = texts.text(resource.get("apiGroup"), "<none>")
    return f"APIGroup: {group}, Kind: {resource.get('kind')}, Name: {resource.get('name')}"


def _describe_service(service: Object, services: Services) -> str:
    """Returns a string such as `web:80 (10.0.0.1:8080,10.0.0.2:8080)`."""
    name = texts.text(service.get("name"))
    port = service.get("port") or {}
    title = f"{name}:{port.get('number') or texts.text(port.get('name'))}"
    if f"service/{name}" not in services:
        unread = messages.text("describe_not_read", reason=f"more than {_MAX_SERVICES} Services")
        return f"{title} ({unread})"
    addresses = services[f"slices/{name}"]
    port_names = services[f"service/{name}"]
    for each in (addresses, port_names):
        if isinstance(each, Exception):
            return f"{title} (<error: {subject.reason(each)}>)"
    port_name = port_names.get(port.get("number") or port.get("name"), "")
    return f"{title} ({addresses.text(port_name)})"


def _ingress_address(status: Object) -> str:
    """Returns the sorted addresses of an Ingress's load balancers."""
    balancer = status.get("loadBalancer") or {}
    addresses = set()
    for each in balancer.get("ingress") or ():
        address = each.get("ip") or each.get("hostname")
        addresses.add(texts.text(address))
    addresses.discard("")
    return ",".join(sorted(addresses))


def _write_tls(out: Writer, found: list[Object] | None) -> None:
    """Writes which Secret holds the certificate for which hosts."""
    if not found:
        return
    out.title("TLS")
    for each in found:
        hosts = texts.join(each.get("hosts"), "")
        secret = each.get("secretName")
        # Without a Secret, the load balancer does not end the TLS connection, but forwards it by the host name that the
        # client sends.
        line = f"{secret} terminates {hosts}" if secret else f"SNI routes {hosts}"
        out.row(line, level=1)
