"""A real OTLP/HTTP receiver: takes protobuf over HTTP and keeps what it was sent."""

from __future__ import annotations

import contextlib
import gzip
import http.server
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

__all__ = ["Receiver", "attributes", "receiving"]


class Receiver:
    """What has arrived so far."""

    def __init__(self) -> None:
        self.url = ""
        self.spans: list[trace_pb2.Span] = []
        self.resource: dict[str, Any] = {}
        self.metrics: dict[str, Any] = {}
        """Newest value by name."""
        self.raw = b""

    def take(self, path: str, body: bytes) -> None:
        """One request of an exporter."""
        self.raw += body
        if path == "/v1/traces":
            for sent in trace_service_pb2.ExportTraceServiceRequest.FromString(body).resource_spans:
                self.resource = attributes(sent.resource.attributes)
                self.spans += [span for scope in sent.scope_spans for span in scope.spans]
        elif path == "/v1/metrics":
            for measured in metrics_service_pb2.ExportMetricsServiceRequest.FromString(body).resource_metrics:
                self.metrics |= {metric.name: metric for scope in measured.scope_metrics for metric in scope.metrics}

    def wait(self, ready: Callable[[], object], seconds: float = 120) -> None:
        """Until something has arrived."""
        deadline = time.monotonic() + seconds
        while not ready():
            assert time.monotonic() < deadline, [span.name for span in self.spans] + list(self.metrics)
            time.sleep(0.05)

    def named(self, name: str) -> list[trace_pb2.Span]:
        """The spans of this name."""
        return [span for span in self.spans if span.name == name]


@contextlib.contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver that listens."""
    found = Receiver()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            assert self.headers["Content-Type"] == "application/x-protobuf"
            found.take(self.path, gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body)
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield found
        server.shutdown()


def attributes(pairs: Any) -> dict[str, Any]:
    """Attributes as a dict."""
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: common_pb2.AnyValue) -> Any:
    return getattr(value, value.WhichOneof("value") or "string_value")
