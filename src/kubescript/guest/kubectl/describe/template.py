"""Pod templates, and the fields that they share with pods: node selectors, tolerations, topology."""

from __future__ import annotations

from kubescript.guest.kubectl.describe import containers, texts, volumes
from kubescript.guest.kubectl.describe.text_writer import Writer
from kubescript.guest.kubectl.describe.texts import Object
from kubescript.guest.kubectl.rows import cells

__all__ = ["placement", "template", "topology"]


def template(out: Writer, found: Object | None) -> None:
    """Writes the template of a workload's pods."""
    out.title("Pod Template")
    if not found:
        out.row("<unset>", level=1)
        return
    metadata = found.get("metadata") or {}
    spec = found.get("spec") or {}
    out.labels("  Labels", metadata.get("labels"))
    # A pod without annotations is described as such; in a template, kubectl leaves the line out.
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


def topology(out: Writer, spec: Object, space: str = "") -> None:
    """Writes the constraints that spread pods over zones or nodes."""
    constraints = spec.get("topologySpreadConstraints")
    if not constraints:
        return
    by_key = sorted(constraints, key=lambda each: texts.text(each.get("topologyKey")))
    written = [_describe_constraint(each) for each in by_key]
    out.several(f"{space}Topology Spread Constraints", written)


def _describe_constraint(constraint: Object) -> str:
    """Returns a string such as `zone:DoNotSchedule when max skew 1 is exceeded for selector app=web`."""
    labels = constraint.get("labelSelector")
    selector = cells.selector(labels) or cells.NONE
    key = constraint.get("topologyKey", "")
    action = constraint.get("whenUnsatisfiable", "")
    text = f"{key}:{action} when max skew {constraint.get('maxSkew', 0)} is exceeded"
    if labels is None:
        return text
    return f"{text} for selector {selector}"


def placement(out: Writer, spec: Object, space: str = "") -> None:
    """Writes which nodes the pods may run on."""
    out.labels(f"{space}Node-Selectors", spec.get("nodeSelector"))
    tolerations = spec.get("tolerations") or ()
    written = [_describe_toleration(each) for each in sorted(tolerations, key=_toleration_key)]
    out.several(f"{space}Tolerations", written)


def _toleration_key(toleration: Object) -> str:
    key = toleration.get("key")
    return texts.text(key)


def _describe_toleration(toleration: Object) -> str:
    """Returns a string such as `gpu=true:NoSchedule` or `op=Exists for 300s`."""
    text, value, effect = texts.values(toleration, "key", "value", "effect")
    if value:
        text += f"={value}"
    if effect:
        text += f":{effect}"
    if toleration.get("operator") == "Exists" and not value:
        # A toleration of all taints has neither a key nor an effect.
        text = f"{text} op=Exists".strip()
    seconds = toleration.get("tolerationSeconds")
    if seconds is None:
        return text
    return f"{text} for {seconds}s"
