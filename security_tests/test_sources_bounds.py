"""How much a source can make of one question: what was permitted, whatever it answers; and a part is told as a part."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from kubescript import app, config, programs
from kubescript.broker import operation, summary
from kubescript.wire import exchanges
from kubescript_sandbox.host import spawner
from tests.kit import api_server, clients
from tests.kit.source_tables import table

MOST: Final = 5
POINTS: Final = 1_000
STEPS: Final = 250
RANGE: Final = (("query", "up"), ("start", "1000"), ("end", str(1000 + STEPS - 1)), ("step", "1"))
FLOOD: Final = 64 << 20


def answer(kind: str, count: int) -> bytes:
    """An answer with so many results."""
    each: dict[str, Any] = {"metric": {}, "values": [[0, "1"]]}
    if kind == "streams":
        each = {"stream": {"app": "web"}, "values": [[str(at), "a line"] for at in range(count)]}
    result = [each] if kind == "streams" else [each] * count
    return json.dumps({"status": "success", "data": {"resultType": kind, "result": result}}).encode()


def counted(number: int) -> bytes:
    """The answer to `count(…)`."""
    result = [{"metric": {}, "value": [0, str(number)]}] if number else []
    return api_server.whole(
        json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}}).encode()
    )


def listed(count: int, kind: str) -> bytes:
    """A list of labels or values, or of traces."""
    return json.dumps({"traces": [{}] * count} if kind else {"status": "success", "data": ["x"] * count}).encode()


@pytest.fixture
def source() -> Iterator[api_server.Server]:
    with contextlib.closing(api_server.Server()) as made:
        yield made


class Worker:
    """What a worker can do to a source: send any call."""

    def __init__(self, application: app.Application) -> None:
        self._contexts = application.operator.contexts
        self.operation = operation.Operation()

    def ask(self, *path: str, query: tuple[tuple[str, str], ...]) -> str:
        """The fault's code; of an answer, its notes."""
        self.operation.summary.parts.clear()
        call = exchanges.Call("GET", (*exchanges.SOURCES, *path), query)
        reply, response = self._contexts.handle(call, self.operation, 20)
        try:
            for _ in () if response is None else response.chunks:
                pass
        except Exception as error:
            return getattr(error, "code", repr(error))
        notes = " ".join(note.sentence for note in self.operation.summary.parts)
        return notes if reply.fault is None else reply.fault.code


@pytest.fixture
def worker(source: api_server.Server) -> Iterator[Worker]:
    own = {"url": source.url, "max_series": MOST, "max_points": POINTS}
    settings = config.Settings(
        kubeconfig=Path("/nonexistent"),
        kubeconfig_later=True,
        sources={
            "prom": config.Source.model_validate(own | {"kind": "prometheus"}),
            "logs": config.Source.model_validate(own | {"kind": "loki"}),
            "traces": config.Source.model_validate(own | {"kind": "tempo"}),
        },
    )
    with app.opened(settings, spawner.Spawner(programs.WORKER)) as application:
        yield Worker(application)


LOGS: Final = ("logs", "query_range")
LINES: Final = (("query", '{app="web"}'), ("limit", "1000"))
ANSWERS: Final[Mapping[str, tuple[tuple[str, str], tuple[tuple[str, str], ...], str]]] = {
    "series now": (("prom", "query"), (("query", "up"),), "vector"),
    "series over time": (("prom", "query_range"), (("query", "up"), ("start", "-60"), ("step", "30")), "matrix"),
    "label sets": (("prom", "series"), (("match", "up"),), ""),
    "values": (("prom", "label_values"), (("label", "pod"),), ""),
    "traces": (("traces", "search"), (("q", "{}"), ("limit", "1000")), "traces"),
    "lines": (LOGS, LINES, "streams"),
    "labels of streams": (("logs", "labels"), (), ""),
    "series of logs": (LOGS, (("query", 'rate({app="web"}[5m])'),), "matrix"),
}


@pytest.mark.promise("D-03")
@pytest.mark.parametrize("case", ANSWERS)
def test_an_answer_of_more_than_is_permitted_is_refused_and_a_cut_one_is_told(
    case: str, worker: Worker, source: api_server.Server
) -> None:
    """An old Prometheus knows no limit=, and any source may ignore it. An answer of exactly as many is taken and noted as
    a part, also where the script asked for more; one of fewer is whole."""
    path, query, kind = ANSWERS[case]
    found = {
        count: listed(count, kind) if kind in {"", "traces"} else answer(kind, count)
        for count in (MOST - 1, MOST, MOST + 1)
    }
    for count, said in ((MOST + 1, "cluster.too_large"), (MOST, f"({MOST} only, there may be more)"), (MOST - 1, "")):
        source.answer = api_server.whole(found[count])
        told = worker.ask(*path, query=query)
        assert told.endswith(said) and bool(told) == bool(said), told


PARTS: Final[dict[tuple[str, str], tuple[tuple[tuple[str, str], ...], dict[str, Any]]]] = {
    ("prom", "rules"): ((), {"status": "success", "data": {"groups": []}, "isPartial": True}),
    ("prom", "alerts"): ((), {"status": "success", "data": {"alerts": []}, "isPartial": True}),
    ("prom", "targets"): ((), {"status": "success", "data": {"activeTargets": []}, "isPartial": True}),
    ("prom", "metadata"): ((), {"status": "success", "data": {}, "isPartial": True}),
    ("prom", "labels"): ((), {"status": "success", "data": None, "isPartial": True}),
    ("traces", "search"): ((("q", "{}"),), {"traces": None, "metrics": {}, "status": "PARTIAL"}),
    ("traces", "trace"): ((("id", "ab"),), {"trace": {"resourceSpans": []}, "status": "PARTIAL", "message": "large"}),
}
"""Answers of Thanos, VictoriaMetrics and Tempo that say that a part is missing."""


