"""prometheus_query and prometheus_query_range: PromQL as a table of one row for each series."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kubescript.guest.observability import rows, sources
from kubescript.guest.sdk import client
from kubescript.guest.sdk.objects import series
from kubescript.wire import messages

__all__ = ["prometheus_query", "prometheus_query_range", "write_range"]

_FIGURES: Final = ("first", "min", "avg", "max", "last")
_BETWEEN: Final = 4
"""How many points between the first and the last one are shown."""


def prometheus_query(
    k8s: client.K8s,
    query: str,
    time: Any = None,
    limit: int = 50,
    *,
    source: str | None = None,
    namespace: str | None = None,
) -> str:
    """Returns the value of each series now, or at `time`: at most `limit` of them, in the order of the answer."""
    prometheus = sources.find(k8s, source, "prometheus")
    with sources.telling():
        found: Any = prometheus.query(query, time, namespace=namespace)
    # The value of an expression such as "text".
    if isinstance(found, str):
        return found
    if not found:
        return messages.text("series_none")
    same, names = rows.split_labels([each.labels for each in found])
    shown = [[*(each.labels.get(name) for name in names), each.last] for each in found[:limit]]
    return rows.cut(rows.write([*names, "value"], shown, same), "series_cut", len(found) - limit)


def prometheus_query_range(
    k8s: client.K8s,
    query: str,
    start: Any = None,
    end: Any = None,
    step: Any = None,
    limit: int = 20,
    *,
    points: bool = False,
    source: str | None = None,
    namespace: str | None = None,
) -> str:
    """Returns the figures of each series between two times and a few of its points; with `points`, all of them."""
    prometheus = sources.find(k8s, source, "prometheus")
    with sources.telling():
        found = prometheus.query_range(query, start, end, step, namespace=namespace)
    return write_range(found, limit, points=points)


def write_range(found: Sequence[series.Series], limit: int, *, points: bool = False) -> str:
    """Returns the first `limit` series of a range query as text."""
    if not found:
        return messages.text("series_none")
    same, names = rows.split_labels([each.labels for each in found])
    shown = found[:limit]
    times = sorted({time for each in shown for time in each.times})
    table = _write_points(shown, names, times, same) if points else _write_figures(shown, names, times, same)
    head = messages.text("series_range", start=rows.iso(times[0]), end=rows.iso(times[-1]), count=len(times))
    return rows.cut(f"{head}\n{table}", "series_cut", len(found) - limit)


def _write_figures(
    shown: Sequence[series.Series], names: Sequence[str], times: Sequence[float], same: rows.Labels
) -> str:
    """Returns a row for each series: its labels, its figures, and a few of its points."""
    between = _choose(times)
    form = rows.time_format(times[0], times[-1])
    titles = [*names, *_FIGURES, *(rows.write_time(time, form) for time in between)]
    body = []
    for each in shown:
        values = {sample.time: sample for sample in each.values}
        figures = [getattr(each, figure) for figure in _FIGURES]
        body.append([*(each.labels.get(name) for name in names), *figures, *(values.get(time) for time in between)])
    return rows.write(titles, body, same)


def _write_points(
    shown: Sequence[series.Series], names: Sequence[str], times: Sequence[float], same: rows.Labels
) -> str:
    """Returns a row for each time, with a column for each series."""
    form = rows.time_format(times[0], times[-1])
    titles = ["time"]
    columns = []
    for each in shown:
        told = [each.labels.get(name, "-") for name in names]
        titles.append("/".join(told) or "value")
        columns.append({sample.time: sample for sample in each.values})
    body = []
    for time in times:
        samples = [values.get(time) for values in columns]
        body.append([rows.write_time(time, form), *samples])
    return rows.write(titles, body, same, tsv=True)


def _choose(times: Sequence[float]) -> list[float]:
    """Returns a few times between the first and the last one, at even distances."""
    inner = times[1:-1]
    if len(inner) <= _BETWEEN:
        return list(inner)
    return [inner[round(len(inner) * part / (_BETWEEN + 1))] for part in range(1, _BETWEEN + 1)]
