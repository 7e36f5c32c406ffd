"""Clients that hold connections and sessions of the http transport and do not use them, over real sockets: /health and
a client that works go on."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from pathlib import Path
from typing import Any, Final

import anyio
import httpx2
import pytest
import uvicorn
from mcp.client import Client

from kubescript import config
from kubescript.transports import http_connections
from security_tests import sockets
from tests.kit import clients, http_server, patience, trails

Count = Callable[[int], None]

HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
POST = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
HALF_SENT = {
    "nothing at all": b"",
    "a request line that does not end": b"GET /health",
    "headers that do not end": b"GET /health HTTP/1.1\r\nHost: 127.0.0.1:1\r\nX: ",
    "a body of which nothing comes": POST + b"Content-Length: 1000\r\n\r\n",
    "a body that does not end": POST + b'Content-Length: 1000\r\n\r\n{"jsonrpc"',
    "a chunked body that does not end": POST + b'Transfer-Encoding: chunked\r\n\r\n5\r\n{"jso\r\n',
    "a body that nobody asked for": b"GET /health HTTP/1.1\r\nHost: 127.0.0.1:1\r\nContent-Length: 1000\r\n\r\nx",
    "a second request that does not end": b"GET /health HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\nGET /health HTTP",
}


@pytest.fixture(scope="module", autouse=True)
def _descriptors() -> Iterator[None]:
    with sockets.room(4 * sockets.MANY):
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("http")
    trails.snapshot(folder)
    (folder / "few.toml").write_text("[http]\nmax_sessions = 8\nsession_idle_s = 7\n")
    return folder


def flags(folder: Path, *more: str) -> Sequence[str]:
    """Those of a server of a saved cluster."""
    return "--toolsets", "code", "--snapshot", str(folder / "pods.json"), *more


@contextlib.contextmanager
def started(folder: Path, log: Path | None = None) -> Iterator[tuple[int, int]]:
    """A server whose process may open as many files as is usual and no more; gives its port and its process."""
    port = clients.free_port()
    served = flags(folder, "--port", str(port), "--log-level", "error")
    command = ["prlimit", "--nofile=1024:1024", clients.INSTALLED, *served]
    with contextlib.ExitStack() as stack:
        errors = stack.enter_context(log.open("w")) if log is not None else None
        process = subprocess.Popen(command, stderr=errors)
    try:
        patience.until(lambda: healthy(port), 120)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(timeout=60)


@pytest.fixture(scope="module")
def port(folder: Path) -> Iterator[int]:
    with started(folder) as (port, _):
        yield port


def healthy(port: int) -> bool:
    """Whether a probe gets its answer, sooner than the time of the requests before it could make room for it."""
    try:
        timeout = max(http_connections.WAIT_S - 3, patience.scaled(5))
        return httpx2.get(f"http://127.0.0.1:{port}/health", timeout=timeout).status_code == 200
    except httpx2.HTTPError:
        return False


def answered(port: int) -> str:
    """What a client gets that connects now, begins a session and runs a script."""

    async def ask() -> str:
        async with Client(f"http://127.0.0.1:{port}/mcp", mode="legacy") as client:
            return clients.text(await clients.evaluate(client, trails.COUNT))

    with anyio.from_thread.start_blocking_portal() as portal:
        return portal.call(ask)


def attack(port: int, data: bytes, count: int) -> list[socket.socket]:
    """So many connections on which `data` was sent, still open on this side."""
    held = []
    for _ in range(count):
        sock = socket.create_connection(("127.0.0.1", port), timeout=60)
        held.append(sock)
        with contextlib.suppress(OSError):  # the server may have ended it by now
            sock.sendall(data)
    return held


@pytest.mark.promise("R-08", "H-05")
def test_the_largest_of_the_bodies_that_do_not_end_make_room(port: int) -> None:
    """And not the oldest one, which is small and ends well."""
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}' + b" " * 100_000
    lines = POST.replace(b", text/event-stream", b"")
    with contextlib.ExitStack() as stack:
        (slow,) = attack(port, lines + b"Content-Length: %d\r\n\r\n" % len(body) + body[:50_000], 1)
        stack.callback(slow.close)
        held = attack(port, POST + b"Content-Length: 2000000\r\n\r\n" + b" " * 1_900_000, 40)
        for sock in held:
            stack.callback(sock.close)
        patience.until(lambda: sockets.ended(held) > 0)
        slow.sendall(body[50_000:])
        assert slow.recv(65_536).startswith(b"HTTP/1.1 200 ")
    assert answered(port) == "1"


@pytest.mark.promise("R-08")
@pytest.mark.parametrize("name", HALF_SENT)
def test_half_sent_requests_keep_nobody_out(name: str, port: int) -> None:
    """More of them than the process may have files: a probe and a new client are answered, and the oldest end."""
    with contextlib.ExitStack() as stack:
        held = attack(port, HALF_SENT[name], sockets.MANY)
        for sock in held:
            stack.callback(sock.close)
        assert healthy(port)
        assert answered(port) == "1"
        assert sockets.ended(held) >= sockets.MANY - 1_024
    assert healthy(port)


@pytest.mark.promise("R-08")
def test_connections_without_end_keep_nobody_out(port: int) -> None:
    """An attacker who opens new ones as fast as he can, in the place of those that were ended."""
    deadline = time.monotonic() + 4
    probes = 0
    held: list[socket.socket] = []
    try:
        while time.monotonic() < deadline or probes < 4:
            held += attack(port, HALF_SENT["headers that do not end"], 100)
            while len(held) > sockets.MANY:
                held.pop(0).close()
            assert healthy(port)
            probes += 1
        assert answered(port) == "1"
    finally:
        for sock in held:
            sock.close()


@pytest.mark.promise("R-08")
def test_a_slow_drip_ends_in_time(port: int) -> None:
    """A byte each second, in the headers and in a body: the time of a request counts from its beginning."""
    drips = [b"GET /health HTTP/1.1\r\nHost: 127.0.0.1:1\r\nX: ", POST + b"Content-Length: 1000\r\n\r\n"]
    started = time.monotonic()
    held = [attack(port, data, 1)[0] for data in drips]
    try:
        while sockets.ended(held) < len(held):
            assert time.monotonic() < started + 4 * http_connections.WAIT_S
            time.sleep(1)
            for sock in held:
                with contextlib.suppress(OSError):
                    sock.send(b" ")
    finally:
        for sock in held:
            sock.close()
    assert time.monotonic() > started + http_connections.WAIT_S / 2
    assert answered(port) == "1"


@pytest.mark.promise("R-08")
def test_bodies_that_do_not_end_hold_little_and_do_not_fill_the_log(folder: Path, attacks: Count) -> None:
    """400 bodies of two MiB each, of which the last byte is missing: the server keeps a bounded part. Clients that leave
    in the middle of a body, and a server that ends while some have not left: no stack trace."""
    attacks(2)
    size = 2 << 20
    body = POST + f"Content-Length: {size}\r\n\r\n".encode() + b'{"a":"' + b"x" * (size - 8)
    with started(folder, log=folder / "log") as (port, pid):
        before = memory(pid)
        held = [attack(port, body, 1)[0] for _ in range(400)]
        assert healthy(port)
        assert memory(pid) - before < 200 << 20
        for sock in held:
            sock.close()
        assert answered(port) == "1"
        for sock in attack(port, HALF_SENT["a body that does not end"], 200):
            sock.close()
        assert answered(port) == "1"
        held = attack(port, HALF_SENT["a body that does not end"], 20)
    assert sockets.ended(held) == 20
    assert (folder / "log").read_text() == ""


def memory(pid: int) -> int:
    """Bytes that a process has used at most."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) << 10


