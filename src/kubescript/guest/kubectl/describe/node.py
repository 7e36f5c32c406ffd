"""Nodes."""

from __future__ import annotations

import functools
from typing import Final

from kubescript.guest.kubectl.describe import needs, subject, values, writer
from kubescript.guest.kubectl.rows import cells
from kubescript.guest.sdk import client
from kubescript.wire import messages

__all__ = ["reads", "write"]

_RUNNING: Final = "spec.nodeName={},status.phase!=Succeeded,status.phase!=Failed"
_HEAD: Final = ("Type", "Status", "LastHeartbeatTime", "LastTransitionTime", "Reason", "Message")
_INFO: Final = {
    "Machine ID": "machineID",
    "System UUID": "systemUUID",
    "Boot ID": "bootID",
    "Kernel Version": "kernelVersion",
    "OS Image": "osImage",
    "Operating System": "operatingSystem",
    "Architecture": "architecture",
    "Container Runtime Version": "containerRuntimeVersion",
    "Kubelet Version": "kubeletVersion",
}


def reads(k8s: client.K8s, name: str, namespace: str) -> dict[str, subject.Read]:
    """Returns the reads of the node's pods and its lease."""
    # kubectl lists ResourceSlices as well: a call that fails on every cluster before 1.34.
    pods = functools.partial(k8s.coreV1().list_pod_for_all_namespaces, field_selector=_RUNNING.format(name))
    lease = functools.partial(k8s.coordinationV1().read_namespaced_lease, name, "kube-node-lease")
    return {"pods": pods, "lease": lease}


def write(about: subject.Subject, out: writer.Writer) -> None:
    """Writes a node."""
    node = about.object
    metadata, spec, status = (node.get(key) or {} for key in ("metadata", "spec", "status"))
    out.field("Name", metadata.get("name"))
    out.field("Roles", values.joined(cells.node_roles(node)))
    out.labels("Labels", metadata.get("labels"))
    out.annotations("Annotations", metadata.get("annotations"))
    out.field("CreationTimestamp", values.time(metadata.get("creationTimestamp")))
    out.several("Taints", sorted(map(_taint, spec.get("taints") or ()), key=_by_effect))
    out.field("Unschedulable", bool(spec.get("unschedulable")))
    _lease(out, about.beside.get("lease"))
    _status(out, status)
    _system(out, spec, status)
    if isinstance(about.beside.get("pods"), list):
        needs.write(out, node, about.listed("pods"))
    else:
        out.field("Pods", messages.text("describe_not_read", reason=subject.reason(about.beside["pods"])))


def _taint(found: values.Object) -> str:
    value = f"={found['value']}" if found.get("value") else ""
    effect = f":{found['effect']}" if found.get("effect") else ""
    return f"{found.get('key', '')}{value}{effect}"


def _by_effect(taint: str) -> tuple[str, str]:
    key, _, effect = taint.rpartition(":")
    return effect, key


def _lease(out: writer.Writer, lease: values.Object | Exception | None) -> None:
    if not isinstance(lease, dict):
        why = subject.reason(lease) if isinstance(lease, Exception) else ""
        out.field("Lease", f"Failed to get lease: {why}")
        return
    spec = lease.get("spec") or {}
    out.title("Lease")
    out.field("HolderIdentity", values.text(spec.get("holderIdentity"), "<unset>"), 1)
    for name in ("AcquireTime", "RenewTime"):
        stamp = spec.get(name[0].lower() + name[1:])
        out.field(name, values.time(stamp) if stamp else "<unset>", 1)


def _status(out: writer.Writer, status: values.Object) -> None:
    if conditions := status.get("conditions"):
        out.title("Conditions")
        rules = ("----", "------", "-----------------", "------------------", "------", "-------")
        out.table(_HEAD, map(_condition, conditions), rules)
    out.title("Addresses")
    for each in status.get("addresses") or ():
        out.field(each.get("type", ""), each.get("address"), 1)
    for title in ("Capacity", "Allocatable"):
        if found := status.get(title.lower()):
            out.title(title)
            for name, amount in sorted(found.items()):
                out.field(name, amount, 1)


def _condition(found: values.Object) -> tuple[str, ...]:
    stamps = (f"{values.time(found.get(key))} " for key in ("lastHeartbeatTime", "lastTransitionTime"))
    states = (f"{values.text(found.get(key))} " for key in ("type", "status"))
    return *states, *stamps, f"{values.text(found.get('reason'))} ", values.text(found.get("message"))


def _system(out: writer.Writer, spec: values.Object, status: values.Object) -> None:
    info = status.get("nodeInfo") or {}
    out.title("System Info")
    for name, key in _INFO.items():
        out.field(name, info.get(key), 1)
    out.given("PodCIDR", spec.get("podCIDR"))
    if spec.get("podCIDRs"):
        out.field("PodCIDRs", values.joined(spec["podCIDRs"]))
    out.given("ProviderID", spec.get("providerID"))
