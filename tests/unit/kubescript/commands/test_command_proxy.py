"""The proxy between `oc` and the broker at the command's deadline: what is being answered outlives it, and nothing new is
asked."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import time
from collections.abc import Iterator

from kubescript import types
from kubescript.commands import confined_process, proxy
from kubescript.wire import exchanges
from kubescript_sandbox import runs
from kubescript_sandbox.host import conversation


class Cluster:
    """Answers each call, and keeps until when (time.monotonic) its answer may take."""

    def __init__(self) -> None:
        self.until: list[float] = []

    def __call__(self, call: exchanges.Call, left: float) -> tuple[exchanges.Reply, types.Response | None]:
        self.until.append(time.monotonic() + left)
        chunks = iter([b"{}"])
        response = types.Response(200, "OK", "application/json", chunks, lambda: None)
        return exchanges.Reply(200, "OK", "application/json"), response


@contextlib.contextmanager
def served(cluster: Cluster, seconds: float) -> Iterator[http.client.HTTPConnection]:
    """A connection to the proxy of a command that ends after so many seconds."""
    job = conversation.Job("get pods -w", runs.Limits(), exchanges.Parameters("default", "test"), cluster)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        way_out = confined_process.WayOut(listener, "secret")
        with proxy.Proxy(way_out, job, time.monotonic() + seconds).serving():
            connection = http.client.HTTPConnection(*listener.getsockname())
            with contextlib.closing(connection):
                yield connection


def test_an_answer_may_take_longer_than_the_command() -> None:
    """Else a watch would break off at the deadline, where `oc` ends with 0 before it is killed."""
    cluster = Cluster()
    begun = time.monotonic()
    with served(cluster, 3_600) as connection:
        connection.request("GET", "/secret/api/v1/pods?watch=true")
        assert connection.getresponse().read() == b"{}"
    (until,) = cluster.until
    assert until > begun + 3_601


def test_nothing_is_asked_after_the_deadline() -> None:
    """The answer says so, and the connection still stands."""
    cluster = Cluster()
    with served(cluster, 0) as connection:
        for _ in range(2):
            connection.request("GET", "/secret/api/v1/pods")
            answer = connection.getresponse()
            told = json.loads(answer.read())
            assert (answer.status, told["message"]) == (503, "cancelled: the command has ended")
    assert cluster.until == []
