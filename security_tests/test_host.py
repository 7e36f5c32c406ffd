"""The process that has the credentials, attacked by those it talks to: scripts, maskers that were taken over, API servers.

Each attack ends in one answer and one record, and the next call works.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import anyio
import httpx2
import msgspec
import pytest
from mcp.client import Client

from kubescript import accesses, config, contexts, errors, evaluator, logs, redaction, types
from kubescript.audit import recorder
from kubescript.broker import answer, logview, operation, records
from kubescript.policy import denied_resources, kind_resolver, policy
from kubescript.request import request
from kubescript.snapshot import snapshot
from kubescript.wire import exchanges
from kubescript_sandbox.host import cancellation, spawner
from kubescript_sandbox.wire import protocol
from security_tests import benches
from tests.kit import clients, patience, pids, reading, trails

HOSTILE: Final = (sys.executable, "-I", str(Path(__file__).with_name("hostile_masker.py")))
GRACE_S: Final = 60.0
"""Seconds that a machine with other work to do may need for what takes milliseconds."""


@pytest.fixture(scope="module")
def bench() -> Iterator[benches.Bench]:
    """Runs scripts."""
    with benches.opened() as opened:
        yield opened


@pytest.fixture
def taken() -> Iterator[redaction.Engine]:
    """An engine whose maskers obey their texts and bodies."""
    engine = redaction.Engine(redaction.Settings(), source=spawner.Spawner(HOSTILE))
    engine.prepare()
    yield engine
    engine.close()


class Server:
    """A server without MCP: real sandbox, broker and record."""

    def __init__(self, bench: benches.Bench, folder: Path, **hooks: Any) -> None:
        mask = hooks.pop("mask", None)
        self.file = folder / "audit.jsonl"
        made = recorder.open_recorder(config.Audit(file=self.file), hooks.pop("redact_records", lambda text, *_: text))
        assert made is not None
        cluster = snapshot.Snapshot(trails.snapshot(folder))
        door = reading.made(cluster, policy.Policy(), **hooks)
        clusters = contexts.Contexts({"": accesses.ClusterAccess(cluster, door)})
        self._evaluator = evaluator.Evaluator(config.Settings(), evaluator.Host(bench.pool, made), clusters, mask=mask)
        self.progress: list[str] = []

    def ask(self, script: str, timeout_ms: int = 60_000) -> types.Answer:
        """The answer to one script."""

        async def report(_done: float, _total: float | None, text: str) -> None:
            self.progress.append(text)

        return anyio.run(self._evaluator.evaluate, script, timeout_ms, report)

    def recorded(self) -> list[dict[str, Any]]:
        """The records of calls and scripts."""
        return [one for one in trails.records(self.file) if one["type"] in {"call", "script"}]


# Scripts

AT_THE_ENDS_OF_TIME: Final = ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "9999-12-31T23:59:59.999999Z")
LOG: Final = ("api", "v1", "namespaces", "shop", "pods", "web-0", "log")
LIST: Final = ("api", "v1", "namespaces", "shop", "pods")


@pytest.mark.promise("S-07")
@pytest.mark.parametrize("moment", AT_THE_ENDS_OF_TIME)
def test_a_moment_that_no_calendar_has_is_answered_and_recorded(moment: str, tmp_path: Path) -> None:
    """In UTC it lies outside the years 1 to 9999. The call is made, or refused by name; each is on record."""
    recorded: list[records.Record] = []
    door = reading.made(snapshot.Snapshot(trails.snapshot(tmp_path)), policy.Policy(), record=recorded.append)
    for path, query in ((LOG, (("sinceTime", moment),)), (LIST, ())):
        reply, response = door.handle(exchanges.Call("GET", path, query), operation.Operation(), GRACE_S)
        assert (reply.fault is None) == (response is not None)
        for _ in response.chunks if response is not None else ():
            pass
    assert len(recorded) == 2 and recorded[1].status == 200


HOSTILE_CLOCKS: Final = (
    "Mon, 01 Jan 2024 00:00:00 -0000",
    "Mon, 01 Jan 2024 00:00:00 +" + "9" * 30,
    "Mon, 01 Jan " + "9" * 30 + " 00:00:00 GMT",
    "Mon, 01 Jan 0001 00:00:00 +1400",
    "\x00" * 1000,
)


@pytest.mark.promise("S-07")
@pytest.mark.parametrize("clock", HOSTILE_CLOCKS, ids=range(len(HOSTILE_CLOCKS)))
def test_no_clock_of_an_api_server_withholds_a_log(clock: str) -> None:
    """A Date that is none counts as no Date."""
    call = request.parse(exchanges.Call("GET", LOG, (("sinceSeconds", "3153600000"),)))
    line = b"2026-01-31T12:00:00Z ready\n"
    assert b"".join(logview.shape(call, iter([line]), clock)) == b"ready\n"


# API servers

GROUPS: Final = 2_000


class Endless:
    """A cluster that names groups without end, and never says what is in one."""

    name = "endless"
    address = "https://127.0.0.1:6443"
    namespace = "default"
    is_named_by_data = False

    def __init__(self) -> None:
        self.asked: list[str] = []

    def perform(self, call: request.Request, timeout_s: float, _cancel: cancellation.Cancellation) -> types.Response:
        """Answer the first request, and none of the others."""
        self.asked.append(call.path)
        if call.path != "/apis":
            time.sleep(timeout_s)
            raise errors.ClusterError("no answer", code="cluster.timeout")
        groups = [{"name": f"g{number}", "versions": [{"version": "v1"}]} for number in range(GROUPS)]
        return types.Response(
            200, "OK", "application/json", iter([json.dumps({"groups": groups}).encode()]), lambda: None
        )

    def close(self) -> None:
        """Nothing is open."""


@pytest.mark.promise("S-07")
def test_a_rule_is_not_looked_up_beyond_the_time_of_its_call() -> None:
    """The operator's rule names a resource of any group; a hostile API server has 2,000 groups that do not answer."""
    cluster = Endless()
    resolve = kind_resolver.KindResolver(cluster)
    rule = denied_resources.DeniedResource(kind="Certificate")
    assert resolve.serves(rule, 0.5) is None
    assert len(cluster.asked) < 10
    switch = cancellation.Cancellation()
    switch.cancel()
    assert resolve.serves(rule, 0.5, switch) is None
    assert len(cluster.asked) < 10


