"""The last lines of every container's log, of the current run and of the previous one. `capture` saves them."""

from __future__ import annotations

import collections
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import msgspec

from kubescript.capture import cluster_client, directory

__all__ = ["PodLogs"]

# Each unanswered request for a log takes 15 seconds (`cluster_client.SMALL_S`).
_MAX_UNANSWERED: Final = 3
"""How many requests for logs of one node may stay unanswered before the node counts as unreachable."""
_NAMES: Final = re.compile(r'"[^"]*"')
"""The parts in which failures of the same kind differ: addresses, pods, containers."""
_MAX_NAMED: Final = 3
"""How many logs one line of the summary names."""


class _Container(msgspec.Struct):
    name: str


class _ContainerStatus(msgspec.Struct, rename="camel"):
    name: str
    last_state: dict[str, msgspec.Raw] | None = None


class _Status(msgspec.Struct, rename="camel"):
    container_statuses: list[_ContainerStatus] | None = None
    init_container_statuses: list[_ContainerStatus] | None = None


class _Spec(msgspec.Struct, rename="camel"):
    init_containers: list[_Container] | None = None
    containers: list[_Container] | None = None
    node_name: str | None = None


class _Metadata(msgspec.Struct):
    name: str
    namespace: str = ""


class _Pod(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec | None = None
    status: _Status | None = None


@dataclass(frozen=True, slots=True)
class _Log:
    """One log to save."""

    namespace: str
    pod: str
    node: str
    container: str
    previous: bool

    def __str__(self) -> str:
        """Returns the name of the log in the report."""
        name = f"{self.namespace}/{self.pod} {self.container}"
        if not self.previous:
            return name
        return f"{name} (previous)"

    @property
    def path(self) -> tuple[str, ...]:
        """The path at which the API server serves it."""
        return ("api", "v1", "namespaces", self.namespace, "pods", self.pod, "log")

    @property
    def file(self) -> tuple[str, ...]:
        """The log's file in the snapshot; see `snapshot.saved_cluster`."""
        ending = ".previous.log" if self.previous else ".log"
        name = f"{self.container}{ending}"
        return ("logs", self.namespace, self.pod, name)


@dataclass(slots=True)
class PodLogs:
    """The logs of a cluster's pods."""

    saved: int = 0
    missing: dict[str, str] = field(default_factory=dict)
    """Why each log, such as `shop/web-1 nginx`, is missing."""
    _pending: dict[_Log, None] = field(default_factory=dict)
    _unanswered: collections.Counter[str] = field(default_factory=collections.Counter)
    """The number of unanswered requests for logs per node."""

    def add(self, raw: msgspec.Raw) -> None:
        """Notes the logs of a pod from the pod's entry in a list. Raises MsgspecError when the entry is not a pod."""
        pod = msgspec.json.decode(raw, type=_Pod)
        for log in _logs(pod):
            self._pending[log] = None

    def save(self, source: cluster_client.Client, folder: directory.Directory, lines: int) -> None:
        """Saves the last `lines` lines of each log."""
        for log in self._pending:
            try:
                text = self._read(source, log, lines)
            except cluster_client.ReadFailed as error:
                if error.unreachable:
                    self._unanswered[log.node] += 1
                self.missing[str(log)] = str(error)
            else:
                folder.write(log.file, text)
                self.saved += 1

    def summary(self) -> Iterator[str]:
        """Yields the missing logs and the reasons; logs that are missing for the same reason share a line."""
        by_reason: dict[str, list[str]] = {}
        for log, why in self.missing.items():
            reason = _NAMES.sub("…", why)
            alike = by_reason.setdefault(reason, [])
            alike.append(log)
        for reason, logs in by_reason.items():
            count = len(logs)
            noun = "logs" if count > 1 else "log"
            names = ", ".join(logs[:_MAX_NAMED])
            if count > _MAX_NAMED:
                names += f" and {count - _MAX_NAMED} more"
            yield f"{count} {noun} ({names}): {reason}"

    def _read(self, source: cluster_client.Client, log: _Log, lines: int) -> bytes:
        """Returns the log. Raises ReadFailed; sends no request if the pod's node did not answer for other logs."""
        if self._unanswered[log.node] >= _MAX_UNANSWERED:
            node = log.node or "(none)"
            why = f"node {node} did not give {_MAX_UNANSWERED} other logs, so it was not asked again"
            raise cluster_client.ReadFailed(why)
        # Timestamps are saved, because `sinceTime` needs them when the snapshot is served.
        query = {"container": log.container, "tailLines": str(lines), "timestamps": "true"}
        if log.previous:
            query["previous"] = "true"
        parameters = tuple(query.items())
        return source.get(log.path, parameters, "text", cluster_client.SMALL_S)


def _logs(pod: _Pod) -> Iterator[_Log]:
    """Yields the logs of one pod."""
    namespace = pod.metadata.namespace
    name = pod.metadata.name
    spec = pod.spec or _Spec()
    node = spec.node_name or ""
    restarted = _find_restarted(pod.status or _Status())
    initial = spec.init_containers or []
    regular = spec.containers or []
    for container in initial + regular:
        yield _Log(namespace, name, node, container.name, previous=False)
        # The log of the previous run shows why a container keeps crashing.
        if container.name in restarted:
            yield _Log(namespace, name, node, container.name, previous=True)


def _find_restarted(status: _Status) -> set[str]:
    """Returns the names of the containers that have run before, and so have a previous log."""
    regular = status.container_statuses or []
    initial = status.init_container_statuses or []
    names = set()
    for container in regular + initial:
        last_state = container.last_state or {}
        if "terminated" in last_state:
            names.add(container.name)
    return names
