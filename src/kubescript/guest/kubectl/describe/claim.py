"""PersistentVolumeClaims, and the templates of claims in pods and StatefulSets."""

from __future__ import annotations

from kubescript.guest.kubectl.describe import values, writer
from kubescript.guest.kubectl.rows import cells

__all__ = ["fields", "templates"]


def fields(out: writer.Writer, found: values.Object, level: int = 0, *, whole: bool = False) -> None:
    """Writes a claim; of a template only what a template has."""
    metadata, spec, status = (found.get(key) or {} for key in ("metadata", "spec", "status"))
    if whole:
        out.field("Name", metadata.get("name"))
        out.field("Namespace", metadata.get("namespace"))
    out.field("StorageClass", cells.storage_class(found), level)
    if whole:
        going = metadata.get("deletionTimestamp")
        out.field("Status", f"Terminating (lasts {values.since(going)})" if going else status.get("phase"))
    out.field("Volume", spec.get("volumeName"), level)
    out.labels("Labels", metadata.get("labels"), level)
    if whole:
        out.annotations("Annotations", metadata.get("annotations"))
        out.field("Finalizers", metadata.get("finalizers") or [])
    else:
        out.labels("Annotations", metadata.get("annotations"), level)
    bound = bool(spec.get("volumeName"))
    out.field("Capacity", (status.get("capacity") or {}).get("storage", "0") if bound else "", level)
    out.field("Access Modes", cells.access_modes(status.get("accessModes")) if bound else "", level)
    out.given("VolumeMode", spec.get("volumeMode"), level)
    if source := spec.get("dataSource"):
        out.title("DataSource", level)
        out.given("APIGroup", source.get("apiGroup"), level + 1)
        out.field("Kind", source.get("kind"), level + 1)
        out.field("Name", source.get("name"), level + 1)


def templates(out: writer.Writer, found: list[values.Object] | None) -> None:
    """Writes the claims that a StatefulSet makes for each pod."""
    if not found:
        out.field("Volume Claims", "<none>")
        return
    out.title("Volume Claims")
    for template in found:
        metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
        requests = (spec.get("resources") or {}).get("requests") or {}
        out.field("Name", metadata.get("name"), 1)
        out.field("StorageClass", cells.storage_class(template), 1)
        out.labels("Labels", metadata.get("labels"), 1)
        out.labels("Annotations", metadata.get("annotations"), 1)
        out.field("Capacity", requests.get("storage", "<default>"), 1)
        out.field("Access Modes", spec.get("accessModes") or [], 1)
