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
    return [
        cells.name(obj),
        _node_state(obj),
        ",".join(cells.node_roles(obj)) or cells.NONE,
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
    return [cells.name(obj), cells.at(obj, "status.phase", ""), cells.age(obj)]


def of_config_map(obj: Json) -> list[Any]:
    """Returns the cells of a ConfigMap."""
    return [cells.name(obj), len(cells.at(obj, "data", {})) + len(cells.at(obj, "binaryData", {})), cells.age(obj)]


def of_secret(obj: Json) -> list[Any]:
    """Returns the cells of a Secret that is served in full."""
    return [cells.name(obj), cells.at(obj, "type", ""), len(cells.at(obj, "data", {})), cells.age(obj)]


def of_volume(obj: Json) -> list[Any]:
    """Returns the cells of a PersistentVolume."""
    claim = cells.at(obj, "spec.claimRef")
    return [
        cells.name(obj),
        cells.at(obj, "spec.capacity.storage", "0"),
        cells.access_modes(cells.elements(obj, "spec.accessModes")),
        cells.at(obj, "spec.persistentVolumeReclaimPolicy", ""),
        _phase(obj),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        cells.storage_class(obj),
        cells.at(obj, "spec.volumeAttributesClassName", cells.UNSET),
        cells.at(obj, "status.reason", ""),
        cells.age(obj),
        cells.at(obj, "spec.volumeMode", cells.UNSET),
    ]


def of_claim(obj: Json) -> list[Any]:
    """Returns the cells of a PersistentVolumeClaim."""
    volume = cells.at(obj, "spec.volumeName", "")
    return [
        cells.name(obj),
        _phase(obj),
        volume,
        cells.at(obj, "status.capacity.storage", "0") if volume else "",
        cells.access_modes(cells.elements(obj, "status.accessModes")) if volume else "",
        cells.storage_class(obj),
        cells.at(obj, "spec.volumeAttributesClassName", cells.UNSET),
        cells.age(obj),
        cells.at(obj, "spec.volumeMode", cells.UNSET),
    ]


def of_service(obj: Json) -> list[Any]:
    """Returns the cells of a Service."""
    own = cells.elements(obj, "spec.clusterIPs")
    return [
        cells.name(obj),
        cells.at(obj, "spec.type", ""),
        own[0] if own else cells.NONE,
        _external(obj),
        ",".join(_port(each) for each in cells.elements(obj, "spec.ports")) or cells.NONE,
        cells.age(obj),
        cells.labels(cells.at(obj, "spec.selector")),
    ]


def of_ingress(obj: Json) -> list[Any]:
    """Returns the cells of an Ingress."""
    return [
        cells.name(obj),
        cells.at(obj, "spec.ingressClassName", cells.NONE),
        _hosts(cells.elements(obj, "spec.rules")),
        ",".join(_balancers(obj)),
        "80, 443" if cells.elements(obj, "spec.tls") else "80",
        cells.age(obj),
    ]


def of_event(obj: Json) -> list[Any]:
    """Returns the cells of an Event."""
    first = cells.since(cells.at(obj, "firstTimestamp") or cells.at(obj, "eventTime"))
    last = cells.at(obj, "series.lastObservedTime") or cells.at(obj, "lastTimestamp")
    about = cells.at(obj, "involvedObject", {})
    name = about.get("name")
    return [
        cells.since(last) if last else first,
        cells.at(obj, "type", ""),
        cells.at(obj, "reason", ""),
        about.get("kind", "").lower() + (f"/{name}" if name else ""),
        about.get("fieldPath", ""),
        _source(obj),
        cells.at(obj, "message", "").strip(),
        first,
        cells.at(obj, "series.count") or cells.at(obj, "count") or 1,
        cells.name(obj),
    ]


def of_binding(obj: Json) -> list[Any]:
    """Returns the cells of a ClusterRoleBinding."""
    role = cells.at(obj, "roleRef", {})
    subjects = cells.elements(obj, "subjects")
    accounts = [
        f"{each.get('namespace', '')}/{each.get('name')}" for each in subjects if each.get("kind") == "ServiceAccount"
    ]
    return [
        cells.name(obj),
        f"{role.get('kind', '')}/{role.get('name', '')}",
        cells.age(obj),
        ", ".join(each["name"] for each in subjects if each.get("kind") == "User"),
        ", ".join(each["name"] for each in subjects if each.get("kind") == "Group"),
        ", ".join(accounts),
    ]


def _phase(obj: Json) -> str:
    return "Terminating" if cells.at(obj, "metadata.deletionTimestamp") else str(cells.at(obj, "status.phase", ""))


def _node_state(node: Json) -> str:
    ready = cells.condition(node, "Ready")
    state = "Unknown" if not ready else "Ready" if ready == "True" else "NotReady"
    return f"{state},SchedulingDisabled" if cells.at(node, "spec.unschedulable") else state


def _address(node: Json, kind: str) -> str:
    found = (each.get("address", "") for each in cells.elements(node, "status.addresses") if each.get("type") == kind)
    return next(found, cells.NONE)


def _balancers(obj: Json) -> list[str]:
    found = cells.elements(obj, "status.loadBalancer.ingress")
    return sorted({each.get("ip") or each.get("hostname") or "" for each in found} - {""})


def _external(service: Json) -> str:
    kind, given = cells.at(service, "spec.type"), cells.elements(service, "spec.externalIPs")
    if kind == "ExternalName":
        return str(cells.at(service, "spec.externalName", ""))
    if kind == "LoadBalancer":
        return ",".join([*_balancers(service), *given]) or "<pending>"
    return ",".join(given) or cells.NONE


def _port(port: Json) -> str:
    outside = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port')}{outside}/{port.get('protocol')}"


def _hosts(rules: list[Json]) -> str:
    hosts = [each["host"] for each in rules if each.get("host")]
    # kubectl counts the rules after the third host, including those without a host.
    more = f" + {len(rules) - _MOST_HOSTS} more..." if _rules_follow(rules) else ""
    return ",".join(hosts[:_MOST_HOSTS]) + more if hosts else "*"


def _rules_follow(rules: list[Json]) -> bool:
    seen = 0
    for each in rules:
        if seen == _MOST_HOSTS:
            return True
        seen += bool(each.get("host"))
    return False


def _source(event: Json) -> str:
    component = cells.at(event, "source.component") or cells.at(event, "reportingComponent", "")
    host = cells.at(event, "source.host") or cells.at(event, "reportingInstance", "")
    return f"{component}, {host}" if host else str(component)
