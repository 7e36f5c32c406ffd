"""Saved clusters on disk, in every form that can be served: our own snapshots, kubectl output, must-gather trees;
folders or archives. `snapshot` loads them, and `capture` writes our own form.

    snapshot.json                               what this is, when and where it was taken, what is missing and why
    resources/<group or core>/<version>/<plural>.json     the API server's list, all namespaces in one
    discovery/version.json, api.json, apis.json, <group or core>/<version>.json
    logs/<namespace>/<pod>/<container>.log      with timestamps; `.previous.log` of the container before the last
    restart

A folder with a `snapshot.json` is ours. A folder with `namespaces` or `cluster-scoped-resources` in it is a
must-gather. Everything else is searched for .json, .yaml and .yml files as kubectl prints them.
"""

from __future__ import annotations

import json
import re
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from kubescript import errors
from kubescript.cluster import collection, manifests

__all__ = ["FORMAT", "Key", "SavedCluster", "load"]

FORMAT: Final = "kubescript-snapshot/1"
Key = tuple[str, str, str]
"""(group, version, plural)."""

# Bytes that an archive may unpack to. Attack: a decompression bomb fills the disk.
_MAX_UNPACKED: Final = 8 * 1024**3
_SUFFIXES: Final = frozenset({".json", ".yaml", ".yml"})


@dataclass
class SavedCluster:
    """A saved cluster on disk. Its files are read when they are needed."""

    path: Path
    root: Path
    collections: dict[Key, collection.Collection] = field(default_factory=dict)
    info: dict[str, Any] = field(default_factory=dict)
    logs: Path | None = None
    """Folder of our own format's logs."""
    must_gather: Path | None = None
    """The must-gather tree, for its logs."""
    temporary: Path | None = None

    @property
    def missing(self) -> dict[str, str]:
        """`list secrets` → why the capture has none."""
        reasons = {}
        for entry in self.info.get("missing", []):
            if isinstance(entry, dict):
                reasons[str(entry.get("what"))] = str(entry.get("why"))
        return reasons

    def discovery(self, *parts: str) -> bytes | None:
        """A saved discovery document; only our own form has them."""
        *folders, name = parts
        file = self.root.joinpath("discovery", *folders, f"{name}.json")
        if not self.info or not file.is_file():
            return None
        return file.read_bytes()

    def close(self) -> None:
        """Removes the folder that an archive was unpacked to."""
        if self.temporary is not None:
            shutil.rmtree(self.temporary, ignore_errors=True)


def load(path: Path) -> SavedCluster:
    """Opens a saved cluster. Raises ClusterError (cluster.config) when there is nothing to serve."""
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
    files = [root]
    if root.is_dir():
        markers = sorted(root.glob("snapshot.json")) or sorted(root.glob("*/snapshot.json"))
        if markers:
            return _open_own_format(path, markers[0].parent)
        top = _must_gather(root)
        if top is not None:
            return SavedCluster(path, root, manifests.from_must_gather(top), must_gather=top)
        files = sorted(file for file in root.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
    collections = manifests.from_files(files)
    if not collections:
        raise _config_error(
            f"{path} holds no Kubernetes objects: expected a snapshot, kubectl -o json/yaml output or a must-gather"
        )
    return SavedCluster(path, root, collections)


def _open_own_format(path: Path, root: Path) -> SavedCluster:
    """Opens a folder that `kubescript snapshot` wrote. Raises ClusterError when it is damaged or of another format."""
    try:
        info = json.loads((root / "snapshot.json").read_bytes())
        format_ = info["format"]
        if format_ != FORMAT:
            raise _config_error(f"{path} is a snapshot of another format: {str(format_)[:80]}")
        collections = {}
        for entry in info["resources"]:
            collections[_key(entry)] = _collection(root, entry)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _config_error(f"{path} is a damaged snapshot ({type(error).__name__})") from None
    return SavedCluster(path, root, collections, info, logs=root / "logs")


def _key(entry: dict[str, Any]) -> Key:
    """Returns the resource of an entry of snapshot.json. Raises ValueError for a name that leads out of the folder."""
    key = (entry["group"], entry["version"], entry["resource"])
    for part in key:
        if not re.fullmatch(r"[a-z0-9.-]*", part) or ".." in part:  # the part becomes a file name
            raise ValueError(part)
    return key


def _collection(root: Path, entry: dict[str, Any]) -> collection.Collection:
    """The objects of one entry of snapshot.json, to be read later."""
    group, version, plural = _key(entry)
    namespaced = bool(entry["namespaced"])
    resource = collection.Resource(group, version, plural, entry["kind"], namespaced)
    namespaces = entry.get("namespaces")
    scope = None if namespaces is None else frozenset(namespaces)
    file = root / "resources" / (group or "core") / version / f"{plural}.json"
    return collection.Collection(resource, lambda: _read_items(file), scope, source=str(file))


def _read_items(file: Path) -> Iterator[msgspec.Raw]:
    """The items of a saved list, read when first asked for."""
    try:
        yield from collection.split_list(file.read_bytes())
    except (OSError, msgspec.MsgspecError) as error:
        raise errors.ClusterError(
            f"{file.name} of the snapshot is missing or damaged ({type(error).__name__})", code="cluster.broken"
        ) from None


def _must_gather(root: Path) -> Path | None:
    """Returns the top folder of a must-gather tree; None when there is none."""
    # `oc adm must-gather` puts the tree one or two folders deep.
    folders = [root, *sorted(root.glob("*")), *sorted(root.glob("*/*"))]
    for folder in folders:
        if (folder / "cluster-scoped-resources").is_dir() or (folder / "namespaces").is_dir():
            return folder
    return None


def _unpack(path: Path) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="kubescript-snapshot-"))
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as bundle:
                _check_size(path, sum(entry.file_size for entry in bundle.infolist()))
                bundle.extractall(folder)  # noqa: S202 - zipfile drops .. and absolute names itself
        else:
            with tarfile.open(path) as tar:
                _check_size(path, sum(member.size for member in tar))
                _extract(tar, folder)
    except (OSError, tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise _config_error(f"{path} is no readable .tar.gz or .zip archive ({type(error).__name__})") from None
    except errors.ClusterError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder


def _extract(tar: tarfile.TarFile, folder: Path) -> None:
    """Unpacks folders and plain files into `folder`. Raises TarError for links, devices and names that lead outside."""
    # Attack: a link, a device or a name with `..` in an archive writes outside the folder. The check is our own,
    # because Python 3.11.2 of Debian 12 has no extraction filters.
    for member in tar:
        target = folder.joinpath(member.name).resolve()
        if not target.is_relative_to(folder.resolve()) or not (member.isfile() or member.isdir()):
            raise tarfile.ExtractError(f"{member.name} is no plain file below the archive's folder")
        if member.isdir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        source = tar.extractfile(member)
        if source is not None:
            with source, target.open("wb") as out:
                shutil.copyfileobj(source, out)


def _check_size(path: Path, size: int) -> None:
    if size > _MAX_UNPACKED:
        raise _config_error(f"{path} unpacks to more than {_MAX_UNPACKED >> 30} GiB")


def _config_error(message: str) -> errors.ClusterError:
    return errors.ClusterError(
        message, code="cluster.config", remedy="pass --snapshot the output of `kubescript snapshot`"
    )