# Maskers that were taken over

DIES: Final = "os._exit(0)"


@pytest.mark.promise("S-12")
def test_a_report_that_cannot_be_masked_is_recorded_with_its_script(
    bench: benches.Bench, taken: redaction.Engine, tmp_path: Path
) -> None:
    """The text of a progress report kills its masker. The record says what the script did, under the script's own id."""
    server = Server(bench, tmp_path, mask=taken.text)
    server.ask(f"n = {trails.COUNT}\nctx.progress(1, None, {DIES!r})\nn")
    call, script = server.recorded()
    assert script["code"] == "redaction.failed" and script["calls"] == 1
    assert call["evaluation"] == script["evaluation"]
    assert server.progress == []
    server.ask(f"n = {trails.COUNT}\nctx.progress(1, None, 'result = 7')\nn")
    assert server.progress == ["7"]
    assert server.recorded()[-1]["calls"] == 1


KINDS: Final = b"""
first = globals().get("last", 0)
last = first + 380
sock.sendall(answer(130, b'{"kinds":{' + b",".join(b'"%080d":1' % number for number in range(first, last)) + b"}}", b""))
"""
"""As many kinds as fit into the notes of an answer, each as long as a kind may be; other ones in each chunk."""


def talkative(engine: redaction.Engine, chunks: int) -> answer.Redactor:
    """A redactor that reports so many times 380 kinds, and leaves the body as it is."""

    def redact(call: request.Request, body: Iterator[bytes], found: Callable[[str], None]) -> Iterator[bytes]:
        for _ in engine.body(call, iter([KINDS] * chunks), reading.Report(found)):
            pass
        yield from body

    return reading.changing(redact)


