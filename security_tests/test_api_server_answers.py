"""Answers of an API server, or of something in its place, that look like less than they are: each is an error by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import anyio
import mcp_types
import msgspec
import pytest

from kubescript.broker import operation, records, summary
from kubescript.cluster import live
from kubescript.policy import policy
from kubescript.wire import exchanges
from tests.kit import clients, reading, trails
from tests.kit.api_server import CHUNKED, OK, Server, hang_up, head, kubeconfig, then, whole

LOG: Final = ("api", "v1", "namespaces", "a", "pods", "p", "log")
LIST: Final = ("api", "v1", "pods")
QUERIES: Final = {
    "a log": exchanges.Call("GET", LOG, accept="text"),
    "a watch": exchanges.Call("GET", LIST, (("watch", "true"),)),
    "a list": exchanges.Call("GET", LIST),
    "an object": exchanges.Call("GET", (*LIST[:2], "namespaces", "a")),
    "a health check": exchanges.Call("GET", ("livez",), accept="text"),
    "a question": exchanges.Call(
        "POST", ("apis", "authorization.k8s.io", "v1", "selfsubjectaccessreviews"), body=msgspec.Raw(b"{}")
    ),
}


class Door:
    """A broker before a server whose answers are written here."""

    def __init__(self, server: Server, folder: Path) -> None:
        self._cluster = live.Live(kubeconfig(folder, server.url))
        self.recorded: list[records.Record] = []
        self.notes = summary.Summary()
        self._broker = reading.made(self._cluster, policy.Policy(), record=self.recorded.append)

    def ask(self, call: exchanges.Call) -> str:
        """The code of the call's fault, or its status and body."""
        reply, response = self._broker.handle(call, operation.Operation(self.notes), 60)
        if reply.fault is not None:
            return reply.fault.code
        assert response is not None
        return f"{response.status} {b''.join(response.chunks).decode()}"

    def close(self) -> None:
        """Drops the connections."""
        self._cluster.close()


@pytest.fixture
def server() -> Iterator[Server]:
    """A server on a port of its own."""
    made = Server()
    yield made
    made.close()


@pytest.fixture
def door(server: Server, tmp_path: Path) -> Iterator[Door]:
    """A broker before that server."""
    made = Door(server, tmp_path)
    yield made
    made.close()


NO_ANSWERS: Final = (101, 103, 199, 205, 206, 226, 299, 300, 302, 304, 307, 399)
"""Of these, 101, 103, 199 and 304 have no body, whatever is sent."""
NOT_FOR_READS: Final = (201, 202, 204)


@pytest.mark.promise("F-01")
@pytest.mark.parametrize("status", [*NO_ANSWERS, *NOT_FOR_READS])
@pytest.mark.parametrize("name", QUERIES)
def test_a_status_that_answers_nothing_is_no_empty_answer(name: str, status: int, door: Door, server: Server) -> None:
    """A redirect to a login page was an empty log, and a watch without events, of which no note told."""
    server.steps = [whole(OK, f"{status} X")] * 2
    if status == 204 and name == "a log":  # the log of a pod that runs nowhere yet
        assert door.ask(QUERIES[name]) == "204 "
    elif QUERIES[name].method == "POST" and status in {201, 202}:
        assert door.ask(QUERIES[name]).startswith(f"{status} ")
    else:
        assert door.ask(QUERIES[name]) == "cluster.broken"
        assert door.recorded[-1].fault == "cluster.broken" and door.notes.failed
    assert len(door.recorded) == 1
    server.steps = []
    assert door.ask(QUERIES["a list"]) == f"200 {OK.decode()}"


HALF: Final = b"the first half of a log"
UNFRAMED: Final = {
    "a length that is a word": head("200 OK", "Content-Length: abc"),
    "a length below zero": head("200 OK", "Content-Length: -1"),
    "a length of five thousand digits": head("200 OK", "Content-Length: " + "9" * 5_000),
    "two lengths": head("200 OK", "Content-Length: 23", "Content-Length: 4"),
    "a coding that is none": head("200 OK", "Transfer-Encoding: notchunked"),
    "a coding within chunks": head("200 OK", "Transfer-Encoding: gzip, chunked"),
    "two codings": head("200 OK", "Transfer-Encoding: identity", "Transfer-Encoding: chunked"),
}


@pytest.mark.promise("F-01")
@pytest.mark.parametrize("name", UNFRAMED)
def test_a_body_without_a_length_is_not_whole(name: str, door: Door, server: Server) -> None:
    """A log that breaks off is no short log, whatever stands where its length should be."""
    server.steps = [then(UNFRAMED[name].replace(b"application/json", b"text/plain") + HALF, hang_up)] * 2
    assert door.ask(QUERIES["a log"]) == "cluster.broken"
    server.steps = [CHUNKED.replace(b"application/json", b"text/plain") + b"4\r\nlog\n\r\n0\r\n\r\n"]
    assert door.ask(QUERIES["a log"]) == "200 log\n"


@pytest.mark.promise("W-06")
def test_a_time_limit_in_another_form_of_json_ends_no_worker(tmp_path: Path) -> None:
    """30000.0 is an integer for JSON: its worker was ended, and the operator told of a forbidden system call."""
    flags = ("--snapshot", str(trails.snapshot(tmp_path)), "--toolsets", "code")

    async def ask(timeout: object) -> mcp_types.CallToolResult:
        async with clients.connect("stdio", flags) as client:
            return await clients.evaluate(client, trails.COUNT, timeout=timeout)

    assert clients.text(anyio.run(ask, 30_000.0)) == "1"
    assert clients.text(anyio.run(ask, 30_000)) == "1"
