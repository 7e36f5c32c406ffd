"""Which kind a custom or aggregated resource has, from the cluster's own discovery; what rules that name a kind need to
decide.

Remembered for the life of the server, misses excepted: a resource's kind cannot change while its definition exists, and
a definition that was deleted and made anew under the same plural with another kind is looked up again after `_FRESH_S`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from typing import Final

import msgspec

from kubescript import cancellation, errors, request
from kubescript.cluster import base

__all__ = ["KindResolver"]

log = logging.getLogger(__name__)

_FRESH_S: Final = 60.0
_CALL_S: Final = 10.0
_MAX_KNOWN: Final = 1_000
"""Group versions remembered; large clusters have some hundred."""
_MAX_BYTES: Final = 8 * 1024 * 1024


class _Resource(msgspec.Struct):
    name: str
    kind: str


class _Resources(msgspec.Struct):
    resources: list[_Resource]


class KindResolver:
    """Answers `policy.Resolver`. Called from many threads at once."""

    def __init__(self, cluster: base.Cluster) -> None:
        self._cluster = cluster
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], tuple[float, dict[str, str]]] = {}

    def __call__(
        self,
        group: str,
        version: str,
        resource: str,
        timeout_s: float = _CALL_S,
        cancel: cancellation.Cancellation | None = None,
    ) -> str | None:
        """The kind, or None when the cluster does not tell in time: the policy then denies."""
        kinds = self._remembered(group, version)
        if resource not in kinds:
            kinds = self._ask(group, version, min(timeout_s, _CALL_S), cancel or cancellation.Cancellation())
        return kinds.get(resource)

    def _remembered(self, group: str, version: str) -> dict[str, str]:
        with self._lock:
            when, kinds = self._known.get((group, version), (0.0, {}))
        return kinds if time.monotonic() - when < _FRESH_S else {}

    def _ask(self, group: str, version: str, timeout_s: float, cancel: cancellation.Cancellation) -> dict[str, str]:
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        call = request.Request("GET", path, (), verb="get", is_resource=False)
        try:
            response = self._cluster.perform(call, timeout_s, cancel)
            try:
                body = _read(response.chunks) if response.status == 200 else b'{"resources":[]}'
            finally:
                response.close()
            found = msgspec.json.decode(body, type=_Resources).resources
        except (errors.KubescriptError, msgspec.MsgspecError):
            return {}
        kinds = {each.name: each.kind for each in found if "/" not in each.name}
        log.debug("asked which kinds %s/%s has", group, version, extra={"event": "resolver.call"})
        if kinds:  # a script can invent groups for ever; only those that exist are remembered
            self._remember((group, version), kinds)
        return kinds

    def _remember(self, key: tuple[str, str], kinds: dict[str, str]) -> None:
        with self._lock:
            self._known.pop(key, None)
            while len(self._known) >= _MAX_KNOWN:
                del self._known[next(iter(self._known))]
            self._known[key] = (time.monotonic(), kinds)


def _read(chunks: Iterator[bytes]) -> bytes:
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > _MAX_BYTES:
            raise errors.ClusterError("discovery answered with more than is plausible", code="cluster.broken")
    return bytes(body)
