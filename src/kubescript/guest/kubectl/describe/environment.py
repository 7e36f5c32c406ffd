"""The environment variables of a container, and where their values come from. Only references to Secrets are written,
never their values: a pod has none."""

from __future__ import annotations

import json
import math
from typing import Final

from kubescript.guest.kubectl.describe import values, writer
from kubescript.guest.sdk.values import quantity

__all__ = ["sources", "variables"]

_OF_MAPS: Final = {"metadata.labels": "labels", "metadata.annotations": "annotations"}
_OF_METADATA: Final = {"metadata.name": "name", "metadata.namespace": "namespace", "metadata.uid": "uid"}


def sources(out: writer.Writer, found: list[values.Object] | None) -> None:
    """Writes the ConfigMaps and Secrets all of whose keys are variables."""
    if not found:
        return
    out.title("Environment Variables from", 2)
    for source in found:
        key = "configMapRef" if source.get("configMapRef") else "secretRef"
        reference = source.get(key) or {}
        kind = {"configMapRef": "ConfigMap", "secretRef": "Secret"}[key]
        prefix = f" with prefix '{source['prefix']}'" if source.get("prefix") else ""
        out.row(values.text(reference.get("name")), f"{kind}{prefix}", f"Optional: {_optional(reference)}", level=3)


def variables(out: writer.Writer, container: values.Object, pod: values.Object | None) -> None:
    """Writes the variables. Those that name a field of the pod get its value, where there is a pod."""
    found = container.get("env")
    if not found:
        out.field("Environment", "<none>", 2)
        return
    out.title("Environment", 2)
    for variable in found:
        source = variable.get("valueFrom")
        if source is None:
            first, *rest = values.text(variable.get("value")).split("\n")
            out.field(variable.get("name", ""), first, 3)
            for line in rest:
                out.row("", line, level=3)
        else:
            _referring(out, variable.get("name", ""), source, container, pod)


def _referring(
    out: writer.Writer, name: str, source: values.Object, container: values.Object, pod: values.Object | None
) -> None:
    if field := source.get("fieldRef"):
        path = values.text(field.get("fieldPath"))
        out.field(name, f"{_field(pod, path)} ({field.get('apiVersion', '')}:{path})", 3)
    elif resource := source.get("resourceFieldRef"):
        out.field(name, f"{_amount(resource, container)} ({resource.get('resource', '')})", 3)
    elif secret := source.get("secretKeyRef"):
        _keyed(out, name, secret, "in secret")
    elif config := source.get("configMapKeyRef"):
        _keyed(out, name, config, "of config map")


def _keyed(out: writer.Writer, name: str, reference: values.Object, kind: str) -> None:
    key, holder = values.text(reference.get("key")), values.text(reference.get("name"))
    out.row(f"{name}:", f"<set to the key '{key}' {kind} '{holder}'>", f"Optional: {_optional(reference)}", level=3)


def _optional(reference: values.Object) -> str:
    return "true" if reference.get("optional") else "false"


def _field(pod: values.Object | None, path: str) -> str:
    """Returns the value of a field of the pod's metadata; "" for any other field, as kubectl does."""
    metadata = (pod or {}).get("metadata") or {}
    if path in _OF_METADATA:
        return values.text(metadata.get(_OF_METADATA[path]))
    if path in _OF_MAPS:
        pairs = sorted((metadata.get(_OF_MAPS[path]) or {}).items())
        return "\n".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in pairs)
    of_map, _, key = path.removesuffix("']").partition("['")
    return values.text((metadata.get(_OF_MAPS.get(of_map, "")) or {}).get(key))


def _amount(reference: values.Object, container: values.Object) -> str:
    """Returns a container's own request or limit in units of the divisor, rounded up."""
    of, _, resource = values.text(reference.get("resource")).partition(".")
    found = ((container.get("resources") or {}).get(of) or {}).get(resource)
    amount, divisor = quantity.quantity(found), quantity.quantity(reference.get("divisor"))
    units = math.ceil(amount / (divisor or 1))
    if units == 0 and of == "limits" and resource in {"cpu", "memory"}:
        return "node allocatable"
    return str(units)
