"""The last lines of every container, for `capture`: of the run there is, and of the one before where there was one.

A container that crashes over and over says why in the log of its previous run.
"""

from __future__ import annotations

import collections
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from kubescript.capture import client, directory

__all__ = ["PodLogs"]

_MAX_UNANSWERED: Final = 3
"""Logs of one node that may fail to come before the node counts as unreachable."""
_NAMES: Final = re.compile(r'"[^"]*"')
"""What tells apart failures of the same kind: addresses, pods, containers."""
_MAX_NAMED: Final = 3
"""Logs that a line names."""
_STATUSES: Final = ("containerStatuses", "initContainerStatuses")


@dataclass(frozen=True, slots=True)
class _Log:
    """One to ask for."""

    namespace: str
    pod: str
    node: str
    container: str
    previous: bool

    def __str__(self) -> str:
        return f"{self.namespace}/{self.pod} {self.container}{' (previous)' * self.previous}"

    @property
    def path(self) -> tuple[str, ...]:
        return ("api", "v1", "namespaces", self.namespace, "pods", self.pod, "log")

    @property
    def file(self) -> tuple[str, ...]:
        return ("logs", self.namespace, self.pod, f"{self.container}{'.previous' * self.previous}.log")


@dataclass(slots=True)
class PodLogs:
    """The logs of a cluster's pods."""

    saved: int = 0
    missing: dict[str, str] = field(default_factory=dict)
    """`shop/web-1 nginx` → why."""
    _pending: list[_Log] = field(default_factory=list)
    _unanswered: collections.Counter[str] = field(default_factory=collections.Counter)
    """Node → logs that did not come because nobody answered."""

    def add(self, raw: msgspec.Raw) -> None:
        """A pod, as it was listed."""
        self._pending += _logs(msgspec.json.decode(raw, type=dict[str, Any]))

    def save(self, source: client.Client, folder: directory.Directory, lines: int) -> None:
        """Save the last so many lines of each."""
        for log in self._pending:
            try:
                folder.write(log.file, self._read(source, log, lines))
            except client.ReadFailed as error:
                self._unanswered[log.node] += error.unreachable
                self.missing[str(log)] = str(error)
            else:
                self.saved += 1

    def summary(self) -> Iterator[str]:
        """What is missing and why, logs of the same fate in one line."""
        by_reason: dict[str, list[str]] = {}
        for log, why in self.missing.items():
            by_reason.setdefault(_NAMES.sub("…", why), []).append(log)
        for why, logs in by_reason.items():
            more = f" and {len(logs) - _MAX_NAMED} more" if len(logs) > _MAX_NAMED else ""
            yield f"{len(logs)} {'logs' if len(logs) > 1 else 'log'} ({', '.join(logs[:_MAX_NAMED])}{more}): {why}"

    def _read(self, source: client.Client, log: _Log, lines: int) -> bytes:
        """Raises ReadFailed, without asking when the pod's node has not answered for others."""
        if self._unanswered[log.node] >= _MAX_UNANSWERED:
            why = f"node {log.node or '(none)'} did not give {_MAX_UNANSWERED} other logs, so it was not asked again"
            raise client.ReadFailed(why)
        query = (("container", log.container), ("tailLines", str(lines)), ("timestamps", "true"))
        return source.get(log.path, (*query, *((("previous", "true"),) * log.previous)), "text", client.SMALL_S)


def _logs(pod: dict[str, Any]) -> Iterator[_Log]:
    """Raises KeyError for what is no pod."""
    spec, status, name = pod.get("spec", {}), pod.get("status") or {}, pod["metadata"]["name"]
    namespace, node = pod["metadata"].get("namespace", ""), spec.get("nodeName", "")
    before = {
        one["name"]
        for kind in _STATUSES
        for one in status.get(kind) or []
        if "terminated" in (one.get("lastState") or {})
    }
    for container in (one["name"] for kind in ("initContainers", "containers") for one in spec.get(kind) or []):
        yield _Log(namespace, name, node, container, previous=False)
        if container in before:
            yield _Log(namespace, name, node, container, previous=True)
