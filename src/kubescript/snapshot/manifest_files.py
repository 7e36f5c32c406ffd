"""Collections from other tools' files: `kubectl get -o json|yaml` output and must-gather trees. Called by
`saved_cluster`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from kubescript import errors
from kubescript.kube import kinds
from kubescript.snapshot import collection, tree, yaml_objects

__all__ = ["from_files", "from_must_gather"]

Key = tuple[str, str, str]
"""(group, version, plural)."""
Collections = dict[Key, collection.Collection]
_MAX_YAML: Final = 64 * tree.MIB
_MAX_TOTAL: Final = 2048 * tree.MIB
"""The maximum size of all files that are read together, in bytes."""
_KIND_NAME: Final = re.compile(r"[A-Za-z0-9]{1,253}")
_API_VERSION_NAME: Final = re.compile(r"[a-z0-9.-]{1,253}(?:/[a-z0-9.-]{1,253})?")
# Attack: an archive contains names with bytes that are not text.
_FOLDER: Final = re.compile(r"[A-Za-z0-9.:_-]{0,253}")
"""A group, a resource or a namespace."""
# Attack: each of ten thousand files has a different version, and each version reads them all.
_MAX_VERSIONS: Final = 20
"""The maximum number of versions of one resource."""
_HEAD_BYTES: Final = 8 * 1024
"""How many bytes of a must-gather file are read to find its kind."""
_API_VERSION: Final = re.compile(r"^(?:- |  )?apiVersion: ([a-z0-9./-]+)", re.MULTILINE)
_KIND: Final = re.compile(r"^(?:- |  )?kind: ([A-Za-z0-9]+)", re.MULTILINE)
"""The kind of a document or of an item in a list; deeper ones belong to owner references."""


def from_files(files: tree.Tree, names: Iterable[tree.Name]) -> Collections:
    """Returns collections of every object in the named files.

    It is unknown what was requested when the files were written: for each kind, only namespaces with an object count as
    captured, and objects outside of a whole list may have had others beside them. Raises ClusterError for a file that
    cannot be read.
    """
    collections: dict[Key, tuple[collection.Resource, list[msgspec.Raw], list[bool]]] = {}
    for name, document in _documents(files, names):
        items = _items(document)
        for item in items if items is not None else [document]:
            resource = _resource_of(item)
            if resource is None and items is not None:
                raise _config_error(name, "an item of its list is no object of Kubernetes")
            if resource is None:
                continue
            key = (resource.group, resource.version, resource.plural)
            _, raws, parts = collections.setdefault(key, (resource, [], []))
            raws.append(_list_item(item, resource))
            parts.append(items is None or _is_page(document))
    return {
        key: _with_scope(resource, raws, is_selection=any(parts))
        for key, (resource, raws, parts) in collections.items()
    }


def from_must_gather(files: tree.Tree, top: tree.Name, names: list[tree.Name]) -> Collections:
    """Returns collections of the must-gather tree at `top`; files are read when their resource is requested."""
    entries: dict[tuple[str, str], list[tuple[str, tree.Name]]] = {}
    for group, plural, namespace, name in _tree(top, names):
        pairs = entries.setdefault((group, plural), [])
        pairs.append((namespace, name))
    collections: Collections = {}
    for (group, plural), pairs in entries.items():
        for saved in _gather(files, group, plural, pairs):
            collections[group, saved.resource.version, plural] = saved
    return collections


def _gather(
    files: tree.Tree, group: str, plural: str, pairs: list[tuple[str, tree.Name]]
) -> Iterator[collection.Collection]:
    """Yields a collection for each version of one resource; `pairs` are the namespace and the name of each file."""
    own = [name for _, name in pairs]
    namespaces = frozenset(namespace for namespace, _ in pairs)
    resources = _resources_from_heads(group, plural, files, own, namespaced=any(namespaces))
    versions = frozenset(resource.version for resource in resources)
    for resource in resources:
        scope = namespaces if resource.namespaced else None
        yield _read_later(files, own, resource, versions, scope)


def _read_later(
    files: tree.Tree,
    names: list[tree.Name],
    resource: collection.Resource,
    versions: frozenset[str],
    scope: frozenset[str] | None,
) -> collection.Collection:
    """Returns a collection whose files are read when it is first used."""
    return collection.Collection(resource, lambda: _read_items(files, names, resource, versions), scope)


def _documents(files: tree.Tree, names: Iterable[tree.Name]) -> Iterator[tuple[tree.Name, Any]]:
    """Yields every document in the files; None for a file without any. Raises ClusterError for one that is not JSON or
    YAML."""
    read: set[tuple[int, int]] = set()
    room = _MAX_TOTAL
    for name in names:
        most = collection.MAX_BYTES if name[-1].endswith(".json") else _MAX_YAML
        try:
            with files.open(name, most) as stream:
                status = os.fstat(stream.fileno())
                # Attack: a folder contains ten thousand links to one large file.
                if (status.st_dev, status.st_ino) in read:
                    continue
                read.add((status.st_dev, status.st_ino))
                data = stream.read(most)
        except FileNotFoundError:  # a dangling link, as editors leave behind
            continue
        except OSError as error:
            raise _config_error(name, error.strerror or "it is unreadable") from None
        room -= len(data)
        if room < 0:
            raise _config_error(name, f"it and the files before it hold more than {_MAX_TOTAL // tree.MIB} MiB")
        for document in _parse(name, data) or [None]:
            yield name, document


def _parse(name: tree.Name, data: bytes) -> list[Any]:
    """Returns the documents of one file, without empty ones after a line `---`."""
    try:
        documents = _json(data) if name[-1].endswith(".json") else yaml_objects.documents(data)
    except RecursionError:
        raise _config_error(name, "it is nested too deep") from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise _config_error(name, str(error)) from None
    return [document for document in documents if document is not None]


def _items(document: Any) -> list[Any] | None:
    """Returns the items of a list; None when the document is not a list."""
    if not isinstance(document, dict):
        return None
    items = document.get("items")
    kind = document.get("kind")
    if not isinstance(items, list) or not isinstance(kind, str) or not kind.endswith("List"):
        return None
    return [_with_type(item, document) if isinstance(item, dict) else item for item in items]


def _is_page(document: dict[str, Any]) -> bool:
    """Says whether a list has another page."""
    metadata = document.get("metadata")
    return isinstance(metadata, dict) and bool(metadata.get("continue"))


def _json(data: bytes) -> list[Any]:
    collection.check_json(data)
    return [msgspec.json.decode(data)]


def _with_type(item: dict[str, Any], parent: dict[str, Any]) -> dict[str, Any]:
    """Returns a list's item with its own kind, which items of a typed list (PodList) inherit from the list."""
    if "kind" in item and "apiVersion" in item:
        return item
    kind = parent["kind"].removesuffix("List")
    api_version = parent.get("apiVersion", "v1")
    return {"kind": kind, "apiVersion": api_version, **item}


