"""PersistentVolumes and PersistentVolumeClaims."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kubescript.guest.kubectl.describe import subject, texts, volumes
from kubescript.guest.kubectl.describe.subject import Read, Subject
from kubescript.guest.kubectl.describe.text_writer import Writer
from kubescript.guest.kubectl.describe.texts import Object
from kubescript.guest.kubectl.rows import cells
from kubescript.guest.sdk import client
from kubescript.guest.sdk.objects import list_objects

__all__ = ["claim_reads", "persistent_volume", "persistent_volume_claim"]

_CONDITION_HEAD: Final = ("Type", "Status", "LastProbeTime", "LastTransitionTime", "Reason", "Message")
# One of these lines is longer than its title, as in kubectl.
_CONDITION_RULES: Final = ("----", "------", "-----------------", "------------------", "------", "-------")


def claim_reads(k8s: client.K8s, name: str, namespace: str) -> dict[str, Read]:
    """Returns the call that reads the pods that use the claim."""
    return {"users": lambda: _read_users(k8s, name, namespace)}


def _read_users(k8s: client.K8s, name: str, namespace: str) -> list[str]:
    """Returns the names of the pods that mount a claim."""
    # The API has no selector for the pods that mount a claim.
    pods: list_objects.ListObject = k8s.coreV1().list_namespaced_pod(namespace)
    users = [pod["metadata"]["name"] for pod in pods if name in _claim_names(pod)]
    return list(map(texts.text, users))


def _claim_names(pod: Any) -> Iterator[str]:
    """Yields the names of the claims that a pod mounts."""
    for volume in pod["spec"].get("volumes") or ():
        claim = volume.get("persistentVolumeClaim")
        if claim is not None:
            yield claim["claimName"]


def persistent_volume_claim(about: Subject, out: Writer) -> None:
    """Writes a PersistentVolumeClaim."""
    volumes.claim(out, about)
    users = about.beside.get("users")
    if isinstance(users, Exception):
        note = subject.describe_failure(users)
        out.field("Used By", note)
    else:
        out.several("Used By", sorted(users or ()))
    conditions = about.status.get("conditions")
    if conditions:
        rows = [texts.condition_cells(each, "lastProbeTime") for each in conditions]
        out.title("Conditions")
        out.table(_CONDITION_HEAD, rows, _CONDITION_RULES)


def persistent_volume(about: Subject, out: Writer) -> None:
    """Writes a PersistentVolume."""
    metadata = about.metadata
    spec = about.spec
    capacity = spec.get("capacity") or {}
    out.field("Name", metadata.get("name"))
    out.labels_and_annotations(metadata)
    out.field("Finalizers", metadata.get("finalizers") or [])
    out.field("StorageClass", cells.storage_class(about.object))
    out.field("Status", volumes.phase(metadata, about.status))
    out.field("Claim", _claim(spec))
    out.field("Reclaim Policy", spec.get("persistentVolumeReclaimPolicy"))
    out.field("Access Modes", cells.access_modes(spec.get("accessModes")))
    out.optional_field("VolumeMode", spec.get("volumeMode"))
    out.field("Capacity", capacity.get("storage", "0"))
    _write_node_affinity(out, spec)
    out.field("Message", about.status.get("message"))
    out.title("Source")
    volumes.source(out, spec)


def _claim(spec: Object) -> str:
    """Returns the claim that a volume is bound to; an empty string if it is free."""
    claim = spec.get("claimRef")
    if not claim:
        return ""
    return f"{claim.get('namespace')}/{claim.get('name')}"


def _write_node_affinity(out: Writer, spec: Object) -> None:
    """Writes the nodes that can reach the volume."""
    affinity = spec.get("nodeAffinity") or {}
    required = affinity.get("required")
    if required is None:
        out.field("Node Affinity", "<none>")
        return
    out.field("Node Affinity")
    terms = required.get("nodeSelectorTerms") or []
    out.field("Required Terms", "" if terms else "<none>", 1)
    for number, term in enumerate(terms):
        expressions = map(_describe_expression, term.get("matchExpressions") or ())
        out.several(f"Term {number}", expressions, 2)


def _describe_expression(expression: Object) -> str:
    """Returns a string such as `zone in [a, b]` or `gpu exists`."""
    key, operator = texts.values(expression, "key", "operator")
    requirement = f"{key} {operator.lower()}"
    values = texts.join(expression.get("values"), "", ", ")
    if not values:
        return requirement
    return f"{requirement} [{values}]"
