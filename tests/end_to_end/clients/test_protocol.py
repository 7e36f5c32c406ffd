"""The protocol beyond tools: messages that cannot be read, log messages, completion, and settings that are read again.
After each failure the next call works."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import anyio
import httpx2
import mcp_types
import pytest
from mcp.client import Client
from mcp.client.session import IncomingMessage
from mcp.client.stdio import StdioServerParameters, get_default_environment, stdio_client
from mcp.shared.exceptions import MCPError

from kubescript.cli import demo
from tests.kit import clients
from tests.kit.callers import NAMESPACES, Callers, connected

SAVED = ["--toolsets", "code", "--snapshot", str(demo.SNAPSHOT)]
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
}
BOTH = "application/json, text/event-stream"


def message(method: str, params: dict[str, Any] | None = None, request_id: int = 7) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}})


def called(script: str) -> str:
    return message("tools/call", {"name": "evaluate_script", "arguments": {"script": script}, "_meta": MODERN})


DEEP = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":' + "[" * 5_000 + "]" * 5_000 + "}"
DEEPER = DEEP.replace("[" * 5_000, "[" * 100_000).replace("]" * 5_000, "]" * 100_000)
DIGITS = message("ping").replace("{}", '{"a":%s}' % ("9" * 5_000))
UNREADABLE = {
    "half of a surrogate pair": (called("'\ud800'"), -32700, 7),
    "a depth of 5,000": (DEEP, -32700, None),
    "no JSON": ("garbage", -32700, None),
}
"""Each with the code of the error and the id that it names."""


class Raw:
    """A client over stdio that sends any line."""

    def __init__(self, *flags: str) -> None:
        pipe = subprocess.PIPE
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - `close` reads it
        command = [clients.KUBESCRIPT, *flags]
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self.errors, text=True)

    def send(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        received: dict[str, Any] = json.loads(self.process.stdout.readline())
        return received

    def ask(self, line: str) -> dict[str, Any]:
        self.send(line)
        return self.receive()

    def close(self) -> str:
        """Ends the server, and returns what it has written to stderr."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(60)
        self.errors.seek(0)
        return self.errors.read()


@pytest.fixture(scope="module")
def raw() -> Iterator[Raw]:
    """A connection of the handshake era."""
    client = Raw(*SAVED)
    client.ask(message("initialize", HELLO))
    yield client
    assert "Deprecat" not in client.close()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with clients.serving([*SAVED, "--stateless"]) as port:
        yield port


def test_what_cannot_be_read_is_answered_over_stdio(raw: Raw) -> None:
    wrong = {
        "a depth of 100,000": (DEEPER, -32700, None),
        "a number of 5,000 digits": (DIGITS, -32700, 7),
        "a batch": ("[]", -32600, None),
        "another version": (message("ping").replace("2.0", "1.0"), -32600, 7),
    }
    for name, (line, code, request_id) in (UNREADABLE | wrong).items():
        answer = raw.ask(line)
        assert (answer["error"]["code"], answer["id"]) == (code, request_id), name
        assert raw.ask(message("ping", request_id=8)) == {"jsonrpc": "2.0", "id": 8, "result": {}}
    # The answer to a question that nobody asked is no request.
    raw.send('{"jsonrpc":"2.0","id":1,"result":5}')
    assert raw.ask(message("nope"))["error"]["code"] == -32601


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_what_cannot_be_read_is_answered_over_http(port: int, version: str) -> None:
    headers = {"accept": BOTH, "content-type": "application/json", "mcp-protocol-version": version}
    for name, (line, code, request_id) in UNREADABLE.items():
        answer = httpx2.post(f"http://127.0.0.1:{port}/mcp", content=line, headers=headers, timeout=60)
        assert answer.status_code == 400, name
        assert (answer.json()["error"]["code"], answer.json()["id"]) == (code, request_id), name
    for line in (DEEPER, DIGITS):
        assert httpx2.post(f"http://127.0.0.1:{port}/mcp", content=line, headers=headers, timeout=60).status_code == 413
    headers |= {"mcp-method": "tools/call", "mcp-name": "evaluate_script", "mcp-protocol-version": "2026-07-28"}
    answer = httpx2.post(f"http://127.0.0.1:{port}/mcp", content=called("1 + 1"), headers=headers, timeout=60)
    assert answer.json()["result"]["content"][0]["text"] == "2"


