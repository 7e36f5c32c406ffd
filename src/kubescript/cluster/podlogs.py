"""Container logs of a snapshot. Called by `snapshot`.

The module finds a log and cuts it to the lines that were asked for. A log that was not captured is an error and never
an empty log.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from kubescript import errors, types
from kubescript.cluster import collection, responses, store
from kubescript.request import request
from kubescript.wire import loglines

__all__ = ["answer"]

_CHUNK: Final = 256 * 1024
_LONGEST_S: Final = 10**9
"""Seconds that `sinceSeconds` counts back at most, some thirty years."""


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
    captured = _captured(saved)
    response = responses.text(_limit_bytes(_selected_lines(file, options, saved), options))
    return response if captured is None else replace(response, date=format_datetime(captured))


def _containers(pod: collection.Item) -> list[str]:
    """The names of all containers, of every kind."""
    document = msgspec.json.decode(pod.raw)
    spec: dict[str, Any] = document.get("spec") or {}
    names = []
    for kind in ("containers", "initContainers", "ephemeralContainers"):
        containers = spec.get(kind) or []
        names += [str(container.get("name")) for container in containers]
    return names


def _log_file(saved: store.SavedCluster, pod: collection.Item, container: str, previous: bool) -> Path | None:
    """The file of one log; None when it was not captured."""
    for part in (pod.namespace, pod.name, container):
        # Attack: the names come from saved files, and one such as `..` would lead out of the log folder.
        if part in {"", ".", ".."} or "/" in part:
            return None
    if saved.logs is not None:
        folder = saved.logs / pod.namespace / pod.name
        file = folder / (f"{container}.previous.log" if previous else f"{container}.log")
    elif saved.must_gather is not None:
        pods = saved.must_gather / "namespaces" / pod.namespace / "pods"
        folder = pods / pod.name / container / container / "logs"
        file = folder / ("previous.log" if previous else "current.log")
    else:
        return None
    return file if file.is_file() else None


def _selected_lines(file: Path, options: dict[str, str], saved: store.SavedCluster) -> Iterator[bytes]:
    """The last so many lines, those of them since the asked time, with timestamps only when asked."""
    since = _since(options, saved)
    lines = _lines(file, int(options["tailLines"]) if "tailLines" in options else None)
    if since is not None:
        lines = (line for line in lines if _is_after(line, since, file))
    if options.get("timestamps") in {"true", "1"}:
        return lines
    return (line[loglines.stamp(line) :] for line in lines)


def _lines(file: Path, last: int | None) -> Iterator[bytes]:
    """The lines of a file, or the last so many; of a log of gigabytes too, none but one is held."""
    with file.open("rb") as stream:
        if last is not None:
            stream.seek(_tail_start(stream, last))
        yield from stream


def _tail_start(stream: BinaryIO, lines: int) -> int:
    """Where the last so many lines begin, as kubelets count: a last line without an end is one too."""
    place = size = stream.seek(0, os.SEEK_END)
    left = lines
    while place and left:
        start = max(0, place - _CHUNK)
        stream.seek(start)
        block = stream.read(min(place, size - 1) - start)
        ends = block.count(b"\n")
        if ends < left:
            left -= ends
            place = start
            continue
        at = len(block)
        for _ in range(left):
            at = block.rindex(b"\n", 0, at)
        return start + at + 1
    return 0 if left else size


def _since(options: dict[str, str], saved: store.SavedCluster) -> datetime | None:
    """`sinceSeconds` counts back from the moment of the capture: that is "now" in a snapshot."""
    if "sinceTime" in options:
        return _parsed(options["sinceTime"])
    if "sinceSeconds" not in options:
        return None
    captured = _captured(saved)
    if captured is None:
        raise errors.ClusterError(
            "sinceSeconds needs the time of the capture, which is not saved here; use sinceTime or tailLines",
            code="cluster.not_captured",
        )
    return captured - timedelta(seconds=min(int(options["sinceSeconds"]), _LONGEST_S))


def _captured(saved: store.SavedCluster) -> datetime | None:
    text = saved.info.get("capturedAt")
    return _parsed(text) if isinstance(text, str) else None


def _parsed(text: str) -> datetime:
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise errors.RequestError(
            f"sinceTime must be RFC 3339 (2026-01-31T12:00:00Z), not {text[:40]!r}", code="request.query"
        ) from None
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def _is_after(line: bytes, since: datetime, file: Path) -> bool:
    end = loglines.stamp(line)
    if not end:
        raise errors.ClusterError(
            f"{file.name} was captured without timestamps; use tailLines", code="cluster.not_captured"
        )
    try:
        return datetime.fromisoformat(line[: end - 1].decode()) >= since
    except ValueError:  # a saved line may say that it is of the 31st of February
        return False


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
