"""What breaks around a running server: API server, network, certificates, tokens, processes, clients, disks.

All of it through a real MCP client, before a real API server. After each fault the next call works, and no fault ever
looks like an empty cluster.
"""

from __future__ import annotations

import contextlib
import functools
import http.client
import http.server
import json
import os
import random
import select
import signal
import socket
import ssl
import stat
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client

from benchmarks import stdio
from kubescript_safety.controlplane import pki
from tests.kit import clients, listener, patience, pids
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Writer

NAMES = "[n.metadata.name for n in k8s.coreV1().list_namespace() if n.metadata.name == 'default']"
WORKS = '["default"]'
SWALLOWED = """
try:
    rows = [n.metadata.name for n in k8s.coreV1().list_namespace()]
except Exception:
    rows = []
rows
"""
MIB = 1 << 20
SOON_S = 30.0
"""Seconds for what happens at once, and what would take minutes, or for ever, if it did not."""

# --- a gate before the real API server ---

Step = Callable[["Turn"], None]


class Turn(http.server.BaseHTTPRequestHandler):
    """One connection through the gate."""

    protocol_version = "HTTP/1.1"
    server: Gate

    def setup(self) -> None:
        if self.server.tls is not None:
            self.request = self.server.tls.wrap_socket(self.request, server_side=True)
        super().setup()

    def do_GET(self) -> None:
        gate = self.server
        gate.seen.append((self.path, self.headers.get("Authorization", "")))
        if gate.accepts is not None and self.headers.get("Authorization") not in {
            f"Bearer {token}" for token in gate.accepts
        }:
            self.answer(401, b'{"kind":"Status","code":401,"reason":"Unauthorized","message":"Unauthorized"}')
        elif gate.steps and gate.about in self.path:
            gate.steps.pop(0)(self)
        else:
            self.forward()

    def forward(self) -> None:
        """Let the real API server answer."""
        status, data = self.server.ask(self.path)
        self.answer(status, data)

    def answer(self, status: int, data: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(data)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def begin(self) -> None:
        """The head of an answer without a known end."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def wait_for_hangup(self) -> None:
        """Say nothing until the other side closes; remember when it did."""
        select.select([self.connection], [], [], 300)
        self.server.hangups.append(time.monotonic())
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Quiet."""


class Gate(http.server.ThreadingHTTPServer):
    """Passes GETs on to the real API server, unless a step says otherwise."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, plane: ControlPlane, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Turn)
        self.tls = tls
        self.steps: list[Step] = []
        self.about = "/namespaces"
        self.accepts: set[str] | None = None
        self.seen: list[tuple[str, str]] = []
        self.hangups: list[float] = []
        self._plane = plane
        self._context = ssl.create_default_context(cafile=str(plane.folder / "ca.crt"))
        self._context.load_cert_chain(plane.folder / "admin.crt", plane.folder / "admin.key")
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.server_port}"

    @contextlib.contextmanager
    def failing(self, *steps: Step, about: str = "/namespaces") -> Iterator[None]:
        """Meanwhile these steps answer requests with this in their path, one each."""
        self.about, self.steps = about, list(steps)
        try:
            yield
        finally:
            self.about, self.steps = "/namespaces", []

    def ask(self, path: str) -> tuple[int, bytes]:
        """The real API server's answer, to its administrator."""
        upstream = http.client.HTTPSConnection("127.0.0.1", self._plane.port, context=self._context, timeout=20)
        with contextlib.closing(upstream):
            upstream.request("GET", path, headers={"Accept": "application/json"})
            answer = upstream.getresponse()
            return answer.status, answer.read()

    def kubeconfig(self, folder: Path, user: dict[str, Any] | None = None, ca: Path | None = None) -> Path:
        """The way to the cluster that leads through this gate."""
        path = folder / "gate.kubeconfig"
        cluster = {"server": self.url, **({"certificate-authority": str(ca)} if ca else {})}
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "gate", "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": user or {}}], "contexts": [{"name": "gate", "context": {"cluster": "c", "user": "u"}}],
        }))  # fmt: skip
        return path

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no news."""


@pytest.fixture(scope="module")
def control_plane(written: ControlPlane) -> ControlPlane:
    """Objects are written to this server."""
    return written


@pytest.fixture(scope="module")
def gate(control_plane: ControlPlane) -> Iterator[Gate]:
    made = Gate(control_plane)
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture(scope="module")
def behind(gate: Gate, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of one kubescript server that reaches the cluster through the gate."""
    path = gate.kubeconfig(tmp_path_factory.mktemp("gate"))
    flags = ["--toolsets", "code", "--kubeconfig", str(path)]
    with clients.running(flags, program=(clients.INSTALLED,), level="error") as (port, _):
        yield f"http://127.0.0.1:{port}/mcp"