def test_what_cannot_be_read_is_answered_in_the_stream_of_sse(port: int) -> None:
    base = f"http://127.0.0.1:{port}"
    with httpx2.stream("GET", f"{base}/sse", timeout=30) as stream:
        lines = stream.iter_lines()
        path = next(line.removeprefix("data: ") for line in lines if "/messages?" in line and "{" not in line)
        headers = {"content-type": "application/json"}
        httpx2.post(base + path, content=message("initialize", HELLO), headers=headers, timeout=60)
        for name, (line, code, request_id) in UNREADABLE.items():
            answer = httpx2.post(base + path, content=line, headers=headers, timeout=60)
            assert answer.status_code == 400, name
            found = next(json.loads(line[6:]) for line in lines if line.startswith("data: ") and '"error"' in line)
            assert (found["error"]["code"], found["id"]) == (code, request_id), name
        httpx2.post(base + path, content=message("ping", request_id=9), headers=headers, timeout=60)
        assert any('"id":9' in line for line in lines)


REFUSED: Final = "k8s.CoreV1Api().delete_namespaced_pod('of-nobody', 'shop')"
"""The policy refuses it."""


def told_of_level(raw: Raw, line: str) -> tuple[list[tuple[str, str]], dict[str, Any]]:
    """The log messages that come before the answer to a call, and the answer."""
    told = []
    answer = raw.ask(line)
    while "id" not in answer:
        assert answer["method"] == "notifications/message"
        assert answer["params"]["logger"] == "kubescript"
        assert "of-nobody" not in json.dumps(answer), "it is text of the call, and may be text of the cluster"
        told.append((answer["params"]["level"], answer["params"]["data"]["message"]))
        answer = raw.receive()
    return told, answer


def test_a_client_gets_log_messages_of_the_level_that_it_has_set(raw: Raw) -> None:
    call = message("tools/call", {"name": "evaluate_script", "arguments": {"script": REFUSED}})
    assert told_of_level(raw, call)[0] == []
    assert raw.ask(message("logging/setLevel", {"level": "loud"}))["error"]["code"] == -32602
    for level, expected in (
        ("warning", ["warning", "error"]),
        ("error", ["error"]),
        ("debug", ["warning", "error", "debug"]),
    ):
        assert raw.ask(message("logging/setLevel", {"level": level}))["result"] == {}
        told, answer = told_of_level(raw, call)
        assert [found for found, _ in told] == expected
        assert answer["result"]["isError"]
    assert told[0][1] == "the policy refused a request"
    assert raw.ask(message("logging/setLevel", {"level": "notice"}))["result"] == {}
    much = message("tools/call", {"name": "evaluate_script", "arguments": {"script": "print('x' * 500_000)"}})
    assert told_of_level(raw, much)[0] == [("notice", "the answer was cut: a limit of the output was reached")]


def test_a_request_of_2026_names_its_own_level() -> None:
    raw = Raw(*SAVED)
    for level, expected in ((None, []), ("warning", ["warning", "error"]), ("error", ["error"])):
        meta = MODERN | ({"io.modelcontextprotocol/logLevel": level} if level else {})
        call = {"name": "evaluate_script", "arguments": {"script": REFUSED}, "_meta": meta}
        assert [found for found, _ in told_of_level(raw, message("tools/call", call))[0]] == expected
    assert raw.ask(message("logging/setLevel", {"level": "debug", "_meta": MODERN}))["error"]["code"] == -32601
    assert "Deprecat" not in raw.close()


TRIAGE: Final = mcp_types.PromptReference(name="triage")


async def completion(client: Client, argument: str, value: str = "", **given: str) -> mcp_types.Completion:
    """The names that complete a value, and whether there are more. On a busy machine the two seconds may be over before
    there are any."""
    deadline = time.monotonic() + 60
    while True:
        found = await client.complete(TRIAGE, {"name": argument, "value": value}, given or None)
        if found.completion.values or time.monotonic() > deadline:
            return found.completion
        await anyio.sleep(1)


async def completed(client: Client, argument: str, value: str = "", **given: str) -> list[str]:
    """The names alone."""
    return (await completion(client, argument, value, **given)).values


def test_arguments_of_prompts_are_completed_with_names_of_the_cluster() -> None:
    async def ask() -> None:
        async with clients.connect("memory", ["--snapshot", str(demo.SNAPSHOT)]) as client:
            assert await completed(client, "namespace", "pay") == ["payments"]
            assert await completed(client, "kind", "deploy") == ["Deployment"]
            assert "checkout" in await completed(client, "name", kind="Deployment", namespace="shop")
            (cluster,) = await completed(client, "cluster")
            assert await completed(client, "namespace", "sh", cluster=cluster) == ["shop"]
            many = await completion(client, "name", kind="Pod")
            assert len(many.values) == 100
            assert many.has_more
            for name, given in (
                ("symptom", None),
                ("nope", None),
                ("name", None),
                ("namespace", {"cluster": "'x"}),
                ("name", {"kind": "') or print('"}),
            ):
                none = await client.complete(TRIAGE, {"name": name, "value": ""}, given)
                assert none.completion.values == [], name
            unknown = mcp_types.PromptReference(name="nobody's")
            assert (await client.complete(unknown, {"name": "namespace", "value": ""})).completion.values == []
            assert clients.text(await clients.evaluate(client, "1 + 1")) == "2"

    anyio.run(ask)


