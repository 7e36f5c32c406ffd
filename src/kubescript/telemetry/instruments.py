"""The instruments for metrics over OTLP: the same figures as /metrics, under OpenTelemetry's names. The exporter
(`otlp`) creates them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from opentelemetry import metrics

from kubescript.broker import records
from kubescript.telemetry import evaluation, labels

__all__ = ["Instruments"]

_LONG: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)


class Instruments:
    """Counters, histograms and gauges of one server."""

    def __init__(self, meter: metrics.Meter, load: Callable[[], evaluation.Load]) -> None:
        def buckets(name: str, what: str) -> metrics.Histogram:
            return meter.create_histogram(name, "s", what, explicit_bucket_boundaries_advisory=_LONG)

        self._scripts = meter.create_counter("kubescript.scripts", "{script}", "Scripts by how they ended.")
        self._duration = buckets("kubescript.script.duration", "Wall-clock time of scripts.")
        self._waited = buckets("kubescript.queue.wait", "Time scripts waited for a place.")
        self._limits = meter.create_counter("kubescript.limits", "{limit}", "Limits reached.")
        self._calls = meter.create_counter("kubescript.api.calls", "{call}", "Kubernetes API calls.")
        self._call_duration = buckets("kubescript.api.duration", "Time of API calls.")
        self._bytes = meter.create_counter("kubescript.api.bytes", "By", "Bytes of API answers.")
        self._redactions = meter.create_counter("kubescript.redactions", "{value}", "Secret values masked.")
        _observe_load(meter, load)

    def count(self, done: evaluation.Evaluation) -> None:
        """Counts one evaluation."""
        code = labels.code(done.code)
        self._scripts.add(1, {"code": code})
        if code.startswith("limit."):
            self._limits.add(1, {"limit": code})
        elif done.cut:
            self._limits.add(1, {"limit": "limit.output"})
        self._waited.record(done.waited_ms / 1000)
        # A script that was refused has not run, and would pass for a very fast one.
        if done.usage.wall_ms:
            self._duration.record(done.usage.wall_ms / 1000)
        self._bytes.add(done.usage.bytes_fetched)
        for kind, count in done.redacted.items():
            self._redactions.add(count, {"kind": labels.kind(kind)})
        for record in done.records:
            self._count_call(record)

    def _count_call(self, record: records.Record) -> None:
        attributes = labels.call(record)._asdict()
        if not record.context:
            del attributes["context"]
        self._calls.add(1, attributes)
        self._call_duration.record(record.ms / 1000, {"verb": labels.verb(record)})


def _observe_load(meter: metrics.Meter, load: Callable[[], evaluation.Load]) -> None:
    """Creates gauges that are read when metrics are sent."""

    def gauge(name: str, what: str, read: Callable[[evaluation.Load], int]) -> None:
        def observe(_options: metrics.CallbackOptions) -> Iterable[metrics.Observation]:
            now = load()
            yield metrics.Observation(read(now))

        meter.create_observable_gauge(name, [observe], "1", what)

    gauge("kubescript.scripts.running", "Scripts that run.", lambda now: now.running)
    gauge("kubescript.queue.depth", "Scripts that wait for a place.", lambda now: now.waiting)
    gauge("kubescript.workers.spare", "Workers that wait for a script.", lambda now: now.spares)
