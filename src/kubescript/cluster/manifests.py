"""Collections from other people's files: `kubectl get -o json|yaml` output and must-gather trees. Called by `store`."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from kubescript import errors
from kubescript.cluster import collection
from kubescript.request import kinds

__all__ = ["documents", "from_files", "from_must_gather"]

Key = tuple[str, str, str]
"""(group, version, plural)."""
Collections = dict[Key, collection.Collection]
_HEAD_BYTES: Final = 8 * 1024
"""Bytes of a must-gather's file that are read to learn its kind."""
_API_VERSION: Final = re.compile(r"^(?:- |  )?apiVersion: ([a-z0-9./-]+)", re.MULTILINE)
_KIND: Final = re.compile(r"^(?:- |  )?kind: ([A-Za-z0-9]+)", re.MULTILINE)
"""Of a document or of an item in a list; deeper ones belong to owner references."""


def from_files(files: Iterable[Path]) -> Collections:
    """Collections of every object in `files`.

    What was asked for when they were written is unknown: only namespaces that hold an object of a kind count as
    captured for it. Raises ClusterError for a file that cannot be read.
    """
    sorted_items: dict[Key, tuple[collection.Resource, list[msgspec.Raw]]] = {}
    for file in files:
        for item in documents(file):
            resource = _resource_of(item)
            if resource is None:
                continue
            key = (resource.group, resource.version, resource.plural)
            _, items = sorted_items.setdefault(key, (resource, []))
            items.append(_list_item(item, resource))
    return {key: _scoped(resource, items) for key, (resource, items) in sorted_items.items()}


def from_must_gather(root: Path) -> Collections:
    """Collections of a must-gather tree; files are read when their resource is asked for."""
    entries: dict[tuple[str, str], list[tuple[str, Path]]] = {}
    for group, plural, namespace, file in _tree(root):
        entries.setdefault((group, plural), []).append((namespace, file))
    collections: Collections = {}
    for (group, plural), pairs in entries.items():
        files = [file for _, file in pairs]
        namespaces = frozenset(namespace for namespace, _ in pairs)
        resource = _resource_from_heads(group, plural, files, namespaced=any(namespaces))
        if resource is None:
            continue
        scope = namespaces if resource.namespaced else None
        read = functools.partial(_read_items, files, resource)
        collections[group, resource.version, plural] = collection.Collection(resource, read, scope, str(root))
    return collections


def documents(file: Path) -> Iterator[dict[str, Any]]:
    """Every object in a file; lists are taken apart. Raises ClusterError when it is not JSON or YAML."""
    try:
        data = file.read_bytes()
        roots = [msgspec.json.decode(data)] if file.suffix == ".json" else _yaml(data)
    except OSError as error:
        raise _config_error(file, error.strerror or "unreadable") from None
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise _config_error(file, type(error).__name__) from None
    for root in roots:
        if not isinstance(root, dict):
            continue
        items = root.get("items")
        is_list = isinstance(items, list) and str(root.get("kind", "")).endswith("List")
        if is_list:
            yield from (_with_type(item, root) for item in root["items"] if isinstance(item, dict))
        elif "kind" in root and "apiVersion" in root:
            yield root


def _with_type(item: dict[str, Any], parent: dict[str, Any]) -> dict[str, Any]:
    """An item of a list with its own kind, which items of a typed list (PodList) have from the list."""
    if "kind" in item and "apiVersion" in item:
        return item
    kind = str(parent["kind"]).removesuffix("List")
    api_version = parent.get("apiVersion", "v1")
    return {"kind": kind, "apiVersion": api_version, **item}


def _yaml(data: bytes) -> list[Any]:
    import yaml  # 20 ms that only readers of YAML pay

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]
        """Reads timestamps as text, as they are in Kubernetes."""

    Loader.yaml_implicit_resolvers = {
        key: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
        for key, pairs in base.yaml_implicit_resolvers.items()
    }
    try:
        roots = list(yaml.load_all(data, Loader=Loader))
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None
    _check_nodes(roots, len(data))
    return roots


