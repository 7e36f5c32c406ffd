"""Pods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kubescript.guest.kubectl.describe import containers, subject, template, text_writer, texts, volumes

__all__ = ["write"]

_ENDED: Final = ("Failed", "Succeeded")


def write(about: subject.Subject, out: text_writer.Writer) -> None:
    """Writes a pod."""
    pod = about.object
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    _identity(out, pod, spec, status)
    _phase(out, pod.get("metadata") or {}, status)
    _network(out, pod, spec, status)
    _containers(out, pod, spec, status)
    _conditions(out, spec, status)
    volumes.volumes(out, spec.get("volumes"))
    out.field("QoS Class", status.get("qosClass"))
    template.placement(out, spec)
    template.topology(out, spec)


def _identity(out: text_writer.Writer, pod: texts.Object, spec: texts.Object, status: texts.Object) -> None:
    metadata = pod.get("metadata") or {}
    node, host = spec.get("nodeName"), texts.text(status.get("hostIP"))
    out.field("Name", metadata.get("name"))
    out.field("Namespace", metadata.get("namespace"))
    out.optional_field("Priority", spec.get("priority"))
    out.optional_field("Priority Class Name", spec.get("priorityClassName"))
    out.optional_field("Runtime Class Name", spec.get("runtimeClassName"))
    out.optional_field("Service Account", spec.get("serviceAccountName"))
    out.field("Node", f"{node}/{host}" if node else "<none>")
    if status.get("startTime"):
        out.field("Start Time", texts.time(status["startTime"]))
    out.labels("Labels", metadata.get("labels"))
    out.annotations("Annotations", metadata.get("annotations"))


def _phase(out: text_writer.Writer, metadata: dict[str, Any], status: texts.Object) -> None:
    going = metadata.get("deletionTimestamp")
    if going and status.get("phase") not in _ENDED:
        out.field("Status", f"Terminating (lasts {texts.since(going)})")
        out.field("Termination Grace Period", f"{metadata.get('deletionGracePeriodSeconds', 0)}s")
    else:
        out.field("Status", status.get("phase"))
    out.optional_field("Reason", status.get("reason"))
    out.optional_field("Message", status.get("message"))


def _network(out: text_writer.Writer, pod: texts.Object, spec: texts.Object, status: texts.Object) -> None:
    profile = (spec.get("securityContext") or {}).get("seccompProfile")
    if profile:
        out.field("SeccompProfile", profile.get("type"))
        out.optional_field("LocalhostProfile", profile.get("localhostProfile"))
    out.field("IP", status.get("podIP"))
    if status.get("podIPs"):
        out.title("IPs")
        for each in status["podIPs"]:
            out.field("IP", each.get("ip"), 1)
    else:
        out.field("IPs", "<none>")
    if owner := texts.controller(pod):
        out.field("Controlled By", f"{owner.get('kind')}/{owner.get('name')}")
    out.optional_field("NominatedNodeName", status.get("nominatedNodeName"))


def _containers(out: text_writer.Writer, pod: texts.Object, spec: texts.Object, status: texts.Object) -> None:
    if spec.get("resources"):
        out.title("Resources")
        containers.resources(out, spec["resources"], 1)
    for title, key in (
        ("Init Containers", "initContainers"),
        ("Containers", "containers"),
        ("Ephemeral Containers", "ephemeralContainers"),
    ):
        if spec.get(key) or key == "containers":
            statuses = status.get(key.removesuffix("s") + "Statuses")
            containers.containers(out, title, spec.get(key), statuses, pod)


def _conditions(out: text_writer.Writer, spec: texts.Object, status: texts.Object) -> None:
    conditions = status.get("conditions") or []
    if gates := spec.get("readinessGates"):
        states = {each.get("type"): each.get("status") for each in conditions}
        out.title("Readiness Gates")
        out.row("Type", "Status", level=1)
        for gate in gates:
            wanted = gate.get("conditionType")
            out.row(f"{wanted} ", texts.text(states.get(wanted), "<none>"), level=1)
    if conditions:
        out.title("Conditions")
        out.row("Type", "Status", level=1)
        for row in _condition_rows(conditions):
            out.row(*row, level=1)


def _condition_rows(conditions: list[texts.Object]) -> Iterator[tuple[str, ...]]:
    """Yields the conditions. Unmet ones include their reason, each once: kubectl shows it only in the events, which
    expire after an hour."""
    told = set()
    for each in conditions:
        row = (f"{each.get('type', '')} ", texts.text(each.get("status")))
        why = ": ".join(filter(None, (each.get("reason"), each.get("message"))))
        if each.get("status") == "True" or not why or why in told:
            yield row
        else:
            told.add(why)
            yield (*row, why)
