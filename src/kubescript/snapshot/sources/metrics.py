"""The API of Prometheus over captured range queries: a query as it was captured, or a selector of its series.

A selector is answered from a captured one that is not narrower, so that no series is missing in an answer. Every other
query is refused with what was captured: a script must not take a gap of the capture for an answer.
"""

from __future__ import annotations

import bisect
import difflib
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

import msgspec

from kubescript import errors, types
from kubescript.snapshot import collection, responses
from kubescript.snapshot.sources import saved_source, selectors, server

__all__ = ["Metrics"]

_MAX_POINTS: Final = 200_000
_BATCH: Final = 1_000
"""How many samples are written at a time."""
_SHOWN: Final = 6
"""How many captured queries a refusal names."""
_SHOWN_LENGTH: Final = 200
"""The length of the longest of them."""
_QUOTED: Final = 120
"""How many characters of a script's own query it quotes."""
_ENTRY: Final = 100
"""How many bytes a text of a list takes besides its characters."""
_COUNT: Final = re.compile(r"count\(\n(.*)\n\)", re.DOTALL)
"""The query by which the door counts series."""
_SAMPLES: Final = msgspec.json.Decoder(list[tuple[float, str]])
_RULE_TYPES: Final = {"alert": "alerting", "record": "recording"}
_PARTIAL: Final = "the snapshot holds only the series of rules, alerts and --series; there were others"
_Text = TypeVar("_Text", str, bytes)
_Keep = Callable[[Mapping[str, str]], bool]


