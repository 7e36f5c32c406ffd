"""Provides short texts about objects: the output of `print(pod)`, and the errors for fields that do not exist. views.py
and list_view.py use them.

The error for a field in the wrong part of an object names the right part, from the models: `pod.metadata.node_name` is
in "spec", `pod.status.restart_count` is in "container_statuses[i]".
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kubescript.guest.sdk.objects import alerts, schemas
from kubescript.guest.sdk.values import lazy_json, masks, names, operations

__all__ = ["describe", "is_method", "no_field", "no_list_field", "part_with_field", "state"]

UP = "the object that holds this one"
# There is a limit because hundreds of models have metadata.
_PARENTS = 5
"""How many of the models that have a part are searched for a field beside this part."""
MAX_TEXT: Final = 2_000
"""How many characters of a part without a name, such as a spec, are shown."""

# This makes two lines; a spec may have forty fields.
_LISTED: Final = 16
"""How many fields an error lists if no name is near."""

_IDENTITY: Final = frozenset({"name", "namespace", "labels", "annotations", "uid"})


def _identity(name: str, shape: schemas.Shape) -> str:
    """Returns where the object's identity is, for a script that tries to read it from a spec, a status or a list."""
    # Many other parts have a field such as `name`, but the script means the object's.
    if name not in _IDENTITY or "metadata" in shape.fields:
        return ""
    if shape.name == "V1ListMeta":
        return "the metadata of each item"
    return "the object's metadata" if shape.name.endswith(("Spec", "Status")) else ""


_WRITE: Final = "call the API: k8s.dynamic().resources.get(api_version=..., kind=...).{0}(...)"
_METHODS: Final = {
    "age": "write age(pod)",
    "ready": "write any(c.type == 'Ready' and c.status == 'True' for c in pod.status.conditions)",
    "logs": "write k8s.coreV1().read_namespaced_pod_log(name, namespace, tail_lines=50)",
    "exec": "commands cannot be run in pods; use logs, events and status",
    "port_forward": "ports cannot be forwarded; use status and endpoints",
    "wait": "a script is short: read it again later, or watch.Watch().stream(...)",
    "refresh": "read it again: k8s.get(kind, name, namespace)",
    "exists": "read it, and catch ApiException with status 404",
    "to_yaml": "return the object, or json.dumps(obj.to_dict())",
    "yaml": "return the object, or json.dumps(obj.to_dict())",
    "to_json": "return the object, or json.dumps(obj.to_dict())",
    "json": "return the object, or json.dumps(obj.to_dict())",
    "dict": "write obj.to_dict()",
    "model_dump": "write obj.to_dict()",
    "delete": "write k8s.delete(obj)",
    "evict": "write k8s.evict(pod)",
    "restart": "write k8s.restart(obj)",
    "scale": "write k8s.scale(obj, 3)",
    "set_image": "write k8s.set_image(obj, container='image')",
    **{name: _WRITE.format(name) for name in ("patch", "create", "update", "annotate", "label")},
}
"""Maps methods of other clients' objects to their equivalent here."""


def describe(data: Mapping[str, Any], shape: schemas.Shape) -> str:
    """Returns `<V1Pod shop/web-7f9c Running>` for an object with a name, and likewise for an alert; for parts and maps
    the data itself, without managedFields."""
    plain = lazy_json.whole(data)
    # Attack: with the keys of a rule in its data, a ConfigMap would show nothing else.
    if shape.find_object is not None and (text := alerts.describe(plain)):
        return masks.note(text)
    metadata = plain.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("name"), str):
        kind = shape.name or str(plain.get("kind") or "object")
        name = metadata["name"]
        if metadata.get("namespace"):
            name = f"{metadata['namespace']}/{name}"
        words = [kind, name, state(plain)]
        text = " ".join(word for word in words if word)
        return f"<{text}>"
    if isinstance(metadata, dict):
        metadata.pop("managedFields", None)
    if shape.name == "V1ObjectMeta":
        plain.pop("managedFields", None)
    text = masks.note(repr(plain))
    if not shape.closed or len(text) <= MAX_TEXT:
        return text
    return f"{text[:MAX_TEXT]}… (cut; .to_dict() has all)"


def state(plain: Mapping[str, Any]) -> str:
    """Returns the state in one or two words, where the kind has one."""
    status = plain.get("status")
    if not isinstance(status, dict):
        return ""
    phase = status.get("phase")
    # A pod's phase is Running even while one of its containers is crashing.
    if isinstance(phase, str):
        return _trouble(status) or phase
    spec = plain.get("spec")
    if isinstance(spec, dict) and "replicas" in spec:
        ready = status.get("readyReplicas", 0)
        return f"{ready}/{spec['replicas']} ready"
    for condition in _conditions(status):
        if condition.get("type") == "Ready":
            return f"Ready={condition.get('status')}"
    return ""


def _trouble(status: Mapping[str, Any]) -> str:
    """Returns why a container of the pod is not running, as in kubectl's STATUS column."""
    for each in status.get("containerStatuses") or ():
        states = each.get("state") or {}
        waiting = states.get("waiting") or {}
        ended = states.get("terminated") or {}
        reason = waiting.get("reason") or ended.get("reason")
        if not reason:
            continue
        # A completed container is no problem: the phase then says more.
        return "" if reason == "Completed" else str(reason)
    return ""


