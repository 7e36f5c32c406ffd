"""kubectl's rows for nodes, storage, network, events, RBAC, and for objects without a state."""

from __future__ import annotations

from typing import Any, Final

from kubescript.guest.kubectl.rows import cells

__all__ = [
    "of_any",
    "of_binding",
    "of_claim",
    "of_conditioned",
    "of_config_map",
    "of_event",
    "of_ingress",
    "of_namespace",
    "of_node",
    "of_role",
    "of_secret",
    "of_service",
    "of_volume",
]

Json = dict[str, Any]
# How many hosts are shown. As in kubectl, further ones are only counted.
_MOST_HOSTS: Final = 3


def of_any(obj: Json) -> list[Any]:
    """Returns name and age, which every object has."""
    return [cells.name(obj), cells.age(obj)]


def of_conditioned(obj: Json) -> list[Any]:
    """Returns the cells of an object with a condition Ready."""
    return [cells.name(obj), cells.condition(obj, "Ready"), cells.age(obj)]


def of_role(obj: Json) -> list[Any]:
    """Returns the cells of a ClusterRole: the API server prints its creation time instead of its age."""
    return [cells.name(obj), cells.at(obj, "metadata.creationTimestamp")]


def of_node(obj: Json) -> list[Any]:
    """Returns the cells of a Node."""
    info = cells.at(obj, "status.nodeInfo", {})
    kernel = info.get("kernelVersion") or "<unknown>"
    if info.get("architecture"):
        kernel += f" ({info['architecture']})"
    roles = ",".join(cells.node_roles(obj))
    return [
        cells.name(obj),
        _node_state(obj),
        roles or cells.NONE,
        cells.age(obj),
        info.get("kubeletVersion", ""),
        _address(obj, "InternalIP"),
        _address(obj, "ExternalIP"),
        info.get("osImage") or "<unknown>",
        kernel,
        info.get("containerRuntimeVersion") or "<unknown>",
    ]


def of_namespace(obj: Json) -> list[Any]:
    """Returns the cells of a Namespace."""
    phase = cells.at(obj, "status.phase", "")
    return [cells.name(obj), phase, cells.age(obj)]


def of_config_map(obj: Json) -> list[Any]:
    """Returns the cells of a ConfigMap."""
    texts = cells.at(obj, "data", {})
    binaries = cells.at(obj, "binaryData", {})
    count = len(texts) + len(binaries)
    return [cells.name(obj), count, cells.age(obj)]


def of_secret(obj: Json) -> list[Any]:
    """Returns the cells of a Secret that is served in full."""
    kind = cells.at(obj, "type", "")
    count = len(cells.at(obj, "data", {}))
    return [cells.name(obj), kind, count, cells.age(obj)]


def of_volume(obj: Json) -> list[Any]:
    """Returns the cells of a PersistentVolume."""
    modes = cells.elements(obj, "spec.accessModes")
    return [
        cells.name(obj),
        cells.at(obj, "spec.capacity.storage", "0"),
        cells.access_modes(modes),
        cells.at(obj, "spec.persistentVolumeReclaimPolicy", ""),
        _phase(obj),
        _claim(obj),
        cells.storage_class(obj),
        cells.at(obj, "spec.volumeAttributesClassName", cells.UNSET),
        cells.at(obj, "status.reason", ""),
        cells.age(obj),
        cells.at(obj, "spec.volumeMode", cells.UNSET),
    ]


def of_claim(obj: Json) -> list[Any]:
    """Returns the cells of a PersistentVolumeClaim."""
    volume = cells.at(obj, "spec.volumeName", "")
    capacity = ""
    modes = ""
    # An unbound claim has neither a capacity nor access modes.
    if volume:
        capacity = cells.at(obj, "status.capacity.storage", "0")
        modes = cells.access_modes(cells.elements(obj, "status.accessModes"))
    return [
        cells.name(obj),
        _phase(obj),
        volume,
        capacity,
        modes,
        cells.storage_class(obj),
        cells.at(obj, "spec.volumeAttributesClassName", cells.UNSET),
        cells.age(obj),
        cells.at(obj, "spec.volumeMode", cells.UNSET),
    ]


def of_service(obj: Json) -> list[Any]:
    """Returns the cells of a Service."""
    addresses = cells.elements(obj, "spec.clusterIPs")
    ports = map(_port, cells.elements(obj, "spec.ports"))
    return [
        cells.name(obj),
        cells.at(obj, "spec.type", ""),
        addresses[0] if addresses else cells.NONE,
        _external(obj),
        ",".join(ports) or cells.NONE,
        cells.age(obj),
        cells.labels(cells.at(obj, "spec.selector")),
    ]


def of_ingress(obj: Json) -> list[Any]:
    """Returns the cells of an Ingress."""
    # An Ingress does not state its ports; kubectl prints the usual ones.
    has_tls = bool(cells.elements(obj, "spec.tls"))
    return [
        cells.name(obj),
        cells.at(obj, "spec.ingressClassName", cells.NONE),
        _hosts(cells.elements(obj, "spec.rules")),
        ",".join(_balancers(obj)),
        "80, 443" if has_tls else "80",
        cells.age(obj),
    ]


