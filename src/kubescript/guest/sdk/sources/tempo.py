"""Provides `tempo`: traces by TraceQL."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any, Final

from kubescript.guest.sdk.objects import schemas, views
from kubescript.guest.sdk.sources import failures, source
from kubescript.guest.sdk.values import lazy_json, timestamps

__all__ = ["Tempo", "Trace"]

_SHAPE: Final = (AttributeError, KeyError, TypeError, ValueError, OverflowError)
"""What an answer raises that is not OTLP."""


class Trace(list[Any]):
    """The spans of one trace, the earliest first."""

    __slots__ = ("batches",)

    batches: Any
    """The trace as OTLP writes it, but with attributes as dicts."""

    @property
    def spans(self) -> list[Any]:
        """The spans."""
        return self


class Tempo(source.Source):
    """The traces of a Tempo."""

    __slots__ = ()

    _help = (
        "{name}: traces by TraceQL.\n"
        "{name}.search('{{ resource.service.name = \"checkout\" && duration > 2s }}', start='-1h', limit=20): a list "
        "of traces with .traceID, .rootServiceName, .rootTraceName and .durationMs.\n"
        "{name}.trace(id).spans: .service, .name, .duration_ms, .start, .span_id, .parent_id, .status, .attributes and "
        ".resource (dicts); .batches has all, with attributes as dicts.\n"
        "Times: datetime, ISO text, seconds since the epoch, '-1h'."
    )

    def search(
        self,
        q: str | None = None,
        start: Any = None,
        end: Any = None,
        limit: int | None = None,
    ) -> Any:
        """The traces that TraceQL selects from `start` (an hour ago) to `end` (now)."""
        body = self._ask("search", q=q, start=start, end=end, limit=limit)
        answer = self._wrap("search", body)
        # Where nothing was found, Tempo may write `metrics` alone.
        if not isinstance(answer, views.View) or not {"traces", "metrics"} & set(answer):
            raise failures.unreadable(self._title("search"), "no list traces")
        found = answer.get("traces") or []
        for each in found:
            # Zeros are left out of the answer.
            each.setdefault("durationMs", 0)
        return found

    def trace(self, id: str) -> Trace:  # noqa: A002  the API's name
        """The spans of one trace, the earliest first."""
        answer = self._decode("trace", lazy_json.decode_all, self._ask("trace", id=id))
        try:
            batches = _list_batches(answer)
            trace = Trace(views.wrap(each, schemas.FREE) for each in _flatten(batches))
        except _SHAPE as error:
            raise failures.unreadable(self._title("trace"), error) from None
        trace.batches = views.wrap(batches, schemas.FREE)
        return trace


def _list_batches(answer: Any) -> list[Any]:
    """Returns the batches of a trace in either version of the API: each has a resource and its spans.
    Raises one of _SHAPE."""
    trace = answer.get("trace", answer)
    found: list[Any] = trace.get("batches") or trace["resourceSpans"]
    return found


def _flatten(batches: list[Any]) -> list[dict[str, Any]]:
    """Returns the spans, the earliest first. Raises one of _SHAPE."""
    found = sorted(_list_spans(batches), key=lambda span: span[0])
    return [span for _, span in found]


def _list_spans(batches: list[Any]) -> Iterator[tuple[int, dict[str, Any]]]:
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
