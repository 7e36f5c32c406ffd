"""Pods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubescript.guest.kubectl.describe import containers, template, texts, volumes
from kubescript.guest.kubectl.describe.subject import Subject
from kubescript.guest.kubectl.describe.text_writer import Writer
from kubescript.guest.kubectl.describe.texts import Object

__all__ = ["write"]

_SETTINGS: Final = {
    "Priority": "priority",
    "Priority Class Name": "priorityClassName",
    "Runtime Class Name": "runtimeClassName",
    "Service Account": "serviceAccountName",
}
_REASONS: Final = {"Reason": "reason", "Message": "message"}
_ENDED: Final = ("Failed", "Succeeded")


def write(about: Subject, out: Writer) -> None:
    """Writes a pod."""
    spec = about.spec
    status = about.status
    _write_identity(about, out)
    _write_phase(out, about.metadata, status)
    _write_seccomp_profile(out, spec)
    _write_addresses(out, status)
    out.optional_field("Controlled By", texts.controller_name(about.object))
    out.optional_field("NominatedNodeName", status.get("nominatedNodeName"))
    _write_containers(about, out)
    _write_readiness_gates(out, spec, status)
    _write_conditions(out, status)
    volumes.volumes(out, spec.get("volumes"))
    out.field("QoS Class", status.get("qosClass"))
    template.placement(out, spec)
    template.topology(out, spec)


def _write_identity(about: Subject, out: Writer) -> None:
    """Writes what the pod is and where it runs."""
    spec = about.spec
    status = about.status
    out.names(about.metadata)
    out.optional_fields(spec, _SETTINGS)
    out.field("Node", _place(spec, status))
    if status.get("startTime"):
        out.field("Start Time", texts.time(status["startTime"]))
    out.labels_and_annotations(about.metadata)


def _place(spec: Object, status: Object) -> str:
    """Returns the node of a pod and its address, such as `worker-1/10.0.0.1`."""
    node = spec.get("nodeName")
    if not node:
        return "<none>"
    address = texts.text(status.get("hostIP"))
    return f"{node}/{address}"


def _write_phase(out: Writer, metadata: Object, status: Object) -> None:
    """Writes the pod's phase, or since when it is being deleted."""
    deleted = metadata.get("deletionTimestamp")
    phase = status.get("phase")
    # As in kubectl, a pod that has ended is not shown as terminating.
    if deleted and phase not in _ENDED:
        grace = metadata.get("deletionGracePeriodSeconds", 0)
        out.field("Status", f"Terminating (lasts {texts.since(deleted)})")
        out.field("Termination Grace Period", f"{grace}s")
    else:
        out.field("Status", phase)
    out.optional_fields(status, _REASONS)


def _write_seccomp_profile(out: Writer, spec: Object) -> None:
    """Writes which system calls the pod may make."""
    security = spec.get("securityContext") or {}
    profile = security.get("seccompProfile")
    if not profile:
        return
    out.field("SeccompProfile", profile.get("type"))
    out.optional_field("LocalhostProfile", profile.get("localhostProfile"))


def _write_addresses(out: Writer, status: Object) -> None:
    """Writes the pod's address, and its addresses of all families."""
    out.field("IP", status.get("podIP"))
    addresses = status.get("podIPs")
    if not addresses:
        out.field("IPs", "<none>")
        return
    out.title("IPs")
    for each in addresses:
        out.field("IP", each.get("ip"), 1)


def _write_containers(about: Subject, out: Writer) -> None:
    """Writes the pod's containers of all three kinds."""
    pod = about.object
    spec = about.spec
    status = about.status
    # These resources are for the whole pod, and its containers share them.
    if spec.get("resources"):
        out.title("Resources")
        containers.resources(out, spec["resources"], 1)
    if spec.get("initContainers"):
        statuses = status.get("initContainerStatuses")
        containers.containers(out, "Init Containers", spec["initContainers"], statuses, pod)
    containers.containers(out, "Containers", spec.get("containers"), status.get("containerStatuses"), pod)
    if spec.get("ephemeralContainers"):
        statuses = status.get("ephemeralContainerStatuses")
        containers.containers(out, "Ephemeral Containers", spec["ephemeralContainers"], statuses, pod)


def _write_readiness_gates(out: Writer, spec: Object, status: Object) -> None:
    """Writes the conditions that must be true, besides those of the kubelet, before the pod counts as ready."""
    gates = spec.get("readinessGates")
    if not gates:
        return
    conditions = status.get("conditions") or ()
    states = {each.get("type"): each.get("status") for each in conditions}
    out.title("Readiness Gates")
    out.row("Type", "Status", level=1)
    for gate in gates:
        kind = gate.get("conditionType")
        state = texts.text(states.get(kind), "<none>")
        out.row(f"{kind} ", state, level=1)


def _write_conditions(out: Writer, status: Object) -> None:
    """Writes which conditions are met, and why the others are not."""
    conditions = status.get("conditions")
    if not conditions:
        return
    out.title("Conditions")
    out.row("Type", "Status", level=1)
    for row in _condition_rows(conditions):
        out.row(*row, level=1)


def _condition_rows(conditions: list[Object]) -> Iterator[tuple[str, ...]]:
    """Yields the conditions. An unmet one includes its reason, each reason only once: kubectl shows it only in the
    events, which expire after an hour."""
    written = set()
    for each in conditions:
        kind = f"{each.get('type', '')} "
        state = texts.text(each.get("status"))
        why = _explain_condition(each)
        if not why or why in written:
            yield kind, state
        else:
            written.add(why)
            yield kind, state, why


def _explain_condition(condition: Object) -> str:
    """Returns why a condition is not met; an empty string if it is met."""
    if condition.get("status") == "True":
        return ""
    words = condition.get("reason"), condition.get("message")
    return ": ".join(filter(None, words))
