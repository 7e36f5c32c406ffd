"""Callers who would have the server keep as much as its memory holds: each in all ways that there are, over real sockets,
and beside the process's own count. What one caller makes it keep is bounded, and the next one is served."""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio
import httpx2
import pytest
from mcp.shared.exceptions import MCPError

from kubescript import errors
from kubescript.changes import plan
from kubescript.changes.ask import remembered
from kubescript.changes.store import record, room, store
from tests.kit import callers, clients, patience, stored_plans, trails
from tests.kit.controlplane import logged

TOKENS: Final = {"bob": "token-of-bob-0123456789", "mallory": "token-of-mallory-0123456789"}
STREAMS: Final = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
MODERN: Final = "2026-07-28"
MIB: Final = 1 << 20
LONG: Final = "x" * (MIB + MIB // 2)
"""What a request may hold whose body may have 2 MiB."""
MANY: Final = 160
"""Requests of an attack. Before there were budgets, so many kept 250 to 500 MiB."""
MOST_MIB: Final = 210
"""By how much the server may grow under all attacks of one caller together: his 64 MiB, 32 MiB of requests that have not
arrived whole, and what the allocator holds of their copies. 400 requests take no more than 160."""


@dataclass
class Served:
    """A server in a process of its own."""

    port: int
    process: int

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    @property
    def mib(self) -> int:
        """What its process holds."""
        status = Path(f"/proc/{self.process}/status").read_text()
        return next(int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmRSS"))

    @property
    def unread_mib(self) -> int:
        """What the kernel holds of its answers, until their clients read."""
        sockets = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        own = [line[4] for line in sockets if line[1].endswith(f":{self.port:04X}")]
        return sum(int(queues.partition(":")[0], 16) for queues in own) >> 20

    def serves(self, name: str, script: str = trails.COUNT) -> bool:
        """Whether a caller gets a script's answer, which is 1."""

        async def ask() -> str:
            async with callers.connected(self.port, TOKENS.get(name, "of-nobody")) as client:
                return clients.text(await clients.evaluate(client, script))

        with contextlib.suppress(ExceptionGroup, MCPError):  # refused: there is no room yet
            return anyio.run(ask) == "1"
        return False


@contextlib.contextmanager
def serving(folder: Path, auth: str, cluster: Sequence[str] = (), limits: str = "") -> Iterator[Served]:
    """A server of the installed program, whose memory is its own; `cluster` has the flags of another one than a saved
    pod."""
    (folder / "tokens").write_text("".join(f"{token},{name}\n" for name, token in TOKENS.items()))
    (folder / "tokens").chmod(0o600)
    file = folder / "settings.toml"
    file.write_text(f'toolsets = ["code"]\n{auth}\n[http]\nrequests_per_minute = 100000\n{limits}\n')
    flags = (*(cluster or ("--snapshot", str(trails.snapshot(folder)))), "--config", str(file))
    with clients.running(flags, program=(clients.INSTALLED,), level="error") as (port, process):
        yield Served(port, process)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, int]]:
    """A server of known callers, and what it held before any attack."""
    folder = tmp_path_factory.mktemp("memory")
    with serving(folder, f'[auth]\ntokens_file = "{folder}/tokens"') as made:
        assert made.serves("bob") and made.serves("mallory")
        yield made, made.mib


