"""Recordings in place of a Tempo: the answers that its API documents, for the spans that a test gives.

No real one runs here: all its releases are refused, or under the AGPL. `/api/search` answers every TraceQL query with all
traces of the time range, so a test of a query's meaning cannot be made with this.
"""

from __future__ import annotations

import base64
import functools
import json
import urllib.parse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.kit.engines import served

__all__ = ["Recorded", "Span"]


@dataclass(frozen=True)
class Span:
    """One span; the first of a trace is its root."""

    trace: str
    """32 hexadecimal digits."""
    id: str
    """16 hexadecimal digits."""
    name: str
    service: str
    begins: float
    """In seconds since 1970."""
    seconds: float
    parent: str = ""
    attributes: tuple[tuple[str, str], ...] = ()
    """Of the resource, beside its service."""
    failed: bool = False


class Recorded(served.Served):
    """Serves recordings in this process."""

    def __init__(self, spans: Sequence[Span]) -> None:
        """`spans` are in the order of their times."""
        traces = {each.trace: [one for one in spans if one.trace == each.trace] for each in spans}
        super().__init__(functools.partial(_answer, traces), "application/json")


def _answer(traces: dict[str, list[Span]], asked: urllib.parse.SplitResult) -> tuple[int, str]:
    if asked.path == "/api/search":
        return 200, json.dumps(_search(traces, dict(urllib.parse.parse_qsl(asked.query))))
    if asked.path == "/api/status/buildinfo":
        return 200, json.dumps({"version": "recorded", "revision": "", "branch": "", "goVersion": ""})
    found = traces.get(asked.path.removeprefix("/api/traces/"))
    if found is None:
        return 404, "trace not found"
    return 200, json.dumps({"batches": [_batch(each) for each in found]})


def _search(traces: dict[str, list[Span]], options: dict[str, str]) -> dict[str, Any]:
    start, end = float(options.get("start", 0)), float(options.get("end", "inf"))
    found = [spans for spans in traces.values() if start <= spans[0].begins <= end]
    return {
        "traces": [_summary(spans) for spans in found[: int(options.get("limit", 20))]],
        "metrics": {"inspectedTraces": len(traces), "inspectedBytes": "4096"},
    }


def _summary(spans: list[Span]) -> dict[str, Any]:
    root = spans[0]
    listed = [
        {"spanID": each.id, "startTimeUnixNano": _ns(each.begins), "durationNanos": _ns(each.seconds)} for each in spans
    ]
    return {
        "traceID": root.trace,
        "rootServiceName": root.service,
        "rootTraceName": root.name,
        "startTimeUnixNano": _ns(root.begins),
        "durationMs": round(root.seconds * 1000),
        "spanSets": [{"spans": listed, "matched": len(spans)}],
    }


def _batch(span: Span) -> dict[str, Any]:
    attributes = (("service.name", span.service), *span.attributes)
    written = {
        "traceId": _bytes(span.trace),
        "spanId": _bytes(span.id),
        **({"parentSpanId": _bytes(span.parent)} if span.parent else {}),
        "name": span.name,
        "kind": "SPAN_KIND_SERVER",
        "startTimeUnixNano": _ns(span.begins),
        "endTimeUnixNano": _ns(span.begins + span.seconds),
        "status": {"code": "STATUS_CODE_ERROR"} if span.failed else {},
    }
    return {
        "resource": {"attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes]},
        "scopeSpans": [{"scope": {}, "spans": [written]}],
    }


def _ns(seconds: float) -> str:
    return f"{round(seconds * 1000)}000000"


def _bytes(digits: str) -> str:
    """Protobuf writes bytes in JSON by base64."""
    return base64.b64encode(bytes.fromhex(digits)).decode()