def _check_nodes(roots: list[Any], budget: int) -> None:
    """Refuses YAML with more nodes than bytes."""
    # Attack: a "billion laughs" file multiplies nodes by aliases, which Kubernetes never writes. Without aliases every
    # node takes at least a byte of text.
    pending = list(roots)
    while pending:
        budget -= 1
        if budget < -1:
            raise ValueError("more nodes than bytes: YAML aliases are not accepted")
        node = pending.pop()
        if isinstance(node, dict):
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)


def _resource_of(item: dict[str, Any]) -> collection.Resource | None:
    """The resource that an object is of; None when it is no object of Kubernetes."""
    kind = item.get("kind")
    api_version = item.get("apiVersion")
    metadata = item.get("metadata")
    if not isinstance(kind, str) or not isinstance(api_version, str):
        return None
    if not isinstance(metadata, dict) or not metadata.get("name"):
        return None
    group, _, version = api_version.rpartition("/")
    plural = kinds.plural_of(group, kind) or kinds.guess_plural(kind)
    has_namespace = bool(metadata.get("namespace"))
    namespaced = (group, plural) in kinds.NAMESPACED if group in kinds.BUILT_IN else has_namespace
    return collection.Resource(group, version, plural, kind, namespaced)


def _list_item(item: dict[str, Any], resource: collection.Resource) -> msgspec.Raw:
    data = msgspec.json.encode(item)
    return collection.as_list_item(data, resource)


def _scoped(resource: collection.Resource, raws: list[msgspec.Raw]) -> collection.Collection:
    made = collection.Collection(resource, lambda: raws)
    if resource.namespaced:
        made.scope = frozenset(item.namespace for item in made.items)
    return made


def _tree(root: Path) -> Iterator[tuple[str, str, str, Path]]:
    """(group, plural, namespace, file) of a must-gather."""
    for file in sorted(root.glob("cluster-scoped-resources/*/**/*.yaml")):
        _, group, plural, *_ = file.relative_to(root).parts
        yield _group(group), plural.removesuffix(".yaml"), "", file
    lists = sorted(root.glob("namespaces/*/*/*.yaml"))
    objects = sorted(root.glob("namespaces/*/*/*/*.yaml"))
    for file in lists + objects:
        _, namespace, folder, name, *_ = file.relative_to(root).parts
        if folder == "pods":
            yield "", "pods", namespace, file
        else:
            yield _group(folder), name.removesuffix(".yaml"), namespace, file
    for file in sorted(root.glob("namespaces/*/*.yaml")):
        yield "", "namespaces", "", file


def _group(folder: str) -> str:
    return "" if folder == "core" else folder


def _resource_from_heads(group: str, plural: str, files: list[Path], *, namespaced: bool) -> collection.Resource | None:
    """The resource as its files' first lines tell it; None when no file does (an empty list of a custom kind)."""
    built_in = kinds.kind_of(group, plural)
    for file in files:
        with file.open(encoding="utf-8", errors="replace") as stream:
            head = stream.read(_HEAD_BYTES)
        versions = []
        for api_version in _API_VERSION.findall(head):
            own_group, _, version = api_version.rpartition("/")
            if own_group == group:
                versions.append(version)
        names = [name for name in _KIND.findall(head) if not name.endswith("List")]
        kind = built_in or next(iter(names), "")
        if versions and kind:
            return collection.Resource(group, versions[0], plural, kind, namespaced)
    if not built_in:
        return None
    return collection.Resource(group, "v1", plural, built_in, namespaced)


def _read_items(files: list[Path], resource: collection.Resource) -> Iterator[msgspec.Raw]:
    """The objects of one resource, each once: must-gather saves pods in core/pods.yaml and beside their logs."""
    wanted = (resource.kind, resource.api_version)
    yielded = set()
    for file in files:
        for item in documents(file):
            metadata = item.get("metadata") or {}
            identity = (metadata.get("namespace"), metadata.get("name"))
            is_wanted = (item.get("kind"), item.get("apiVersion")) == wanted
            if is_wanted and identity not in yielded:
                yielded.add(identity)
                yield _list_item(item, resource)


def _config_error(file: Path, why: str) -> errors.ClusterError:
    return errors.ClusterError(
        f"{file} cannot be read as Kubernetes objects: {why}",
        code="cluster.config",
    )
