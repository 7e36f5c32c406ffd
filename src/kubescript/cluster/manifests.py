"""Objects in other people's files: `kubectl get -o json|yaml` output and must-gather trees, as collections.

Called by `store`.
"""

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

Collections = dict[tuple[str, str, str], collection.Collection]
_HEAD_BYTES: Final = 8 * 1024
_API_VERSION: Final = re.compile(r"^(?:- |  )?apiVersion: ([a-z0-9./-]+)", re.MULTILINE)
_KIND: Final = re.compile(r"^(?:- |  )?kind: ([A-Za-z0-9]+)", re.MULTILINE)
"""Of a document or of an item in a list; deeper ones belong to owner references."""


def from_files(files: Iterable[Path]) -> Collections:
    """Collections of every object in `files`.

    What was asked for when they were written is unknown: only namespaces that hold an object of a kind count as
    captured for it. Raises ClusterError for a file that cannot be read.
    """
    by_resource: dict[tuple[str, str, str], tuple[collection.Resource, list[msgspec.Raw]]] = {}
    for file in files:
        for item in documents(file):
            resource = _resource_of(item)
            if resource is not None:
                key = (resource.group, resource.version, resource.plural)
                by_resource.setdefault(key, (resource, []))[1].append(_list_item(item, resource))
    return {key: _scoped(resource, raws) for key, (resource, raws) in by_resource.items()}


def from_must_gather(root: Path) -> Collections:
    """Collections of a must-gather tree; files are read when their resource is asked for."""
    files: dict[tuple[str, str], list[tuple[str, Path]]] = {}
    for group, plural, namespace, file in _tree(root):
        files.setdefault((group, plural), []).append((namespace, file))
    found: Collections = {}
    for (group, plural), entries in files.items():
        resource = _resource_from_heads(
            group, plural, [file for _, file in entries], namespaced=any(namespace for namespace, _ in entries)
        )
        if resource is not None:
            scope = frozenset(namespace for namespace, _ in entries) if resource.namespaced else None
            read = functools.partial(_read_items, [file for _, file in entries], resource)
            found[group, resource.version, plural] = collection.Collection(resource, read, scope, str(root))
    return found


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
        if isinstance(root.get("items"), list) and str(root.get("kind", "")).endswith("List"):
            yield from (_with_type(item, root) for item in root["items"] if isinstance(item, dict))
        elif "kind" in root and "apiVersion" in root:
            yield root


def _with_type(item: dict[str, Any], parent: dict[str, Any]) -> dict[str, Any]:
    """Items of a typed list (PodList) have their kind from it."""
    if "kind" in item and "apiVersion" in item:
        return item
    return {"kind": str(parent["kind"]).removesuffix("List"), "apiVersion": parent.get("apiVersion", "v1"), **item}


def _yaml(data: bytes) -> list[Any]:
    import yaml  # 20 ms that only readers of YAML pay

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]
        """Timestamps stay the text they are in Kubernetes; aliases, which Kubernetes never writes, cannot multiply."""

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
    """Without aliases every node takes a byte of text at least; a billion laughs has more nodes than bytes."""
    pending = list(roots)
    while pending:
        budget -= 1
        if budget < -1:
            raise ValueError("more nodes than bytes: YAML aliases are not accepted")
        node = pending.pop()
        pending.extend(node.values() if isinstance(node, dict) else node if isinstance(node, list) else ())


def _resource_of(item: dict[str, Any]) -> collection.Resource | None:
    kind, api_version, metadata = item.get("kind"), item.get("apiVersion"), item.get("metadata")
    if not (
        isinstance(kind, str) and isinstance(api_version, str) and isinstance(metadata, dict) and metadata.get("name")
    ):
        return None
    group, _, version = api_version.rpartition("/")
    plural = kinds.plural_of(group, kind) or kinds.guess_plural(kind)
    namespaced = (group, plural) in kinds.NAMESPACED if group in kinds.BUILT_IN else bool(metadata.get("namespace"))
    return collection.Resource(group, version, plural, kind, namespaced)


def _list_item(item: dict[str, Any], resource: collection.Resource) -> msgspec.Raw:
    return collection.as_list_item(msgspec.json.encode(item), resource)


def _scoped(resource: collection.Resource, raws: list[msgspec.Raw]) -> collection.Collection:
    made = collection.Collection(resource, lambda: raws)
    if resource.namespaced:
        made.scope = frozenset(item.namespace for item in made.items)
    return made


def _tree(root: Path) -> Iterator[tuple[str, str, str, Path]]:
    """(group, plural, namespace, file) of a must-gather."""
    for file in sorted(root.glob("cluster-scoped-resources/*/**/*.yaml")):
        group, plural = file.relative_to(root).parts[1:3]
        yield _group(group), plural.removesuffix(".yaml"), "", file
    for file in sorted(root.glob("namespaces/*/*/*.yaml")) + sorted(root.glob("namespaces/*/*/*/*.yaml")):
        parts = file.relative_to(root).parts
        if parts[2] == "pods":
            yield "", "pods", parts[1], file
        else:
            yield _group(parts[2]), parts[3].removesuffix(".yaml"), parts[1], file
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
        versions = [text for text in _API_VERSION.findall(head) if text.rpartition("/")[0] == group]
        names = [name for name in _KIND.findall(head) if not name.endswith("List")]
        if versions and (built_in or names):
            return collection.Resource(group, versions[0].rpartition("/")[2], plural, built_in or names[0], namespaced)
    return collection.Resource(group, "v1", plural, built_in, namespaced) if built_in else None


def _read_items(files: list[Path], resource: collection.Resource) -> Iterator[msgspec.Raw]:
    yielded = set()
    for file in files:
        for item in documents(file):
            metadata = item.get("metadata") or {}
            identity = (metadata.get("namespace"), metadata.get("name"))
            if (
                item.get("kind") == resource.kind
                and item.get("apiVersion") == resource.api_version
                and identity not in yielded
            ):
                yielded.add(identity)  # must-gather saves pods twice: in core/pods.yaml and beside their logs
                yield _list_item(item, resource)


def _config_error(file: Path, why: str) -> errors.ClusterError:
    return errors.ClusterError(f"{file} cannot be read as Kubernetes objects: {why}", code="cluster.config")
