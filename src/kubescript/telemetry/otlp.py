"""Traces and metrics over OTLP/HTTP. The module is loaded only when an endpoint is configured, and needs the extra
`otel`.

`app` makes one exporter. `spans` and `instruments` define what it sends. A receiver that is down costs a bounded queue
of spans, and one log line per minute.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import kubescript
from kubescript import config, errors, installation
from kubescript.telemetry import evaluation, instruments, spans

if TYPE_CHECKING:
    from opentelemetry import metrics, trace
    from opentelemetry.sdk import resources
    from opentelemetry.sdk.metrics import export

__all__ = ["Exporter", "check"]

log = logging.getLogger(__name__)

_PROTOCOL: Final = "OTEL_EXPORTER_OTLP_PROTOCOL"
_REQUIRED_MODULES: Final = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
_QUIET_S: Final = 60.0
_SHUTDOWN_S: Final = 2.0
"""Seconds that the server waits for the last exports when it ends."""


class Exporter:
    """An exporter that sends spans and metrics until it is closed. Raises ConfigError when it cannot be set up."""

    def __init__(
        self, settings: config.Telemetry, load: Callable[[], evaluation.Load], mask: Callable[[str], str]
    ) -> None:
        """`mask` masks the only text in a span that a script may have invented: the name of a namespace."""
        self._namespace: Callable[[str], str] | None = mask if settings.namespaces else None
        check(settings)
        # Lost batches are logged, but failed attempts are not.
        if not log.isEnabledFor(logging.DEBUG):
            logging.getLogger("opentelemetry").setLevel(logging.ERROR)
        endpoint = settings.otlp_endpoint or ""
        base = endpoint.rstrip("/")
        resource = _resource()
        self._shutdowns: list[Callable[[], object]] = []
        self._tracer = None
        if _is_exported("TRACES"):
            self._tracer = self._traces(resource, base)
        self._instruments = None
        if _is_exported("METRICS"):
            meter = self._metrics(resource, base)
            self._instruments = instruments.Instruments(meter, load)

    def _traces(self, resource: resources.Resource, base: str) -> trace.Tracer:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http import trace_exporter
        from opentelemetry.sdk import trace as sdk
        from opentelemetry.sdk.trace import export

        provider = sdk.TracerProvider(resource=resource, shutdown_on_exit=False)
        _quieten(trace_exporter.__name__)
        # Without an endpoint of our own, the exporter reads the standard variables.
        endpoint = f"{base}/v1/traces" if base else None
        exporter = trace_exporter.OTLPSpanExporter(endpoint=endpoint)
        # The processor's queue is bounded, so a receiver that is down costs no more memory.
        processor = export.BatchSpanProcessor(exporter)
        provider.add_span_processor(processor)
        trace.set_tracer_provider(provider)  # so that the MCP SDK's own middleware reports here too
        self._shutdowns.append(provider.shutdown)
        return provider.get_tracer("kubescript", kubescript.__version__)

    def _metrics(self, resource: resources.Resource, base: str) -> metrics.Meter:
        from opentelemetry.exporter.otlp.proto.http import metric_exporter
        from opentelemetry.sdk import metrics as sdk
        from opentelemetry.sdk.metrics import export

        _quieten(metric_exporter.__name__)
        endpoint = f"{base}/v1/metrics" if base else None
        sender = metric_exporter.OTLPMetricExporter(endpoint=endpoint)
        reader: export.MetricReader = export.PeriodicExportingMetricReader(sender)
        provider = sdk.MeterProvider([reader], resource=resource, shutdown_on_exit=False)
        self._shutdowns.append(provider.shutdown)
        return provider.get_meter("kubescript", kubescript.__version__)

    def observe(self, done: evaluation.Evaluation) -> None:
        """Reports one evaluation."""
        if self._instruments is not None:
            self._instruments.count(done)
        if self._tracer is not None:
            spans.trace_script(self._tracer, done, self._namespace)

    def close(self) -> None:
        """Sends the rest, for at most two seconds."""
        # A dead receiver must not delay the end of the server.
        threads = [threading.Thread(target=shutdown, daemon=True) for shutdown in self._shutdowns]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + _SHUTDOWN_S
        for thread in threads:
            left = deadline - time.monotonic()
            thread.join(max(0.0, left))


class _OnceAMinute(logging.Filter):
    """A filter that passes one record of a logger, and the next at least a minute later."""

    def __init__(self) -> None:
        super().__init__()
        self._next = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        if time.monotonic() < self._next:
            return False
        self._next = time.monotonic() + _QUIET_S
        return True


def _quieten(name: str) -> None:
    """Limits an exporter's logger to one record per minute."""
    # The exporter logs each lost batch, which would fill the log while its receiver is down.
    exporter = logging.getLogger(name)
    is_quiet = any(isinstance(known, _OnceAMinute) for known in exporter.filters)
    if not is_quiet:
        exporter.addFilter(_OnceAMinute())


def check(settings: config.Telemetry) -> None:
    """Checks that the packages and the protocol that the endpoint requires are available. Raises ConfigError."""
    source = evaluation.otlp_source(settings)
    if not source:
        return
    for module in _REQUIRED_MODULES:
        if not _is_installed(module):
            raise errors.ConfigError(
                f"{source} is set, but the package {module} is not installed",
                code="config.otel",
                remedy=f"{installation.suggest_extra('otel')}; or unset the endpoint",
            )
    for name in (_PROTOCOL, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"):
        if os.environ.get(name, "http/protobuf") != "http/protobuf":
            raise errors.ConfigError(
                f"{name} is {os.environ[name]}, but only http/protobuf is supported",
                code="config.otel",
                remedy=f"set {name}=http/protobuf and an endpoint that takes it, usually port 4318",
            )


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the package around the module is missing too
        return False


def _is_exported(signal: str) -> bool:
    """Says whether this signal is exported; OTEL_TRACES_EXPORTER=none disables traces."""
    exporter = os.environ.get(f"OTEL_{signal}_EXPORTER", "otlp")
    return exporter.strip().lower() != "none"


def _resource() -> resources.Resource:
    """Returns the resource that identifies the sender."""
    from opentelemetry.sdk import resources

    ours = resources.Resource({"service.name": "kubescript", "service.version": kubescript.__version__})
    named = resources.OTELResourceDetector().detect()
    # The later one counts: OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence.
    return resources.Resource.create().merge(ours).merge(named)