def opened(port: int) -> str:
    """The id of a new session; what the server says when there is none."""
    answer = httpx2.post(f"http://127.0.0.1:{port}/mcp", json=clients.INITIALIZE, headers=HEADERS, timeout=60)
    return answer.headers.get("mcp-session-id", str(answer.status_code))


def said(port: int, session: str) -> int:
    """The status of a ping in a session."""
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    headers = HEADERS | {"mcp-session-id": session}
    return httpx2.post(f"http://127.0.0.1:{port}/mcp", json=ping, headers=headers, timeout=60).status_code


@pytest.mark.promise("R-08")
def test_abandoned_sessions_expire_and_used_ones_do_not(folder: Path, attacks: Count) -> None:
    """Nine sessions where eight may be: the ninth is refused until the abandoned ones have ended. One that is asked, one
    that has a stream open and one whose script runs longer than a session may be idle stay."""
    attacks(2)
    with (
        http_server.serving(flags(folder, "--config", str(folder / "few.toml"))) as port,
        futures.ThreadPoolExecutor(1) as pool,
    ):
        used, listening, running, *abandoned = [opened(port) for _ in range(8)]
        assert len({used, listening, running, *abandoned}) == 8
        assert opened(port) == "503"
        assert healthy(port)
        late = pool.submit(late_answer, port, running)
        url, headers = f"http://127.0.0.1:{port}/mcp", HEADERS | {"mcp-session-id": listening}
        with httpx2.stream("GET", url, headers=headers, timeout=60) as stream:
            assert stream.status_code == 200
            while not late.done():
                assert said(port, used) == 200
                time.sleep(0.3)
            assert "late" in late.result()
            assert said(port, listening) == said(port, running) == 200
        assert {said(port, session) for session in abandoned} == {404}
        assert said(port, used) == 200
        assert answered(port) == "1"