def ask(url: str, script: str, timeout: int = 20_000) -> tuple[bool, str]:
    """Is it an error, and the answer's text."""

    async def run() -> tuple[bool, str]:
        async with Client(url) as client:
            result = await clients.evaluate(client, script, timeout=timeout)
            return bool(result.is_error), clients.text(result)

    return anyio.run(run)


def status(code: int, reason: str, **headers: str) -> Step:
    body = json.dumps(
        {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": f"the gate says {reason}"}
    )
    return lambda turn: turn.answer(code, body.encode(), **headers)


def cut(turn: Turn) -> None:
    """Half of the real answer under a head that announces all of it."""
    _, data = turn.server.ask(turn.path)
    turn.send_response(200)
    turn.send_header("Content-Length", str(len(data)))
    turn.end_headers()
    turn.wfile.write(data[: len(data) // 2])
    turn.close_connection = True


def cut_chunks(turn: Turn) -> None:
    """A complete JSON list, but not the end of the body that should follow."""
    turn.begin()
    turn.chunk(turn.server.ask(turn.path)[1])
    turn.close_connection = True


def endless(turn: Turn) -> None:
    """A list whose items never end."""
    turn.begin()
    turn.chunk(b'{"kind":"NamespaceList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"x"}}')
    with contextlib.suppress(OSError):
        while True:
            turn.chunk(b',{"metadata":{"name":"x"}}')
            time.sleep(0.02)


def stall(turn: Turn) -> None:
    """A head and half a body, then silence."""
    turn.begin()
    turn.chunk(b'{"kind":"NamespaceList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"x"}}')
    turn.wait_for_hangup()


FAULTS: dict[str, tuple[Step, str]] = {
    "500": (status(500, "InternalError"), "500"),
    "500 in HTML": (lambda turn: turn.answer(500, b"<html>oops</html>", Content_Type="text/html"), "500"),
    "503": (status(503, "ServiceUnavailable"), "503"),
    "429 for longer than the script has": (status(429, "TooManyRequests", Retry_After="600"), "429"),
    "410 at once": (status(410, "Expired"), "410"),
    "403": (status(403, "Forbidden"), "403"),
    "200 with half a body": (cut, "cluster.broken"),
    "200 without the last chunk": (cut_chunks, "cluster.broken"),
    "200 in HTML": (
        lambda turn: turn.answer(200, b"<html>please log in</html>", Content_Type="text/html"),
        "cluster.broken",
    ),
    "200 with nothing": (lambda turn: turn.answer(200, b""), "cluster.broken"),
    "200 with JSON that ends early": (
        lambda turn: turn.answer(200, b'{"kind":"NamespaceList","items":[{"metadata":{'),
        "cluster.broken",
    ),
    "an answer that never begins": (Turn.wait_for_hangup, "limit.time"),
    "an answer that never ends": (endless, "limit.time"),
    "an answer that stalls": (stall, "limit.time"),
}
DEADLINE_MS = 1500
"""Of a script whose fault is silence. The others have time enough, and need none."""


@pytest.mark.promise("F-01")
@pytest.mark.parametrize("fault", FAULTS)
def test_an_api_server_that_misbehaves_is_an_error_in_time(fault: str, gate: Gate, behind: str) -> None:
    """Each fault is named, in time, also when the script swallows it; nothing looks like an empty cluster; the next
    call works."""
    step, words = FAULTS[fault]
    for script in (NAMES, SWALLOWED):
        with gate.failing(step, step):
            started = time.monotonic()
            is_error, text = ask(behind, script, DEADLINE_MS if words == "limit.time" else 300_000)
            took = time.monotonic() - started
        assert took < DEADLINE_MS / 1000 + patience.scaled(1.5), (took, text)
        assert text.strip() not in {"[]", ""}, text
        if script == NAMES:
            assert is_error and words in text, text
        else:
            assert is_error or "failed" in text, text
        assert ask(behind, NAMES) == (False, WORKS)


@pytest.mark.promise("F-01")
def test_patience_the_api_server_asks_for_is_kept(gate: Gate, behind: str) -> None:
    """429 with Retry-After: the call waits as asked, is repeated, and succeeds without the script noticing."""
    with gate.failing(*[status(429, "TooManyRequests", Retry_After="1")] * 2):
        started = time.monotonic()
        assert ask(behind, NAMES) == (False, WORKS)
        assert time.monotonic() - started > 1.9
        assert gate.steps == []


PAGED = """
rows, token = [], None
{attempt}
len(rows)
"""
LOOP = """while True:
    page = k8s.coreV1().list_namespace(limit=1, _continue=token)
    rows.extend(n.metadata.name for n in page)
    token = page.metadata._continue
    if not token:
        break"""


@pytest.mark.promise("F-01")
@pytest.mark.parametrize("swallow", [False, True])
def test_a_page_that_expired_is_no_short_list(swallow: bool, gate: Gate, behind: str) -> None:
    """410 in the middle of a paged list is an error; a script that swallows it gets its rows with a note that some are
    missing."""
    loop = LOOP if not swallow else "try:\n    " + LOOP.replace("\n", "\n    ") + "\nexcept Exception:\n    pass"
    whole = ask(behind, PAGED.format(attempt=loop))
    assert not whole[0] and int(whole[1]) >= 4, whole
    with gate.failing(Turn.forward, Turn.forward, status(410, "Expired")):
        is_error, text = ask(behind, PAGED.format(attempt=loop))
    assert "410" in text, text
    assert is_error is not swallow
    if swallow:
        assert text.startswith("2") and "failed" in text, text
    assert ask(behind, PAGED.format(attempt=loop)) == whole


@pytest.mark.promise("F-01", "P-09")
def test_a_rule_that_needs_discovery_keeps_the_deadline(gate: Gate, tmp_path: Path) -> None:
    """A rule names a custom kind and discovery hangs: the script's answer still comes in time, and is an error."""
    settings = tmp_path / "settings.toml"
    settings.write_text('[[denied_resources]]\ngroup = "example.com"\nkind = "Thing"\n')
    flags = ["--kubeconfig", str(gate.kubeconfig(tmp_path)), "--config", str(settings)]
    script = "k8s.customObjects().list_cluster_custom_object('example.com', 'v1', 'others')"

    async def run() -> None:
        async with clients.connect("memory", flags) as client:
            assert clients.text(await clients.evaluate(client, NAMES)) == WORKS
            with gate.failing(*[Turn.wait_for_hangup] * 3, about="/apis/example.com"):
                started = time.monotonic()
                answer = await clients.evaluate(client, script, timeout=DEADLINE_MS)
                took = time.monotonic() - started
            assert answer.is_error
            assert took < DEADLINE_MS / 1000 + patience.scaled(1.5), (took, clients.text(answer))
            assert clients.text(await clients.evaluate(client, NAMES)) == WORKS

    anyio.run(run)


# --- the API server itself goes ---

WATCH = """
from kubernetes import watch
for event in watch.Watch().stream(k8s.coreV1().list_namespace, timeout_seconds=300):
    ctx.progress(1)
"""
CALLS = """
k8s.coreV1().list_namespace()
ctx.progress(1)
while True:
    k8s.coreV1().list_namespace()
    for n in range(100_000): pass
"""


@pytest.mark.promise("F-02")
@pytest.mark.parametrize("script", [WATCH, CALLS], ids=["in the middle of a body", "between two calls"])
def test_an_api_server_that_dies_is_named_and_missed_only_while_it_is_gone(
    script: str, own_plane: ControlPlane
) -> None:
    """Killed in the middle of a body or between two calls: an error at once; still down: an error; back: the next call
    works."""

    async def run() -> None:
        async with clients.connect("memory", ["--kubeconfig", str(own_plane.kubeconfig)]) as client:
            assert clients.text(await clients.evaluate(client, NAMES)) == WORKS
            died = 0.0
            gone = anyio.Event()

            async def die(progress: float, total: float | None, message: str | None) -> None:
                nonlocal died
                if not died:
                    died = time.monotonic()
                    await anyio.to_thread.run_sync(own_plane.kill)
                    gone.set()

            arguments = {"script": script, "timeout": 300_000}
            result = await client.call_tool("evaluate_script", arguments, progress_callback=die)
            assert died and time.monotonic() - died < SOON_S
            assert result.is_error
            assert "cluster.broken" in clients.text(result) or "cluster.unreachable" in clients.text(result), (
                clients.text(result)
            )
            await gone.wait()  # a process that dies closes its connections one after the other
            while_down = await clients.evaluate(client, SWALLOWED)
            assert "cluster.unreachable" in clients.text(while_down), clients.text(while_down)
            await anyio.to_thread.run_sync(own_plane.start)
            assert clients.text(await clients.evaluate(client, NAMES)) == WORKS

    try:
        anyio.run(run)
    finally:
        if len(own_plane.pids()) < 2:
            own_plane.start()


class Wire:
    """Passes bytes between clients and the API server, TLS untouched; breaks off after so many bytes of answers."""

    def __init__(self, port: int) -> None:
        self.limit = 1 << 40
        self._upstream = port
        self._listener = listener.Listener(self._serve)
        self.port = self._listener.port

    def close(self) -> None:
        self._listener.close()

    def _serve(self, near: socket.socket) -> None:
        with near, socket.create_connection(("127.0.0.1", self._upstream)) as far:
            passed = 0
            while passed < self.limit:
                for ready in select.select([near, far], [], [], 30)[0]:
                    data = ready.recv(65536)
                    if not data:
                        return
                    passed += len(data) if ready is far else 0
                    (near if ready is far else far).sendall(data)


@pytest.fixture
def wire(control_plane: ControlPlane) -> Iterator[Wire]:
    made = Wire(control_plane.port)
    yield made
    made.close()


LARGE = "large"
COUNT = f"len(k8s.coreV1().list_namespaced_config_map('{LARGE}'))"


@pytest.fixture(scope="module")
def large(control_plane: ControlPlane) -> None:
    """Three objects of 0.9 MB: a list that takes a while."""
    writer = Writer(control_plane.kubeconfig)
    writer.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": LARGE}})
    for number in range(3):
        metadata = {"name": f"large-{number}", "namespace": LARGE}
        # Random, so that gzip leaves half of it.
        text = random.Random(number).randbytes(400_000).hex(" ", 8)
        writer.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"text": text}})