@pytest.fixture(scope="module")
def callers(kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> Callers:
    return Callers(kubeconfig, tmp_path_factory.mktemp("callers"))


@pytest.fixture(scope="module")
def served(callers: Callers) -> Iterator[Served]:
    file = callers.folder / "reloaded.toml"
    tables = f'acts_as = "impersonate"\n{callers.tokens()}\n[plans]\nstore = "{callers.folder}/plans.db"\n'
    file.write_text(tables)
    flags = ("--toolsets", "code", "--kubeconfig", str(callers.kubeconfig), "--config", str(file))
    with clients.running(flags) as (port, pid):
        yield Served(port, pid, file, tables)


class Served(NamedTuple):
    """A server for callers, who are impersonated."""

    port: int
    pid: int
    file: Path
    tables: str

    def reload(self, tables: str) -> None:
        self.file.write_text(tables)
        os.kill(self.pid, signal.SIGHUP)


@pytest.mark.cluster
def test_a_caller_is_told_the_names_that_he_may_list(callers: Callers, served: Served) -> None:
    async def ask(port: int) -> None:
        async with connected(port, callers.secrets["alice"]) as alice, connected(port, callers.secrets["bob"]) as bob:
            assert "of-bob" in await completed(bob, "name", kind="ConfigMap", namespace=NAMESPACES["bob"])
            given = {"kind": "ConfigMap", "namespace": NAMESPACES["bob"]}
            refused = await alice.complete(TRIAGE, {"name": "name", "value": ""}, given)
            assert refused.completion.values == [], "bob's answer is kept for bob"
            assert (await alice.complete(TRIAGE, {"name": "namespace", "value": ""})).completion.values == []
            assert "of-alice" in await completed(alice, "name", kind="ConfigMap", namespace=NAMESPACES["alice"])

    anyio.run(ask, served.port)


LONG: Final = """
import time
until = time.monotonic() + {seconds}
while time.monotonic() < until:
    pass
"ended"
"""


class Changes:
    """A client that counts how often it hears of another list of tools."""

    def __init__(self) -> None:
        self.count = 0

    async def hear(self, message: IncomingMessage) -> None:
        self.count += isinstance(message, mcp_types.ToolListChangedNotification)

    async def wait(self, count: int) -> None:
        with anyio.fail_after(60):
            while self.count < count:
                await anyio.sleep(0.05)


@contextlib.asynccontextmanager
async def hearing(client: Client) -> AsyncIterator[Changes]:
    """Hears of changes as a client of 2026-07-28 does."""
    changes = Changes()

    async def listen(*, task_status: anyio.abc.TaskStatus[None]) -> None:
        async with client.listen(tools_list_changed=True) as stream:
            task_status.started()
            async for _ in stream:
                changes.count += 1

    async with anyio.create_task_group() as tasks:
        await tasks.start(listen)
        yield changes
        tasks.cancel_scope.cancel()


def settings_of(*toolsets: str, **more: str) -> str:
    lines = [f"toolsets = {json.dumps(toolsets)}", f"snapshot = {json.dumps(str(demo.SNAPSHOT))}"]
    return "\n".join([*lines, *(f"{name} = {value}" for name, value in more.items())])


async def tool_names(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


class Started:
    """A stdio server whose process is known: its number is in a file, written by a shell that becomes it."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "settings.toml"
        self.log = folder / "log"
        self._pid = folder / "pid"
        command = f'echo $$ > "{self._pid}"; exec "{clients.KUBESCRIPT}" --config "{self.file}" --log-file "{self.log}"'
        self.parameters = StdioServerParameters(command="sh", args=["-c", command], env=get_default_environment())

    def reload(self, settings: str) -> None:
        self.file.write_text(settings)
        os.kill(int(self._pid.read_text()), signal.SIGHUP)

    async def logged(self, text: str) -> None:
        with anyio.fail_after(60):
            while text not in self.log.read_text():
                await anyio.sleep(0.05)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_sighup_changes_what_a_stdio_server_offers(mode: str, tmp_path: Path) -> None:
    started = Started(tmp_path)
    started.file.write_text(settings_of("code"))

    async def ask() -> None:
        legacy = Changes()
        async with contextlib.AsyncExitStack() as stack:
            client = await stack.enter_async_context(
                Client(stdio_client(started.parameters), mode=mode, message_handler=legacy.hear)
            )
            assert client.server_capabilities.tools is not None
            assert client.server_capabilities.tools.list_changed is True
            changes = legacy if mode == "legacy" else await stack.enter_async_context(hearing(client))
            assert await tool_names(client) == {"evaluate_script"}

            async with anyio.create_task_group() as tasks:
                answers: list[str] = []

                async def run() -> None:
                    answers.append(clients.text(await clients.evaluate(client, LONG.format(seconds=3))))

                tasks.start_soon(run)
                await anyio.sleep(0.5)
                started.reload(settings_of("code", "cluster"))
                await changes.wait(1)
                assert "evaluate_script" in await tool_names(client)
                assert len(await tool_names(client)) > 1
            assert answers == ["ended"], "what runs ends under the settings with which it began"

            wrong = {
                "toolsets = [": "not reloaded",
                settings_of("cod"): "unknown toolset `cod`",
                settings_of(
                    "code", port="9999", transport='"http"'
                ): "cannot change while the server runs: transport, port",
                settings_of("code")
                + "\n[redaction]\nenabled = false": "cannot change while the server runs: redaction",
                settings_of("code") + "\n[[denied_resources]]\nkindd = 1": "unknown setting `denied_resources",
            }
            for settings, words in wrong.items():
                started.reload(settings)
                await started.logged(words)
            assert len(await tool_names(client)) > 1, "all is as before"
            assert clients.text(await clients.evaluate(client, "1 + 1")) == "2"

            started.reload(settings_of("code", denied_resources='[{resource = "pods"}]'))
            await changes.wait(2)
            assert await tool_names(client) == {"evaluate_script"}
            denied = await clients.evaluate(client, "k8s.CoreV1Api().list_namespaced_pod('shop')")
            assert "denied_resource" in clients.text(denied)

    anyio.run(ask)


@pytest.mark.cluster
def test_sighup_changes_what_callers_have_over_http(callers: Callers, served: Served) -> None:
    """Sessions go on, in both eras; who may not use the server any more loses his seat at once."""
    port = served.port

    async def ask() -> None:
        legacy = Changes()
        token = callers.secrets
        async with (
            connected(port, token["alice"], message_handler=legacy.hear) as old,
            connected(port, token["alice"], transport="sse", message_handler=legacy.hear) as older,
            connected(port, token["bob"], mode="auto") as new,
            hearing(new) as modern,
            connected(port, token["eve"]) as eve,
        ):
            for client in (old, older, new, eve):
                assert await tool_names(client) == {"evaluate_script"}
                assert client.server_capabilities.tools is not None
                assert client.server_capabilities.tools.list_changed is True
            rules = '[[access]]\nusers = ["alice", "bob"]\n[[denied_resources]]\nresource = "configmaps"\n'

            async def cut_off() -> None:
                with pytest.raises(MCPError):
                    await clients.evaluate(eve, LONG.format(seconds=25))

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(cut_off)
                await anyio.sleep(0.5)
                served.reload(served.tables + rules)
                await legacy.wait(2)
                await modern.wait(1)
            script = "k8s.CoreV1Api().list_namespaced_config_map({!r})"
            for client, name in ((old, "alice"), (older, "alice"), (new, "bob")):
                denied = await clients.evaluate(client, script.format(NAMESPACES[name]))
                assert "denied_resource" in clients.text(denied)
            with pytest.raises(MCPError):
                await tool_names(eve)
            refused = httpx2.get(
                f"http://127.0.0.1:{port}/tools", headers={"authorization": f"Bearer {token['eve']}"}, timeout=60
            )
            assert refused.status_code == 403

            served.reload(served.tables)
            await legacy.wait(4)
            for client, name in ((old, "alice"), (older, "alice"), (new, "bob")):
                own = await clients.evaluate(client, f"len({script.format(NAMESPACES[name])}.items) > 0")
                assert clients.text(own) == "true"
            async with connected(port, token["eve"]) as again:
                assert await tool_names(again) == {"evaluate_script"}

            served.reload(f'writes = "plan"\n{served.tables}')
            await legacy.wait(6)
            made = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "x", "namespace": NAMESPACES["alice"]},
            }
            planned = await clients.evaluate(old, f"k8s.apply({made})")
            assert "waits for a person's approval; nothing is changed yet" in clients.text(planned)

    anyio.run(ask)


def test_without_sessions_no_change_is_announced_to_clients_of_the_handshake_era(port: int) -> None:
    headers = {"accept": BOTH, "content-type": "application/json"}
    answer = httpx2.post(
        f"http://127.0.0.1:{port}/mcp", content=message("initialize", HELLO), headers=headers, timeout=60
    )
    assert '"tools":{"listChanged":false}' in answer.text