def of_event(obj: Json) -> list[Any]:
    """Returns the cells of an Event."""
    first = cells.since(cells.at(obj, "firstTimestamp") or cells.at(obj, "eventTime"))
    last = cells.at(obj, "series.lastObservedTime") or cells.at(obj, "lastTimestamp")
    about = cells.at(obj, "involvedObject", {})
    count = cells.at(obj, "series.count") or cells.at(obj, "count")
    return [
        cells.since(last) if last else first,
        cells.at(obj, "type", ""),
        cells.at(obj, "reason", ""),
        _object_cell(about),
        about.get("fieldPath", ""),
        _source(obj),
        cells.at(obj, "message", "").strip(),
        first,
        count or 1,
        cells.name(obj),
    ]


def _object_cell(about: Json) -> str:
    """Returns the object of an event, such as `pod/web-0`."""
    kind: str = about.get("kind", "").lower()
    name = about.get("name")
    if not name:
        return kind
    return f"{kind}/{name}"


def of_binding(obj: Json) -> list[Any]:
    """Returns the cells of a ClusterRoleBinding."""
    role = cells.at(obj, "roleRef", {})
    subjects = cells.elements(obj, "subjects")
    accounts = [each for each in subjects if each.get("kind") == "ServiceAccount"]
    account_names = [f"{each.get('namespace', '')}/{each.get('name')}" for each in accounts]
    return [
        cells.name(obj),
        f"{role.get('kind', '')}/{role.get('name', '')}",
        cells.age(obj),
        _subject_names(subjects, "User"),
        _subject_names(subjects, "Group"),
        ", ".join(account_names),
    ]


def _subject_names(subjects: list[Json], kind: str) -> str:
    """Returns the names of a binding's subjects of one kind, such as its users or its groups."""
    names = [each["name"] for each in subjects if each.get("kind") == kind]
    return ", ".join(names)


def _phase(obj: Json) -> str:
    """Returns the phase of a volume or claim."""
    if cells.at(obj, "metadata.deletionTimestamp"):
        return "Terminating"
    phase = cells.at(obj, "status.phase", "")
    return str(phase)


def _claim(volume: Json) -> str:
    """Returns the claim that a volume is bound to; an empty string if it is free."""
    claim = cells.at(volume, "spec.claimRef")
    if not claim:
        return ""
    return f"{claim.get('namespace', '')}/{claim.get('name', '')}"


def _node_state(node: Json) -> str:
    """Returns whether a node is ready, and whether it accepts new pods."""
    ready = cells.condition(node, "Ready")
    state = "NotReady"
    if ready == "True":
        state = "Ready"
    elif not ready:
        state = "Unknown"
    if cells.at(node, "spec.unschedulable"):
        return f"{state},SchedulingDisabled"
    return state


def _address(node: Json, kind: str) -> Any:
    """Returns a node's first address of this type."""
    for each in cells.elements(node, "status.addresses"):
        if each.get("type") == kind:
            return each.get("address", "")
    return cells.NONE


def _balancers(obj: Json) -> list[str]:
    """Returns the sorted addresses of the load balancers in front of a Service or Ingress."""
    addresses = set()
    for each in cells.elements(obj, "status.loadBalancer.ingress"):
        address = each.get("ip") or each.get("hostname")
        if address:
            addresses.add(address)
    return sorted(addresses)


def _external(service: Json) -> str:
    """Returns the addresses of a Service outside the cluster."""
    kind = cells.at(service, "spec.type")
    if kind == "ExternalName":
        name = cells.at(service, "spec.externalName", "")
        return str(name)
    addresses = cells.elements(service, "spec.externalIPs")
    if kind == "LoadBalancer":
        addresses = [*_balancers(service), *addresses]
        # A load balancer without an address is still being created.
        return ",".join(addresses) or "<pending>"
    return ",".join(addresses) or cells.NONE


def _port(port: Json) -> str:
    """Returns a port such as `80/TCP` or, with a node port, `80:30080/TCP`."""
    number = f"{port.get('port')}"
    node_port = port.get("nodePort")
    if node_port:
        number += f":{node_port}"
    return f"{number}/{port.get('protocol')}"


def _hosts(rules: list[Json]) -> str:
    """Returns the first hosts of an Ingress; a star if its rules are for all hosts."""
    hosts = [each["host"] for each in rules if each.get("host")]
    if not hosts:
        return "*"
    text = ",".join(hosts[:_MOST_HOSTS])
    # kubectl counts the rules after the third host, including those without a host.
    if not _rules_follow(rules):
        return text
    return f"{text} + {len(rules) - _MOST_HOSTS} more..."


def _rules_follow(rules: list[Json]) -> bool:
    """Says whether there is a rule after the one with the third host."""
    seen = 0
    for each in rules:
        if seen == _MOST_HOSTS:
            return True
        seen += bool(each.get("host"))
    return False


def _source(event: Json) -> str:
    """Returns the component that has reported an event, and its host."""
    # Events of the older API have a source, those of the newer one the other two fields.
    component = cells.at(event, "source.component") or cells.at(event, "reportingComponent", "")
    host = cells.at(event, "source.host") or cells.at(event, "reportingInstance", "")
    if not host:
        return str(component)
    return f"{component}, {host}"