@pytest.mark.promise("F-02")
@pytest.mark.usefixtures("large")
def test_a_connection_cut_inside_a_real_list_is_no_short_list(
    wire: Wire, control_plane: ControlPlane, tmp_path: Path
) -> None:
    """The wire breaks after half a megabyte of TLS: an error, with and without the script's help, and never fewer
    objects."""
    text = control_plane.kubeconfig.read_text().replace(f":{control_plane.port}", f":{wire.port}")
    path = tmp_path / "kubeconfig"
    path.write_text(text)
    swallowed = f"n = 0\ntry:\n    for c in k8s.coreV1().list_namespaced_config_map('{LARGE}'):\n        n += 1\nexcept Exception:\n    pass\nn"

    async def run() -> None:
        async with clients.connect("memory", ["--kubeconfig", str(path)]) as client:
            assert clients.text(await clients.evaluate(client, COUNT)) == "3"
            for script in (COUNT, swallowed):
                wire.limit = MIB // 2
                broken = await clients.evaluate(client, script)
                wire.limit = 1 << 40
                assert "cluster.broken" in clients.text(broken), clients.text(broken)
                assert broken.is_error is (script == COUNT)
                assert clients.text(await clients.evaluate(client, COUNT)) == "3"

    anyio.run(run)


# --- certificates and tokens ---


