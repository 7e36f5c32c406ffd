"""Container logs of a snapshot.

Found, cut to the lines asked for, and never passed for empty when they were not captured.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import msgspec

from kubescript import errors, types
from kubescript.cluster import collection, responses, store
from kubescript.request import request

__all__ = ["answer"]

_TIMESTAMP: Final = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|\+00:00) ")
_CHUNK: Final = 256 * 1024


def answer(saved: store.SavedCluster, call: request.Request, pod: collection.Item) -> types.Response:
    """The log of one container. Raises ClusterError (cluster.not_captured) when the snapshot has none."""
    options = dict(call.query)
    names = _containers(pod)
    container = options.get("container") or (names[0] if len(names) == 1 else "")
    if not container:
        message = f"a container name must be specified for pod {pod.name}, choose one of: [{' '.join(names)}]"
        return responses.failure(400, "BadRequest", message)
    if names and container not in names:
        return responses.failure(400, "BadRequest", f"container {container} is not valid for pod {pod.name}")
    previous = options.get("previous") in {"true", "1"}
    file = _log_file(saved, pod, container, previous)
    if file is None:
        which = "previous log" if previous else "log"
        raise errors.ClusterError(
            f"pods were captured, but the {which} of {pod.namespace}/{pod.name} container {container} was not",
            code="cluster.not_captured",
        )
    return responses.text(_limit_bytes(_selected_lines(file, options, saved), options))


def _containers(pod: collection.Item) -> list[str]:
    spec: dict[str, Any] = msgspec.json.decode(pod.raw).get("spec") or {}
    kinds_of = ("containers", "initContainers", "ephemeralContainers")
    return [str(one.get("name")) for kind in kinds_of for one in spec.get(kind) or []]


def _log_file(saved: store.SavedCluster, pod: collection.Item, container: str, previous: bool) -> Path | None:
    if any(part in {"", ".", ".."} or "/" in part for part in (pod.namespace, pod.name, container)):
        return None  # names come from saved files: they lead nowhere but into the log folder
    if saved.logs is not None:
        file = saved.logs / pod.namespace / pod.name / f"{container}{'.previous' if previous else ''}.log"
        return file if file.is_file() else None
    if saved.must_gather is not None:
        logs = saved.must_gather / "namespaces" / pod.namespace / "pods" / pod.name / container / container / "logs"
        file = logs / ("previous.log" if previous else "current.log")
        return file if file.is_file() else None
    return None


def _selected_lines(file: Path, options: dict[str, str], saved: store.SavedCluster) -> Iterator[bytes]:
    """The lines since the asked time, the last so many of them, with timestamps only when asked."""
    since = _since(options, saved)
    lines: Iterator[bytes] = (line for line in _lines(file) if since is None or _is_after(line, since, file))
    if "tailLines" in options:
        lines = iter(deque(lines, maxlen=int(options["tailLines"])))
    if options.get("timestamps") in {"true", "1"}:
        return lines
    return (_TIMESTAMP.sub(b"", line, count=1) if _TIMESTAMP.match(line) else line for line in lines)


def _lines(file: Path) -> Iterator[bytes]:
    with file.open("rb") as stream:
        yield from stream


def _since(options: dict[str, str], saved: store.SavedCluster) -> datetime | None:
    """`sinceSeconds` counts back from the moment of the capture: that is "now" in a snapshot."""
    if "sinceTime" in options:
        return _parsed(options["sinceTime"])
    if "sinceSeconds" not in options:
        return None
    captured = saved.info.get("capturedAt")
    if not isinstance(captured, str):
        raise errors.ClusterError(
            "sinceSeconds needs the time of the capture, which is not saved here; use sinceTime or tailLines",
            code="cluster.not_captured",
        )
    return _parsed(captured) - timedelta(seconds=int(options["sinceSeconds"]))


def _parsed(text: str) -> datetime:
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise errors.RequestError(
            f"sinceTime must be RFC 3339 (2026-01-31T12:00:00Z), not {text[:40]!r}", code="request.query"
        ) from None
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def _is_after(line: bytes, since: datetime, file: Path) -> bool:
    match = _TIMESTAMP.match(line)
    if match is None:
        raise errors.ClusterError(
            f"{file.name} was captured without timestamps; use tailLines", code="cluster.not_captured"
        )
    return datetime.fromisoformat(match[1].decode()).replace(tzinfo=UTC) >= since


def _limit_bytes(lines: Iterator[bytes], options: dict[str, str]) -> Iterator[bytes]:
    room = int(options.get("limitBytes", 1 << 62))
    pending = bytearray()
    for line in lines:
        pending += line[:room]
        room -= len(line)
        if len(pending) >= _CHUNK or room <= 0:
            yield bytes(pending)
            pending.clear()
        if room <= 0:
            return
    if pending:
        yield bytes(pending)
