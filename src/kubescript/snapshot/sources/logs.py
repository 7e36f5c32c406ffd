"""The API of Loki over captured lines: the streams that a selector names, with filters of lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from kubescript import errors, types
from kubescript.snapshot import collection
from kubescript.snapshot.sources import saved_source, selectors, server

__all__ = ["Logs"]

_NANO: Final = 1_000_000_000
_DEFAULT_LIMIT: Final = 1_000
_STREAM: Final = 200
"""How many bytes a stream takes besides its texts."""
_Line = tuple[int, str, int]
"""Its time in nanoseconds, its text, and the number of its stream."""
_Labels = Mapping[str, str]
_Fits = Callable[[_Labels], bool]


class Logs:
    """One saved Loki."""

    def __init__(self, source: saved_source.SavedSource) -> None:
        self._source = source

    def answer(self, operation: str, arguments: server.Arguments, check: collection.Check) -> types.Response:
        """Returns the answer of an operation. Raises KubescriptError."""
        label = server.LABEL_VALUES.fullmatch(operation)
        if label is not None:
            query = arguments.text("query")
            found = self._list_streams([query] if query else [], check)
            return server.write_data(sorted({labels[label[1]] for labels in found if label[1] in labels}))
        if operation == "labels":
            return server.write_data(sorted({name for labels in self._list_streams([], check) for name in labels}))
        if operation == "series":
            return server.write_data(self._list_streams(arguments.list("match[]"), check))
        if operation == "query_range":
            return self._query_range(arguments, check)
        raise saved_source.not_captured(
            "only lines were captured; write query_range with a selector, and count in the script"
        )

    def _list_streams(self, queries: list[str], check: collection.Check) -> list[dict[str, str]]:
        """Returns the labels of all streams, or of those that any of some selectors names."""
        document = self._source.read("series")
        data = server.list_dicts(document.get("data") if isinstance(document, dict) else None)
        found = [{name: text for name, text in each.items() if isinstance(text, str)} for each in data]
        if not queries:
            return found
        fits = [_read(query).selector.compile(check) for query in queries]
        return [labels for labels in found if any(each(labels) for each in fits)]

    def _query_range(self, arguments: server.Arguments, check: collection.Check) -> types.Response:
        asked = _read(arguments.text("query"))
        about = self._source.about
        start, end = int(arguments.text("start")), int(arguments.text("end"))
        if start > about.end * _NANO or end < about.start * _NANO:
            raise saved_source.not_captured(
                f"this time was not captured; captured were the lines {about.span}: write times like '-30m'"
            )
        fits, passes = asked.selector.compile(check), asked.compile(check)
        limit = int(arguments.text("limit") or _DEFAULT_LIMIT)
        found = _Found(limit, is_backward=arguments.text("direction") != "forward")
        cut = 0
        for since, stream in self._read_streams(fits, check):
            cut += since * _NANO > start
            lines = []
            for time, text in stream.values:
                check()
                moment = _read_time(time)
                if start <= moment <= end and passes(text):
                    lines.append((moment, text))
            found.add(stream.stream, lines)
        found.cut()
        left_out = self._count_left_out(fits, found.streams, check)
        return _write_streams(found.lines, found.streams, self._warn(start, cut, left_out))

    def _read_streams(self, fits: _Fits, check: collection.Check) -> Iterator[tuple[float, saved_source.Stream]]:
        """Yields the captured streams whose labels fit, and since when each has all its lines."""
        for number, query in enumerate(self._source.about.queries, start=1):
            check()
            for stream in self._source.read_streams(number):
                if fits(stream.stream):
                    yield query.since, stream

    def _count_left_out(self, fits: _Fits, streams: list[_Labels], check: collection.Check) -> int:
        """Returns how many streams fit and were not captured."""
        captured = {frozenset(each.items()) for each in streams}
        return sum(fits(each) and frozenset(each.items()) not in captured for each in self._list_streams([], check))

    def _warn(self, start: int, cut: int, left_out: int) -> str:
        """Returns a warning if lines of the asked streams and times are missing; empty if none are."""
        parts = []
        if start < (self._source.about.start - 1) * _NANO:
            parts.append(f"captured were the lines {self._source.about.span}")
        if cut:
            parts.append(f"of {cut} of these streams, only the newest lines were captured")
        if left_out:
            parts.append(f"of {left_out} of these streams, no line was captured")
        return "; ".join(parts)


class _Found:
    """The lines of an answer so far, and their streams."""

    def __init__(self, limit: int, *, is_backward: bool) -> None:
        self.lines: list[_Line] = []
        self.streams: list[_Labels] = []
        self._limit = limit
        self._is_backward = is_backward
        self._size = 0

    def add(self, stream: _Labels, lines: list[tuple[int, str]]) -> None:
        """Takes the lines of one more stream. Raises ClusterError (cluster.too_large)."""
        number = len(self.streams)
        self.streams.append(stream)
        self.lines += [(moment, text, number) for moment, text in lines]
        self._size += _STREAM + sum(map(len, stream)) + sum(map(len, stream.values()))
        self._size += sum(len(text) for _, text in lines)
        # Attack: five hundred queries with files of 8 MiB: of short lines, of one long line each, or of labels alone.
        if len(self.lines) > 2 * self._limit or self._size > saved_source.MAX_ANSWER:
            self.cut()

    def cut(self) -> None:
        """Sorts the lines, the newest or the oldest first, and keeps as many as the limit says. Raises ClusterError
        (cluster.too_large)."""
        self.lines.sort(key=lambda line: line[0], reverse=self._is_backward)
        self._size -= sum(len(text) for _, text, _ in self.lines[self._limit :])
        del self.lines[self._limit :]
        if self._size > saved_source.MAX_ANSWER:
            raise saved_source.too_large()


def _read(query: str) -> selectors.LogSelector:
    """Returns the selector of a query. Raises ClusterError."""
    found = selectors.read_logs(query)
    if found is None:
        raise saved_source.not_captured(
            f"a snapshot has no answer to {query[:120]}; write a selector of streams with filters of lines, such as "
            '{app="web"} |= "error" != "debug", and compute in the script'
        )
    return found


def _read_time(text: str) -> int:
    """Returns a time in nanoseconds. Raises ClusterError (cluster.broken)."""
    if not text.isdecimal() or len(text) > 20:
        raise errors.ClusterError("the time of a line in the snapshot is damaged", code="cluster.broken")
    return int(text)


def _write_streams(lines: list[_Line], streams: list[_Labels], warning: str) -> types.Response:
    """Returns the answer of a query, with the lines by their streams."""
    by_stream: dict[int, list[tuple[str, str]]] = {}
    for time, text, number in lines:
        by_stream.setdefault(number, []).append((str(time), text))
    order = sorted(by_stream, key=lambda number: sorted(streams[number].items()))
    result = [{"stream": streams[number], "values": by_stream[number]} for number in order]
    return server.write_data({"resultType": "streams", "result": result, "stats": {}}, warning)
