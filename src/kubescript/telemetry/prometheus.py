"""Metrics for Prometheus, in a separate registry. `app` loads this only for the http transport."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import prometheus_client as client

import kubescript
from kubescript.broker import records
from kubescript.telemetry import evaluation, labels

__all__ = ["Metrics"]

_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
_BYTES: Final = tuple(float(1 << power) for power in range(24, 36))
"""Buckets from 16 MiB to 32 GiB."""


class Metrics:
    """The metrics: counters and histograms of every evaluation, and gauges of the server's load."""

    def __init__(self, load: Callable[[], evaluation.Load]) -> None:
        client.disable_created_metrics()  # type: ignore[no-untyped-call]  # each would be a second, useless series
        self.registry = client.CollectorRegistry()
        client.ProcessCollector(registry=self.registry)
        self._scripts()
        self._calls()
        self._load(load)
        self._clients()

    def _scripts(self) -> None:
        own = self.registry
        self._done = client.Counter("kubescript_scripts", "Scripts by how they ended.", ["code"], registry=own)
        # Prometheus sees no increase in a series that begins at 1: the first withheld answer would raise no alert.
        for code in labels.CODES:
            self._done.labels(code)
        self._seconds = client.Histogram(
            "kubescript_script_duration_seconds", "Wall-clock time of scripts.", buckets=_SECONDS, registry=own
        )
        self._cpu = client.Counter("kubescript_script_cpu_seconds", "Processor time of workers.", registry=own)
        self._peak = client.Histogram(
            "kubescript_worker_peak_bytes", "Peak resident memory of workers.", buckets=_BYTES, registry=own
        )
        self._waited = client.Histogram(
            "kubescript_queue_wait_seconds", "Time scripts waited for a place.", buckets=_SECONDS, registry=own
        )
        self._limits = client.Counter("kubescript_limits_hit", "Limits reached.", ["limit"], registry=own)

    def _calls(self) -> None:
        own = self.registry
        names = labels.Call._fields
        self._answered = client.Counter("kubescript_api_calls", "Kubernetes API calls.", names, registry=own)
        self._call_seconds = client.Histogram(
            "kubescript_api_call_duration_seconds", "Time of API calls.", ["verb"], buckets=_SECONDS, registry=own
        )
        self._fetched = client.Counter("kubescript_api_response_bytes", "Bytes of API answers.", registry=own)
        self._masked = client.Counter("kubescript_redactions", "Secret values masked.", ["kind"], registry=own)

    def _load(self, load: Callable[[], evaluation.Load]) -> None:
        """Creates gauges that are read at each request for /metrics."""
        own = self.registry
        workers = client.Gauge("kubescript_workers", "Sandboxed processes.", ["state"], registry=own)
        workers.labels("running").set_function(lambda: load().running)
        workers.labels("spare").set_function(lambda: load().spares)
        depth = client.Gauge("kubescript_queue_depth", "Scripts that wait for a place.", registry=own)
        depth.set_function(lambda: load().waiting)
        plans = client.Gauge("kubescript_plans_waiting", "Plans that wait for a person.", registry=own)
        plans.set_function(lambda: load().plans)
        fleet = client.Gauge("kubescript_fleet_ok", "Whether all clusters of the fleet are found.", registry=own)
        fleet.set_function(lambda: load().is_fleet_ok)
        left_out = client.Gauge(
            "kubescript_fleet_left_out", "Objects of the fleet that make no usable cluster.", registry=own
        )
        left_out.set_function(lambda: load().left_out)
        about = client.Gauge("kubescript_info", "The running version.", ["version"], registry=own)
        running = about.labels(kubescript.__version__)
        running.set(1)

    def _clients(self) -> None:
        own = self.registry
        self._callers = client.Gauge("kubescript_callers", "Callers with a seat.", registry=own)
        self._sessions = client.Gauge("kubescript_sessions", "Sessions of MCP.", registry=own)
        self._replicas = client.Gauge(
            "kubescript_replicas", "Servers that share replicas.store; 0 while it does not answer.", registry=own
        )
        self._refused = client.Counter(
            "kubescript_requests_refused", "Requests refused before any script.", ["status"], registry=own
        )
        for status in labels.REFUSALS:
            self._refused.labels(str(status))
        self._checks = client.Gauge(
            "kubescript_check_ok", "Whether a check of /ready was ok when last asked.", ["check"], registry=own
        )

    def note_refusal(self, status: int) -> None:
        """Counts a request that was refused with one of `labels.REFUSALS`."""
        self._refused.labels(str(status)).inc()

    def note_checks(self, checks: Mapping[str, str]) -> None:
        """Notes what /ready has found: `ok`, or what is wrong, by the check's name."""
        for name, state in checks.items():
            self._checks.labels(name).set(state == "ok")

    def observe(self, done: evaluation.Evaluation) -> None:
        """Counts one evaluation."""
        code = labels.code(done.code)
        self._done.labels(code).inc()
        if code.startswith("limit."):
            self._limits.labels(code).inc()
        elif done.cut:
            self._limits.labels("limit.output").inc()
        self._waited.observe(done.waited_ms / 1000)
        # A script that was refused has not run, and would pass for a very fast one.
        if done.usage.wall_ms:
            self._seconds.observe(done.usage.wall_ms / 1000)
            self._cpu.inc(done.usage.cpu_ms / 1000)
            self._peak.observe(done.usage.peak_bytes)
        self._fetched.inc(done.usage.bytes_fetched)
        for name, count in done.redacted.items():
            self._masked.labels(labels.kind(name)).inc(count)
        for record in done.records:
            self._count_call(record)

    def _count_call(self, record: records.Record) -> None:
        self._answered.labels(*labels.call(record)).inc()
        self._call_seconds.labels(labels.verb(record)).observe(record.ms / 1000)

    def text(self, present: evaluation.Presence) -> bytes:
        """Returns the metrics in Prometheus' text format."""
        self._callers.set(present.callers)
        self._sessions.set(present.sessions)
        self._replicas.set(present.replicas)
        return client.generate_latest(self.registry)