@pytest.mark.promise("S-12")
def test_kinds_without_end_do_not_keep_a_call_off_the_record(
    bench: benches.Bench, taken: redaction.Engine, tmp_path: Path
) -> None:
    """A masker names more kinds than a record can hold: the call is recorded all the same, and its script answered."""
    server = Server(bench, tmp_path, redact=talkative(taken, 1))
    assert server.ask(trails.COUNT).text.startswith("1")
    call, script = server.recorded()
    assert script["code"] == "ok"
    assert len(call["redactions"]) == 101 and sum(call["redactions"].values()) == 380
    assert server.ask(trails.COUNT).text.startswith("1")


@pytest.mark.promise("S-12")
def test_a_masker_cannot_name_kinds_without_end(taken: redaction.Engine) -> None:
    """Many answers, each with kinds of its own: the body ends before they fill the memory of the host."""
    kinds: set[str] = set()
    with pytest.raises(errors.RedactionError):
        for _ in talkative(taken, 100)(request.parse(exchanges.Call("GET", LIST)), iter(()), reading.Report(kinds.add)):
            pass
    assert len(kinds) <= 2_000
    assert taken.text("result = 6 * 7", lambda _: None, cancellation.Patience(GRACE_S)) == "42"


SLEEPS: Final = "sock.recv(1)"
MANY_NAMES: Final = f"""
names = [{SLEEPS!r} + ' ' * n for n in range(60)]
calls = [lambda name=name: k8s.coreV1().list_namespaced_pod('shop', field_selector=f'metadata.name={{name}}') for name in names]
len(k8s.parallel(calls))
"""


@pytest.mark.promise("A-01", "S-12")
def test_records_that_nobody_can_mask_do_not_come_after_their_answer(
    bench: benches.Bench, taken: redaction.Engine, tmp_path: Path
) -> None:
    """The name of each call of a batch keeps its masker busy for ever: the answer comes soon after the deadline, and
    behind the records of all calls."""
    server = Server(bench, tmp_path, redact_records=taken.text_or_withheld)
    started = time.monotonic()
    answer = server.ask(MANY_NAMES, 4_000)  # eight are recorded at a time, each after two seconds
    assert answer.is_error
    assert time.monotonic() - started < patience.scaled(12)
    time.sleep(1)
    *calls, script = server.recorded()
    assert script["type"] == "script" and len(calls) >= 8
    assert {one["evaluation"] for one in calls} == {script["evaluation"]}
    assert [one["name"] for one in calls].count(redaction.WITHHELD) >= 8
    assert not any(SLEEPS in one["name"] for one in calls)
    assert server.ask(trails.COUNT).text.startswith("1")


HALF_A_PAIR: Final = {
    "a text": "sock.sendall(answer(130, b'{}', b'\\xed\\xa0\\x80'))",
    "a text of very many bytes": "sock.sendall(answer(130, b'{}', b'x' * 66_000))",
}


@pytest.mark.promise("S-12", "W-06")
@pytest.mark.parametrize("name", HALF_A_PAIR)
def test_no_answer_of_a_masker_breaks_the_conversation_with_a_worker(
    name: str, taken: redaction.Engine, tmp_path: Path
) -> None:
    """A refusal is masked to what no frame can carry: the call fails by name, and neither its script nor its worker."""
    poison = HALF_A_PAIR[name]

    def mask(text: str, found: Callable[[str], None], check: Callable[[], None]) -> str:
        return taken.text(poison, found, check) if "the operator denies" in text else text

    door = reading.made(snapshot.Snapshot(trails.snapshot(tmp_path)), policy.Policy(), mask=mask)
    token = ("api", "v1", "namespaces", "shop", "serviceaccounts", "web", "token")
    reply, response = door.handle(
        exchanges.Call("POST", token, body=msgspec.Raw(b"{}")), operation.Operation(), GRACE_S
    )
    assert response is None and reply.fault is not None and reply.fault.code == "policy.denied_resource"
    assert len(msgspec.json.encode(reply)) < protocol.CAPS[protocol.FrameType.REPLY]
    reply, _ = door.handle(exchanges.Call("GET", LIST), operation.Operation(), GRACE_S)
    assert reply.status == 200


