"""The part of a log that a script sees. Every log is read from the cluster in one form, masked, and cut here.

Attack: a script chooses where a log begins or ends, or what precedes its lines, so that the masker cannot recognize a
secret. The last three lines of a log lack the first line of a key; a log of 700 bytes ends within a token; with
timestamps, the lines of a key are no longer adjacent. So the broker always asks the cluster for whole lines with
timestamps, and for more lines at the beginning than the script wants.
"""

from __future__ import annotations

import email.utils
import functools
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from kubescript import errors
from kubescript.request import request
from kubescript_masking.wire import loglines

__all__ = ["canonical", "shape"]

_LINES_BEFORE: Final = 400
"""Extra lines read before the requested ones: as many as a private key may have (`kubescript_masking.engine.logs`)."""
_SECONDS_BEFORE: Final = 60
"""Seconds read before the requested moment. A program prints a key or a table in one go."""
_HELD: Final = 32 * 1024 * 1024
"""How many bytes of a log may be held to find its last lines."""
_NO_LIMIT: Final = 1 << 62
_TRUE: Final = frozenset({"true", "1"})
_CONTINUES: Final = range(0x80, 0xC0)
"""UTF-8 continuation bytes."""


def canonical(call: request.Request) -> request.Request:
    """Returns the request for a log in the form that is sent. Raises RequestError."""
    # The form does not depend on the script: no choice of its own hides a secret that masking finds in the whole log.
    query = [] if call.kubelet else [("timestamps", "true")]
    for name, value in call.query:
        sent = _translate(name, value)
        if sent is not None:
            query.append((name, sent))
    return replace(call, query=tuple(query))


def _translate(name: str, value: str) -> str | None:
    """Returns the value that is sent in place of this one; None to send nothing. Zero is passed on, so that the API
    server can refuse it."""
    if name == "timestamps" or (name == "limitBytes" and int(value) > 0):
        return None
    if name == "tailLines" and int(value) > 0:
        return str(int(value) + _LINES_BEFORE)
    if name == "sinceSeconds" and int(value) > 0:
        return str(int(value) + _SECONDS_BEFORE)
    if name == "sinceTime":
        since = _moment(value)
        earlier = since - timedelta(seconds=_SECONDS_BEFORE) if since.year > 1 else since
        return earlier.isoformat().replace("+00:00", "Z")
    return value


def shape(call: request.Request, chunks: Iterator[bytes], date: str) -> Iterator[bytes]:
    """Yields the part of a masked log, read as `canonical` asks, that `call` asks for. Raises ClusterError.

    `date` is the cluster's clock at its answer, so that a host with a wrong clock does not lose lines.
    """
    options = dict(call.query)
    # The times in a node's log are the service's own text.
    wants_stamps = bool(call.kubelet) or options.get("timestamps") in _TRUE
    view = _View(_since(options, date), stamps=wants_stamps)
    whole = loglines.whole(chunks, _HELD, lambda: _too_long("the log has a line"))
    blocks = view.noticing(whole)
    if "tailLines" in options:
        blocks = _last(blocks, int(options["tailLines"]))
    limit = int(options.get("limitBytes", _NO_LIMIT))
    return _first(map(view, blocks), limit)


def _moment(text: str) -> datetime:
    try:
        return _in_utc(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        raise errors.RequestError(
            f"sinceTime must be RFC 3339 (2026-01-31T12:00:00Z), not {text[:40]!r}", code="request.query"
        ) from None


def _in_utc(moment: datetime) -> datetime:
    """Returns the moment in UTC. Raises OverflowError, since a time zone can move it outside the years 1 to 9999."""
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _since(options: Mapping[str, str], date: str) -> float | None:
    """Returns the moment from which lines were requested, in seconds since 1970."""
    if "sinceTime" in options:
        return _moment(options["sinceTime"]).timestamp()
    if "sinceSeconds" not in options:
        return None
    try:
        sent = email.utils.parsedate_to_datetime(date)
        now = _in_utc(sent).timestamp()
    except (ValueError, OverflowError):  # no date, or an unreadable one
        now = time.time()
    return now - int(options["sinceSeconds"])


def _too_long(what: str) -> errors.ClusterError:
    return errors.ClusterError(
        f"{what} of more than {_HELD >> 20} MiB, which cannot be held; ask for fewer lines (tail_lines=), or from a "
        "moment on (since_seconds=)",
        code="cluster.too_large",
    )


def _last(blocks: Iterator[bytes], lines: int) -> Iterator[bytes]:
    """Yields the last lines. Holds them, and one more block, as blocks: a million short lines would need far more
    memory."""
    kept: deque[tuple[bytes, int]] = deque()
    count = size = 0
    for block in blocks:
        within = block.count(b"\n") + (not block.endswith(b"\n"))
        kept.append((block, within))
        count += within
        size += len(block)
        while kept and count - kept[0][1] >= lines:
            oldest, within = kept.popleft()
            count -= within
            size -= len(oldest)
        if size > _HELD:
            raise _too_long(f"the last {lines} lines are part of a log")
    surplus = count - lines
    while kept:
        block, _ = kept.popleft()
        yield _without_first(block, surplus)
        surplus = 0


def _without_first(block: bytes, lines: int) -> bytes:
    start = 0
    for _ in range(lines):
        start = block.index(b"\n", start) + 1
    return block[start:]


class _View:
    """A filter that drops lines from before a given moment, lines that masking removed, and unrequested timestamps."""

    def __init__(self, since: float | None, *, stamps: bool) -> None:
        self._since = since
        self._stamps = stamps
        self._is_stamped = False
        """Whether lines have timestamps: some kubelets write none."""
        self._is_late = True
        """Whether the last line with a timestamp was written after that moment."""

    def noticing(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """Yields the same blocks; notices whether their lines have timestamps, before any is removed."""
        for block in blocks:
            if not self._is_stamped:
                lines = block.split(b"\n")
                self._is_stamped = any(map(loglines.stamp, lines))
            yield block

    def __call__(self, block: bytes) -> bytes:
        lines = block.split(b"\n")
        rest = lines.pop()
        seen = [line for line in map(self._show, lines) if line is not None]
        last = self._show(rest) if rest else None
        # The last line may lack its line feed, which is then not added.
        seen.append(b"" if last is None else last)
        return b"\n".join(seen)

    def _show(self, line: bytes) -> bytes | None:
        """Returns the line, without its line feed, as the script sees it; None for a hidden line."""
        end = loglines.stamp(line)
        if end and self._since is not None:
            stamp = line[: end - 1]
            self._is_late = _read_stamp(stamp) >= self._since
        # Masking leaves an empty line without a timestamp for each line of a key that it removed.
        elif self._is_stamped and not line:
            return None
        if not self._is_late:
            return None
        return line if self._stamps else line[end:]


@functools.lru_cache(maxsize=256)
def _read_stamp(stamp: bytes) -> float:
    """Returns when a line was written; 0 if its timestamp is invalid."""
    try:
        return datetime.fromisoformat(stamp.decode()).timestamp()
    except ValueError:
        return 0.0


def _first(blocks: Iterator[bytes], room: int) -> Iterator[bytes]:
    """Yields the first bytes, up to a character's end."""
    for block in blocks:
        if len(block) > room:
            while room and block[room] in _CONTINUES:
                room -= 1
            yield block[:room]
            return
        room -= len(block)
        if block:
            yield block
        if not room:
            return
