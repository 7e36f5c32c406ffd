"""Container logs of a snapshot. Called by `snapshot`.

The module finds a log and cuts it to the requested lines. A log that was not captured is an error, never an empty log.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from email.utils import format_datetime
from typing import BinaryIO, Final

import msgspec

from kubescript import errors, types
from kubescript.kube import times
from kubescript.request import request
from kubescript.snapshot import collection, responses, saved_cluster, tree
from kubescript_masking.wire import loglines

__all__ = ["answer"]

_CHUNK: Final = 256 * 1024
_LONGEST_S: Final = 10**9
"""How many seconds `sinceSeconds` may count back, about thirty years."""
_MAX_LOG: Final = 1024 * tree.MIB
# Attack: a log has a gigabyte in one line.
_MAX_PIECE: Final = 256 * 1024


class _Container(msgspec.Struct):
    name: str


class _Spec(msgspec.Struct, rename="camel"):
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    ephemeral_containers: list[_Container] | None = None


class _Pod(msgspec.Struct):
    spec: _Spec | None = None


_POD: Final = msgspec.json.Decoder(_Pod)


def answer(
    saved: saved_cluster.SavedCluster, call: request.Request, pod: collection.Item, check: collection.Check
) -> types.Response:
    """Returns the log of one container. Raises ClusterError (cluster.not_captured) when the snapshot has none."""
    options = dict(call.query)
    names = _containers(pod)
    container = options.get("container", "")
    if not container and len(names) == 1:
        container = names[0]
    if not container:
        choices = " ".join(names)
        message = f"a container name must be specified for pod {pod.name}, choose one of: [{choices}]"
        return responses.failure(400, "BadRequest", message)
    if names and container not in names:
        return responses.failure(400, "BadRequest", f"container {container} is not valid for pod {pod.name}")
    previous = options.get("previous") in {"true", "1"}
    stream = _open(saved, _log_file(saved, pod, container, previous))
    if stream is None:
        which = "previous log" if previous else "log"
        raise errors.ClusterError(
            f"pods were captured, but the {which} of {pod.namespace}/{pod.name} container {container} was not",
            code="cluster.not_captured",
        )
    captured = _capture_time(saved)
    lines = _select_lines(stream, options, saved, check)
    response = responses.text(_limit_bytes(lines, options))
    if captured is None:
        return response
    return replace(response, date=format_datetime(captured))


def _containers(pod: collection.Item) -> list[str]:
    """Returns the names of all containers, of every kind."""
    try:
        spec = _POD.decode(pod.raw).spec
    except msgspec.MsgspecError:
        message = f"the containers of pod {pod.namespace}/{pod.name} of the snapshot are damaged"
        raise errors.ClusterError(message, code="cluster.broken") from None
    if spec is None:
        return []
    lists = (spec.containers, spec.init_containers, spec.ephemeral_containers)
    return [container.name for containers in lists for container in containers or ()]


def _log_file(
    saved: saved_cluster.SavedCluster, pod: collection.Item, container: str, previous: bool
) -> tree.Name | None:
    """Returns the file of one log; None when it cannot exist."""
    for part in (pod.namespace, pod.name, container):
        # Attack: the names come from saved files, and `..` would lead out of the log folder.
        if part in {"", ".", ".."} or "/" in part or "\0" in part:
            return None
    if saved.is_must_gather:
        folder = ("namespaces", pod.namespace, "pods", pod.name, container, container, "logs")
        return (*saved.top, *folder, "previous.log" if previous else "current.log")
    if saved.info is not None:
        ending = ".previous.log" if previous else ".log"
        return (*saved.top, "logs", pod.namespace, pod.name, container + ending)
    return None


def _open(saved: saved_cluster.SavedCluster, file: tree.Name | None) -> BinaryIO | None:
    """Opens a log; None when it was not captured. Raises ClusterError (cluster.broken)."""
    if file is None:
        return None
    try:
        return saved.files.open(file, _MAX_LOG)
    except tree.Refused as error:
        raise saved_cluster.file_error(file, error.why) from None
    except OSError:
        return None


def _select_lines(
    stream: BinaryIO, options: dict[str, str], saved: saved_cluster.SavedCluster, check: collection.Check
) -> Iterator[bytes]:
    """Yields the last `tailLines` lines, only those since the requested time, with timestamps only on request. A very
    long line comes in pieces."""
    since = _since(options, saved)
    keeps_stamps = options.get("timestamps") in {"true", "1"}
    start = 0
    if "tailLines" in options:
        start = _tail_start(stream, int(options["tailLines"]))
    stream.seek(start)
    for is_start, piece in _pieces(stream, since, check):
        yield piece if keeps_stamps or not is_start else piece[loglines.stamp(piece) :]


def _pieces(stream: BinaryIO, since: datetime | None, check: collection.Check) -> Iterator[tuple[bool, bytes]]:
    """Yields each line not older than `since`, a very long one in pieces, and whether a piece is the first of its
    line."""
    is_start = is_wanted = True
    while piece := stream.readline(_MAX_PIECE):
        check()  # Attack: a log has a gigabyte of older lines
        if is_start:
            is_wanted = since is None or _is_after(piece, since)
        if is_wanted:
            yield is_start, piece
        is_start = piece.endswith(b"\n")


def _tail_start(stream: BinaryIO, lines: int) -> int:
    """Returns where the last `lines` lines begin, counted as kubelets do: a last line without a newline counts too."""
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


def _since(options: dict[str, str], saved: saved_cluster.SavedCluster) -> datetime | None:
    """Returns the time from which lines are requested. `sinceSeconds` counts back from the capture, which is "now" in a
    snapshot."""
    if "sinceTime" in options:
        when = times.parse(options["sinceTime"])
        if when is None:
            asked = options["sinceTime"][:40]
            raise errors.RequestError(
                f"sinceTime must be RFC 3339 (2026-01-31T12:00:00Z), not {asked!r}", code="request.query"
            )
        return when
    if "sinceSeconds" not in options:
        return None
    captured = _capture_time(saved)
    if captured is None:
        raise errors.ClusterError(
            "sinceSeconds needs the time of the capture, which is not saved here; use sinceTime or tailLines",
            code="cluster.not_captured",
        )
    try:
        return captured - timedelta(seconds=min(int(options["sinceSeconds"]), _LONGEST_S))
    except OverflowError:  # a capture dated in the first years of the calendar
        return None


def _capture_time(saved: saved_cluster.SavedCluster) -> datetime | None:
    if saved.info is None:
        return None
    return times.parse(saved.info.captured_at)


def _is_after(line: bytes, since: datetime) -> bool:
    """Says whether a line is not older than `since`. Raises ClusterError (cluster.not_captured) if the line has no
    valid timestamp."""
    end = loglines.stamp(line)
    # A saved line may claim the 31st of February: dropping it would make the log look quiet.
    when = times.parse(line[: end - 1].decode()) if end else None
    if when is None:
        raise errors.ClusterError("the log was captured without timestamps; use tailLines", code="cluster.not_captured")
    return when >= since


def _limit_bytes(lines: Iterator[bytes], options: dict[str, str]) -> Iterator[bytes]:
    """Yields the lines in larger pieces, up to `limitBytes`."""
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
