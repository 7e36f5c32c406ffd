"""The sources of a cluster: what rules and alerts read, alerts and silences, and the last hour's lines. `capture` saves
them; `snapshot.sources.saved_source` describes the files.

Everything is asked through the door, so that it is masked and recorded as a script's questions are.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import msgspec

from kubescript.broker import records
from kubescript.capture import cluster_client, directory, source_series
from kubescript.snapshot.sources import saved_source, selectors
from kubescript.snapshot.sources.saved_source import Answer, Results
from kubescript.sources import door
from kubescript.wire import exchanges
from kubescript_masking.wire import masking

__all__ = ["Sources"]

RANGE_S: Final = 3_600
STEP_S: Final = 60
_MAX_QUERIES: Final = 500
"""How many range queries of one Prometheus are saved."""
_MAX_TEXT: Final = 800_000
"""How many characters all queries of one source may have."""
_MAX_BYTES: Final = 64 << 20
"""How many bytes the series of one Prometheus may have."""
_MAX_LINES: Final = 5_000
"""How many lines of one Loki are saved, of all streams together."""
_LEAST_LINES: Final = 20
_NANO: Final = 1_000_000_000
_DOCUMENTS: Final[dict[str, dict[str, dict[str, str]]]] = {
    "prometheus": {"rules": {}, "alerts": {}, "targets": {"state": "active"}, "metadata": {}, "labels": {}},
    "alertmanager": {"alerts": {}, "silences": {}},
    "loki": {},
}
"""The operations of each kind that are saved as they are, with their arguments."""
_Shape = TypeVar("_Shape")


class _Rule(msgspec.Struct):
    type: str
    name: str
    query: str


class _Group(msgspec.Struct):
    rules: list[_Rule] = []


class _Groups(msgspec.Struct):
    groups: list[_Group]


@dataclass(slots=True)
class Sources:
    """The sources of one cluster."""

    door: door.Door
    folder: directory.Directory
    journal: records.Journal | None
    end: int
    """The time of the capture, in seconds since the epoch."""
    saved: list[str] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    """Why each part, such as `prom rules`, is missing."""

    def save(self, extra: Iterable[str]) -> None:
        """Saves all sources; `extra` are selectors of further series."""
        for name, kind in self.door.kinds.items():
            if kind not in _DOCUMENTS:
                self.missing[name] = "traces are not saved"
                continue
            try:
                _Capture(self, name, kind).run(tuple(extra))
            except cluster_client.ReadFailed as error:
                self.missing[name] = str(error)
            else:
                self.saved.append(name)


class _Capture:
    """The capture of one source."""

    def __init__(self, all_: Sources, name: str, kind: str) -> None:
        self._all = all_
        self._name = name
        self._kind = kind
        self._client = cluster_client.Client(all_.door.handle, all_.journal)
        self._own = cluster_client.Client(functools.partial(all_.door.handle, is_ours=True), all_.journal)
        self._queries: list[dict[str, Any]] = []
        self._bytes = 0
        self._files = 0

    def run(self, extra: tuple[str, ...]) -> None:
        """Saves the source. Raises ReadFailed if it cannot be reached, or gives nothing."""
        saved = {
            operation: self._save_document(operation, given) for operation, given in _DOCUMENTS[self._kind].items()
        }
        if self._kind == "prometheus":
            self._save_series(extra, list(_list_rules(saved["rules"])))
        if self._kind == "loki":
            self._save_lines()
        if not self._files:
            raise cluster_client.ReadFailed("nothing of it could be saved")
        about = {"kind": self._kind, "start": self._all.end - RANGE_S, "end": self._all.end, "step": STEP_S}
        text = msgspec.json.encode(about | {"queries": self._queries})
        self._write("source.json", msgspec.json.format(text, indent=1))

    def _save_document(self, operation: str, arguments: dict[str, str]) -> bytes | None:
        """Saves the answer of an operation, and returns it; None if it is missing. Raises ReadFailed."""
        body = self._ask(self._client, operation, operation, **arguments)
        if body is not None:
            self._write(f"{operation}.json", body)
        return body

    def _ask(self, client: cluster_client.Client, what: str, operation: str, **arguments: str) -> bytes | None:
        """Returns an answer; None if there is none that can be saved, which the report says. Raises ReadFailed if the
        source cannot be reached."""
        try:
            body = client.get((*exchanges.SOURCES, self._name, operation), tuple(arguments.items()))
            if len(body) > saved_source.MAX_FILE:
                raise cluster_client.ReadFailed(f"the answer has more than {saved_source.MAX_FILE >> 20} MiB")
        except cluster_client.ReadFailed as error:
            if error.unreachable:
                raise
            self._miss(what, str(error))
            return None
        return body

    def _miss(self, what: str, why: str) -> None:
        self._all.missing[f"{self._name} {what[:200]}"] = why

    def _write(self, file: str, data: bytes) -> None:
        self._files += 1
        self._all.folder.write(("sources", self._name, *file.split("/")), data)

    def _ask_range(self, query: str, **arguments: str) -> bytes | None:
        """Returns the answer of a range query over the last hour, as in `_ask`."""
        end = self._all.end
        return self._ask(
            self._client, query, "query_range",
            query=query, start=str(end - RANGE_S), end=str(end), step=str(STEP_S), **arguments,
        )  # fmt: skip

    def _save_query(self, query: str, body: bytes, **about: float) -> None:
        self._queries.append({"query": query, **about})
        self._write(f"queries/{len(self._queries)}.json", body)
        self._bytes += len(body)

    def _save_series(self, extra: tuple[str, ...], rules: list[_Rule]) -> None:
        """Saves the series that rules read, and what the rules make of them. Raises ReadFailed."""
        read = {text: None for rule in rules for text in source_series.find_selectors(rule.query)}
        recorded = [rule.name for rule in rules if rule.type == "recording"]
        found = {text: selectors.read(text) for text in (*extra, *read, *recorded)}
        plain = {text: selector for text, selector in found.items() if selector is not None}
        for text in found.keys() - plain.keys():
            self._miss(text, "it is no selector of series")
        kept: list[selectors.Selector] = []
        # The widest first: it holds the series of the narrower ones.
        for text, selector in sorted(plain.items(), key=lambda item: len(item[1].matchers)):
            is_kept = any(other.matchers <= selector.matchers for other in kept)
            if not is_kept and self._save_one(text, is_wanted=text in extra):
                kept.append(selector)
        for text in dict.fromkeys(rule.query for rule in rules if selectors.read(rule.query) is None):
            self._save_one(text)

    def _save_one(self, query: str, *, is_wanted: bool = False) -> bool:
        """Saves the answer of one query, and says whether it is whole; `is_wanted` says that the operator has named it.
        Raises ReadFailed."""
        if masking.OPENING in query.encode():
            self._miss(query, "a value in it is masked")
            return False
        text = sum(len(each["query"]) for each in self._queries) + len(query)
        if len(self._queries) >= _MAX_QUERIES or text > _MAX_TEXT or self._bytes > _MAX_BYTES:
            self._miss(query, f"there are more than {_MAX_QUERIES} queries, or too large ones: use --series")
            return False
        body = self._ask_range(query)
        if body is None:
            return False
        answer = _decode(body, Answer[Results[msgspec.Raw]])
        if any("truncated" in warning for warning in answer.warnings or ()):
            self._miss(query, "it has more series than the source's max_series")
            return False
        if is_wanted and not answer.data.result:
            self._miss(query, "there is no such series in the last hour")
        self._save_query(query, body)
        return True

    def _save_lines(self) -> None:
        """Saves the newest lines of each stream. Raises ReadFailed."""
        end = self._all.end
        times = {"start": str(end - RANGE_S), "end": str(end)}
        # No script may ask for all streams; here the operator does.
        body = self._ask(self._own, "series", "series", match="{}", **times)
        if body is None:
            return
        self._write("series.json", body)
        streams = _decode(body, Answer[list[dict[str, str]]]).data
        limit = max(_LEAST_LINES, _MAX_LINES // max(1, len(streams)))
        left, cut, room = 0, 0, _MAX_LINES
        for labels in streams:
            if room <= 0 or len(self._queries) >= _MAX_QUERIES:
                left += 1
                continue
            count = self._save_stream(labels, limit)
            room -= count
            cut += count >= limit
        if cut:
            self._miss("older lines", f"of {cut} of {len(streams)} streams: the newest {limit} lines of each are saved")
        if left:
            self._miss("lines", f"of {left} of {len(streams)} streams: {_MAX_LINES} lines are saved of all together")

    def _save_stream(self, labels: dict[str, str], limit: int) -> int:
        """Saves the newest lines of one stream, and returns how many. Raises ReadFailed."""
        written = ", ".join(f"{name}={msgspec.json.encode(value).decode()}" for name, value in sorted(labels.items()))
        query = f"{{{written}}}"
        body = self._ask_range(query, limit=str(limit), direction="backward")
        if body is None:
            return 0
        streams = _decode(body, Answer[Results[saved_source.Stream]]).data.result
        lines = [time for stream in streams for time, _ in stream.values]
        if not lines:
            self._miss(query, "no line came, perhaps because a label is masked")
            return 0
        since = min(map(int, lines)) / _NANO if len(lines) >= limit else 0.0
        self._save_query(query, body, since=since)
        return len(lines)


def _list_rules(body: bytes | None) -> Iterator[_Rule]:
    """Yields the rules of an answer; none if there is none. Raises ReadFailed."""
    if body is not None:
        for group in _decode(body, Answer[_Groups]).data.groups:
            yield from group.rules


def _decode(body: bytes, shape: type[_Shape]) -> _Shape:
    """Decodes an answer. Raises ReadFailed."""
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.MsgspecError, RecursionError):
        raise cluster_client.ReadFailed("the answer is not what a source of this kind sends") from None
