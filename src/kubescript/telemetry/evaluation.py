"""One evaluated script, as seen by telemetry. The evaluator makes one `Evaluation` per script and notifies the
observers.

An evaluation contains sizes, codes and times, but no text of the script or of the answer.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from opentelemetry import context

from kubescript import config
from kubescript.broker import records
from kubescript_sandbox import runs

__all__ = ["Evaluation", "Load", "Observer", "Presence", "current_context", "notify", "otlp_source", "trace_id"]

log = logging.getLogger(__name__)

_ENDPOINT_VARIABLES: Final = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A script that was run, or refused."""

    code: str
    """`ok`, or the code of the fault."""
    usage: runs.Usage = field(default_factory=runs.Usage)
    waited_ms: float = 0.0
    """Milliseconds that the script waited in the queue."""
    records: Sequence[records.Record] = ()
    redacted: Mapping[str, int] = field(default_factory=dict)
    cut: bool = False
    """Whether the answer was cut at its limit."""
    parent: context.Context = field(default_factory=context.Context)
    """The span of the MCP request."""
    ended: float = field(default_factory=time.time)
    """Seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Load:
    """The load of a server at one moment."""

    running: int = 0
    waiting: int = 0
    spares: int = 0
    """How many workers wait for a script."""
    plans: int = 0
    """How many plans wait for a person, lately; those of all servers with the same store."""
    is_fleet_ok: bool = True
    """Whether all clusters of the fleet can be found and are offered."""
    left_out: int = 0
    """How many objects, files and contexts of the fleet make no usable cluster."""


@dataclass(frozen=True, slots=True)
class Presence:
    """Who uses and shares a server over HTTP at one moment."""

    callers: int = 0
    sessions: int = 0
    replicas: int = 1
    """How many servers share `replicas.store`, this one included; 0 while that does not answer."""


Observer = Callable[[Evaluation], None]
"""Called with every evaluation once the answer is on its way."""


def current_context() -> context.Context:
    """Returns the context of the MCP request that is being served: its span, when traces are collected."""
    return context.get_current()


def trace_id() -> str:
    """Returns the id of the current trace; empty if there is none."""
    from opentelemetry import trace  # takes 40 ms, but serving MCP has already loaded it

    found = trace.get_current_span().get_span_context()
    if not found.is_valid:
        return ""
    return trace.format_trace_id(found.trace_id)


def notify(observers: Iterable[Observer], evaluation: Evaluation) -> None:
    """Calls every observer. Logs observers' errors."""
    # One observer's error must not affect the script or other observers.
    for observe in observers:
        try:
            observe(evaluation)
        except Exception:
            log.exception("an evaluation could not be observed", extra={"event": "telemetry.bug"})


def otlp_source(settings: config.Telemetry) -> str:
    """Returns the name of the setting or variable that enables OTLP; empty if none does. Called at every start."""
    is_disabled = os.environ.get("OTEL_SDK_DISABLED", "")
    if is_disabled.strip().lower() == "true":
        return ""
    if settings.otlp_endpoint:
        return "telemetry.otlp_endpoint"
    for name in _ENDPOINT_VARIABLES:
        if os.environ.get(name):
            return name
    return ""