def _resource_of(item: Any) -> collection.Resource | None:
    """Returns an object's resource; None when it is not a Kubernetes object."""
    if not isinstance(item, dict):
        return None
    kind = item.get("kind")
    api_version = item.get("apiVersion")
    metadata = item.get("metadata")
    if not isinstance(kind, str) or not isinstance(api_version, str):
        return None
    if not _KIND_NAME.fullmatch(kind) or not _API_VERSION_NAME.fullmatch(api_version):
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


def _with_scope(resource: collection.Resource, raws: list[msgspec.Raw], *, is_selection: bool) -> collection.Collection:
    """Returns a collection that covers the namespaces of its objects."""
    made = collection.Collection(resource, lambda: raws, is_selection=is_selection)
    if resource.namespaced:
        made.scope = frozenset(item.namespace for item in made.items)
    return made


def _tree(top: tree.Name, names: list[tree.Name]) -> Iterator[tuple[str, str, str, tree.Name]]:
    """Yields group, plural, namespace and file of each part of a must-gather."""
    depth = len(top)
    below = [name for name in names if name[:depth] == top and name[-1].endswith(".yaml")]
    # Lists come before the separate files of their objects.
    below.sort(key=lambda name: (len(name), name))
    for name in below:
        parts = [part.removesuffix(".yaml") for part in name[depth:]]
        found = _place(parts)
        if found is not None and all(map(_FOLDER.fullmatch, found)):
            yield (*found, name)


