"""The saved clusters of a server. Each is unpacked and read once, whichever callers use it."""

from __future__ import annotations

import collections
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kubescript.snapshot import saved_cluster

__all__ = ["Library"]


class Library:
    """Saved clusters by their paths, each open while it is lent to anybody. Safe for use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[Path, saved_cluster.SavedCluster] = {}
        self._users: collections.Counter[Path] = collections.Counter()

    def lend(self, path: Path) -> saved_cluster.SavedCluster:
        """Returns a saved cluster, which the caller gives back once. Raises ClusterError (cluster.config) when it
        contains nothing to serve."""
        # Most servers have no saved cluster, and need none of the modules for archives.
        from kubescript.snapshot import saved_cluster

        # Attack: each caller of a server has a copy of the saved cluster's objects made, and a folder of its archive.
        with self._lock:
            if path not in self._open:
                self._open[path] = saved_cluster.load(path)
            self._users[path] += 1
            return self._open[path]

    def take_back(self, path: Path) -> None:
        """Removes the folder of a saved cluster that nobody uses any more."""
        with self._lock:
            self._users[path] -= 1
            if not self._users[path]:
                self._open.pop(path).close()
