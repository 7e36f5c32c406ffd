"""Short texts about objects: what `print(pod)` shows, and errors for fields that are not there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kubescript.sdk import names, places, raw, shapes

__all__ = ["describe", "no_field"]

MAX_TEXT: Final = 2_000
"""Characters of a part without a name, such as a spec."""


def describe(data: Mapping[str, Any], shape: shapes.Shape) -> str:
    """`<V1Pod shop/web-7f9c Running>` for an object with a name; the data itself for parts and maps."""
    plain = raw.whole(data)
    metadata = plain.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("name"), str):
        place = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
        words = [shape.name or str(plain.get("kind") or "object"), place + metadata["name"], _state(plain)]
        return f"<{' '.join(word for word in words if word)}>"
    text = repr(plain)
    if not shape.closed or len(text) <= MAX_TEXT:
        return text
    return f"{text[:MAX_TEXT]}… (cut; .to_dict() has all)"


def _state(plain: Mapping[str, Any]) -> str:
    """One word of state, where the kind has one."""
    status, spec = plain.get("status"), plain.get("spec")
    if not isinstance(status, dict):
        return ""
    if isinstance(status.get("phase"), str):
        return str(status["phase"])
    if isinstance(spec, dict) and "replicas" in spec:
        return f"{status.get('readyReplicas', 0)}/{spec['replicas']} ready"
    return next((f"Ready={each.get('status')}" for each in _conditions(status) if each.get("type") == "Ready"), "")


def _conditions(status: Mapping[str, Any]) -> list[dict[str, Any]]:
    conditions = status.get("conditions")
    return [each for each in conditions if isinstance(each, dict)] if isinstance(conditions, list) else []


def no_field(name: str, shape: shapes.Shape, data: Mapping[str, Any], *, item: bool = False) -> str:
    """Why there is no such field, and what to write instead."""
    if shape.closed:
        place = places.place_of(name, shape.name)
        known = [each.strip("_") for each in shape.attributes]
        return (
            f"{shape.name} has no field {name!r}; {f'it is in {place}' if place else names.suggestion(name, known, 40)}"
        )
    get = f".get({name!r})"
    absent = f"no key {name!r}" if item else f"no field {name!r}"
    return f"this object has {absent}; {names.suggestion(name, data, 40)} If it may be absent, use {get}."
