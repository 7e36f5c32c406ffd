"""What a taken worker may ask of a source: fixed questions at one address, bounded, and nothing else."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from kubescript import app, config, programs
from kubescript.broker import operation
from kubescript.wire import exchanges
from kubescript_sandbox.host import spawner
from tests.kit import cases, listener

Count = Callable[[int], None]
ANSWER: Final = json.dumps({"status": "success", "data": {"resultType": "vector", "result": []}}).encode()
UP: Final = (("query", "up"),)


class Recording:
    """A source that writes down the head of every request, and answers with no series, or as it is told."""

    def __init__(self) -> None:
        self.heads: list[str] = []
        self.answer = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(ANSWER)}\r\n\r\n"
        self.body = ANSWER
        self._listener = listener.Listener(self._serve)
        self.url = f"http://127.0.0.1:{self._listener.port}/prefix"

    @property
    def asked(self) -> list[str]:
        """The methods and paths so far."""
        return [" ".join(head.split(" ")[:2]) for head in self.heads]

    def _serve(self, sock: socket.socket) -> None:
        with sock, sock.makefile("rb") as stream:
            while line := stream.readline():
                head = line.decode()
                while (line := stream.readline()).strip():
                    head += line.decode()
                self.heads.append(head)
                sock.sendall(self.answer.encode() + self.body)


class Worker:
    """What a worker can do to a source: send any call."""

    def __init__(self, application: app.Application) -> None:
        self._contexts = application.operator.contexts
        self.operation = operation.Operation()

    def ask(self, *path: str, query: tuple[tuple[str, str], ...] = (), **more: Any) -> tuple[str, Any]:
        """The fault's code, and the answer's data."""
        call = exchanges.Call(more.pop("method", "GET"), (*exchanges.SOURCES, *path), query, **more)
        reply, response = self._contexts.handle(call, self.operation, 20)
        body = b"" if response is None else b"".join(response.chunks)
        return ("", json.loads(body)) if reply.fault is None else (reply.fault.code, None)


@pytest.fixture(scope="module")
def source() -> Recording:
    return Recording()


@pytest.fixture(scope="module")
def worker(source: Recording) -> Iterator[Worker]:
    with _opened(source) as application:
        yield Worker(application)


@contextlib.contextmanager
def _opened(source: Recording, namespaces: tuple[str, ...] | None = None, **more: Any) -> Iterator[app.Application]:
    settings = config.Settings(
        kubeconfig=Path("/nonexistent"),
        kubeconfig_later=True,
        sources={
            "prom": config.Source(kind="prometheus", url=source.url, **more),
            "logs": config.Source(kind="loki", url=source.url, tenant="team-a"),
            "traces": config.Source(kind="tempo", url=source.url),
        },
    )
    with app.opened(settings.limit_namespaces(namespaces), spawner.Spawner(programs.WORKER)) as application:
        yield application


EVERYTHING: Final = (".+", "((a))?.+", "(?:a(b))*.+", "a{0}.+", "x{0,1}.+", "[]a].*|.+m")
REFUSED: Final[dict[str, tuple[tuple[str, ...], dict[str, Any]]]] = {
    "another path": (("prom", "../../admin/tsdb/delete_series"), {}),
    "more segments": (("prom", "query", "x"), {"query": UP}),
    "no operation": (("prom",), {}),
    "an operation of another kind": (("logs", "rules"), {}),
    "the door's own operation": (("prom", "count"), {"query": UP}),
    "another source": (("http://evil.example", "query"), {"query": UP}),
    "no source": ((), {}),
    "another method": (("prom", "query"), {"query": UP, "method": "POST"}),
    "a body": (("prom", "query"), {"query": UP, "body": msgspec.Raw(b"{}")}),
    "an unknown argument": (("prom", "query"), {"query": (*UP, ("timeout", "1h"))}),
    "an argument twice": (("prom", "query"), {"query": (*UP, *UP)}),
    "a label with a path": (("prom", "label_values"), {"query": (("label", "../../x"),)}),
    "a trace id with a path": (("traces", "trace"), {"query": (("id", "ab/../../x"),)}),
    "a time with more": (("prom", "query"), {"query": (*UP, ("time", "1&x=y"))}),
    "a namespace where none is taken": (("prom", "query"), {"query": (*UP, ("namespace", "shop"))}),
    **{
        f"everything by {pattern}": (("prom", "query"), {"query": (("query", f'{{__name__=~"{pattern}"}}'),)})
        for pattern in EVERYTHING
    },
    "a renamed label": (("prom", "query"), {"query": (("query", 'label_replace(x,"y","$1","password","(.*)")'),)}),
    "all words of lines as labels": (
        ("logs", "query"),
        {"query": (("query", 'count_over_time({a="b"} | logfmt [1h])'),)},
    ),
    "a renamed field": (("logs", "query"), {"query": (("query", '{a="b"} | json x="password"'),)}),
}


@pytest.mark.promise("D-01", "D-02")
@cases.each("attack", REFUSED)
def test_any_other_question_is_refused_and_not_sent(
    attack: str, worker: Worker, source: Recording, attacks: Count
) -> None:
    """The refusal has a code, the source gets nothing, and the next question is answered."""
    attacks(1)
    path, more = REFUSED[attack]
    before = len(source.heads)
    code, _ = worker.ask(*path, **more)
    assert code.startswith(("request.source", "policy."))
    assert len(source.heads) == before
    assert worker.ask("prom", "query", query=UP)[0] == ""


@pytest.mark.promise("D-01")
def test_what_is_sent_is_the_template_and_the_operator_s_headers(worker: Worker, source: Recording) -> None:
    """Whatever the arguments hold, they stay in their places of the query string."""
    hostile = 'up{a="b&x=y X-Scope-OrgID: other ../?#"}'
    assert worker.ask("prom", "query", query=(("query", hostile), ("time", "5")))[0] == ""
    assert worker.ask("logs", "label_values", query=(("label", "app"), ("start", "1"), ("end", "2")))[0] == ""
    first, second = source.heads[-2:]
    assert first.startswith(
        "GET /prefix/api/v1/query?query=up%7Ba%3D%22b%26x%3Dy+X-Scope-OrgID%3A+other+..%2F%3F%23%22%7D"
    )
    assert second.split()[1] == "/prefix/loki/api/v1/label/app/values?start=1000000000&end=2000000000"
    names = [[line.partition(":")[0].lower() for line in head.splitlines()[1:]] for head in (first, second)]
    assert names[0] == ["host", "accept", "accept-encoding", "user-agent"]
    assert [*names[0], "x-scope-orgid"] == names[1]
    assert "X-Scope-OrgID: team-a\r\n" in second


@pytest.mark.promise("D-01")
def test_a_redirect_is_not_followed(source: Recording, worker: Worker) -> None:
    """A source that sends elsewhere is an error; nothing else is asked."""
    other = Recording()
    plain, source.answer = source.answer, f"HTTP/1.1 302 Found\r\nLocation: {other.url}\r\nContent-Length: 2\r\n\r\n"
    source.body = b"{}"
    assert worker.ask("prom", "query", query=UP)[0] == "cluster.broken"
    source.answer, source.body = plain, ANSWER
    assert other.heads == []
    assert worker.ask("prom", "query", query=UP)[0] == ""


@pytest.mark.promise("D-03")
def test_fifty_million_points_are_refused_before_they_are_asked_for(worker: Worker, source: Recording) -> None:
    """A range of too many steps is not asked for at all, and one of many series only after they are counted."""
    before = len(source.heads)
    year = (("query", "up"), ("start", "-31536000"), ("step", "0.5"))
    assert worker.ask("prom", "query_range", query=year)[0] == "policy.points"
    assert len(source.heads) == before
    counted = json.dumps({
        "status": "success", "data": {"resultType": "vector", "result": [{"metric": {}, "value": [1, "50000"]}]}
    }).encode()  # fmt: skip
    plain, source.body = source.body, counted
    source.answer = source.answer.replace(str(len(ANSWER)), str(len(counted)))
    asked = (("query", "up"), ("start", "-60000"), ("step", "60"))
    assert worker.ask("prom", "query_range", query=asked)[0] == "policy.points"
    source.answer, source.body = source.answer.replace(str(len(counted)), str(len(plain))), plain
    assert [line.partition("?")[0] for line in source.asked[before:]] == ["GET /prefix/api/v1/query"]
    assert "query=count%28%0Aup%0A%29" in source.asked[-1]
    assert worker.ask("prom", "query_range", query=asked)[0] == ""


@pytest.mark.promise("D-04")
def test_a_limited_caller_asks_for_permitted_namespaces_only(source: Recording) -> None:
    """A source that shows all is refused; one that shows a namespace gets those that the caller may see."""
    with _opened(source, ("shop",)) as application:
        assert application.operator.contexts.sources == {}
        assert Worker(application).ask("prom", "query", query=UP)[0] == "policy.source"
    with _opened(source, ("shop", "team-*"), tenancy="namespace") as application:
        worker = Worker(application)
        before = len(source.heads)
        codes = [
            worker.ask("prom", "query", query=(*UP, *namespace))[0]
            for namespace in ((), (("namespace", "payments"),), (("namespace", "shop|payments"),))
        ]
        assert codes == ["policy.source", "policy.namespace", "request.source"]
        assert len(source.heads) == before
        assert worker.ask("prom", "query", query=(*UP, ("namespace", "team-a")))[0] == ""
    assert "&namespace=team-a&" in source.asked[-1]