class Attacker:
    """A caller, or a stranger, with as many sessions and connections as he likes."""

    def __init__(self, port: int, name: str, stack: contextlib.ExitStack) -> None:
        self.port = port
        self.own = {"Authorization": f"Bearer {TOKENS[name]}"} if name else {}
        self.http = stack.enter_context(httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60))
        self._stack = stack

    def post(self, body: Mapping[str, Any], path: str = "/mcp", **headers: str) -> httpx2.Response:
        """The answer to one message, read whole."""
        message = {"jsonrpc": "2.0", "id": 1, **body}
        return self.http.post(path, json=message, headers=STREAMS | self.own | headers)

    def session(self, client_info: Mapping[str, Any] | None = None, **more: Any) -> dict[str, str]:
        """Begins a session; gives the headers of its further requests."""
        answer = self.post(initialize(client_info, **more))
        return {"Mcp-Session-Id": answer.headers.get("mcp-session-id", ""), "Mcp-Protocol-Version": "2025-11-25"}

    def leave(
        self, body: Mapping[str, Any], path: str = "/mcp", *, method: str = "POST", **headers: str
    ) -> socket.socket:
        """Sends a message, and reads nothing of what answers it; the connection stays."""
        content = json.dumps({"jsonrpc": "2.0", "id": 1, **body}).encode() if body else b""
        every = STREAMS | self.own | headers | {"Host": "127.0.0.1", "Content-Length": str(len(content))}
        lines = "".join(f"{name}: {value}\r\n" for name, value in every.items())
        sock = self._stack.enter_context(socket.create_connection(("127.0.0.1", self.port), timeout=60))
        with contextlib.suppress(OSError):  # it may refuse before it has read all
            sock.sendall(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + content)
        return sock


def initialize(client_info: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """The first message of a session."""
    about = {"name": "attack", "version": "1", **(client_info or {})}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about, **more}
    return {"method": "initialize", "params": params}


CAPABILITIES: Final[dict[str, Any]] = {"experimental": {"a": {"b": [[] for _ in range(4_900)]}}}
"""15 KiB of JSON, which take 400 KiB as objects."""


def long_client_info(attacker: Attacker) -> None:
    for _ in range(MANY):
        answer = attacker.post(initialize({"name": LONG}))
        if answer.status_code != 200:
            assert answer.status_code == 413 and "initialize has more than 16384 bytes" in answer.text


def many_capabilities(attacker: Attacker) -> None:
    for _ in range(3 * MANY):
        attacker.session(capabilities=CAPABILITIES)


def initialized_again(attacker: Attacker) -> None:
    for _ in range(MANY):
        attacker.post(initialize({"name": LONG}), **attacker.session())


def last_messages(attacker: Attacker) -> None:
    for _ in range(MANY):
        attacker.post({"method": "ping", "params": {"a": LONG}}, **attacker.session())


