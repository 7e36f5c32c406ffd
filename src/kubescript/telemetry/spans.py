"""The spans of a script and of its calls.

    tools/call evaluate_script      the MCP SDK's span (and the client's above it, by traceparent)
    └── script                      code, queue, processor time, memory
        └── list pods               one per API call, allowed or not

The exporter (`otlp`) makes them after the answer, from records that exist anyway; no script waits for them.
"""

from __future__ import annotations

from collections.abc import Callable

from opentelemetry import context, trace

from kubescript.broker import records
from kubescript.telemetry import evaluation, labels

__all__ = ["trace_script"]

_MaskNamespace = Callable[[str], str] | None
"""Masks the name of a namespace; None omits the names."""


def trace_script(tracer: trace.Tracer, done: evaluation.Evaluation, mask_namespace: _MaskNamespace) -> None:
    """Makes the spans of one evaluation. `mask_namespace` masks the names of namespaces; None omits them."""
    wall_s = done.usage.wall_ms / 1000
    began = _nanoseconds(done.ended - wall_s)
    attributes = _script_attributes(done)
    script = tracer.start_span("script", done.parent, attributes=attributes, start_time=began)
    if done.code != "ok":
        script.set_attribute("error.type", labels.code(done.code))
        script.set_status(trace.StatusCode.ERROR)
    parent = trace.set_span_in_context(script, done.parent)
    for record in done.records:
        _trace_call(tracer, parent, record, mask_namespace)
    # The span ends when the script ended, although it is made later.
    script.end(_nanoseconds(done.ended))


def _script_attributes(done: evaluation.Evaluation) -> dict[str, str | int | float]:
    attributes: dict[str, str | int | float] = {
        "kubescript.script.code": labels.code(done.code),
        "kubescript.queue.wait_ms": round(done.waited_ms, 1),
        "kubescript.script.cpu_ms": round(done.usage.cpu_ms, 1),
        "kubescript.script.peak_bytes": done.usage.peak_bytes,
        "kubescript.script.api_calls": done.usage.api_calls,
        "kubescript.script.bytes_fetched": done.usage.bytes_fetched,
        "kubescript.answer.cut": done.cut,
    }
    for kind, count in done.redacted.items():
        attributes[f"kubescript.redacted.{labels.kind(kind)}"] = count
    return attributes


def _trace_call(
    tracer: trace.Tracer, parent: context.Context, record: records.Record, mask_namespace: _MaskNamespace
) -> None:
    call = tracer.start_span(
        _span_name(record),
        parent,
        trace.SpanKind.CLIENT,
        attributes=_call_attributes(record, mask_namespace),
        start_time=_nanoseconds(record.at - record.ms / 1000),
    )
    if record.fault or record.status >= 400:
        call.set_status(trace.StatusCode.ERROR)
    call.end(_nanoseconds(record.at))


def _span_name(record: records.Record) -> str:
    """Returns a name from a small set, as backends expect: `list pods`, `get custom`."""
    _, resource = labels.resource(record)
    return f"{labels.verb(record)} {resource}"


def _call_attributes(record: records.Record, mask_namespace: _MaskNamespace) -> dict[str, str | int]:
    """Returns the attributes of a call's span."""
    # The attributes contain less than the audit record: no object names, and the namespace only if the operator allows
    # it.
    group, resource = labels.resource(record)
    attributes: dict[str, str | int] = {
        "kubescript.k8s.verb": labels.verb(record),
        "kubescript.k8s.group": group,
        "kubescript.k8s.resource": resource,
        "kubescript.policy.verdict": record.verdict,
    }
    call = record.call
    if call is not None:
        attributes["http.request.method"] = call.method
        if call.namespace and mask_namespace is not None:
            # A script may have invented the name.
            attributes["k8s.namespace.name"] = mask_namespace(call.namespace)
    if record.status:
        attributes["http.response.status_code"] = record.status
        attributes["http.response.body.size"] = record.bytes
    if record.context:
        attributes["kubescript.k8s.context"] = record.context
    if record.rule:
        attributes["kubescript.policy.rule"] = record.rule
    if record.fault or record.status >= 400:
        attributes["error.type"] = labels.status(record)
    return attributes


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1_000_000_000)
