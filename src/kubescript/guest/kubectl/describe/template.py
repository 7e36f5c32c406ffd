"""Pod templates, and the fields that they share with pods: node selectors, tolerations, topology."""

from __future__ import annotations

from kubescript.guest.kubectl.describe import containers, text_writer, texts, volumes
from kubescript.guest.kubectl.rows import cells

__all__ = ["placement", "template", "topology"]


def template(out: text_writer.Writer, found: texts.Object | None) -> None:
    """Writes the template of a workload's pods."""
    out.title("Pod Template")
    if not found:
        out.row("<unset>", level=1)
        return
    metadata, spec = found.get("metadata") or {}, found.get("spec") or {}
    out.labels("  Labels", metadata.get("labels"))
    if metadata.get("annotations"):
        out.annotations("  Annotations", metadata["annotations"])
    out.optional_field("Service Account", spec.get("serviceAccountName"), 1)
    if spec.get("initContainers"):
        containers.containers(out, "Init Containers", spec["initContainers"], space="  ")
    containers.containers(out, "Containers", spec.get("containers"), space="  ")
    volumes.volumes(out, spec.get("volumes"), "  ")
    topology(out, spec, "  ")
    out.optional_field("Priority Class Name", spec.get("priorityClassName"), 1)
    placement(out, spec, "  ")


def topology(out: text_writer.Writer, spec: texts.Object, space: str = "") -> None:
    """Writes the constraints that spread pods over zones or nodes."""
    constraints = spec.get("topologySpreadConstraints")
    if not constraints:
        return
    written = []
    for each in sorted(constraints, key=lambda one: texts.text(one.get("topologyKey"))):
        selector = cells.selector(each.get("labelSelector")) or cells.NONE
        of = f" for selector {selector}" if each.get("labelSelector") is not None else ""
        when = f"{each.get('whenUnsatisfiable', '')} when max skew {each.get('maxSkew', 0)} is exceeded{of}"
        written.append(f"{each.get('topologyKey', '')}:{when}")
    out.several(f"{space}Topology Spread Constraints", written)


def placement(out: text_writer.Writer, spec: texts.Object, space: str = "") -> None:
    """Writes which nodes the pods may run on."""
    out.labels(f"{space}Node-Selectors", spec.get("nodeSelector"))
    tolerations = sorted(spec.get("tolerations") or (), key=lambda each: texts.text(each.get("key")))
    out.several(f"{space}Tolerations", map(_toleration, tolerations))


def _toleration(found: texts.Object) -> str:
    key, value, effect = (texts.text(found.get(name)) for name in ("key", "value", "effect"))
    written = key + (f"={value}" if value else "") + (f":{effect}" if effect else "")
    if found.get("operator") == "Exists" and not value:
        written = f"{written} op=Exists".strip()
    seconds = found.get("tolerationSeconds")
    return written if seconds is None else f"{written} for {seconds}s"