def last_messages_of_streams(attacker: Attacker) -> None:
    for _ in range(MANY):
        stream = attacker.leave({}, "/sse", method="GET")
        said = stream.recv(4_096).decode()
        while "sessionId=" not in said and (piece := stream.recv(4_096)):
            said += piece.decode()
        path = said.partition("data: ")[2].partition("\r")[0] or "/messages"
        for number in range(2):
            attacker.post({"id": number, "method": "ping", "params": {"a": LONG[: MIB // 2 - 1_000]}}, path)


def long_client_info_of_streams(attacker: Attacker) -> None:
    for _ in range(MANY):
        stream = attacker.leave({}, "/sse", method="GET")
        said = stream.recv(4_096).decode()
        while "sessionId=" not in said:
            if not (piece := stream.recv(4_096)):
                return
            said += piece.decode()
        path = said.partition("data: ")[2].split()[0]
        attacker.post(initialize({"name": LONG}), path)


def answers_to_resume(attacker: Attacker) -> None:
    call = {"name": "evaluate_script", "arguments": {"script": "'x' * 60_000"}}
    own = attacker.session()
    for number in range(MANY):
        attacker.post({"id": number, "method": "tools/call", "params": call}, **own)


def long_ids(attacker: Attacker) -> None:
    own = attacker.session()
    for number in range(MANY):
        attacker.post({"id": f"{number}{LONG}", "method": "ping"}, **own)


def long_subscriptions(attacker: Attacker) -> None:
    about = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "attack", "version": "1"},
    }
    params = {"notifications": {"resourceSubscriptions": ["a:" + LONG]}, "_meta": about}
    headers = {"Mcp-Protocol-Version": MODERN, "Mcp-Method": "subscriptions/listen"}
    for number in range(MANY):
        attacker.leave({"id": number, "method": "subscriptions/listen", "params": params}, **headers)


WAYS: Final[Mapping[str, Callable[[Attacker], None]]] = {
    "the clientInfo of sessions": long_client_info,
    "the capabilities of sessions": many_capabilities,
    "a second initialize": initialized_again,
    "the last message of each session": last_messages,
    "the last message of each stream": last_messages_of_streams,
    "the clientInfo of /sse": long_client_info_of_streams,
    "answers kept for resumption": answers_to_resume,
    "ids of requests": long_ids,
    "what streams of changes ask for": long_subscriptions,
}
"""Every place where bytes of a caller are kept beyond the moment: a new one gets a line here."""


@pytest.mark.promise("H-08")
@pytest.mark.parametrize("way", WAYS)
def test_no_caller_fills_the_memory(way: str, served: tuple[Served, int]) -> None:
    """In no way, and in none behind all others: the server grows by little more than a caller's budget, and serves the
    next one at once, and this one when he has let go."""
    server, before = served
    with contextlib.ExitStack() as stack:
        WAYS[way](Attacker(server.port, "mallory", stack))
        assert server.mib - before < MOST_MIB
        assert server.serves("bob")
    patience.until(lambda: server.serves("mallory"))


@pytest.mark.promise("H-08")
def test_calls_whose_client_has_left_fill_no_memory(tmp_path: Path) -> None:
    """Their lists wait for an API server that says no word: what their requests brought is counted until they end, so
    that the same caller has no room meanwhile, and another one has."""
    auth = f'[auth]\ntokens_file = "{tmp_path}/tokens"'
    script = "k8s.CoreV1Api().list_pod_for_all_namespaces()"
    call = {"name": "evaluate_script", "arguments": {"script": script}, "_meta": {"a": LONG}}
    with socket.create_server(("127.0.0.1", 0), backlog=512) as silent:
        cluster = ("--kubeconfig", str(kubeconfig(tmp_path, silent.getsockname()[1])))
        with serving(tmp_path, auth, cluster) as server, contextlib.ExitStack() as stack:
            assert server.serves("bob", "1")
            before = server.mib
            attacker = Attacker(server.port, "mallory", stack)
            own = attacker.session()
            ids = itertools.count()

            def attack(calls: int) -> None:
                for _ in range(calls):
                    attacker.leave({"id": next(ids), "method": "tools/call", "params": call}, **own).close()

            def fill() -> bool:
                # A call ends after 10 s without a connection: on a busy machine, the first ones may be over by now.
                attack(MANY // 8)
                return "all the memory that one caller may have" in ping(attacker, own)

            attack(MANY)
            patience.until(fill)
            assert server.mib - before < MOST_MIB
            assert server.serves("bob", "1")
            silent.close()
            patience.until(lambda: server.serves("mallory", "1"))
            patience.until(lambda: '"result"' in ping(attacker, own))


def ping(attacker: Attacker, own: Mapping[str, str]) -> str:
    """The answer to a long message; empty when the server, still busy with the ones before, has not read it in time."""
    with contextlib.suppress(httpx2.TransportError):
        return attacker.post({"method": "ping", "params": {"a": LONG}}, **own).text
    return ""


def kubeconfig(folder: Path, port: int) -> Path:
    """How an API server is reached at which nobody may say who he is."""
    cluster = {"server": f"https://127.0.0.1:{port}", "insecure-skip-tls-verify": True}
    chosen = {"name": "silent", "context": {"cluster": "silent", "user": "nobody"}}
    file = folder / "kubeconfig"
    content = {
        "apiVersion": "v1", "kind": "Config", "current-context": "silent", "contexts": [chosen],
        "clusters": [{"name": "silent", "cluster": cluster}], "users": [{"name": "nobody", "user": {}}],
    }  # fmt: skip
    file.write_text(json.dumps(content))
    return file


@pytest.mark.promise("H-08")
def test_long_progress_tokens_are_not_repeated(served: tuple[Served, int]) -> None:
    """A call with one that is too long is answered without progress; with one that is as long as it may be, with it."""
    server, _ = served
    script = "ctx.progress(1, 2, 'half')\n1"
    with contextlib.ExitStack() as stack:
        attacker = Attacker(server.port, "mallory", stack)
        own = attacker.session()
        for token, count in (("t" * 1_024, True), ("t" * 1_025, False), (LONG, False), (10**1_100, False)):
            call = {"name": "evaluate_script", "arguments": {"script": script}, "_meta": {"progressToken": token}}
            answer = attacker.post({"method": "tools/call", "params": call}, **own)
            assert '"result"' in answer.text
            assert ("notifications/progress" in answer.text) is count
            assert len(answer.text) < 20_000


@pytest.mark.promise("H-08")
def test_the_session_that_was_idle_for_longest_makes_room(served: tuple[Served, int]) -> None:
    """It gets 404, and its client begins another; one with an open stream goes on, also one that would begin once more,
    and so does the newest."""
    server, _ = served
    ping = {"method": "ping"}
    with contextlib.ExitStack() as stack:
        attacker = Attacker(server.port, "mallory", stack)
        used, idle = attacker.session(), attacker.session()
        stream = attacker.leave({}, method="GET", **used)
        assert stream.recv(15) == b"HTTP/1.1 200 OK"
        assert "has begun already" in attacker.post(initialize(), **used).text
        for _ in range(MANY):
            newest = attacker.session(capabilities=CAPABILITIES)
        assert [attacker.post(ping, **own).status_code for own in (used, idle, newest)] == [200, 404, 200]
    assert server.serves("mallory")


@pytest.mark.promise("H-08")
def test_plans_of_one_caller_fill_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until they expire they have a bound in bytes, over all replicas; another caller makes plans meanwhile, and so does
    this one later."""
    monkeypatch.setattr(room, "_MOST_OPEN_BYTES", 8 * MIB)
    clock, url = stored_plans.Clock(), str(tmp_path / "plans.db")
    replicas = [store.Store(url, clock=clock) for _ in range(3)]

    def make(name: str) -> None:
        identity = plan.Identity(name, "https://issuer.example.com", name, (), (), (), "server")
        author = plan.Author(name, identity=identity)
        now = clock.now
        next(turns).add(stored_plans.made(author=author, created=now, expires=now + 600, script="x" * (MIB - 4_096)))

    def fill(name: str) -> int:
        made = 0
        with pytest.raises(errors.PlanError, match=r"last 600 seconds .* all that one caller may have"):
            while made < 100:
                make(name)
                made += 1
        return made

    turns = itertools.cycle(replicas)
    assert fill("mallory") == fill("bob") == 8
    clock.now += 601
    assert fill("mallory") == 8
    for each in replicas:
        each.close()


@pytest.mark.promise("H-08")
def test_plans_that_have_ended_fill_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one author so many are kept, and so many bytes of them, the newest; none that still waits goes, and none of
    another author's."""
    monkeypatch.setattr(room, "_MOST_PLANS", 20)
    monkeypatch.setattr(room, "_MOST_BYTES", 2 * MIB)
    clock = stored_plans.Clock()
    kept = store.Store(str(tmp_path / "plans.db"), clock=clock)

    def make(name: str, script: str = "") -> str:
        new = stored_plans.made(author=plan.Author(name), created=clock.now, expires=clock.now + 900, script=script)
        kept.add(new)
        clock.now += 1
        return new.id

    of_bob = [make("bob") for _ in range(5)]
    waiting = [make("mallory") for _ in range(30)]
    assert {entry.plan.id for entry in kept.newest(100)} == {*of_bob, *waiting}
    clock.now += 1_000
    newest = [make("mallory") for _ in range(5)]
    assert {entry.plan.id for entry in kept.newest(100)} == {*of_bob, *waiting[15:], *newest}
    large = [make("mallory", LONG) for _ in range(3)]
    clock.now += 1_000
    last = make("mallory")
    assert {entry.plan.id for entry in kept.newest(100)} == {*of_bob, large[-1], last}
    kept.close()


@pytest.mark.promise("H-08")
def test_answers_and_sessions_that_wait_for_a_person_are_bounded(tmp_path: Path) -> None:
    """Those of calls that have ended with a question: a person's oldest go from the store, and nobody else's."""
    kept = store.Store(str(tmp_path / "state" / "plans.db"))
    question, expires = record.Question("p-1", "", "", "", is_link=False), time.time() + 900
    of_bob = kept.questions.keep(question, "bob", b"his", expires)
    for answer, count in ((LONG.encode(), 22), (b"short", 65)):
        tokens = [kept.questions.keep(question, "mallory", answer, expires) for _ in range(count)]
        with pytest.raises(errors.PlanError, match="no such question"):
            kept.questions.find(tokens[0])
        assert kept.questions.find(tokens[-1])[1] == answer
    assert kept.questions.find(of_bob) == (question, b"his")
    kept.close()
    waiting = remembered.Remembered()
    for number in range(MANY):
        waiting.wait(f"session-{number}")
    for number in range(20 * MANY):
        waiting.wait(f"another-{number}")
    assert not waiting.is_waiting("session-0")
    assert waiting.is_waiting(f"another-{20 * MANY - 1}")


@pytest.mark.promise("H-08")
def test_all_strangers_together_have_one_budget(tmp_path: Path) -> None:
    """Where nobody has to say who he is, several of them in several ways at once."""
    with serving(tmp_path, "") as server:
        assert server.serves("")
        before = server.mib
        with contextlib.ExitStack() as stack:
            for way in (many_capabilities, long_subscriptions, initialized_again):
                way(Attacker(server.port, "", stack))
            assert server.mib - before < MOST_MIB
        patience.until(lambda: server.serves(""))


@pytest.mark.promise("H-08")
def test_answers_that_nobody_reads_have_a_bound(tmp_path: Path) -> None:
    """Each has 4 MB, in the process or in the kernel: the connections that wait longest for their client end, and another
    caller is served, as is this one when he has let go. Before, 100 took 530 and 275 MiB."""
    auth = f'[auth]\ntokens_file = "{tmp_path}/tokens"'
    call = {"method": "tools/call", "params": {"name": "evaluate_script", "arguments": {"script": "'x' * 4_000_000"}}}
    with serving(tmp_path, auth, limits="[limits]\noutput_kib = 4096") as server:
        assert server.serves("bob")
        before = server.mib
        with contextlib.ExitStack() as stack:
            attacker = Attacker(server.port, "mallory", stack)
            own = attacker.session()
            left = [attacker.leave(call | {"id": number}, **own) for number in range(100)]
            assert {stream.recv(12) for stream in left} == {b"HTTP/1.1 200"}
            # Eight scripts at the same time make some 20 MiB each.
            assert server.mib + server.unread_mib - before < 2 * MOST_MIB
            assert server.unread_mib < 64
            assert server.serves("bob")
        patience.until(lambda: server.serves("mallory"))


EMOJI: Final = "\U0001f600"
"""One, and each character of a text takes four bytes."""
ENVELOPE: Final = {"io.modelcontextprotocol/protocolVersion": MODERN}
REPEATED: Final[Mapping[str, Mapping[str, Any]]] = {
    "answered": {"method": "ping"},
    "refused before they are counted": {"method": "ping", "params": {"_meta": ENVELOPE}},
    "refused as a second beginning": initialize(),
}
"""Requests whose answers repeat their ids."""


@pytest.mark.promise("H-08")
@pytest.mark.parametrize("what", REPEATED)
def test_answers_of_a_stream_that_is_read_slowly_have_a_bound(what: str, tmp_path: Path) -> None:
    """Of the older SSE: its requests are over, and their answers wait in the server behind one that the client has not
    read. It reads one now and then, so that its stream lives. Before, 314 took 734 MiB."""
    with serving(tmp_path, f'[auth]\ntokens_file = "{tmp_path}/tokens"') as server, contextlib.ExitStack() as stack:
        assert server.serves("bob") and server.serves("mallory")
        before = server.mib
        attacker = Attacker(server.port, "mallory", stack)
        stream = attacker.leave({}, "/sse", method="GET")
        said = stream.recv(4_096).decode()
        while "sessionId=" not in said:
            said += stream.recv(4_096).decode()
        path = said.partition("data: ")[2].split()[0]
        attacker.post(initialize(), path)
        attacker.post({"method": "notifications/initialized", "id": None}, path)
        statuses = set()
        for number in range(MANY):
            request = {"jsonrpc": "2.0", **REPEATED[what], "id": f"{EMOJI}{number}{LONG[: MIB // 2 - 3_000]}"}
            body = json.dumps(request, ensure_ascii=False).encode()
            headers = STREAMS | attacker.own
            statuses.add(attacker.http.post(path, content=body, headers=headers).status_code)
            read = 0
            while number % 16 == 0 and read < 400_000 and (piece := received(stream)):
                read += len(piece)
        # Where there is no room, a message is refused, or makes room by the stream's end.
        assert 202 in statuses and statuses & {404, 503}
        assert server.mib - before < MOST_MIB
        assert server.serves("bob")
        stack.close()
        patience.until(lambda: server.serves("mallory"))


def received(stream: socket.socket) -> bytes:
    """What comes next; nothing where the server has ended the stream."""
    with contextlib.suppress(ConnectionError):
        return stream.recv(65_536)
    return b""


MISTAKES: Final[Mapping[str, Mapping[str, Any]]] = {
    "a method": {"method": LONG},
    "a tool": {"method": "tools/call", "params": {"name": LONG}},
    "a prompt": {"method": "prompts/get", "params": {"name": LONG}},
    "an argument": {"method": "prompts/get", "params": {"name": "triage", "arguments": {LONG: "a"}}},
    "a page": {"method": "resources/read", "params": {"uri": f"a:{LONG}"}},
}
"""What names something that is not there."""


@pytest.mark.promise("H-08")
@pytest.mark.parametrize("what", MISTAKES)
def test_a_long_name_of_nothing_does_not_come_back(what: str, served: tuple[Served, int]) -> None:
    """The refusal names its beginning; the next call is answered."""
    server, _ = served
    with contextlib.ExitStack() as stack:
        attacker = Attacker(server.port, "mallory", stack)
        own = attacker.session()
        answer = attacker.post(MISTAKES[what], **own)
        assert '"error"' in answer.text and len(answer.text) < 1_000
        assert attacker.post({"method": "ping"}, **own).status_code == 200


ASKED: Final = 60
"""Calls whose person does not decide."""
LARGE: Final = """
k8s.CoreV1Api().create_namespaced_config_map('default', {'metadata': {'name': 'never-made'}, 'data': {'a': '1'}})
'x' * 4_000_000
"""


@pytest.mark.cluster
@pytest.mark.promise("H-08")
def test_answers_whose_person_does_not_decide_have_a_bound(run_folder: Path, run_process: int, tmp_path: Path) -> None:
    """Each call has an answer of 4 MB and waits for a form that nobody fills in: for so many as fit a person is asked,
    the others are refused by name, and a caller is served who comes next."""
    plane = logged.attach(run_folder, run_process).plane
    auth = f'writes = "plan"\n[auth]\ntokens_file = "{tmp_path}/tokens"\n[plans]\nstore = "{tmp_path}/plans.db"'
    cluster = ("--kubeconfig", str(plane.kubeconfig))
    call = {"method": "tools/call", "params": {"name": "evaluate_script", "arguments": {"script": LARGE}}}
    with serving(tmp_path, auth, cluster, "[limits]\noutput_kib = 4096") as server, contextlib.ExitStack() as stack:
        attacker = Attacker(server.port, "mallory", stack)
        own = attacker.session(capabilities={"elicitation": {}})
        assert asked(attacker, call | {"id": 0}, own)
        before = server.mib
        waiting = sum(asked(attacker, call | {"id": number}, own) for number in range(1, ASKED))
        assert 5 <= waiting <= 20
        assert server.mib - before < MOST_MIB
        assert server.serves("bob", "1")
        stack.close()
        patience.until(lambda: server.serves("mallory", "1"))


def asked(attacker: Attacker, call: Mapping[str, Any], own: Mapping[str, str]) -> bool:
    """Whether a person is asked about a call's plan; otherwise it says why not."""
    stream = attacker.leave(call, **own)
    stream.settimeout(60)
    said = b""
    while b"elicitation/create" not in said and b"server.busy" not in said:
        said += (piece := stream.recv(1 << 16))
        assert piece
    return b"server.busy" not in said
