"""The port of `http.metrics_port`: strangers read what is for them there and nothing else, and keep no caller out."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from typing import Final

import anyio
import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from kubescript import app
from kubescript.telemetry import evaluation
from kubescript.transports import monitoring
from security_tests import sockets
from tests.kit import clients, http_server, patience, trails

TOKEN = "a" * 32
HELD = (
    b"",
    b"GET /metrics HTTP/1.1\r\nHost: a\r\nX: ",
    b"POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n",
    b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n" * 100,
)
"""What a client sends that holds its connection: nothing, half a head, half a body, requests whose answers it leaves."""

HTTP: Final = httpx2.Client(timeout=60, limits=httpx2.Limits(max_keepalive_connections=0))
SEATED = {"kubescript_callers 1.0", 'kubescript_requests_refused_total{status="401"} 1.0'}


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int]]:
    """The port of callers, who need tokens, and the port for metrics."""
    folder = tmp_path_factory.mktemp("metrics")
    tokens, settings = folder / "tokens.csv", folder / "server.toml"
    tokens.write_text(f"{TOKEN},ann,ann\n")
    tokens.chmod(0o600)
    port = clients.free_port()
    settings.write_text(f'[auth]\ntokens_file = "{tokens}"\n[http]\nmetrics_port = {port}\n[[access]]\n')
    flags = ("--toolsets", "code", "--snapshot", str(trails.snapshot(folder)), "--config", str(settings))
    with http_server.serving(flags) as callers:
        yield callers, port


def answered(port: int) -> str:
    """What a caller gets that connects now and runs a script."""

    async def ask() -> str:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            through = streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http)
            async with Client(through, mode="legacy") as client:
                return clients.text(await clients.evaluate(client, trails.COUNT))

    return anyio.run(ask)


def scraped(port: int) -> bool:
    """Whether Prometheus gets its metrics."""
    try:
        found = HTTP.get(f"http://127.0.0.1:{port}/metrics")
    except httpx2.HTTPError:
        return False
    return found.status_code == 200 and "kubescript_queue_depth 0" in found.text


@pytest.mark.promise("R-08")
def test_the_port_for_metrics_has_these_and_probes_and_nothing_else(ports: tuple[int, int]) -> None:
    """Under any name, without a token and without details; callers' port asks for a token as before."""
    callers, port = ports
    found = {path: HTTP.get(f"http://127.0.0.1:{port}{path}", headers={"Host": "10.0.0.7"}) for path in
             ("/metrics", "/health", "/ready", "/mcp", "/info", "/tools", "/approvals", "/sse", "/")}  # fmt: skip
    assert {path: answer.status_code for path, answer in found.items()} == {
        "/metrics": 200, "/health": 200, "/ready": 200, "/mcp": 404, "/info": 404, "/tools": 404, "/approvals": 404,
        "/sse": 404, "/": 404,
    }  # fmt: skip
    assert found["/health"].json() == {"status": "healthy"}
    assert found["/ready"].json() == {"status": "ready"}
    assert "ann" not in found["/metrics"].text
    assert HTTP.post(f"http://127.0.0.1:{port}/metrics", content=b"x" * 100_000).status_code == 405
    assert HTTP.get(f"http://127.0.0.1:{callers}/metrics").status_code == 401
    assert answered(callers) == "1"
    patience.until(lambda: set(HTTP.get(f"http://127.0.0.1:{port}/metrics").text.splitlines()) >= SEATED)


@pytest.mark.promise("R-08")
def test_strangers_at_the_port_for_metrics_hold_few_connections_and_no_caller_out(ports: tuple[int, int]) -> None:
    """More connections than it takes, of every kind: callers are answered meanwhile, and then metrics are again."""
    callers, port = ports
    with contextlib.ExitStack() as stack:
        held = []
        for data in HELD * monitoring.MOST:
            held.append(stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20)))
            with contextlib.suppress(OSError):  # the server may have ended it by now
                held[-1].sendall(data)
        assert answered(callers) == "1"
        patience.until(lambda: sockets.ended(held) >= len(held) - monitoring.MOST)
        patience.until(lambda: scraped(port))
    assert answered(callers) == "1"


@pytest.mark.promise("R-08")
def test_callers_are_answered_while_metrics_are_written(
    ports: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text of thousands of series takes a while, for which no caller waits."""
    callers, port = ports
    write = app.Application.scrape
    answers: list[int] = []

    def scrape(opened: app.Application, present: evaluation.Presence) -> bytes:
        answers.append(HTTP.get(f"http://127.0.0.1:{callers}/health").status_code)
        return write(opened, present)

    monkeypatch.setattr(app.Application, "scrape", scrape)
    while not answers:  # the last text counts for a second
        assert scraped(port)
    assert answers == [200] and answered(callers) == "1"
