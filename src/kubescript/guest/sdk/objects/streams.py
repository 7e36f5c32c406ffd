"""Provides `Stream`, one result of a query for log lines, and `Entry`, one line with its time."""

from __future__ import annotations

import datetime
from typing import Any, Final, NamedTuple

import msgspec

from kubescript.guest.sdk.objects import labelled
from kubescript.guest.sdk.values import masks

__all__ = ["Entry", "Stream", "expand"]

# A third element, if there is one, has further labels of the line.
_decode_entries: Final = msgspec.json.Decoder(list[tuple[Any, ...]]).decode


class Entry(NamedTuple):
    """One line of a log: `for ns, line in stream.values`."""

    ns: int
    """Nanoseconds since the epoch."""
    line: str

    @property
    def time(self) -> datetime.datetime:
        """The time in UTC, cut to microseconds."""
        seconds, rest = divmod(self.ns, 1_000_000_000)
        whole = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
        return whole.replace(microsecond=rest // 1_000)


class Stream(labelled.Labelled):
    """The lines of one set of labels."""

    __slots__ = ("_entries", "_raw", "is_forward")

    _parts = ("labels", "stream", "values", "lines")

    def __init__(
        self, labels: msgspec.Raw, entries: msgspec.Raw, objects: labelled.Objects, *, is_forward: bool = False
    ) -> None:
        """`entries` is the JSON of a list of ["nanoseconds", "line"]; `is_forward` says that the oldest is first."""
        super().__init__(labels, objects)
        self._raw = entries
        self.is_forward = is_forward
        self._entries: list[Entry] | None = None

    @property
    def values(self) -> list[Entry]:  # type: ignore[override]
        """The entries in the order of the answer: newest first, unless the query says direction="forward"."""
        if self._entries is None:
            text = masks.note(bytes(self._raw))
            self._entries = [Entry(int(each[0]), str(each[1])) for each in _decode_entries(text)]
        return self._entries

    @property
    def lines(self) -> list[str]:
        """The lines alone, in the order of `values`."""
        return [entry.line for entry in self.values]

    def _figures(self) -> dict[str, Any]:
        return {"lines": self.lines}

    def __repr__(self) -> str:
        return f"{self._selector()} {len(self.values)} lines"


def expand(rows: list[Any]) -> list[Any]:
    """Returns the rows of a table with one for each line in place of streams: its time, the labels that differ, and the
    line. The lines of all streams are in the order of time."""
    streams = [row for row in rows if isinstance(row, Stream)]
    if not streams:
        return rows
    left_out = labelled.find_common(rows)
    lines: list[tuple[int, dict[str, Any]]] = []
    for row in streams:
        # Attack: `| json` makes labels of a line's own fields, and a `time` among them would take the entry's place.
        shown = {name: value for name, value in row.labels.items() if name not in (*left_out, "time", "line")}
        lines += [(entry.ns, {"time": entry.time, **shown, "line": entry.line}) for entry in row.values]
    lines.sort(key=lambda line: line[0], reverse=not streams[0].is_forward)
    return [*(row for row in rows if not isinstance(row, Stream)), *(shown for _, shown in lines)]
