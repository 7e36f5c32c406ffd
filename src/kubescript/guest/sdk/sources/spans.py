"""Flattens a trace as OTLP writes it into spans."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any, Final

from kubescript.guest.sdk.values import timestamps

__all__ = ["SHAPE", "batches", "flatten"]

SHAPE: Final = (AttributeError, KeyError, TypeError, ValueError, OverflowError)
"""What an answer raises that is not OTLP."""


def batches(answer: Any) -> list[Any]:
    """Returns the batches of a trace in either version of the API: each has a resource and its spans.
    Raises one of SHAPE."""
    trace = answer.get("trace", answer)
    found: list[Any] = trace.get("batches") or trace["resourceSpans"]
    return found


def flatten(batches: list[Any]) -> list[dict[str, Any]]:
    """Returns the spans, the earliest first. Raises one of SHAPE."""
    found = sorted(_spans(batches), key=lambda span: span[0])
    return [span for _, span in found]


def _spans(batches: list[Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields each span after its start in nanoseconds."""
    for batch in batches:
        resource = _attributes(batch.get("resource") or {})
        for scope in batch.get("scopeSpans") or batch.get("instrumentationLibrarySpans") or ():
            for span in scope.get("spans") or ():
                start = int(span.get("startTimeUnixNano", 0))
                yield start, _span(span, start, resource)


def _span(span: dict[str, Any], start: int, resource: dict[str, Any]) -> dict[str, Any]:
    end = int(span.get("endTimeUnixNano", start))
    moment = datetime.datetime.fromtimestamp(start / 1e9, datetime.UTC)
    return {
        "service": resource.get("service.name"),
        "name": span.get("name"),
        "duration_ms": (end - start) / 1e6,
        "start": timestamps.format_time(moment),
        "span_id": span.get("spanId"),
        "parent_id": span.get("parentSpanId"),
        "kind": span.get("kind"),
        "status": (span.get("status") or {}).get("code"),
        "attributes": _attributes(span),
        "resource": resource,
    }


def _attributes(holder: dict[str, Any]) -> dict[str, Any]:
    """Returns the attributes, which the masking process has made an object."""
    return dict(holder.get("attributes") or {})
