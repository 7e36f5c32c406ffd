"""A write: what a tool call asks of the cluster, by tool parameters, a command line or a script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import yaml

from kubescript.kube import documents as kube_documents
from kubescript.kube import field_paths
from kubescript_safety.autopsy import kinds, outcome
from kubescript_safety.cluster import requests

__all__ = ["Does", "Write", "documents", "of_manifest", "of_request", "parse", "selector", "split_name"]

Does = Literal["create", "apply", "patch", "replace", "delete", "scale", "restart"]
_REQUESTS: Final[Mapping[str, Does]] = {
    "create": "create", "update": "replace", "patch": "patch", "delete": "delete", "deletecollection": "delete",
}  # fmt: skip
_MAX_TEXT: Final = 4 << 20
_MAX_DEPTH: Final = 100
_MAX_LISTS: Final = 4
"""How many lists may be nested, including those in strings."""
_MAX_NUMBER: Final = 1_000
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Write:
    """One requested change."""

    does: Does
    resource: str
    """The plural, without the group."""
    name: str | None = None
    """None: every object of the kind that matches the selector."""
    namespace: str | None = None
    """None: not stated."""
    selector: tuple[tuple[str, str], ...] = ()
    """Labels that the selector requires."""
    everywhere: bool = False
    """Whether the write is for all namespaces."""
    body: Any = None
    """The manifest or patch, if any."""
    fields: tuple[str, ...] = ()
    """Paths that the request sets in addition to those of the body."""
    values: tuple[str, ...] = ()
    """Images that the request sets in addition to those of the body."""
    is_dry: bool = False
    guessed: bool = False
    """Whether the name is known only at run time."""
    narrowed: bool = False
    """Whether anything except labels narrows the selection: a field selector, a filter in a pipe, a condition."""

    @property
    def content(self) -> tuple[str, ...]:
        """Paths of all fields in the request, except those that identify the object."""
        said = field_paths.list_named(self.body)
        named = dict.fromkeys((*self.fields, *said))
        return tuple(path for path in named if not field_paths.is_identity(path))

    @property
    def is_bounded(self) -> bool:
        """Whether the write limits the objects, instead of covering all of a kind."""
        return bool(self.name or self.selector or self.narrowed)


def parse(text: str) -> list[Any]:
    """Returns the documents of a YAML or JSON string; none if it is neither."""
    if len(text) > _MAX_TEXT:
        return []
    try:
        # Attack: an alias may expand to more than memory holds, as in "billion laughs".
        if _has_alias(text):
            return []
        return [one for one in yaml.load_all(text, Loader=_LOADER) if one is not None]
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError):
        return []


def _has_alias(text: str) -> bool:
    """Says whether a YAML string has an alias, or anything else that takes long to load."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.AliasEvent):
            return True
        if isinstance(event, yaml.ScalarEvent) and not event.style and _is_endless(event.value):
            return True
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            return True
    return False


def _is_endless(text: str) -> bool:
    """Says whether the string is a number of many digits. Attack: a sexagesimal number `1:11:11…` takes quadratic
    time."""
    return len(text) > _MAX_NUMBER and text[:1] in "+-.0123456789"


def documents(value: Any) -> list[dict[str, Any]]:
    """Returns a manifest's Kubernetes objects: from an object, a string with several, a list, or an object of kind
    List."""
    found: list[dict[str, Any]] = []
    rest: list[tuple[Any, int]] = [(value, 0)]
    while rest:
        value, depth = rest.pop()
        inner: list[Any] = []
        if isinstance(value, str) and ":" in value:
            inner = [one for one in parse(value) if not isinstance(one, str)]
        elif isinstance(value, list):
            inner = value
        elif isinstance(value, dict) and isinstance(value.get("kind"), str):
            items = value.get("items")
            if value["kind"].endswith("List") and isinstance(items, list):
                inner = items
            else:
                found.append(value)
        # The last one is taken first.
        if depth < _MAX_LISTS:
            rest.extend((one, depth + 1) for one in reversed(inner))
    return found


def of_manifest(does: Does, document: dict[str, Any], namespace: str | None, *, is_dry: bool = False) -> Write:
    """Returns the write of one object; its own namespace takes precedence over the request's."""
    metadata = kube_documents.mapping(document, "metadata")
    # A manifest comes from outside, so its name may be a number or a list.
    name = metadata.get("name")
    own = metadata.get("namespace")
    return Write(
        does=does,
        resource=kinds.resource(document["kind"]),
        name=name if isinstance(name, str) else "",
        namespace=own if isinstance(own, str) and own else namespace,
        body=document,
        is_dry=is_dry,
    )


def of_request(method: str, path: str, query: str, body: Any) -> Iterator[Write]:
    """Yields the write of a request to the API server, whose path may follow a proxy's."""
    # A proxy's path may come first: `/k8s/clusters/c-1/api/v1/…`.
    start = next((at for at in (path.find("/api/"), path.find("/apis/")) if at >= 0), 0)
    pairs = (part.partition("=") for part in query.split("&"))
    given = {name: value for name, _, value in pairs}
    asked = requests.read(method.upper(), path[start:], given)
    if asked is None or asked.verb not in _REQUESTS or asked.subresource == "status":
        return
    if isinstance(body, str):
        body = (parse(body) or [None])[0]
    does = _find_effect(asked, given)
    own = kube_documents.mapping(body, "metadata").get("name")
    yield Write(
        does="scale" if asked.subresource == "scale" else does,
        resource=kinds.resource(asked.resource),
        name=asked.name or (own if isinstance(own, str) else None),
        namespace=asked.namespace or None,
        selector=selector(given.get("labelSelector", "").replace("%3D", "=").replace("%2C", ",")),
        body=None if does == "delete" else body,
        is_dry=outcome.is_dry(given.get("dryRun")),
    )


def _find_effect(asked: requests.Asked, query: Mapping[str, str]) -> Does:
    """Returns what a request does to its object, whatever its subresource."""
    # Of all patches, only an apply must name its manager.
    if asked.verb == "patch" and "fieldManager" in query:
        return "apply"
    # The API server deletes the pod, if a disruption budget allows it.
    if asked.subresource == "eviction":
        return "delete"
    return _REQUESTS[asked.verb]


def split_name(text: str) -> tuple[str, str]:
    """Returns kind and name from `deployment/web`; both empty for other forms."""
    kind, slash, name = text.partition("/")
    if slash and name and "/" not in name:
        return kinds.resource(kind), name
    return "", ""


def selector(value: Any) -> tuple[tuple[str, str], ...]:
    """Returns the labels that a selector requires to be equal: from text, or an object with `matchLabels`."""
    if isinstance(value, dict):
        labels = value.get("matchLabels", value)
        if not isinstance(labels, dict):
            return ()
        return tuple((name, one) for name, one in labels.items() if isinstance(one, str))
    if not isinstance(value, str):
        return ()
    found = []
    for part in value.split(","):
        name, sign, one = part.partition("=")
        # `a!=b` and `a in (b)` do not require a label to be equal to a value.
        if sign and name[-1:] != "!":
            found.append((name.strip(), one.lstrip("=").strip()))
    return tuple(found)