@pytest.mark.promise("F-03")
def test_a_changed_certificate_is_refused_by_name(control_plane: ControlPlane, tmp_path: Path) -> None:
    """The API server shows another authority's certificate: no byte is sent, the error says TLS; the right one is back:
    it works."""
    ours, others = pki.Authority(), pki.Authority()
    contexts = []
    for name, authority in (("ours", ours), ("others", others)):
        authority.serving(["localhost"], ["127.0.0.1"]).write(tmp_path, name)
        contexts.append(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
        contexts[-1].load_cert_chain(tmp_path / f"{name}.crt", tmp_path / f"{name}.key")
    (tmp_path / "ca.crt").write_bytes(ours.certificate)
    gate = Gate(control_plane, contexts[0])
    path = gate.kubeconfig(tmp_path, {"token": "t0ken-for-ours"}, tmp_path / "ca.crt")

    async def run() -> None:
        async with clients.connect("memory", ["--kubeconfig", str(path)]) as client:
            assert clients.text(await clients.evaluate(client, NAMES)) == WORKS
            gate.tls, gate.steps = contexts[1], [closing]
            await clients.evaluate(client, NAMES)  # ends the connection that is kept alive
            seen = len(gate.seen)
            for script in (NAMES, SWALLOWED):
                refused = clients.text(await clients.evaluate(client, script))
                assert "cluster.tls" in refused and "t0ken" not in refused, refused
            assert len(gate.seen) == seen
            gate.tls = contexts[0]
            assert clients.text(await clients.evaluate(client, NAMES)) == WORKS

    def closing(turn: Turn) -> None:
        turn.forward()
        turn.close_connection = True

    anyio.run(run)
    gate.shutdown()
    gate.server_close()


PLUGIN = """#!{python}
import json, pathlib
folder = pathlib.Path({folder!r})
with (folder / "runs").open("a") as runs:
    runs.write("x")
status = {{"token": (folder / "token").read_text()}}
print(json.dumps({{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}}))
"""


@pytest.mark.promise("F-03")
def test_an_expired_token_is_fetched_anew(control_plane: ControlPlane, tmp_path: Path) -> None:
    """After a 401 the credential plugin runs again and the script never notices; when that does not help, the error
    says 401."""
    program = tmp_path / "plugin"
    program.write_text(PLUGIN.format(python=sys.executable, folder=str(tmp_path)))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "token").write_text("first")
    gate = Gate(control_plane)
    gate.accepts = {"first"}
    user = {
        "exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(program), "interactiveMode": "Never"}
    }
    path = gate.kubeconfig(tmp_path, user)

    async def run() -> None:
        async with clients.connect("memory", ["--kubeconfig", str(path)]) as client:
            assert clients.text(await clients.evaluate(client, NAMES)) == WORKS
            runs = len((tmp_path / "runs").read_text())
            (tmp_path / "token").write_text("second")
            gate.accepts = {"second"}
            assert clients.text(await clients.evaluate(client, NAMES)) == WORKS
            assert len((tmp_path / "runs").read_text()) > runs
            gate.accepts = {"third"}
            for script in (NAMES, SWALLOWED):
                refused = clients.text(await clients.evaluate(client, script))
                assert "401" in refused and "second" not in refused, refused
            (tmp_path / "token").write_text("third")
            assert clients.text(await clients.evaluate(client, NAMES)) == WORKS

    anyio.run(run)
    gate.shutdown()
    gate.server_close()


