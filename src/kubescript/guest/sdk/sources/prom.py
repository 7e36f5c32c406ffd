"""Provides `prom`: metrics by PromQL, from Prometheus or what answers its API."""

from __future__ import annotations

from typing import Any

from kubescript.guest.sdk.objects import series
from kubescript.guest.sdk.sources import source

__all__ = ["Prometheus"]

Selectors = str | list[str] | None


class Prometheus(source.Source):
    """Metrics, rules, targets and alerts of a Prometheus."""

    __slots__ = ()

    _help = (
        "{name}: metrics by PromQL. Queries give lists of series.\n"
        "{name}.query('sum by (pod) (rate(http_requests_total[5m]))') now, or at time=; "
        "{name}.query_range(q, start='-6h', end='now', step='5m').\n"
        "A series: .labels (= .metric), .value, .values (numbers that unpack as t, v), .times, .first, .last, .min, "
        ".max, .avg, .delta, .rate (per second), .pod() and .object() (what the labels name). "
        "table(found) and top(found, 5) know them.\n"
        "{name}.series('up'), labels(), label_values('job', 'up'), metadata('up'): what exists. "
        "{name}.rules(type='alert'), alerts(), targets(state='active').\n"
        "Times: datetime, ISO text, seconds since the epoch, '-1h'.\n"
        "namespace='shop' in each call, where the source shows one namespace at a time."
    )

    def query(self, query: str, time: Any = None, *, namespace: str | None = None) -> list[series.Series]:
        """PromQL now, or at `time`: a list of series with .labels and .value; a number is one without labels."""
        found: list[series.Series] = self._ask_for_results("query", query=query, time=time, namespace=namespace)
        return found

    def query_range(
        self, query: str, start: Any = None, end: Any = None, step: Any = None, *, namespace: str | None = None
    ) -> list[series.Series]:
        """PromQL at every step from `start` (an hour ago) to `end` (now): a list of series with .values, .min, .max,
        .avg, .last. Left out, a step is a sixtieth of the range."""
        found: list[series.Series] = self._ask_for_results(
            "query_range", query=query, start=start, end=end, step=step, namespace=namespace
        )
        return found

    def series(self, match: Selectors, start: Any = None, end: Any = None, *, namespace: str | None = None) -> Any:
        """The labels of the series that a selector selects, as a list of dicts."""
        return self._list("series", match=match, start=start, end=end, namespace=namespace)

    def labels(
        self, match: Selectors = None, start: Any = None, end: Any = None, *, namespace: str | None = None
    ) -> Any:
        """The names of labels, of all series or of those that a selector selects."""
        return self._list("labels", match=match, start=start, end=end, namespace=namespace)

    def label_values(
        self,
        label: str,
        match: Selectors = None,
        start: Any = None,
        end: Any = None,
        *,
        namespace: str | None = None,
    ) -> Any:
        """The values of a label; those of "__name__" are the metrics' names."""
        return self._list("label_values", label=label, match=match, start=start, end=end, namespace=namespace)

    def rules(self, type: str | None = None, *, namespace: str | None = None) -> Any:  # noqa: A002  the API's name
        """Groups with .name and .rules: each rule has .name, .query, .state, .labels, .alerts. type: "alert" or
        "record"."""
        data = self._ask_for_data("rules", type=type, namespace=namespace)
        return self._wrap_list("rules", data, "groups")

    def alerts(self, *, namespace: str | None = None) -> Any:
        """The alerts that are pending or firing: .labels, .annotations, .state, .activeAt, .value."""
        data = self._ask_for_data("alerts", namespace=namespace)
        return self._wrap_list("alerts", data, "alerts")

    def targets(self, state: str | None = "active", *, namespace: str | None = None) -> Any:
        """What is scraped: .labels, .health ("up", "down"), .lastError, .lastScrape, .scrapeUrl. state: "active",
        "dropped" or "any"."""
        data = self._ask_for_data("targets", state=state, namespace=namespace)
        fields = [f"{each}Targets" for each in ("active", "dropped") if state in {each, "any", None}]
        return [target for field in fields for target in self._wrap_list("targets", data, field)]

    def metadata(self, metric: str | None = None, *, namespace: str | None = None) -> Any:
        """A dict: for each metric a list of its .type, .help and .unit."""
        return self._wrap("metadata", self._ask_for_data("metadata", metric=metric, namespace=namespace))
