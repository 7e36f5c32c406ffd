"""Namespaces that a script found empty and that are not there.

An API server answers a list in a namespace that does not exist as it answers one in an empty namespace, so a slip in a
name would look like a healthy cluster. After a script the namespaces of which it has seen nothing are asked for, three
at most, by the same door and so under the same policy and on the same record as any call of its own.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Final

from kubescript import cancellation, types
from kubescript.wire import protocol

__all__ = ["Absences", "Handle"]

Handle = Callable[[protocol.Call, float, cancellation.Cancellation], tuple[protocol.Reply, types.Response | None]]
_MOST: Final = 3
_KNOWN: Final = 1_000
"""Namespaces that are remembered."""
_SECONDS: Final = 2.0


class Absences:
    """The namespaces of one script. Used by the threads that answer its calls."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], bool] = {}
        """Cluster and namespace ▶ whether something was seen in it."""
        self._lock = threading.Lock()

    def listed(self, context: str, namespace: str, *, empty: bool) -> None:
        """A list in a namespace was answered."""
        with self._lock:
            place = context, namespace
            if place in self._seen or len(self._seen) < _KNOWN:
                self._seen[place] = self._seen.get(place, False) or not empty

    def confirmed(self, handle: Handle, cancel: cancellation.Cancellation) -> list[tuple[str, str]]:
        """Cluster and namespace, of those that are not there."""
        with self._lock:
            doubtful = [place for place, seen in self._seen.items() if not seen]
        return sorted(place for place in doubtful[:_MOST] if _is_missing(*place, handle, cancel))


def _is_missing(context: str, namespace: str, handle: Handle, cancel: cancellation.Cancellation) -> bool:
    """Whether the cluster says so; not when it does not tell."""
    call = protocol.Call("GET", ("api", "v1", "namespaces", namespace), accept="metadata", context=context)
    _, response = handle(call, _SECONDS, cancel)
    if response is None:
        return False
    with contextlib.closing(response):
        return response.status == 404