def _place(parts: list[str]) -> tuple[str, str, str] | None:
    """Returns group, plural and namespace of a file in a must-gather; None when it contains no objects."""
    match parts:
        case ["cluster-scoped-resources", group, plural, *_]:
            return _group(group), plural, ""
        case ["namespaces", _, _]:
            return "", "namespaces", ""
        case ["namespaces", namespace, "pods", _] | ["namespaces", namespace, "pods", _, _]:
            return "", "pods", namespace
        case ["namespaces", namespace, group, plural] | ["namespaces", namespace, group, plural, _]:
            return _group(group), plural, namespace
        case _:
            return None


def _group(folder: str) -> str:
    return "" if folder == "core" else folder


def _resources_from_heads(
    group: str, plural: str, files: tree.Tree, names: list[tree.Name], *, namespaced: bool
) -> list[collection.Resource]:
    """Returns the resource in each version found in its files' first lines; none when no file has one (an empty list of
    a custom kind)."""
    kind = kinds.kind_of(group, plural) or ""
    versions: list[str] = []
    for name in names:
        head = _head(files, name)
        for api_version in _API_VERSION.findall(head):
            own_group, _, version = api_version.rpartition("/")
            if own_group == group and version not in versions:
                versions.append(version)
        found = [name for name in _KIND.findall(head) if not name.endswith("List")]
        kind = kind or next(iter(found), "")
    if not kind:
        return []
    if not versions and kinds.kind_of(group, plural):
        versions = ["v1"]
    return [collection.Resource(group, version, plural, kind, namespaced) for version in versions[:_MAX_VERSIONS]]


def _head(files: tree.Tree, name: tree.Name) -> str:
    """Returns the first lines of a file; empty if it cannot be read, which a request for its objects will report."""
    try:
        with files.open(name, _MAX_YAML) as stream:
            return stream.read(_HEAD_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _read_items(
    files: tree.Tree, names: list[tree.Name], resource: collection.Resource, versions: frozenset[str]
) -> Iterator[msgspec.Raw]:
    """Yields the objects of one resource in its version, each once. Raises ClusterError for anything else, since it
    would be missing silently."""
    # must-gather saves pods in core/pods.yaml and again beside their logs.
    yielded = set()
    for name, document in _documents(files, names):
        items = _items(document)
        # Attack: a file is truncated and lacks the `kind` at its end, is empty, or is a login page.
        if items is not None and _is_page(document):
            raise _config_error(name, "its list is a part of another one", "cluster.broken")
        for item in items if items is not None else [document]:
            found = _resource_of(item)
            if found is None or (found.group, found.kind) != (resource.group, resource.kind):
                raise _config_error(
                    name, f"it holds something else than {resource.plural}, or nothing", "cluster.broken"
                )
            if found.version not in versions:
                raise _config_error(name, "it has an object of a version that no file begins with", "cluster.broken")
            identity = (str(item["metadata"].get("namespace")), str(item["metadata"]["name"]))
            if found.version == resource.version and identity not in yielded:
                yielded.add(identity)
                yield _list_item(item, resource)


def _config_error(name: tree.Name, why: str, code: str = "cluster.config") -> errors.ClusterError:
    path = "/".join(name)
    # A file name may contain bytes that are not text.
    quoted = ascii(path)
    file = quoted[1:-1]
    return errors.ClusterError(f"{file} cannot be read as Kubernetes objects: {why}", code=code)
