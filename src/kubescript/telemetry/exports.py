"""What a server reports of its scripts: metrics for Prometheus, and metrics and traces by OTLP."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from kubescript import config
from kubescript.telemetry import evaluation

if TYPE_CHECKING:
    from kubescript.telemetry import otlp, prometheus

__all__ = ["Exports"]


class Exports:
    """The reports of one server. Nothing is loaded of those that are not configured."""

    def __init__(self) -> None:
        self._metrics: prometheus.Metrics | None = None
        """The metrics; None if they cannot be scraped."""
        self._exporter: otlp.Exporter | None = None

    def start(
        self, settings: config.Settings, load: Callable[[], evaluation.Load], mask: Callable[[str], str]
    ) -> Iterator[evaluation.Observer]:
        """Starts the reports that are configured, and yields what observes evaluations for each. `mask` masks a name
        that a script may have invented."""
        if settings.transport == "http":
            from kubescript.telemetry import prometheus

            self._metrics = prometheus.Metrics(load)
            yield self._metrics.observe
        if evaluation.otlp_source(settings.telemetry):
            from kubescript.telemetry import otlp

            self._exporter = otlp.Exporter(settings.telemetry, load, mask)
            yield self._exporter.observe

    def scrape(self, present: evaluation.Presence) -> bytes:
        """Returns the response body of /metrics."""
        return self._metrics.text(present) if self._metrics is not None else b""

    def note_refusal(self, status: int) -> None:
        """Counts a request that was refused with an HTTP status."""
        if self._metrics is not None:
            self._metrics.note_refusal(status)

    def note_checks(self, checks: Mapping[str, str]) -> None:
        """Notes what was found of the server's readiness: each check with `ok`, or what is wrong."""
        if self._metrics is not None:
            self._metrics.note_checks(checks)

    def close(self) -> None:
        """Sends what is left."""
        if self._exporter is not None:
            self._exporter.close()
