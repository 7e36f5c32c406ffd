"""Reads calls of `k8s` and of Python's official client: returns their writes, once their arguments are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kubescript_safety.autopsy import kinds, write

__all__ = ["HOLE", "UNKNOWN", "Answer", "Ref", "camel", "of_intent", "of_method"]

UNKNOWN: Final = object()
"""A value that is known only at run time."""
HOLE: Final = "$"
"""Stands in a string for a part that is known only at run time. No Kubernetes name contains this character."""
_INTENTS: Final[dict[str, write.Does]] = {
    "annotate": "patch", "apply": "apply", "cordon": "patch", "create": "create", "delete": "delete",
    "delete_collection": "delete", "drain": "patch", "evict": "delete", "label": "patch", "patch": "patch",
    "remove": "delete", "replace": "replace", "restart": "restart", "scale": "scale", "set_image": "patch",
    "uncordon": "patch", "undo": "patch", "update": "patch",
}  # fmt: skip
_CLIENT: Final[dict[str, write.Does]] = {
    "delete_collection": "delete", "create": "create", "delete": "delete", "patch": "patch", "replace": "replace",
}  # fmt: skip
_UNNAMED: Final = frozenset({"create", "delete_collection", "list"})
"""The official client's methods that take no name."""
_MAX_NODES: Final = 20_000
_MAX_DEPTH: Final = 100
_OPTIONS: Final = frozenset({"dry_run", "dryRun", "namespace", "ns", "label_selector", "labels_selector", "selector"})
Answer = tuple[list[write.Write], Any]
"""A call's writes, and the value it returns."""


@dataclass(slots=True)
class Ref:
    """An object, or all of a kind, that the script has read."""

    resource: str
    name: str | None = None
    namespace: str | None = None
    selector: tuple[tuple[str, str], ...] = ()
    path: tuple[str, ...] = ()
    """The field of the object that is meant."""
    sets: list[str] = field(default_factory=list)
    """Paths that the script has set in the object."""


def of_intent(name: str, positional: Sequence[Any], named: Mapping[str, Any]) -> Answer:
    """Returns the answer for `k8s.patch("deployments/web", …, namespace="shop")`, with kind and name separate or
    together."""
    ref = _about(positional, named)
    if ref is None:
        return [], UNKNOWN
    if name not in _INTENTS:
        return [], ref
    does = _INTENTS[name]
    is_dry = _is_dry(named)
    values = (*positional, *named.values())
    given = [one for one in values if isinstance(one, dict | list)]
    texts = [one for one in positional if isinstance(one, str) and _is_document(one)]
    if does in {"apply", "create", "replace"}:
        manifests = write.documents(given) or write.documents(texts)
        if manifests:
            several = [write.of_manifest(does, _clean(one), ref.namespace, is_dry=is_dry) for one in manifests]
            return several, UNKNOWN
    if does == "patch" and not given:
        given = [one for text in texts for one in write.parse(text)]
    body = given[-1] if given else None
    made = _write(does, ref, body, _paths(name, named, ref), is_dry=is_dry)
    return [made], ref


def _is_document(text: str) -> bool:
    """Says whether a string is JSON or YAML, and not a name."""
    if text.startswith("{"):
        return True
    return ":" in text and "\n" in text


def _is_dry(named: Mapping[str, Any]) -> bool:
    """Says whether a parameter asks for a dry run."""
    # A value that is known only at run time may turn out to be False.
    values = (named.get("dry_run"), named.get("dryRun"))
    return any(value not in (None, False, UNKNOWN) for value in values)


def _about(positional: Sequence[Any], named: Mapping[str, Any]) -> Ref | None:
    """Returns the object that is meant: one that was read, or kind, name and namespace."""
    space = _first(named, "namespace", "ns")
    known = next((one for one in (*positional[:1], *named.values()) if isinstance(one, Ref)), None)
    if known is not None:
        return Ref(known.resource, known.name, space or known.namespace, known.selector, (), known.sets)
    words = [one for one in positional if isinstance(one, str | Ref) or one is UNKNOWN]
    if words and _is_version(words[0]):
        del words[0]
    kind = _first(named, "kind", "resource", "type")
    if kind is None and words and isinstance(words[0], str):
        kind = words.pop(0)
    # `k8s.apply({...})` names its object inside the document.
    has_document = any(isinstance(one, dict) and "kind" in one for one in (*positional, *named.values()))
    if has_document and (kind is None or ":" in kind):
        return Ref("", None, space)
    if kind is None:
        return None
    name: Any = named.get("name")
    head, slash, tail = kind.partition("/")
    if slash and "name" not in named and kinds.is_kind(head):
        kind = head
        name = tail
    elif name is None and words:
        name = words.pop(0)
    # A third word is the namespace, if it is not a patch.
    if space is None and words and isinstance(words[0], str) and not {"\n", "{"} & set(words[0]):
        space = words[0]
    selector = write.selector(_first(named, "label_selector", "selector", "labels"))
    return Ref(kinds.resource(kind), name if isinstance(name, str) else None, space, selector)


def _is_version(word: Any) -> bool:
    """Says whether a word is an API version: `v1`, `apps/v1`."""
    return isinstance(word, str) and word.rpartition("/")[2][:2] in {"v1", "v2"}


