"""A scenario's files. They may come from an attacker, so each must be small, regular, and within one folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any, Final

from kubescript_safety import plainyaml

__all__ = ["Files", "Problem"]

_MAX_BYTES: Final = 1 << 20
"""The maximum size of one file."""
_MAX_TOTAL: Final = 8 << 20
"""The maximum size of all files of a scenario."""
_MAX_FILES: Final = 100
_MANIFESTS: Final = (".yaml", ".yml", ".json")
_MAX_EVENTS: Final = 200_000
"""The maximum number of YAML events in all files; reading that many takes a few seconds."""


class Problem(Exception):
    """The reason why a scenario cannot be run, as a sentence for a person."""


class Files:
    """The folder of one scenario. Its files may be anywhere in `root`, such as manifests that scenarios share."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.folder = folder.resolve()
        self._root = root.resolve()
        self._left = _MAX_TOTAL
        self._files = _MAX_FILES
        self._events = _MAX_EVENTS

    def text(self, name: str) -> str:
        """Returns a file's text. Raises Problem."""
        content = self._bytes(self.path(name), name)
        try:
            return content.decode()
        except UnicodeDecodeError:
            raise Problem(f"{name} is not UTF-8") from None

    def path(self, name: str) -> Path:
        """Returns the path of a file named by the scenario, with symbolic links resolved. Raises Problem."""
        if not name:
            raise Problem("a path is missing")
        # Attack: the folder contains a link that leads out of it.
        try:
            found = (self.folder / name).resolve(strict=True)
        except (OSError, RuntimeError, ValueError):  # missing, a loop of links, or a null character
            raise Problem(f"there is no {name[:200]!r}") from None
        if not found.is_relative_to(self._root):
            raise Problem(f"{name[:200]!r} is outside of {self._root.name}; name a folder that holds both")
        return found

    def tree(self, name: str) -> Path:
        """Returns the path of a folder without symbolic links, so that nothing in it leads out of the root. Raises
        Problem."""
        found = self.path(name)
        entries = [Path(at, one) for at, folders, files in os.walk(found) for one in (*folders, *files)]
        # Attack: a chart contains links, which helm follows, copying what they lead to into its output.
        for entry in entries[: _MAX_FILES + 1]:
            if entry.is_symlink():
                raise Problem(f"{name} holds a symbolic link")
        if not found.is_dir() or len(entries) > _MAX_FILES:
            raise Problem(f"{name} is no folder of at most {_MAX_FILES} files")
        return found

    def mapping(self, name: str) -> dict[str, Any]:
        """Returns a file's only YAML document. Raises Problem."""
        documents = self._documents(self.path(name), name)
        first = documents[0] if len(documents) == 1 else None
        if not isinstance(first, dict):
            raise Problem(f"{name} is not one mapping")
        return first

    def manifests(self, name: str) -> tuple[dict[str, Any], ...]:
        """Returns the objects that `kubectl apply -f` would find in a file or a folder. Raises Problem."""
        start = self.path(name)
        paths = [start]
        if start.is_dir():
            names = sorted(one.name for one in start.iterdir() if one.suffix in _MANIFESTS)
            # Attack: a file in the folder is a link that leads out of it.
            paths = [self.path(str(start / one)) for one in names[: _MAX_FILES + 1]]
        found: list[dict[str, Any]] = []
        for path in paths:
            for document in self._documents(path, name):
                found += [_object(thing, name) for thing in _items(document)]
        if not found:
            raise Problem(f"{name} holds no object")
        return tuple(found)

    def _bytes(self, path: Path, name: str) -> bytes:
        self._files -= 1
        if self._files < 0:
            raise Problem(f"more than {_MAX_FILES} files are read")
        try:
            # Attack: a scenario names a pipe or a device, which never ends, or creates a link after the path was
            # checked.
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
            with os.fdopen(handle, "rb") as file:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    raise Problem(f"{name} is no file")
                content = file.read(_MAX_BYTES + 1)
        except OSError as error:
            raise Problem(f"{name}: {error.strerror}") from None
        self._left -= len(content)
        if len(content) > _MAX_BYTES or self._left < 0:
            raise Problem(f"{name} is larger than 1 MiB, or all files together than 8 MiB")
        return content

    def _documents(self, path: Path, name: str) -> list[Any]:
        """Returns the documents of a file. Raises Problem."""
        content = self._bytes(path, name)
        try:
            found, events = plainyaml.documents(content, self._events)
        except plainyaml.YamlError as error:
            raise Problem(f"{name} {error}") from None
        # The limit is for all files together.
        self._events -= events
        return found


def _items(document: Any) -> list[Any]:
    """Returns a List's objects, or the single object."""
    if isinstance(document, dict) and document.get("kind") == "List":
        items = document.get("items")
        if isinstance(items, list):
            return items
    return [document]


def _object(thing: Any, name: str) -> dict[str, Any]:
    """Returns a document after checking that it is an object with a name. Raises Problem."""
    if not isinstance(thing, dict) or not isinstance(thing.get("metadata"), dict):
        raise Problem(f"{name} holds something that is no Kubernetes object")
    own = thing["metadata"].get("name")
    namespace = thing["metadata"].get("namespace") or "default"
    texts = (thing.get("apiVersion"), thing.get("kind"), own, namespace)
    if not all(isinstance(one, str) and one for one in texts):
        raise Problem(f"{name} holds an object without apiVersion, kind or name")
    # Attack: an object is named `../..`, which is the path of another object.
    if "/" in own + namespace or ".." in (own, namespace):
        raise Problem(f"{name} holds an object whose name is a path")
    return thing
