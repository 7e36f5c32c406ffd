"""Provides `tempo`: traces by TraceQL."""

from __future__ import annotations

from typing import Any

from kubescript.guest.sdk.objects import schemas, views
from kubescript.guest.sdk.sources import failures, source, spans
from kubescript.guest.sdk.values import lazy_json

__all__ = ["Tempo", "Trace"]


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
            batches = spans.batches(answer)
            trace = Trace(views.wrap(each, schemas.FREE) for each in spans.flatten(batches))
        except spans.SHAPE as error:
            raise failures.unreadable(self._title("trace"), error) from None
        trace.batches = views.wrap(batches, schemas.FREE)
        return trace