def of_method(name: str, positional: Sequence[Any], named: Mapping[str, Any]) -> Answer:
    """Returns the answer for the official client's `patch_namespaced_deployment("web", "shop", {…})`."""
    verb = next((one for one in (*_CLIENT, "read", "list") if name.startswith(one + "_")), "")
    if not verb:
        return [], UNKNOWN
    rest = name.removeprefix(verb + "_")
    is_namespaced = rest.startswith("namespaced_")
    rest = rest.removeprefix("namespaced_").removesuffix("_for_all_namespaces")
    order = _list_parameters(verb, rest, is_namespaced=is_namespaced)
    # An eviction is created, and deletes its pod.
    if rest.endswith("_eviction"):
        verb = "delete"
        rest = rest.removesuffix("_eviction")
    given = dict(zip(order, positional, strict=False)) | dict(named)
    ref = _find_target(verb, rest, given)
    # Only controllers write a status; writing one does not change the desired state.
    if verb in {"read", "list"} or rest.endswith("_status"):
        return [], ref
    does: write.Does = "scale" if rest.endswith("_scale") else _CLIENT[verb]
    body = given.get("body")
    content = body if isinstance(body, dict | list) and does != "delete" else None
    sets = tuple(body.sets) if isinstance(body, Ref) else ()
    made = _write(does, ref, content, sets, is_dry=_is_dry(given), is_all=verb == "delete_collection")
    return [made], UNKNOWN


def _list_parameters(verb: str, rest: str, *, is_namespaced: bool) -> list[str]:
    """Returns the positional parameters of one of the official client's methods, in order."""
    # `create_namespaced_pod_eviction(name, namespace, body)`.
    if rest.endswith("_eviction"):
        return ["name", "namespace", "body"]
    name = [] if verb in _UNNAMED else ["name"]
    namespace = ["namespace"] if is_namespaced else []
    # Group, version and plural are arguments there, not parts of the method's name.
    if rest.endswith("custom_object"):
        return ["group", "version", *namespace, "plural", *name, "body"]
    return [*name, *namespace, "body"]


def _find_target(verb: str, rest: str, given: Mapping[str, Any]) -> Ref:
    """Returns the object that an official client's method acts on."""
    resource = kinds.resource(rest.removesuffix("_scale").removesuffix("_status").replace("_", ""))
    if isinstance(given.get("plural"), str):
        resource = kinds.resource(given["plural"])
    target = given.get("name")
    space = given.get("namespace")
    if not isinstance(space, str):
        space = None
    body = given.get("body")
    # A creation has its object's name only in the body.
    if verb == "create" and isinstance(body, dict):
        metadata = body.get("metadata")
        target = metadata.get("name") if isinstance(metadata, dict) else None
    # `delete_namespaced_pod(pod.metadata.name, …)`, where the pod is one that was read.
    if isinstance(target, Ref):
        return Ref(resource, target.name, space or target.namespace, target.selector)
    selector = write.selector(given.get("label_selector"))
    return Ref(resource, target if isinstance(target, str) else None, space, selector)


def _write(
    does: write.Does, ref: Ref, body: Any, paths: tuple[str, ...], *, is_dry: bool, is_all: bool = False
) -> write.Write:
    name = ref.name
    if name is not None and HOLE in name:
        name = None
    return write.Write(
        does, ref.resource, name, ref.namespace, ref.selector, body=_clean(body), fields=paths, is_dry=is_dry,
        guessed=name is None and not is_all and does != "create",
    )  # fmt: skip


def _paths(name: str, named: Mapping[str, Any], ref: Ref) -> tuple[str, ...]:
    """Returns the paths that an intent sets in addition to its body."""
    if name == "scale":
        return ("spec.replicas",)
    if name == "set_image":
        return ("spec.template.spec.containers.image",)
    if name in {"label", "annotate"}:
        part = "metadata.labels" if name == "label" else "metadata.annotations"
        # `k8s.label(pod, team="web")`.
        keys = [key for key in named if key not in _OPTIONS]
        return tuple(f"{part}.{key}" for key in keys) or (part,)
    return tuple(ref.sets)


def _first(named: Mapping[str, Any], *keys: str) -> Any:
    """Returns the first of these parameters that is a string; None when none is."""
    for key in keys:
        if isinstance(named.get(key), str):
            return named[key]
    return None


def camel(name: str) -> str:
    """Returns an official client's name as in Kubernetes: `nodeSelector` for `node_selector`."""
    head, *rest = name.split("_")
    return head + "".join(map(str.title, rest))


def _clean(value: Any) -> Any:
    """Returns a copy with None for unknown values.

    Attack: a script runs `x = [x, x]` forty times, which makes a list of a million million items.
    """
    return _copy(value, [_MAX_NODES], 0)


def _copy(value: Any, left: list[int], depth: int) -> Any:
    """Copies a value, as long as nodes are left."""
    left[0] -= 1
    if left[0] < 0 or depth > _MAX_DEPTH:
        return None
    if isinstance(value, dict):
        return {key: _copy(one, left, depth + 1) for key, one in value.items() if left[0] > 0}
    if isinstance(value, list):
        return [_copy(one, left, depth + 1) for one in value if left[0] > 0]
    if isinstance(value, str | int | float | bool):
        return value
    return None
