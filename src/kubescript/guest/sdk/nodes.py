"""Reads of nodes' kubelets: `k8s.node_logs` and `k8s.node_summary`. The host builds the paths; a script's own choices
among the lines are made here."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from typing import Any, Final

from kubescript.guest.sdk.calls import session
from kubescript.guest.sdk.objects import schemas
from kubescript.guest.sdk.sources import times
from kubescript.wire import exchanges

__all__ = ["read_logs", "read_summary"]

_SEARCHED: Final = 10_000
"""The last lines among which `since` and `pattern` choose."""
_AGO: Final = 100_000_000
"""Smaller numbers are seconds ago, as in `since_seconds`, and not since 1970."""
_STAMP: Final = re.compile(r"([A-Z][a-z]{2}) +(\d{1,2}) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))? ")
"""The time of a line as journalctl writes it, in UTC and without a year: `Nov 27 17:43:50.123456`."""
_MONTHS: Final = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def read_logs(session: session.Session, node: Any, query: str, tail: int, since: Any, pattern: str | None) -> str:
    """Returns the last lines of a service's log. Raises ApiException, and TypeError or ValueError for arguments."""
    if isinstance(tail, bool) or not isinstance(tail, int):
        raise TypeError(f"tail is a number of lines, not a {type(tail).__name__}")
    begin = _begin(since)
    wanted = re.compile(pattern) if pattern is not None else None
    chooses = begin is not None or wanted is not None
    lines = ("tail", str(_SEARCHED if chooses else tail))
    call = exchanges.Call("GET", (*exchanges.NODES, _name(node), "logs"), (("query", query), lines), accept="text")
    text, _ = session.fetch_text(call)
    if not chooses:
        return text
    found = _since(text.splitlines(keepends=True), begin)
    chosen = [line for line in found if wanted is None or wanted.search(line)]
    return "".join(chosen[-tail:] if tail > 0 else ())


def read_summary(session: session.Session, node: Any) -> Any:
    """Returns the statistics of a node and its pods. Raises ApiException."""
    call = exchanges.Call("GET", (*exchanges.NODES, _name(node), "summary"))
    found, _ = session.fetch(call, schemas.OBJECT)
    return found


def _name(node: Any) -> str:
    """Returns the name of a node that a script passes as a name or as the object."""
    name = node if isinstance(node, str) else getattr(getattr(node, "metadata", None), "name", None)
    if not isinstance(name, str):
        raise TypeError(f"node is the name of a node or the Node, not a {type(node).__name__}")
    return name


def _begin(since: Any) -> datetime.datetime | None:
    """Returns the moment from which on lines are wanted."""
    if isinstance(since, int | float) and not isinstance(since, bool) and 0 <= since < _AGO:
        since = datetime.timedelta(seconds=since)
    text = times.moment(since, "since")
    if text is None:
        return None
    if text.startswith("-"):
        return datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=float(text))
    return datetime.datetime.fromtimestamp(float(text), datetime.UTC)


def _since(lines: list[str], begin: datetime.datetime | None) -> Iterator[str]:
    """Yields the lines from a moment on; one without a time, as of an entry of several lines, goes with the one
    before."""
    is_late = True
    for line in lines:
        written = _read_time(line)
        if begin is not None and written is not None:
            is_late = written >= begin
        if is_late:
            yield line


def _read_time(line: str) -> datetime.datetime | None:
    """Returns when a line was written; None if it does not say."""
    match = _STAMP.match(line)
    if match is None or match[1] not in _MONTHS:
        return None
    now = datetime.datetime.now(datetime.UTC)
    day, hour, minute, second = map(int, match.group(2, 3, 4, 5))
    micros = int((match[6] or "").ljust(6, "0"))
    try:
        written = datetime.datetime(
            now.year, _MONTHS.index(match[1]) + 1, day, hour, minute, second, micros, datetime.UTC
        )
        # In January, what was written in December is of the year before.
        return written if written <= now + datetime.timedelta(days=1) else written.replace(year=now.year - 1)
    except ValueError:
        return None