# --- processes ---


def fork_servers(pid: int) -> list[int]:
    """The fork servers of workers of the server `pid`, which has one of maskers beside it."""
    return [child for child in pids.children(pid) if b"kubescript_sandbox.guest.launch" in commanded(child)]


def commanded(pid: int) -> bytes:
    """The command line of a process; nothing once it is gone."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def family(pid: int) -> list[int]:
    """Everything that descends from `pid`."""
    return [one for child in pids.children(pid) for one in (child, *family(child))]


def gone(processes: Iterable[int]) -> bool:
    """Whether all of them end soon."""
    deadline = time.monotonic() + SOON_S
    while any(pids.is_alive(pid) for pid in processes) and time.monotonic() < deadline:
        time.sleep(0.002)
    return not any(pids.is_alive(pid) for pid in processes)


class Serving:
    """A server on stdio with its process ids at hand."""

    def __init__(self, kubeconfig: Path) -> None:
        self.link = stdio.Server(
            [clients.INSTALLED, "--toolsets", "code", "--kubeconfig", str(kubeconfig), "--log-level", "error"]
        )

    def __enter__(self) -> Serving:
        return self

    def __exit__(self, *_: object) -> None:
        self.link.close()

    def ask(self, script: str, timeout: int = 20_000) -> str:
        return stdio.text(
            self.link.request(
                "tools/call", {"name": "evaluate_script", "arguments": {"script": script, "timeout": timeout}}
            )
        )

    def later(self, script: str, timeout: int = 300_000) -> tuple[threading.Thread, list[str]]:
        """Ask in a thread; the list will hold the answer."""
        answers: list[str] = []

        def run() -> None:
            with contextlib.suppress(RuntimeError, OSError, ValueError):
                answers.append(self.ask(script, timeout))

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread, answers

    @property
    def fork_server(self) -> int:
        (pid,) = fork_servers(self.link.pid)
        return pid

    def busy(self) -> int:
        """Wait until a script spins; gives the process id of its worker."""
        return busy(self.fork_server)


def busy(fork_server: int) -> int:
    """The worker that spins, once one does."""
    first: dict[int, int] = {}
    found: list[int] = []

    def is_there() -> bool:
        for pid in pids.children(fork_server):
            if (ticks := _ticks(pid)) > first.setdefault(pid, ticks) + BUSY_TICKS:
                found.append(pid)
        return bool(found)

    patience.until(is_there)
    return found[0]


def _ticks(pid: int) -> int:
    """The processor time of a process; none once it is gone."""
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])
    return 0


@pytest.fixture
def serving(control_plane: ControlPlane) -> Iterator[Serving]:
    with Serving(control_plane.kubeconfig) as made:
        assert made.ask(NAMES) == WORKS
        yield made


SPIN = "while True: pass"
BUSY_TICKS = 25
"""Hundredths of a second of processor time. A worker that begins or ends needs less."""


@pytest.mark.promise("F-04")
def test_a_killed_worker_is_named(serving: Serving) -> None:
    """kill -9 of the worker of a running script: its answer says so at once, and the next script gets a new worker."""
    thread, answers = serving.later(SPIN)
    os.kill(serving.busy(), signal.SIGKILL)
    thread.join(SOON_S)
    assert answers and "worker.died" in answers[0], answers
    assert serving.ask(NAMES) == WORKS


@pytest.mark.promise("F-04")
def test_a_killed_fork_server_is_replaced(serving: Serving) -> None:
    """kill -9 of the fork server takes its workers along; the running script's answer says so; the next gets a new fork
    server."""
    thread, answers = serving.later(f"{NAMES}\n{SPIN}")
    serving.busy()
    first = serving.fork_server
    workers = pids.children(first)
    os.kill(first, signal.SIGKILL)
    assert gone(workers)
    thread.join(SOON_S)
    assert answers and "worker.died" in answers[0], answers
    assert serving.ask(NAMES) == WORKS
    assert serving.fork_server != first
    assert serving.ask(NAMES) == WORKS


@pytest.mark.promise("F-04")
def test_a_script_that_begins_again_has_no_second_deadline(serving: Serving) -> None:
    """A script whose fork server dies before it said anything may be run again, but its answer still comes in time."""
    limit = 8.0
    thread, answers = serving.later(SPIN, timeout=int(limit * 1000))
    serving.busy()
    time.sleep(limit - 2)
    first = serving.fork_server
    os.kill(first, signal.SIGKILL)

    def has_begun_again() -> bool:
        return any(pids.children(pid) for pid in fork_servers(serving.link.pid) if pid != first)

    # A fork server takes seconds to start where others compute too.
    patience.until(lambda: has_begun_again() or not thread.is_alive())
    again = time.monotonic()
    thread.join(60)
    assert answers, "no answer"
    # Two seconds were left; with a second deadline there would be all eight.
    assert time.monotonic() - again < limit - 1, answers
    assert serving.ask(NAMES) == WORKS


@pytest.mark.promise("F-05")
@pytest.mark.parametrize("script", [SPIN, NAMES], ids=["a script runs", "nothing runs"])
def test_a_killed_host_leaves_no_orphan(script: str, serving: Serving) -> None:
    """kill -9 of the server ends its fork server and every worker, also one that is spinning."""
    if script == SPIN:
        serving.later(script)
        serving.busy()
    deadline = time.monotonic() + 60
    while len(rest := family(serving.link.pid)) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(rest) >= 2  # the fork server and a worker
    os.kill(serving.link.pid, signal.SIGKILL)
    assert gone(rest), [pid for pid in rest if pids.is_alive(pid)]


@pytest.mark.promise("F-05")
def test_a_client_that_hangs_up_ends_the_server(control_plane: ControlPlane) -> None:
    """When stdin closes while a script runs, the server ends within seconds and leaves nothing behind."""
    command = [
        clients.INSTALLED,
        "--toolsets",
        "code",
        "--kubeconfig",
        str(control_plane.kubeconfig),
        "--log-level",
        "error",
    ]
    link = stdio.Server(command)
    link._send({
        "jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": {"name": "evaluate_script", "arguments": {"script": SPIN, "timeout": 300_000}},
    })  # fmt: skip
    patience.until(lambda: bool(fork_servers(link.pid)))
    busy(*fork_servers(link.pid))
    everything = [link.pid, *family(link.pid)]
    assert len(everything) >= 3
    process: subprocess.Popen[bytes] = link._process
    assert process.stdin is not None
    process.stdin.close()
    try:
        assert process.wait(60) == 0
        assert gone(everything), [pid for pid in everything if pids.is_alive(pid)]
    finally:
        process.kill()
        link.close()


@pytest.mark.promise("F-06")
@pytest.mark.parametrize("waiting", [False, True], ids=["while it computes", "while the API server keeps it waiting"])
def test_a_client_that_cancels_frees_everything_at_once(
    waiting: bool, gate: Gate, behind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The worker is dead (within 100 ms, where nothing else runs), the API request is closed, and the next call works."""
    port = urllib.parse.urlsplit(behind).port
    (server,) = (
        pid
        for pid in pids.children(os.getpid())
        if str(port).encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    )
    (fork_server,) = fork_servers(server)

    def there() -> list[int]:
        """The script's worker once it is at work; with the next one, which is forked while the first one waits."""
        if not waiting:
            return [busy(fork_server)]
        found: list[int] = []

        def are_both() -> bool:
            found[:] = filter(pids.is_alive, pids.children(fork_server))
            return not gate.steps and len(found) == 2

        patience.until(are_both)
        return found

    async def run() -> float:
        async with Client(behind) as client:
            assert clients.text(await clients.evaluate(client, NAMES)) == WORKS
            gate.hangups.clear()
            with gate.failing(*[Turn.wait_for_hangup] * waiting):
                async with anyio.create_task_group() as group:
                    group.start_soon(
                        functools.partial(clients.evaluate, timeout=300_000), client, NAMES if waiting else SPIN
                    )
                    workers = await anyio.to_thread.run_sync(there)
                    cancelled = time.monotonic()
                    group.cancel_scope.cancel()
                await anyio.to_thread.run_sync(patience.until, lambda: not all(map(pids.is_alive, workers)), SOON_S)
                took = time.monotonic() - cancelled
                if waiting:
                    await anyio.to_thread.run_sync(patience.until, lambda: bool(gate.hangups))
                    took = max(took, gate.hangups[0] - cancelled)
            assert clients.text(await clients.evaluate(client, NAMES)) == WORKS
            return took

    took = anyio.run(run)
    with capsys.disabled():
        print(f" cancelled → all freed: {took * 1000:.0f} ms", end="")
    assert took < SOON_S


# --- disks ---


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    if (
        os.geteuid() != 0
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], capture_output=True
        ).returncode
    ):
        pytest.skip("mounting a tiny file system needs root and CAP_SYS_ADMIN")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.promise("F-07")
def test_a_full_disk_leaves_no_half_snapshot(tiny: Path, control_plane: ControlPlane, tmp_path: Path) -> None:
    """`kubescript snapshot` on a full disk fails in words, keeps nothing, and works on another disk."""

    def save(out: Path) -> subprocess.CompletedProcess[str]:
        command = [clients.KUBESCRIPT, "snapshot", str(out), "--kubeconfig", str(control_plane.kubeconfig)]
        return subprocess.run(command, capture_output=True, text=True, timeout=240)

    failed = save(tiny / "out")
    assert failed.returncode == 1, failed
    assert "No space left" in failed.stderr and "Traceback" not in failed.stderr, failed.stderr
    assert list(tiny.iterdir()) == []
    assert save(tmp_path / "out").returncode == 0
    assert (tmp_path / "out").is_dir()
