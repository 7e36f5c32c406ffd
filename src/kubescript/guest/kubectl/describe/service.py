"""Services."""

from __future__ import annotations

from kubescript.guest.kubectl.describe import endpoints, subject, values, writer
from kubescript.guest.sdk import client

__all__ = ["reads", "write"]


def reads(k8s: client.K8s, name: str, namespace: str) -> dict[str, subject.Read]:
    """Returns the read of the Service's endpoints."""
    return {"slices": endpoints.read(k8s, name, namespace)}


def write(about: subject.Subject, out: writer.Writer) -> None:
    """Writes a Service."""
    metadata, spec = about.object.get("metadata") or {}, about.object.get("spec") or {}
    out.field("Name", metadata.get("name"))
    out.field("Namespace", metadata.get("namespace"))
    out.labels("Labels", metadata.get("labels"))
    out.annotations("Annotations", metadata.get("annotations"))
    out.field("Selector", values.labels(spec.get("selector")))
    out.field("Type", spec.get("type"))
    _addresses(out, spec, about.object.get("status") or {})
    found = about.beside.get("slices")
    if not isinstance(found, Exception):
        found = endpoints.Addresses(about.listed("slices"))
    for port in spec.get("ports") or ():
        _port(out, port, found)
    out.field("Session Affinity", spec.get("sessionAffinity"))
    _traffic(out, spec)


def _addresses(out: writer.Writer, spec: values.Object, status: values.Object) -> None:
    out.given("IP Family Policy", spec.get("ipFamilyPolicy"))
    out.field("IP Families", values.joined(spec.get("ipFamilies")))
    out.field("IP", spec.get("clusterIP"))
    out.field("IPs", values.joined(spec.get("clusterIPs")))
    out.given("External IPs", values.joined(spec.get("externalIPs"), ""))
    out.given("Desired LoadBalancer IP", spec.get("loadBalancerIP"))
    out.given("External Name", spec.get("externalName"))
    balancers = (status.get("loadBalancer") or {}).get("ingress") or ()
    out.given("LoadBalancer Ingress", ", ".join(map(_balancer, balancers)))


def _balancer(found: values.Object) -> str:
    if not found.get("ip"):
        return values.text(found.get("hostname"))
    mode = f" ({found['ipMode']})" if found.get("ipMode") else ""
    return f"{found['ip']}{mode}"


def _port(out: writer.Writer, port: values.Object, found: endpoints.Addresses | Exception) -> None:
    name, protocol = port.get("name") or "<unset>", values.text(port.get("protocol"))
    out.row("Port:", name, f"{port.get('port', 0)}/{protocol}")
    out.field("TargetPort", f"{values.text(port.get('targetPort'), '0')}/{protocol}")
    out.given("AppProtocol", port.get("appProtocol"))
    if port.get("nodePort"):
        out.row("NodePort:", name, f"{port['nodePort']}/{protocol}")
    if isinstance(found, Exception):
        out.field("Endpoints", f"<error: {subject.reason(found)}>")
    else:
        out.field("Endpoints", found.text(values.text(port.get("name"))))


def _traffic(out: writer.Writer, spec: values.Object) -> None:
    out.given("External Traffic Policy", spec.get("externalTrafficPolicy"))
    out.given("Internal Traffic Policy", spec.get("internalTrafficPolicy"))
    out.given("HealthCheck NodePort", spec.get("healthCheckNodePort") or None)
    out.given("LoadBalancer Source Ranges", values.joined(spec.get("loadBalancerSourceRanges"), ""))
    out.given("Traffic Distribution", spec.get("trafficDistribution"))