class Metrics:
    """One saved Prometheus."""

    def __init__(self, source: saved_source.SavedSource) -> None:
        self._source = source
        self._by_text: dict[tuple[str, ...], int] = {}
        """The numbers of the captured queries, by their parts."""
        self._plain: dict[int, selectors.Selector] = {}
        """Those that are selectors, by number."""
        for number, captured in enumerate(source.about.queries, start=1):
            self._by_text[selectors.normalize(captured.query)] = number
            selector = selectors.read(captured.query)
            if selector is not None:
                self._plain[number] = selector

    def answer(self, operation: str, arguments: server.Arguments, check: collection.Check) -> types.Response:
        """Returns the answer of an operation. Raises KubescriptError."""
        label = server.LABEL_VALUES.fullmatch(operation)
        if label is not None:
            return self._list_label_values(label[1], arguments, check)
        answers = {
            "query": self._query,
            "query_range": self._query_range,
            "series": self._list_series,
            "labels": self._list_labels,
            "rules": self._list_rules,
            "targets": self._list_targets,
            "metadata": self._list_metadata,
        }
        if operation in answers:
            return answers[operation](arguments, check)
        return responses.document(self._source.read(operation))

    def _query(self, arguments: server.Arguments, check: collection.Check) -> types.Response:
        """Answers with the samples at one time."""
        time = float(arguments.text("time") or self._source.about.end)
        counted = _COUNT.fullmatch(arguments.text("query"))
        if counted is not None:
            number = len(self._select(counted[1], check))
            return _write_result("vector", [_write_sample({}, time, str(number))])
        warning = self._check_range(time, time)
        found = []
        for series in self._select(arguments.text("query"), check):
            samples = _read_samples(series)
            value = next(self._pick(samples, [time]), None)
            if value is not None:
                found.append(_write_sample(series.metric, *value))
        return _write_result("vector", [b",".join(found)], warning)

    def _query_range(self, arguments: server.Arguments, check: collection.Check) -> types.Response:
        """Answers with the samples at each step."""
        start, end, step = (float(arguments.text(name)) for name in ("start", "end", "step"))
        warning = self._check_range(start, end)
        found = self._select(arguments.text("query"), check)
        steps = int((end - start) // step) + 1
        if steps * len(found) > _MAX_POINTS:
            raise errors.ClusterError(
                f"{len(found)} series with {steps} steps each are more than {_MAX_POINTS} points; write a longer step=",
                code="cluster.too_large",
            )

        def write() -> Iterator[bytes]:
            comma = b""
            for series in found:
                check()
                moments = (round(start + number * step, 3) for number in range(steps))
                parts = self._write_series(series, moments, check)
                first = next(parts, None)
                if first is not None:
                    yield comma + first
                    yield from parts
                    comma = b","

        return _write_result("matrix", write(), warning)

    def _write_series(
        self, series: saved_source.Series, moments: Iterable[float], check: collection.Check
    ) -> Iterator[bytes]:
        """Yields a series at some moments in pieces; nothing if it has no sample then."""
        lead = b'{"metric":%s,"values":[' % msgspec.json.encode(series.metric)
        picked = self._pick(_read_samples(series), moments)
        end = b""
        while batch := list(itertools.islice(picked, _BATCH)):
            check()
            yield lead + msgspec.json.encode([_write(*each) for each in batch])[1:-1]
            lead, end = b",", b"]}"
        yield from [end] if end else []

    def _pick(self, samples: list[tuple[float, str]], moments: Iterable[float]) -> Iterator[tuple[float, str]]:
        """Yields the sample at each moment, if there is one."""
        times = [time for time, _ in samples]
        for moment in moments:
            at = bisect.bisect_right(times, moment) - 1
            # The source has already looked back five minutes from each step of the capture.
            if at >= 0 and moment - times[at] < self._source.about.step:
                yield moment, samples[at][1]

    def _check_range(self, start: float, end: float) -> str:
        """Returns a warning if a part of the time was not captured. Raises ClusterError if none of it was."""
        about = self._source.about
        captured = f"captured was the time {about.span}"
        if start >= about.end + about.step or end < about.start:
            raise saved_source.not_captured(f"this time was not captured; {captured}: write times like '-30m'")
        # A range in steps may begin within the first one.
        return captured if start < about.start - about.step or end >= about.end + about.step else ""

    def _select(self, query: str, check: collection.Check) -> list[saved_source.Series]:
        """Returns the series of a query. Raises KubescriptError."""
        number, keep = self._find(query, check)
        found = []
        for each in self._source.read_series(number):
            check()
            if keep(each.metric):
                found.append(each)
        return found

    def _find(self, query: str, check: collection.Check) -> tuple[int, _Keep]:
        """Returns the number of the captured query that holds the answer, and which of its series belong to it."""
        number = self._by_text.get(selectors.normalize(query))
        if number is not None:
            return number, lambda _: True
        asked = selectors.read(query)
        if asked is None:
            raise self._refuse(query)
        for number, captured in self._plain.items():
            if captured.matchers <= asked.matchers:
                return number, selectors.Selector(asked.matchers - captured.matchers).compile(check)
        raise self._refuse(query, asked)

    def _refuse(self, query: str, asked: selectors.Selector | None = None) -> errors.ClusterError:
        """Returns the error for a query that was not captured."""
        name = asked.metric if asked is not None else ""
        words = {name, *selectors.normalize(query)} - {""}
        queries = self._source.about.queries
        same = [queries[number - 1].query for number, each in self._plain.items() if each.metric in words]
        names = sorted({each.metric for each in self._plain.values()})
        close = same or difflib.get_close_matches(name[:60], [each for each in names if len(each) < 60], n=_SHOWN)
        shown = close or [each.query for each in queries]
        # Attack: cut in its middle, a secret may be none to the masker: `postgres://app:secret` without `@db`.
        listed = "; ".join(text for text in shown[:_SHOWN] if len(text) <= _SHOWN_LENGTH) or "none that is short"
        return saved_source.not_captured(
            f"{query[:_QUOTED]} was not captured. Of {len(queries)} captured queries: {listed}. Write one as it "
            'stands, or a selector with more matchers, and compute in the script; label_values("__name__") lists the '
            "metrics"
        )

    def _list_series(self, arguments: server.Arguments, check: collection.Check) -> types.Response:
        found = self._list_label_sets(arguments.list("match[]"), check)
        unique = _collect(msgspec.json.encode(each, order="sorted") for each in found)
        return server.write_data([msgspec.Raw(text) for text in unique])

    def _list_labels(self, arguments: server.Arguments, check: collection.Check) -> types.Response:
        matches = arguments.list("match[]")
        if not matches:
            return responses.document(self._source.read("labels"))
        found = self._list_label_sets(matches, check)
        return server.write_data(sorted(_collect(name for labels in found for name in labels)))

    def _list_label_values(self, label: str, arguments: server.Arguments, check: collection.Check) -> types.Response:
        matches = arguments.list("match[]")
        queries = matches or [each.query for each in self._source.about.queries]
        found = self._list_label_sets(queries, check)
        values = sorted(_collect(labels[label] for labels in found if label in labels))
        return server.write_data(values, "" if matches else _PARTIAL)

    def _list_label_sets(self, queries: Iterable[str], check: collection.Check) -> Iterator[dict[str, str]]:
        """Yields the labels of each series of some queries."""
        for query in queries:
            yield from (series.metric for series in self._select(query, check))

    def _list_rules(self, arguments: server.Arguments, _check: collection.Check) -> types.Response:
        document, wanted = self._read_data("rules"), _RULE_TYPES.get(arguments.text("type"))
        groups = server.list_dicts(document.get("groups"))
        if wanted is not None:
            for group in groups:
                group["rules"] = [each for each in server.list_dicts(group.get("rules")) if each.get("type") == wanted]
            groups = [group for group in groups if group["rules"]]
        return server.write_data({"groups": groups})

    def _list_targets(self, arguments: server.Arguments, _check: collection.Check) -> types.Response:
        if arguments.text("state") == "dropped":
            raise saved_source.not_captured('dropped targets were not captured; write state="active"')
        active = server.list_dicts(self._read_data("targets").get("activeTargets"))
        warning = "" if arguments.text("state") == "active" else "the snapshot holds no dropped targets"
        return server.write_data({"activeTargets": active, "droppedTargets": []}, warning)

    def _list_metadata(self, arguments: server.Arguments, _check: collection.Check) -> types.Response:
        known, metric = self._read_data("metadata"), arguments.text("metric")
        if not metric:
            return server.write_data(known)
        return server.write_data({metric: known[metric]} if metric in known else {})

    def _read_data(self, operation: str) -> dict[str, Any]:
        """Returns `data` of a captured answer; empty if it is no object."""
        document = self._source.read(operation)
        data = document.get("data") if isinstance(document, dict) else None
        return data if isinstance(data, dict) else {}


def _collect(texts: Iterable[_Text]) -> list[_Text]:
    """Returns each text once. Raises ClusterError (cluster.too_large)."""
    found: dict[_Text, None] = {}
    size = 0
    for text in texts:
        if text in found:
            continue
        found[text] = None
        # Attack: forty selectors, or all captured queries, have files of 8 MiB each.
        size += len(text) + _ENTRY
        if size > saved_source.MAX_ANSWER:
            raise saved_source.too_large()
    return list(found)


def _read_samples(series: saved_source.Series) -> list[tuple[float, str]]:
    """Returns the samples, oldest first. Raises ClusterError (cluster.broken)."""
    try:
        return sorted(_SAMPLES.decode(series.values))
    except msgspec.MsgspecError:
        raise errors.ClusterError(
            "the samples of a series in the snapshot are damaged", code="cluster.broken"
        ) from None


def _write(time: float, value: str) -> tuple[float | int, str]:
    return (int(time) if time.is_integer() else time), value


def _write_sample(labels: Mapping[str, str], time: float, value: str) -> bytes:
    return msgspec.json.encode({"metric": labels, "value": _write(time, value)})


def _write_result(kind: str, parts: Iterable[bytes], warning: str = "") -> types.Response:
    """Returns the answer of a query. `parts` are the series, with their commas."""
    lead = b'{"status":"success","data":{"resultType":"%s","result":[' % kind.encode()
    return responses.pieces(itertools.chain((lead,), parts, (b"]}}",)), warning)