# Processes that are stopped


@pytest.mark.promise("S-07", "S-12")
def test_nobody_waits_for_a_fork_server_that_is_stopped(taken: redaction.Engine) -> None:
    """It reads no request. When its socket is full it is replaced, where whoever asked waited for ever, and with him
    all who wanted a text masked."""
    stopped = taken._pool.pids[0]
    os.kill(stopped, signal.SIGSTOP)
    done = threading.Event()

    def ask() -> None:
        source = taken._pool._source
        for _ in range(2_000):
            source.spawn(1 << 30, 10).close()
            if source.pid != stopped:
                done.set()
                return

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    try:
        assert done.wait(GRACE_S)
    finally:
        if not done.is_set():
            os.kill(stopped, signal.SIGCONT)
        asking.join(GRACE_S)
    assert taken.text("result = 6 * 7", lambda _: None, cancellation.Patience(GRACE_S)) == "42"
    assert isinstance(taken._pool._source, spawner.Spawner)


GARBAGE: Final = b"\x00 no request\r\n\r\n"
"""Makes the server log a line, on its event loop."""
LINES: Final = 20


@pytest.mark.promise("S-07", "S-12")
def test_no_line_of_the_log_holds_up_the_server(tmp_path: Path) -> None:
    """All maskers are stopped, and log lines must be masked: they wait in a thread of their own, and nobody with them."""
    flags = ("--snapshot", str(trails.snapshot(tmp_path)), "--toolsets", "code")
    with clients.serving(flags) as port:
        assert counted(port) == "1"
        stopped = maskers()
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        try:
            for _ in range(LINES):
                with socket.create_connection(("127.0.0.1", port)) as client:
                    client.sendall(GARBAGE)
            # Each line would hold it up for five seconds.
            timeout = LINES * 5 / 2
            assert httpx2.get(f"http://127.0.0.1:{port}/health", timeout=timeout).status_code == 200
        finally:
            for pid in stopped:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
        assert counted(port) == "1"


@pytest.mark.promise("S-07", "S-08")
def test_lines_that_cannot_be_masked_in_time_do_not_pile_up(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two thousand lines while nothing is masked: those beyond a thousand are lost, and a line says how many."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    masking = threading.Event()
    monkeypatch.setattr(logs, "_DRAIN_S", GRACE_S)  # all lines are wanted, also on a slow machine

    def mask(line: str) -> str:
        masking.wait(GRACE_S)
        logging.getLogger("kubescript.test").warning("a line about a line")
        return line.replace("Tr0ub4dor", "«redacted»")

    try:
        logs.configure("info")
        logs.mask_with(mask)
        for number in range(2_000):
            logging.getLogger("kubescript.test").warning("Tr0ub4dor %d", number)
        masking.set()
        logs.drain()
        written = capsys.readouterr().err
    finally:
        root.handlers[:], _ = before
        root.setLevel(before[1])
    assert "Tr0ub4dor" not in written and "a line about a line" not in written
    kept = written.count("«redacted»")
    assert 1_000 <= kept <= 1_001 and f"{2_000 - kept} log lines were lost" in written


def counted(port: int) -> str:
    """What a script over HTTP counts."""

    async def ask() -> str:
        async with Client(f"http://127.0.0.1:{port}/mcp") as client:
            return clients.text(await clients.evaluate(client, trails.COUNT))

    return anyio.run(ask)


def maskers() -> set[int]:
    """The fork server of maskers of the server that this process has started, and its children."""
    every = {one for server in pids.children(os.getpid()) for one in pids.children(server)}
    servers = {one for one in every if b"masker.start" in Path(f"/proc/{one}/cmdline").read_bytes()}
    return servers | {one for server in servers for one in pids.children(server)}
