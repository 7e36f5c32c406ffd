"""Provides `loki`: log lines by LogQL."""

from __future__ import annotations

import math
import re
from typing import Any, Final

import msgspec

from kubescript.guest.sdk.objects import series
from kubescript.guest.sdk.sources import source
from kubescript.kube import log_queries

__all__ = ["Loki"]

_RANKS: Final = re.compile(r"[\s(]*(topk|approx_topk|bottomk)\b")
"""The beginning of a query whose series Prometheus would give in the order of their values."""


class Loki(source.Source):
    """The log lines of a Loki."""

    __slots__ = ()

    _left_out = msgspec.Raw(b"[]")  # of labels, where there are none
    _help = (
        "{name}: log lines by LogQL.\n"
        "{name}.query_range('{{namespace=\"shop\"}} |= \"error\"', start='-1h', limit=100, direction='backward'): "
        "a list of streams with .labels (= .stream), .lines, .values (pairs ns, line); table(found) has both.\n"
        "{name}.query('sum by (pod) (count_over_time({{namespace=\"shop\"}}[1h]))'): a list of series with .labels and "
        ".value, as of prom; query_range of such a query gives series with .values.\n"
        "{name}.labels(), label_values('app'), series('{{namespace=\"shop\"}}'): what exists.\n"
        "Times: datetime, ISO text, seconds since the epoch, '-1h'."
    )

    def query(
        self,
        query: str,
        time: Any = None,
        limit: int | None = None,
        direction: str | None = None,
    ) -> Any:
        """LogQL that counts, now or at `time`: a list of series with .labels and .value. For lines it is
        query_range, of the last hour."""
        if isinstance(query, str) and log_queries.asks_for_lines(query):
            if time is not None:
                raise ValueError(f"lines have no single time: write {self._spoken}.query_range(q, start=..., end=...)")
            return self.query_range(query, limit=limit, direction=direction)
        found = self._ask_for_results("query", query=query, time=time, limit=limit, direction=direction)
        return _sort(query, found)

    def query_range(
        self,
        query: str,
        start: Any = None,
        end: Any = None,
        limit: int | None = None,
        direction: str | None = None,
        step: Any = None,
    ) -> Any:
        """LogQL from `start` (an hour ago) to `end` (now): a list of streams with .labels, .lines and .values, newest
        first, or with direction="forward" oldest first; of a query that counts, a list of series."""
        return self._ask_for_results(
            "query_range",
            query=query,
            start=start,
            end=end,
            step=step,
            limit=limit,
            direction=direction,
        )

    def labels(self, start: Any = None, end: Any = None) -> Any:
        """The names of the streams' labels."""
        return self._list("labels", start=start, end=end)

    def label_values(
        self,
        label: str,
        query: str | None = None,
        start: Any = None,
        end: Any = None,
    ) -> Any:
        """The values of a label, of all streams or of those that a selector selects."""
        return self._list("label_values", label=label, query=query, start=start, end=end)

    def series(self, match: str | list[str], start: Any = None, end: Any = None) -> Any:
        """The labels of the streams that a selector selects, as a list of dicts."""
        return self._list("series", match=match, start=start, end=end)


def _sort(query: str, found: list[series.Series]) -> list[series.Series]:
    """Returns the series of `topk` with the highest value first, those of `bottomk` with the lowest, as Prometheus
    does; Loki sorts all by their labels."""
    rank = _RANKS.match(query)
    if rank is None:
        return found
    sign = 1 if rank[1] == "bottomk" else -1
    return sorted(found, key=lambda each: (math.isnan(each.value), sign * float(each.value)))
