"""Clusters of the kubeconfig files in a folder: a Secret's volume, or a person's `~/.kube/clusters`."""

from __future__ import annotations

import collections
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kubescript import errors
from kubescript.cluster import kubeconfig
from kubescript.fleet import member
from kubescript.output import sanitizing

__all__ = ["Folder"]

log = logging.getLogger(__name__)

_EVERY_S: Final = 2.0
"""Seconds between two looks: Kubernetes changes a mounted Secret by a symbolic link, of which not every file system
tells."""
_MAX_FILES: Final = 10_000
_State = tuple[int, int, int]
"""A file's inode, size, and time of change, also of its mode."""


@dataclass(frozen=True, slots=True)
class _File:
    """A file as it was last read."""

    state: _State
    members: list[member.Member] = field(default_factory=list)
    unusable: int = 1
    """How many of its contexts cannot be used; 1 if the whole file cannot."""


class Folder:
    """The source `kubeconfig-dir`."""

    def __init__(self, path: Path, every_s: float = _EVERY_S) -> None:
        self.problem = ""
        """See `fleet.Source`."""
        self.is_full = False
        """See `fleet.Source`: all files are read, and `fleet.Fleet` counts."""
        self._path = path
        self._every_s = every_s
        self._read: dict[Path, _File] = {}
        """Kept so that only changed files are read again."""
        self._unread: set[Path] = set()
        """The files that could not be read, and are tried again."""
        self._ambiguous = 0
        """How many members have no name of their own."""

    @property
    def left_out(self) -> int:
        """See `fleet.Source`."""
        return sum(file.unusable for file in self._read.values()) + len(self._unread) + self._ambiguous

    def watch(self, publish: Callable[[Mapping[str, member.Member]], None], stop: threading.Event) -> None:
        """See `fleet.Source`."""
        before = None
        while not stop.is_set():
            states = self._look()
            found = self._update(states) if states is not None else before
            if found is not None and found != before:
                before = found
                named = _name(found)
                self._ambiguous = sum(map(len, found.values())) - len(named)
                publish(named)
            stop.wait(self._every_s)

    def _look(self) -> dict[Path, _State] | None:
        """Returns the files and their states; None, and a new warning, if the folder cannot be read."""
        before, self.problem = self.problem, ""
        try:
            return dict(_files(self._path))
        except OSError as error:
            self.problem = f"fleet.folder: cannot read {self._path}: {error.strerror}"
            if self.problem != before:
                log.warning("%s", self.problem, extra={"event": "fleet.folder"})
            return None

    def _update(self, states: Mapping[Path, _State]) -> dict[Path, list[member.Member]]:
        """Reads the files that have changed, and forgets those that are gone."""
        read: dict[Path, _File] = {}
        before, self._unread = self._unread, set()
        for path, state in states.items():
            known = self._read.get(path)
            try:
                read[path] = known if known is not None and known.state == state else _read(path, state)
            except OSError as error:  # it may be readable soon without a change: too many other files were open
                self._unread.add(path)
                if path not in before:
                    log.warning(
                        "the kubeconfig %s cannot be read: %s", sanitizing.printable(path.name), error.strerror,
                        extra={"event": "fleet.unreadable"},
                    )  # fmt: skip
        self._read = read
        return {path: file.members for path, file in read.items()}


def _files(folder: Path) -> Iterator[tuple[Path, _State]]:
    """Yields the kubeconfig files by name; hidden files are the volume's own."""
    paths = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    for path in paths[:_MAX_FILES]:
        try:
            state = path.stat()
        except OSError:  # gone meanwhile
            continue
        if path.is_file():
            yield path, (state.st_ino, state.st_size, state.st_ctime_ns)


def _read(path: Path, state: _State) -> _File:
    """Reads one file; logs a warning if it is no kubeconfig. Raises OSError."""
    what = f"the kubeconfig {sanitizing.printable(path.name)}"
    with path.open("rb") as file:
        content = file.read(kubeconfig.MAX_BYTES + 1)
    try:
        if len(content) > kubeconfig.MAX_BYTES:
            raise errors.ClusterError(f"{what} is larger than {kubeconfig.MAX_BYTES >> 20} MiB")
        return _File(state, *member.list_all(content, path.parent.absolute(), what))
    except errors.ClusterError as error:
        log.warning("%s", error.message, extra={"event": "fleet.unreadable"})
    except Exception:  # whatever it is, the other files are read; its text may be a token
        log.warning("%s: %s", what, member.UNREADABLE, extra={"event": "fleet.unreadable"})
    return _File(state)


def _name(read: Mapping[Path, list[member.Member]]) -> dict[str, member.Member]:
    """Returns the members by name: the context's, with its file's before it where several files have it."""
    # Were the first file's context to keep the name, a new file could take it over, with all that the name permits.
    counts = collections.Counter(each.name for members in read.values() for each in members)
    named: dict[str, list[member.Member]] = {}
    for path, members in read.items():
        for each in members:
            name = each.name if counts[each.name] == 1 else f"{path.stem}-{each.name}"
            named.setdefault(name, []).append(each)
    # Nor does a new file take over FILE-CONTEXT by a context of that name.
    for name in [name for name, members in named.items() if len(members) > 1]:
        del named[name]
        log.warning(
            "several contexts would be named %s, and all are left out", sanitizing.printable(name),
            extra={"event": "fleet.ambiguous"},
        )  # fmt: skip
    return {name: each if name == each.name else member.rename(each, name) for name, (each,) in named.items()}