@pytest.mark.promise("F-10")
@pytest.mark.parametrize("path", PARTS)
def test_what_a_source_calls_a_part_is_told_as_a_part(
    path: tuple[str, str], worker: Worker, source: api_server.Server
) -> None:
    """Each operation's answer, not only that of a query; the whole answer that follows has no note."""
    query, part = PARTS[path]
    whole = {name: value for name, value in part.items() if name not in {"isPartial", "status"}}
    source.steps = [api_server.whole(json.dumps(each).encode()) for each in (part, {"status": "success", **whole})]
    assert worker.ask(*path, query=query).endswith(f" {path[1]} (the source says that a part is missing)")
    assert worker.ask(*path, query=query) == ""


@pytest.mark.promise("D-03")
def test_series_that_hide_from_the_count_are_refused_or_limited(worker: Worker, source: api_server.Server) -> None:
    """A query may have no series at its end; they are counted at three times, each in the source's time. Where all counts
    are empty, the limit that is sent bounds the points, and the answer is held to it."""
    permitted = POINTS // STEPS
    for counts, requests in ((("9",), 1), (("0", "9"), 2), (("0", "0", "9"), 3)):
        source.requests.clear()
        source.steps = [counted(int(number)) for number in counts]
        assert worker.ask("prom", "query_range", query=RANGE) == "policy.points"
        assert len(source.requests) == requests
        assert all("count%28%0Aup%0A%29" in each and "&timeout=" in each for each in source.requests)
    for most, said in ((permitted + 1, "cluster.too_large"), (permitted, f"({permitted} only, there may be more)")):
        source.steps = [*[counted(0)] * 3, api_server.whole(answer("matrix", most))]
        assert worker.ask("prom", "query_range", query=RANGE).endswith(said)
        assert f"&limit={permitted}&" in source.requests[-1]
    source.requests.clear()
    rates = (("query", 'rate({app="web"}[1m])'), ("start", "1000"), ("end", str(1001 + POINTS)), ("step", "1"))
    assert worker.ask("logs", "query_range", query=rates) == "policy.points"
    assert source.requests == []
    source.answer = api_server.whole(answer("matrix", 1))
    assert worker.ask("logs", "query_range", query=rates[:1]) == ""


@pytest.mark.promise("D-03")
def test_the_host_s_own_count_reads_no_flood_and_costs_the_script(worker: Worker, source: api_server.Server) -> None:
    """A count that fails is not read, one that is long is held to the script's bytes, and each is one of its calls. The
    next question is answered."""
    closed = threading.Event()

    def flood(sock: socket.socket) -> None:
        try:
            sock.sendall(api_server.head("500 Internal Server Error", length=FLOOD) + b"words \n" * (FLOOD // 7))
        except OSError:
            closed.set()
            raise

    source.steps.append(flood)
    assert worker.ask("prom", "query_range", query=RANGE) == "cluster.broken"
    assert closed.wait(20)
    assert worker.operation.summary.calls == 2
    blanks = counted(0).partition(b"\r\n\r\n")[2] + b" " * (1 << 20)
    worker.operation = operation.Operation(summary.Summary(most_bytes=100_000))
    source.steps = [api_server.whole(blanks)]
    assert worker.ask("prom", "query_range", query=RANGE) == "limit.bytes"
    worker.operation = operation.Operation()
    source.steps, source.answer = [counted(0)] * 3, api_server.whole(answer("matrix", 1))
    assert worker.ask("prom", "query_range", query=RANGE) == ""
    assert worker.operation.summary.calls == 4


PARTIAL: Final = answer("matrix", 1)[:-1] + b', "isPartial": true}'
EMPTY: Final = {"resultType": "vector", "result": []}
SUCCESS: Final = {"status": "success", "data": {}}
LESS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("prom.query('up')", {"status": "error", "error": "timed out", "data": EMPTY}),
    ("prom.query('up')", {"status": "success", "data": EMPTY | {"resultType": "samples"}}),
    ("prom.labels()", {"status": "error", "data": []}),
    *((script, SUCCESS) for script in ("prom.labels()", "prom.alerts()", "prom.rules()", "prom.targets()")),
    ("alertmanager.alerts()", {"status": "success", "data": [{}]}),
    ("alertmanager.silences()", {}),
    ("tempo.search()", {"error": "timed out"}),
    ("tempo.trace('ab')", {}),
)
"""Questions, and answers within 200 that do not say that there is nothing."""


@pytest.mark.promise("D-03")
def test_no_script_takes_a_part_or_a_failure_for_the_whole(source: api_server.Server, tmp_path: Path) -> None:
    """The note under the answer tells of a part, even if the script prints nothing; a failure within 200, and an answer
    without its list, raise an error. The next answer is whole and has no note."""
    file = tmp_path / "server.toml"
    kinds = ("prometheus", "alertmanager", "tempo")
    file.write_text("".join(table(kind, kind, source.url) for kind in kinds))
    flags = ("--config", str(file), "--kubeconfig", str(api_server.kubeconfig(tmp_path, "http://127.0.0.1:9")))
    with clients.asking(*flags) as ask:
        source.answer = api_server.whole(PARTIAL)
        said = "1\n[partial: prometheus query (the source says that a part is missing)]"
        assert clients.text(ask("len(prom.query('up'))")) == said
        for script, told in LESS:
            source.answer = api_server.whole(json.dumps(told).encode())
            found = clients.text(ask(f"len({script})"))
            assert "source.unreadable" in found, (script, found)
        source.answer = api_server.whole(answer("matrix", 1))
        assert clients.text(ask("len(prom.query('up'))")) == "1"
