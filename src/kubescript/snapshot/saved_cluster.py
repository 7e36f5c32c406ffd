"""Saved clusters on disk, in every form that can be served: our own snapshots, kubectl output, must-gather trees;
folders or archives. `snapshot` loads them, and `capture` writes our own form.

    snapshot.json                               its format, when and where it was taken, what is missing and why
    resources/<group or core>/<version>/<plural>.json     the API server's list, all namespaces in one
    discovery/version.json, api.json, apis.json, <group or core>/<version>.json
    logs/<namespace>/<pod>/<container>.log      with timestamps; `.previous.log` of the container before the last
    restart
    sources/<name>/                             metrics, alerts and lines of Loki; see `sources.saved_source`

A folder with a `snapshot.json` is ours. A folder with `namespaces` or `cluster-scoped-resources` in it is a
must-gather. Everything else is searched for .json, .yaml and .yml files in kubectl's output format.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from kubescript import errors
from kubescript.cluster import temporary
from kubescript.snapshot import archives, collection, manifest_files, tree

__all__ = ["FORMAT", "Key", "SavedCluster", "file_error", "load"]

FORMAT: Final = "kubescript-snapshot/1"
Key = tuple[str, str, str]
"""(group, version, plural)."""

_MAX_DOCUMENT: Final = 32 * tree.MIB
"""The maximum size of snapshot.json, and of a discovery document, in bytes."""
_SUFFIXES: Final = frozenset({".json", ".yaml", ".yml"})


class _Entry(msgspec.Struct):
    """A list in snapshot.json."""

    group: str
    version: str
    resource: str
    kind: str
    namespaced: bool
    namespaces: list[str] | None = None
    metadata_only: bool = msgspec.field(default=False, name="metadataOnly")


class _Info(msgspec.Struct):
    """The fields that are read from snapshot.json."""

    format: str
    resources: list[_Entry] = []
    missing: list[dict[str, str]] = []
    cluster: str = ""
    namespace: str = ""
    captured_at: str = msgspec.field(default="", name="capturedAt")
    server: msgspec.Raw = msgspec.Raw(b"null")
    sources: list[str] = []


@dataclass
class SavedCluster:
    """A saved cluster on disk. Its files are read when needed."""

    path: Path
    files: tree.Tree
    collections: dict[Key, collection.Collection] = field(default_factory=dict)
    info: _Info | None = None
    """The snapshot.json of our own format."""
    top: tree.Name = ()
    """The folder below `files` where our own format or the must-gather begins."""
    is_must_gather: bool = False
    temporary: Path | None = None

    @property
    def missing(self) -> dict[str, str]:
        """`list secrets` → why the capture lacks it."""
        if self.info is None:
            return {}
        return {entry.get("what", ""): entry.get("why", "") for entry in self.info.missing}

    def discovery(self, *parts: str) -> bytes | None:
        """Returns a saved discovery document; only our own form has them. Raises ClusterError (cluster.broken)."""
        if self.info is None:
            return None
        *folders, name = parts
        file = (*self.top, "discovery", *folders, f"{name}.json")
        try:
            return self.files.read(file, _MAX_DOCUMENT)
        except tree.Refused as error:
            raise file_error(file, error.why) from None
        except OSError:
            return None

    def close(self) -> None:
        """Removes the folder that an archive was unpacked to."""
        if self.temporary is not None:
            shutil.rmtree(self.temporary, ignore_errors=True)


def load(path: Path) -> SavedCluster:
    """Opens a saved cluster. Raises ClusterError (cluster.config) when it contains nothing to serve."""
    if not path.exists():
        raise _config_error(f"there is no snapshot at {path}")
    is_archive = path.is_file() and path.suffix not in _SUFFIXES
    temporary = _unpack(path) if is_archive else None
    try:
        saved = _open(path, temporary or path)
    except errors.ClusterError:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
        raise
    saved.temporary = temporary
    return saved


def _open(path: Path, root: Path) -> SavedCluster:
    """Recognizes the form and opens it."""
    if root.is_dir():
        files = tree.Tree(root)
        try:
            names = files.files()
        except OSError as error:
            raise _config_error(f"{path} cannot be served: {error.strerror}") from None
        markers = [name for name in names if name[-1] == "snapshot.json" and len(name) <= 2]
        if markers:
            return _open_own_format(path, files, min(markers, key=len)[:-1])
        top = _must_gather(names)
        if top is not None:
            gathered = manifest_files.from_must_gather(files, top, names)
            return SavedCluster(path, files, gathered, top=top, is_must_gather=True)
        names = [name for name in names if Path(name[-1]).suffix in _SUFFIXES]
    else:
        file = root.resolve()
        files = tree.Tree(file.parent)
        names = [(file.name,)]
    collections = manifest_files.from_files(files, names)
    if not collections:
        raise _config_error(
            f"{path} holds no Kubernetes objects: expected a snapshot, kubectl -o json/yaml output or a must-gather"
        )
    return SavedCluster(path, files, collections)


def _open_own_format(path: Path, files: tree.Tree, top: tree.Name) -> SavedCluster:
    """Opens a folder that `kubescript snapshot` wrote. Raises ClusterError when it is damaged or has a different
    format."""
    try:
        data = files.read((*top, "snapshot.json"), _MAX_DOCUMENT)
        info = msgspec.json.decode(data, type=_Info)
        if info.format != FORMAT:
            raise _config_error(f"{path} is a snapshot of another format: {info.format[:80]}")
        collections = {}
        for entry in info.resources:
            key = _key(entry)
            collections[key] = _collection(files, top, entry)
    except tree.Refused as error:
        raise _config_error(f"{path} is a damaged snapshot: of snapshot.json, {error.why}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise _config_error(f"{path} is a damaged snapshot ({type(error).__name__})") from None
    return SavedCluster(path, files, collections, info, top)


def _key(entry: _Entry) -> Key:
    """Returns the resource of an entry in snapshot.json. Raises ValueError for a name that leads out of the folder."""
    key = (entry.group, entry.version, entry.resource)
    for part in key:
        if not re.fullmatch(r"[a-z0-9.-]{0,253}", part) or ".." in part:  # the part becomes a file name
            raise ValueError(part)
    return key


def _collection(files: tree.Tree, top: tree.Name, entry: _Entry) -> collection.Collection:
    """Returns the objects of one entry in snapshot.json, to be read later."""
    group, version, plural = _key(entry)
    resource = collection.Resource(group, version, plural, entry.kind, entry.namespaced)
    scope = None
    if entry.namespaces is not None:
        scope = frozenset(entry.namespaces)
    file = (*top, "resources", group or "core", version, f"{plural}.json")
    return collection.Collection(resource, lambda: _read_items(files, file), scope, entry.metadata_only)


def _read_items(files: tree.Tree, file: tree.Name) -> Iterator[msgspec.Raw]:
    """Yields the items of a saved list, read on first use."""
    try:
        yield from collection.split_list(files.read(file, collection.MAX_BYTES))
    except tree.Refused as error:
        raise file_error(file, error.why) from None
    except (OSError, msgspec.MsgspecError, RecursionError) as error:
        raise file_error(file, f"it is missing or damaged ({type(error).__name__})") from None


def _must_gather(names: list[tree.Name]) -> tree.Name | None:
    """Returns the top folder of a must-gather tree; None if it is not one."""
    # `oc adm must-gather` puts the tree one or two folders deep.
    tops = set()
    for name in names:
        for depth, part in enumerate(name[:-1][:3]):
            if part in {"cluster-scoped-resources", "namespaces"}:
                tops.add(name[:depth])
    return min(tops, key=lambda top: (len(top), top), default=None)


def _unpack(path: Path) -> Path:
    folder = temporary.folder("snapshot")
    try:
        archives.unpack(path, folder)
    except archives.UnpackError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise _config_error(f"{path} {error}") from None
    return folder


def file_error(file: tree.Name, why: str) -> errors.ClusterError:
    """Returns the error for a snapshot's file that cannot be served."""
    path = "/".join(file)
    # A file name may contain bytes that are not text.
    quoted = ascii(path)
    name = quoted[1:-1]
    return errors.ClusterError(f"{name} of the snapshot cannot be served: {why}", code="cluster.broken")


def _config_error(message: str) -> errors.ClusterError:
    return errors.ClusterError(
        message, code="cluster.config", remedy="pass --snapshot the output of `kubescript snapshot`"
    )
