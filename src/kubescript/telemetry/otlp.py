"""Traces and metrics over OTLP/HTTP, when an endpoint is configured. Loaded only then; needs `kubescript[otel]`.

    tools/call evaluate_script      the MCP SDK's span (and the client's above it, by traceparent)
    └── script                      code, queue, processor time, memory
        └── list pods               one per API call, allowed or not

Spans are made after the answer, from what was recorded anyway; a script waits for none of it. A receiver that is down
costs a bounded queue of spans and a line of the log for each batch that is lost.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

import kubescript
from kubescript import config, errors, records
from kubescript.telemetry import evaluation, labels, wanted

if TYPE_CHECKING:
    from opentelemetry import metrics, trace
    from opentelemetry.sdk import resources
    from opentelemetry.sdk.metrics import export

__all__ = ["Exporter"]

log = logging.getLogger(__name__)

_PROTOCOL: Final = "OTEL_EXPORTER_OTLP_PROTOCOL"
_NEEDED: Final = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
_GOODBYE_S: Final = 2.0
"""Seconds that the end of the server waits for the last exports."""
_LONG: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)


class Exporter:
    """Sends spans and metrics until it is closed. Raises ConfigError when it cannot be set up."""

    def __init__(self, settings: config.Telemetry, load: Callable[[], evaluation.Load]) -> None:
        _check(wanted.endpoint(settings))
        if not log.isEnabledFor(logging.DEBUG):  # one line for each batch that is lost, none for each attempt
            logging.getLogger("opentelemetry").setLevel(logging.ERROR)
        base = (settings.otlp_endpoint or "").rstrip("/")
        resource = _resource()
        self._ends: list[Callable[[], object]] = []
        self._tracer = self._traces(resource, base) if _wanted("TRACES") else None
        meter = self._metrics(resource, base) if _wanted("METRICS") else None
        self._counts = _Instruments(meter, load) if meter is not None else None

    def _traces(self, resource: resources.Resource, base: str) -> trace.Tracer:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http import trace_exporter
        from opentelemetry.sdk import trace as sdk
        from opentelemetry.sdk.trace import export

        provider = sdk.TracerProvider(resource=resource, shutdown_on_exit=False)
        exporter = trace_exporter.OTLPSpanExporter(endpoint=f"{base}/v1/traces" if base else None)
        provider.add_span_processor(export.BatchSpanProcessor(exporter))
        trace.set_tracer_provider(provider)  # so that the MCP SDK's own middleware reports here too
        self._ends.append(provider.shutdown)
        return provider.get_tracer("kubescript", kubescript.__version__)

    def _metrics(self, resource: resources.Resource, base: str) -> metrics.Meter:
        from opentelemetry.exporter.otlp.proto.http import metric_exporter
        from opentelemetry.sdk import metrics as sdk
        from opentelemetry.sdk.metrics import export

        sender = metric_exporter.OTLPMetricExporter(endpoint=f"{base}/v1/metrics" if base else None)
        reader: export.MetricReader = export.PeriodicExportingMetricReader(sender)
        provider = sdk.MeterProvider([reader], resource=resource, shutdown_on_exit=False)
        self._ends.append(provider.shutdown)
        return provider.get_meter("kubescript", kubescript.__version__)

    def observe(self, done: evaluation.Evaluation) -> None:
        """Report one evaluation."""
        if self._counts is not None:
            self._counts.count(done)
        if self._tracer is not None:
            _trace(self._tracer, done)

    def close(self) -> None:
        """Send what is left, for a few seconds at most: the end of a server must not hang on a dead receiver."""
        threads = [threading.Thread(target=end, daemon=True) for end in self._ends]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + _GOODBYE_S
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))


def _check(source: str) -> None:
    for module in _NEEDED:
        try:
            found = importlib.util.find_spec(module)
        except ModuleNotFoundError:
            found = None
        if found is None:
            raise errors.ConfigError(
                f"{source} is set, but the package {module} is not installed",
                code="config.otel",
                remedy="install it: pip install 'kubescript[otel]'; or unset the endpoint",
            )
    for name in (_PROTOCOL, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"):
        if os.environ.get(name, "http/protobuf") != "http/protobuf":
            raise errors.ConfigError(
                f"{name} is {os.environ[name]}, but only http/protobuf is spoken here",
                code="config.otel",
                remedy=f"set {name}=http/protobuf and an endpoint that takes it, usually port 4318",
            )


def _wanted(signal: str) -> bool:
    """Whether this signal is exported; OTEL_TRACES_EXPORTER=none switches one off."""
    return os.environ.get(f"OTEL_{signal}_EXPORTER", "otlp").strip().lower() != "none"


def _resource() -> resources.Resource:
    """Who sends. What OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say wins."""
    from opentelemetry.sdk import resources

    ours = resources.Resource({"service.name": "kubescript", "service.version": kubescript.__version__})
    named = resources.OTELResourceDetector().detect()
    return resources.Resource.create().merge(ours).merge(named)


# --- spans ------------------------------------------------------------------------------------------------------------


def _trace(tracer: trace.Tracer, done: evaluation.Evaluation) -> None:
    from opentelemetry import trace

    ended = done.ended
    attributes: dict[str, str | int | float] = {
        "kubescript.script.code": labels.code(done.code),
        "kubescript.queue.wait_ms": round(done.waited_ms, 1),
        "kubescript.script.cpu_ms": round(done.usage.cpu_ms, 1),
        "kubescript.script.peak_bytes": done.usage.peak_bytes,
        "kubescript.script.api_calls": done.usage.api_calls,
        "kubescript.script.bytes_fetched": done.usage.bytes_fetched,
        "kubescript.answer.cut": done.cut,
    }
    attributes |= {f"kubescript.redacted.{labels.kind(kind)}": count for kind, count in done.redacted.items()}
    script = tracer.start_span(
        "script", done.parent, attributes=attributes, start_time=_nanoseconds(ended - done.usage.wall_ms / 1000)
    )
    if done.code != "ok":
        script.set_attribute("error.type", labels.code(done.code))
        script.set_status(trace.StatusCode.ERROR)
    inside = trace.set_span_in_context(script, done.parent)
    for record in done.records:
        call = tracer.start_span(
            _name(record),
            inside,
            trace.SpanKind.CLIENT,
            attributes=_attributes(record),
            start_time=_nanoseconds(record.at - record.ms / 1000),
        )
        if record.fault or record.status >= 400:
            call.set_status(trace.StatusCode.ERROR)
        call.end(_nanoseconds(record.at))
    script.end(_nanoseconds(ended))


def _name(record: records.Record) -> str:
    """Of few different values, as backends expect: `list pods`, `get custom`."""
    return f"{labels.verb(record)} {labels.resource(record)[1]}"


def _attributes(record: records.Record) -> dict[str, str | int]:
    """Less than the audit has: no name of an object."""
    group, resource = labels.resource(record)
    found: dict[str, str | int] = {
        "kubescript.k8s.verb": labels.verb(record),
        "kubescript.k8s.group": group,
        "kubescript.k8s.resource": resource,
        "kubescript.policy.verdict": record.verdict,
    }
    if record.call is not None:
        found["http.request.method"] = record.call.method
        if record.call.namespace:
            found["k8s.namespace.name"] = record.call.namespace
    if record.status:
        found["http.response.status_code"] = record.status
        found["http.response.body.size"] = record.bytes
    if record.context:
        found["kubescript.k8s.context"] = record.context
    if record.rule:
        found["kubescript.policy.rule"] = record.rule
    if record.fault or record.status >= 400:
        found["error.type"] = labels.status(record)
    return found


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1_000_000_000)


# --- metrics ----------------------------------------------------------------------------------------------------------


class _Instruments:
    """The same figures as /metrics, under OpenTelemetry's names."""

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
        """Count one evaluation."""
        code = labels.code(done.code)
        self._scripts.add(1, {"code": code})
        if code.startswith("limit.") or done.cut:
            self._limits.add(1, {"limit": code if code.startswith("limit.") else "limit.output"})
        self._waited.record(done.waited_ms / 1000)
        if done.usage.wall_ms:
            self._duration.record(done.usage.wall_ms / 1000)
        self._bytes.add(done.usage.bytes_fetched)
        for kind, count in done.redacted.items():
            self._redactions.add(count, {"kind": labels.kind(kind)})
        for record in done.records:
            group, resource = labels.resource(record)
            verb = labels.verb(record)
            call = {"verb": verb, "group": group, "resource": resource, "status": labels.status(record)}
            self._calls.add(1, call | ({"context": record.context} if record.context else {}))
            self._call_duration.record(record.ms / 1000, {"verb": verb})


def _observe_load(meter: metrics.Meter, load: Callable[[], evaluation.Load]) -> None:
    """Gauges that are read when metrics are sent."""
    from opentelemetry import metrics

    def gauge(name: str, what: str, read: Callable[[evaluation.Load], int]) -> None:
        def observed(_options: metrics.CallbackOptions) -> Iterable[metrics.Observation]:
            return (metrics.Observation(read(load())),)

        meter.create_observable_gauge(name, [observed], "1", what)

    gauge("kubescript.scripts.running", "Scripts that run.", lambda now: now.running)
    gauge("kubescript.queue.depth", "Scripts that wait for a place.", lambda now: now.waiting)
    gauge("kubescript.workers.spare", "Workers that wait for a script.", lambda now: now.spares)