def _conditions(status: Mapping[str, Any]) -> list[dict[str, Any]]:
    # A custom resource may have anything in `conditions`.
    conditions = status.get("conditions")
    if not isinstance(conditions, list):
        return []
    return [each for each in conditions if isinstance(each, dict)]


def is_method(name: str) -> bool:
    """Says whether objects of other libraries have a method of this name."""
    return name in _METHODS


def no_list_field(name: str, shape: schemas.Shape) -> str:
    """Returns the error for an attribute of a list."""
    # Scripts most often mean an attribute of the elements.
    what = f"this is a list of {shape.name}" if shape.name else "this is a list"
    if name == "items":
        return f"{what} already: leave .items out"
    if name in ("keys", "values", "get"):
        return f"{what}, no dict: loop over it"
    return f"{what}, it has no {name!r}: write [each.{name} for each in it], or it[0].{name}"


def no_field(name: str, shape: schemas.Shape, data: Mapping[str, Any], *, item: bool = False) -> str:
    """Returns the error for a field that does not exist: why, and what to write instead."""
    if name in _METHODS and not item and "metadata" in shape.fields:
        return f"an object has no method {name!r}; {_METHODS[name]}"
    if owner := _identity(name, shape):
        return f"{shape.name} has no field {name!r}; it is in {owner}"
    if shape.closed:
        part = part_with_field(name, shape.name)
        if part:
            return f"{shape.name} has no field {name!r}; it is in {part}"
        known = [each.strip("_") for each in shape.attributes]
        hint = names.suggestion(name, known, _LISTED)
        return f"{shape.name} has no field {name!r}; {hint}"
    what = "key" if item else "field"
    hint = "it is empty"
    if data:
        hint = names.suggestion(name, data).rstrip(".")
    hint += " If" if hint.endswith("?") else "; if"
    return f"this object has no {what} {name!r}; {hint} it may be absent, use .get({name!r})"


# The search reads all models, and a script may repeat its mistake for each object of a list.
@functools.lru_cache(256)
def part_with_field(name: str, model: str) -> str | None:
    """Returns the path to the part that has the field, as a script would write it after the object or beside the
    part."""
    wanted = names.fold(name)
    near = _below(wanted, model, 1)
    if near and "[" not in near:
        return near
    return _beside(wanted, model) or near or _below(wanted, model, 2) or _around(wanted, model)


def _below(wanted: str, model: str, depth: int) -> str | None:
    """Returns the best of the parts `depth` levels below: objects before lists, short paths before long ones."""
    paths = _paths(wanted, model, depth)
    return min(paths, key=lambda path: (path.count("["), len(path)), default=None)


def _paths(wanted: str, model: str, depth: int) -> Iterator[str]:
    """Yields the paths to the parts, exactly `depth` levels below, that have the field."""
    for part, kind in _parts(model):
        if depth > 1:
            for path in _paths(wanted, kind, depth - 1):
                yield f"{part}.{path}"
        elif _has(wanted, kind):
            yield part


def _beside(wanted: str, model: str) -> str | None:
    """Returns the part that has the field in most objects with a part like this one."""
    found: Counter[str] = Counter()
    for parent in _parents(model):
        if _has(wanted, parent):
            found[UP] += 1
        for part, kind in _parts(parent):
            if kind != model and _has(wanted, kind):
                found[part] += 1
    if not found:
        return None
    [(most_common, _)] = found.most_common(1)
    return most_common


def _around(wanted: str, model: str) -> str | None:
    """Searches further away: a container's restart_count is in status.container_statuses[i]."""
    parents = _parents(model)[:_PARENTS]
    for parent in parents:
        if found := _below_beside(wanted, model, parent):
            return found
    # The parents of a common part, such as metadata, have nothing else in common.
    if len(parents) == _PARENTS:
        return None
    for parent in parents:
        if found := _around(wanted, parent):
            return found
    return None


def _below_beside(wanted: str, model: str, parent: str) -> str | None:
    """Returns the first path with the field below the other parts of a parent."""
    for part, kind in _parts(parent):
        if kind == model:
            continue
        for path in _paths(wanted, kind, 1):
            return f"{part}.{path}"
    return None


def _parents(model: str) -> list[str]:
    """Returns the models that have a part of this model."""
    found = []
    for parent in operations.models():
        kinds = {kind for _, kind in _parts(parent)}
        if model in kinds:
            found.append(parent)
    return found


def _parts(model: str) -> Iterator[tuple[str, str]]:
    """Yields the fields of a model that are models, or lists of models."""
    models = operations.models()
    for attribute, entry in models[model].items():
        kind = entry if isinstance(entry, str) else entry[0]
        if kind in models:
            yield attribute, kind
            continue
        element = kind.removeprefix("List[").removesuffix("]")
        if kind.startswith("List[") and element in models:
            yield f"{attribute}[i]", element


def _has(wanted: str, model: str) -> bool:
    """Says whether a model has a field with this folded name."""
    attributes = operations.models()[model]
    return any(names.fold(each) == wanted for each in attributes)
