"""PersistentVolumes and PersistentVolumeClaims."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, Final

from kubescript.guest.kubectl.describe import subject, text_writer, texts, volumes
from kubescript.guest.kubectl.rows import cells
from kubescript.guest.sdk import client
from kubescript.guest.sdk.objects import list_objects
from kubescript.wire import messages

__all__ = ["claim_reads", "persistent_volume", "persistent_volume_claim"]

_HEAD: Final = ("Type", "Status", "LastProbeTime", "LastTransitionTime", "Reason", "Message")
_RULES: Final = ("----", "------", "-----------------", "------------------", "------", "-------")


def claim_reads(k8s: client.K8s, name: str, namespace: str) -> dict[str, subject.Read]:
    """Returns the call that reads the pods that use the claim."""
    return {"users": functools.partial(_users, k8s, name, namespace)}


def _users(k8s: client.K8s, name: str, namespace: str) -> list[str]:
    """Returns the names of the pods that mount a claim. The API has no selector for them."""
    pods: list_objects.ListObject = k8s.coreV1().list_namespaced_pod(namespace)
    return [texts.text(pod["metadata"]["name"]) for pod in pods if name in _claims(pod)]


def _claims(pod: Any) -> Iterator[str]:
    for volume in pod["spec"].get("volumes") or ():
        if (used := volume.get("persistentVolumeClaim")) is not None:
            yield used["claimName"]


def persistent_volume_claim(about: subject.Subject, out: text_writer.Writer) -> None:
    """Writes a PersistentVolumeClaim."""
    volumes.claim_fields(out, about.object, whole=True)
    users = about.beside.get("users")
    if isinstance(users, Exception):
        out.field("Used By", messages.text("describe_not_read", reason=subject.reason(users)))
    else:
        out.several("Used By", sorted(users or ()))
    if conditions := (about.object.get("status") or {}).get("conditions"):
        out.title("Conditions")
        out.table(_HEAD, map(_condition, conditions), _RULES)


def _condition(found: texts.Object) -> tuple[str, ...]:
    stamps = (f"{texts.time(found.get(key))} " for key in ("lastProbeTime", "lastTransitionTime"))
    states = (f"{texts.text(found.get(key))} " for key in ("type", "status"))
    return *states, *stamps, f"{texts.text(found.get('reason'))} ", texts.text(found.get("message"))


def persistent_volume(about: subject.Subject, out: text_writer.Writer) -> None:
    """Writes a PersistentVolume."""
    metadata, spec, status = (about.object.get(key) or {} for key in ("metadata", "spec", "status"))
    going, user = metadata.get("deletionTimestamp"), spec.get("claimRef")
    out.field("Name", metadata.get("name"))
    out.labels("Labels", metadata.get("labels"))
    out.annotations("Annotations", metadata.get("annotations"))
    out.field("Finalizers", metadata.get("finalizers") or [])
    out.field("StorageClass", cells.storage_class(about.object))
    out.field("Status", f"Terminating (lasts {texts.since(going)})" if going else status.get("phase"))
    out.field("Claim", f"{user.get('namespace')}/{user.get('name')}" if user else "")
    out.field("Reclaim Policy", spec.get("persistentVolumeReclaimPolicy"))
    out.field("Access Modes", cells.access_modes(spec.get("accessModes")))
    out.optional_field("VolumeMode", spec.get("volumeMode"))
    out.field("Capacity", (spec.get("capacity") or {}).get("storage", "0"))
    _affinity(out, (spec.get("nodeAffinity") or {}).get("required"))
    out.field("Message", status.get("message"))
    out.title("Source")
    volumes.source(out, spec)


def _affinity(out: text_writer.Writer, required: texts.Object | None) -> None:
    """Writes the nodes that can reach the volume."""
    if required is None:
        out.field("Node Affinity", "<none>")
        return
    out.field("Node Affinity")
    terms = required.get("nodeSelectorTerms") or []
    out.field("Required Terms", "" if terms else "<none>", 1)
    for number, term in enumerate(terms):
        out.several(f"Term {number}", map(_expression, term.get("matchExpressions") or ()), 2)


def _expression(found: texts.Object) -> str:
    key, operator = texts.text(found.get("key")), texts.text(found.get("operator")).lower()
    wanted = texts.join(found.get("values"), "", ", ")
    return f"{key} {operator} [{wanted}]" if wanted else f"{key} {operator}"