def late_answer(port: int, session: str) -> str:
    """What a script answers that runs for nine seconds."""
    script = "import time\nend = time.monotonic() + 9\nwhile time.monotonic() < end:\n    pass\n'late'"
    call = {
        "jsonrpc": "2.0", "id": 3, "method": "tools/call",
        "params": {"name": "evaluate_script", "arguments": {"script": script}},
    }  # fmt: skip
    url, headers = f"http://127.0.0.1:{port}/mcp", HEADERS | {"mcp-session-id": session}
    httpx2.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=headers, timeout=60)
    return httpx2.post(url, json=call, headers=headers, timeout=60).text


def called(port: int, arguments: bytes) -> int:
    """The status of a call with these arguments, in a session of its own."""
    body = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evaluate_script","arguments":'
        + arguments
        + b"}}"
    )
    headers = HEADERS | {"mcp-session-id": opened(port)}
    return httpx2.post(f"http://127.0.0.1:{port}/mcp", content=body, headers=headers, timeout=60).status_code


@pytest.mark.promise("R-08")
@pytest.mark.parametrize("name", ["lists", "objects", "texts", "numbers", "keys"])
def test_a_request_of_many_values_is_refused(name: str, port: int) -> None:
    """Two MiB of the smallest values there are: refused before anybody decodes them."""
    values = {
        "lists": b"[" + b"[]," * 600_000 + b"1]",
        "objects": b"[" + b"{}," * 600_000 + b"1]",
        "texts": b"[" + b'"",' * 600_000 + b"1]",
        "numbers": b"[" + b"1," * 900_000 + b"1]",
        "keys": b"{" + b",".join(b'"%d":1' % number for number in range(160_000)) + b"}",
    }
    assert called(port, b'{"script":' + values[name] + b"}") == 413
    assert called(port, b'{"script":"1"}') == 200
    text = b'{"script":"len(\\"' + b"[1,2]," * 30_000 + b'\\")"}'
    assert called(port, text) == 200


# --- the mutation check ---


LONG: Final = [bytes(1 << 16)] * 256
"""The parts of an answer of 16 MiB: more than the kernel holds for a client that does not read."""


async def app(scope: Any, receive: Any, send: Any) -> None:
    """An application that reads every body; its answer is long, but for probes."""
    while (message := await receive())["type"] == "http.request" and message["more_body"]:
        pass
    parts = [b"ok"] if scope["path"] == "/health" else LONG
    head = [(b"content-length", str(sum(map(len, parts))).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    for number, part in enumerate(parts, 1):
        await send({"type": "http.response.body", "body": part, "more_body": number < len(parts)})


async def ended_of(data: bytes, count: int, most: int, wait_s: float, ends: int = 0) -> tuple[int, bool]:
    """Sends `data` on so many connections to a server with these limits; returns how many it has ended once those that
    it has not ended, as it must `ends` of them, wait for their clients, and whether a probe is answered then, while the
    others are held. Sooner, a probe may be the only one that waits for its client."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    protocol = http_connections.protocol(most, wait_s)
    options = uvicorn.Config(app, http=protocol, ws="none", lifespan="off", log_config=None)
    server = http_connections.Server(options)
    task = asyncio.create_task(server.serve([listener]))
    held = await asyncio.to_thread(attack, port, data, count)
    waiting = protocol.waiting

    def are_waiting() -> bool:
        left, gone = len(waiting._open), sockets.ended(held)
        return left + gone == count and gone >= ends and left == len(waiting._waiting)

    await asyncio.to_thread(patience.until, are_waiting)
    left = len(waiting._open)
    is_healthy = await asyncio.to_thread(healthy, port)
    for sock in held:
        sock.close()
    server.should_exit = True
    await task
    return count - left, is_healthy


@pytest.mark.promise("R-08")
@pytest.mark.parametrize("data", [HALF_SENT["headers that do not end"], b"GET /long HTTP/1.1\r\nHost: x\r\n\r\n"])
def test_without_its_limit_each_attack_on_connections_holds(data: bytes) -> None:
    """Half-sent requests and unread answers: the number alone ends the oldest, the time alone ends all; without both,
    all stay."""
    assert asyncio.run(ended_of(data, 60, 10_000, 1_000)) == (0, True)
    gone, is_healthy = asyncio.run(ended_of(data, 60, 40, 1_000, ends=20))
    assert (gone >= 20, gone < 60, is_healthy) == (True, True, True)
    assert asyncio.run(ended_of(data, 60, 10_000, 0.5, ends=60)) == (60, True)


@pytest.mark.promise("R-08")
def test_the_number_of_connections_follows_the_settings_and_the_process() -> None:
    """Each session has room for its stream and each script for its call; where the process may have few files, there are
    fewer connections."""
    assert http_connections.most(config.Settings())[0] == 512 + 8 + 64 + 64
    script = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (700, 700))\n"
        "from kubescript import config; from kubescript.transports import http_connections\n"
        "print(http_connections.most(config.Settings())[0])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == 700 - 512
