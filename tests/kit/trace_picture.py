"""The picture of a trace in docs/images: the spans of one script, as a receiver gets them from a real server."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple
from xml.etree import ElementTree

import anyio

from kubescript.cli import demo
from tests.kit import clients, paths, receiver

__all__ = ["FILE", "SCRIPT", "Row", "draw", "read", "record"]

FILE: Final = paths.ROOT / "docs" / "images" / "trace.svg"
SCRIPT: Final = """
core, apps = k8s.coreV1(), k8s.appsV1()
pods = core.list_namespaced_pod("shop")
reads = apps.list_namespaced_deployment, apps.list_namespaced_replica_set, core.list_namespaced_service
owners = k8s.parallel([(read, "shop") for read in reads])
warnings = core.list_namespaced_event("shop", field_selector="type=Warning")
try:
    core.list_namespaced_secret("shop", field_selector="data.password=a")
except ApiException as error:
    denied = error.reason
len(pods), [len(found) for found in owners], len(warnings)
"""
"""Reads one after the other, reads side by side, and one that the policy denies."""
WIDTH: Final = 960
LINE: Final = 26
LEFT: Final = 300
"""Where the bars begin."""
SPACE: Final = 130
"""How much room there is for the times on the right."""
STYLE: Final = """\
text { font: 14px sans-serif; fill: #1f2328 } .time { fill: #59636e } .ok { fill: #4c8bf5 } .error { fill: #d1242f }
.ground { fill: #f8f9fa }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .time { fill: #9198a1 } .ground { fill: #0d1117 } }
"""


class Row(NamedTuple):
    """A span, as a line of the picture."""

    depth: int
    name: str
    start: float
    """Milliseconds since the beginning of the trace."""
    length: float
    """Milliseconds."""
    note: str
    """The HTTP status, or the code of the error."""
    is_error: bool


def record() -> list[Row]:
    """Runs the script at a server that reports to a receiver; returns its trace."""

    async def ask(found: receiver.Receiver) -> None:
        flags = ("--toolsets", "code", "--snapshot", str(demo.SNAPSHOT))
        environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": found.url, "OTEL_BSP_SCHEDULE_DELAY": "100"}
        async with clients.connected(clients.server(flags, **environment)) as client:
            await clients.evaluate(client, "1")  # what is loaded once is no part of the picture
            answer = await clients.evaluate(client, SCRIPT)
            assert not answer.is_error, clients.whole(answer)
            await anyio.to_thread.run_sync(found.wait, lambda: len(found.named("script")) == 2)
            await anyio.to_thread.run_sync(found.wait, lambda: len(found.named("tools/call evaluate_script")) == 2)

    with receiver.receiving() as found:
        anyio.run(ask, found)
    last = max(found.named("script"), key=lambda span: span.start_time_unix_nano)
    spans = [span for span in found.spans if span.trace_id == last.trace_id]
    (top,) = [span for span in spans if span.span_id == last.parent_span_id]
    calls = sorted((span for span in spans if span.parent_span_id == last.span_id), key=_start)
    began = top.start_time_unix_nano
    return [_row(0, top, began), _row(1, last, began), *(_row(2, call, began) for call in calls)]


def _start(span: Any) -> tuple[int, str]:
    return span.start_time_unix_nano, span.name


def _row(depth: int, span: Any, began: int) -> Row:
    told = receiver.attributes(span.attributes)
    note = told.get("http.response.status_code") or told.get("error.type") or told.get("kubescript.script.code") or ""
    length = (span.end_time_unix_nano - span.start_time_unix_nano) / 1e6
    return Row(depth, span.name, (span.start_time_unix_nano - began) / 1e6, length, str(note), "error.type" in told)


def draw(rows: Sequence[Row]) -> str:
    """Returns an SVG with a bar for each span."""
    most = max(row.start + row.length for row in rows)
    scale = (WIDTH - LEFT - SPACE) / most
    height = LINE * len(rows) + LINE
    lines = [f'<svg viewBox="0 0 {WIDTH} {height}" xmlns="http://www.w3.org/2000/svg">', f"<style>{STYLE}</style>"]
    lines.append(f'<rect class="ground" width="{WIDTH}" height="{height}"/>')
    for number, row in enumerate(rows):
        middle = LINE * (number + 1)
        left = LEFT + row.start * scale
        width = max(2.0, row.length * scale)
        kind = "error" if row.is_error else "ok"
        lines += [
            f'<text class="name" x="{14 + 22 * row.depth}" y="{middle + 5}">{row.name}</text>',
            f'<rect class="{kind}" x="{left:.1f}" y="{middle - 7}" width="{width:.1f}" height="14" rx="2"/>',
            f'<text class="time" x="{left + width + 8:.1f}" y="{middle + 5}">{row.length:.1f} ms {row.note}</text>',
        ]
    return "\n".join([*lines, "</svg>\n"])


def read(file: Path = FILE) -> list[tuple[str, str]]:
    """Returns the names of the spans that a picture shows, each with its note."""
    texts = [
        (each.get("class"), "".join(each.itertext()))
        for each in ElementTree.parse(file).iter("{http://www.w3.org/2000/svg}text")
    ]
    names = [text for kind, text in texts if kind == "name"]
    notes = [re.sub(r"^[0-9.]+ ms ?", "", text) for kind, text in texts if kind == "time"]
    return list(zip(names, notes, strict=True))
