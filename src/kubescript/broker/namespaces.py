"""Namespaces that a script listed, found empty, and that may not exist. The evaluator asks for them after a script.

An API server answers a list in a namespace that does not exist as it answers a list in an empty namespace, so a
misspelt name would look like a healthy cluster. After each script, at most three of the namespaces in which the script
saw nothing are looked up, through the same broker: the policy and the audit treat these calls like the script's own.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Final

from kubescript import types
from kubescript.wire import exchanges
from kubescript_sandbox.host import cancellation

__all__ = ["Handle", "Namespaces"]

Handle = Callable[[exchanges.Call, float, cancellation.Cancellation], tuple[exchanges.Reply, types.Response | None]]
_MAX_ASKED: Final = 3
_MAX_REMEMBERED: Final = 1_000
_TIMEOUT_S: Final = 2.0


class Namespaces:
    """The namespaces that one script listed. The threads that answer its calls share it."""

    def __init__(self) -> None:
        self._has_content: dict[tuple[str, str], bool] = {}
        """(cluster, namespace) → whether any list showed an object in it."""
        self._lock = threading.Lock()

    def listed(self, context: str, namespace: str, *, empty: bool) -> None:
        """Notes that a list in a namespace was answered."""
        key = context, namespace
        with self._lock:
            if key in self._has_content or len(self._has_content) < _MAX_REMEMBERED:
                self._has_content[key] = self._has_content.get(key, False) or not empty

    def doubtful(self, handle: Handle, cancel: cancellation.Cancellation) -> list[tuple[str, str, bool]]:
        """Looks up the namespaces in which nothing was seen. Returns cluster and name of each that is not known to
        exist, and whether it is known not to."""
        with self._lock:
            empty = [key for key, has_content in self._has_content.items() if not has_content]
        asked = [(*key, _exists(*key, handle, cancel)) for key in sorted(empty[:_MAX_ASKED])]
        return [(context, name, exists is False) for context, name, exists in asked if not exists]


def _exists(context: str, namespace: str, handle: Handle, cancel: cancellation.Cancellation) -> bool | None:
    """Says whether the cluster has such a namespace; None when the policy, RBAC or a fault keeps it from telling."""
    call = exchanges.Call("GET", ("api", "v1", "namespaces", namespace), accept="metadata", context=context)
    _, response = handle(call, _TIMEOUT_S, cancel)
    if response is None:
        return None
    with contextlib.closing(response):
        return {200: True, 404: False}.get(response.status)
