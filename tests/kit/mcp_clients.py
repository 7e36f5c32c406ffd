"""The MCP clients of the field. Each visits a server, asks it the same things, and says what it saw.

The clients of TypeScript and Go are programs (`npm/client.cjs`, `gosdk/main.go`): they read a task as JSON from stdin and
print what they saw. Those of Python run here. The MCP Inspector makes one request per process.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

import anyio
import httpx2
import mcp_types
from mcp.client import Client
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.dispatcher import ProgressFnT

from tests.kit import clients, gosdk, npm

if TYPE_CHECKING:
    import fastmcp

__all__ = ["CLIENTS", "TOOL", "Answer", "Door", "Step", "Task", "Visit"]

TOOL: Final = "evaluate_script"
PATIENCE_SECONDS: Final = 250

Report = tuple[float, float | None, str | None]


@dataclass(frozen=True)
class Door:
    """Where a client finds a server."""

    transport: str
    """`stdio`, `http` or `sse`."""
    command: Sequence[str] = ()
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """A script to run, and whether the client follows its progress, or gives it up once all is reported as done."""

    name: str
    script: str
    follow: bool = False
    abandon: bool = False


@dataclass(frozen=True)
class Task:
    """What a client asks, in this order: the tools, a page, the scripts."""

    page: str
    steps: Sequence[Step]


@dataclass(frozen=True)
class Answer:
    """What came of one script."""

    text: str = ""
    is_error: bool = False
    given_up: bool = False
    progress: tuple[Report, ...] = ()


@dataclass(frozen=True)
class Visit:
    """What a client saw of a server."""

    version: str
    """Of the protocol."""
    tools: Sequence[str]
    page: str
    answers: Mapping[str, Answer]


Visitor = Callable[[Door, Task], Visit]


class _Talk(Protocol):
    """What the clients of Python have in common."""

    async def version(self) -> str: ...
    async def tools(self) -> list[str]: ...
    async def page(self, uri: str) -> str: ...
    async def call(self, script: str, on_progress: ProgressFnT | None) -> Answer: ...


def _visit_from_here(open_talk: Callable[[Door], contextlib.AbstractAsyncContextManager[_Talk]]) -> Visitor:
    async def visit(door: Door, task: Task) -> Visit:
        with anyio.fail_after(PATIENCE_SECONDS):
            async with open_talk(door) as talk:
                version, tools, page = await talk.version(), await talk.tools(), await talk.page(task.page)
                answers = {step.name: await _run(talk, step) for step in task.steps}
        return Visit(version, tools, page, answers)

    return lambda door, task: anyio.run(visit, door, task)


async def _run(talk: _Talk, step: Step) -> Answer:
    seen: list[Report] = []
    scope = anyio.CancelScope()

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))
        if step.abandon and progress == total:
            scope.cancel()

    with scope:
        answer = await talk.call(step.script, on_progress if step.follow or step.abandon else None)
        return dataclasses.replace(answer, progress=tuple(seen))
    return Answer(given_up=True, progress=tuple(seen))


class _PythonSdk:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def version(self) -> str:
        return str(self._client.protocol_version)

    async def tools(self) -> list[str]:
        return [tool.name for tool in (await self._client.list_tools()).tools]

    async def page(self, uri: str) -> str:
        return _text((await self._client.read_resource(uri)).contents[0])

    async def call(self, script: str, on_progress: ProgressFnT | None) -> Answer:
        result = await self._client.call_tool(TOOL, {"script": script}, progress_callback=on_progress)
        return Answer(_text(result.content[0]), bool(result.is_error))


class _FastMcp:
    def __init__(self, client: fastmcp.Client[Any]) -> None:
        self._client = client

    async def version(self) -> str:
        return str(self._client.session.protocol_version)

    async def tools(self) -> list[str]:
        return [tool.name for tool in await self._client.list_tools()]

    async def page(self, uri: str) -> str:
        return _text((await self._client.read_resource(uri))[0])

    async def call(self, script: str, on_progress: ProgressFnT | None) -> Answer:
        result = await self._client.call_tool(
            TOOL, {"script": script}, progress_handler=on_progress, raise_on_error=False
        )
        return Answer(_text(result.content[0]), result.is_error)


def _text(content: object) -> str:
    assert isinstance(content, mcp_types.TextContent | mcp_types.TextResourceContents)
    return content.text


@contextlib.asynccontextmanager
async def _python_sdk(mode: str, door: Door) -> AsyncIterator[_Talk]:
    headers = dict(door.headers)
    if door.transport == "stdio":
        started = StdioServerParameters(command=door.command[0], args=list(door.command[1:]))
        async with clients.connected(started, mode) as client:
            yield _PythonSdk(client)
    elif door.transport == "sse":
        async with Client(sse_client(door.url, headers), mode="legacy") as client:
            yield _PythonSdk(client)
    else:
        async with (
            httpx2.AsyncClient(headers=headers, timeout=PATIENCE_SECONDS) as web,
            Client(streamable_http_client(door.url, http_client=web), mode=mode) as client,
        ):
            yield _PythonSdk(client)


@contextlib.asynccontextmanager
async def _fastmcp(door: Door) -> AsyncIterator[_Talk]:
    import fastmcp  # takes a second, and every process of tests imports this file
    from fastmcp.client import transports

    transport: Any
    if door.transport == "stdio":
        transport = transports.StdioTransport(door.command[0], list(door.command[1:]), keep_alive=False)
    elif door.transport == "sse":
        transport = transports.SSETransport(door.url, dict(door.headers))
    else:
        transport = transports.StreamableHttpTransport(door.url, dict(door.headers))
    async with fastmcp.Client(transport) as client:
        yield _FastMcp(client)


def _visit_by(command: Callable[[], Sequence[str]]) -> Visitor:
    """A visit by a program of its own."""

    def visit(door: Door, task: Task) -> Visit:
        given = json.dumps({**dataclasses.asdict(door), **dataclasses.asdict(task)})
        done = subprocess.run(
            command(), input=given, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
        )
        assert done.returncode == 0, done.stderr
        seen = json.loads(done.stdout)
        answers = {
            name: Answer(**{**answer, "progress": tuple(map(tuple, answer["progress"] or ()))})
            for name, answer in seen["answers"].items()
        }
        return Visit(seen["version"], seen["tools"], seen["page"], answers)

    return visit


def _inspect(door: Door, task: Task) -> Visit:
    """A visit by the Inspector's command line. It follows no progress, and gives nothing up."""
    ask = functools.partial(_inspected, door)
    tools = ask("--method", "tools/list", "--strict")["tools"]
    page = ask("--method", "resources/read", "--uri", task.page)["contents"][0]["text"]
    answers = {}
    for step in task.steps:
        arguments = json.dumps({"script": step.script})
        result = ask("--method", "tools/call", "--tool-name", TOOL, "--tool-args-json", arguments)
        answers[step.name] = Answer(result["content"][0]["text"], result["isError"])
    return Visit("", [tool["name"] for tool in tools], page, answers)


_INSPECTOR_SAYS_IS_ERROR: Final = 5
"""Its exit code after a result that is an error."""


def _inspected(door: Door, *words: str) -> dict[str, Any]:
    """The result of one request."""
    program = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    command = [str(npm.node()), str(npm.modules() / program), "--cli", "--format", "json", "--quiet", *words]
    if door.transport == "stdio":
        target = ["--transport", "stdio", "-e", f"XDG_CACHE_HOME={clients.CACHE}", "--", *door.command]
    else:
        headers = [word for name, value in door.headers.items() for word in ("--header", f"{name}: {value}")]
        target = ["--transport", door.transport, *headers, "--server-url", door.url]
    with tempfile.TemporaryDirectory() as home:  # it writes there
        done = subprocess.run(
            [*command, *target],
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
            env={"HOME": home, "PATH": str(npm.node().parent)},
        )
    assert done.returncode in {0, _INSPECTOR_SAYS_IS_ERROR}, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)["result"]
    assert result.get("isError", False) == (done.returncode == _INSPECTOR_SAYS_IS_ERROR)
    return result


def _typescript_command() -> Sequence[str]:
    return (str(npm.node()), str(npm.HERE / "client.cjs"), str(npm.modules()))


CLIENTS: Final[Mapping[str, Visitor]] = {
    "python sdk": _visit_from_here(functools.partial(_python_sdk, "auto")),
    "python sdk, with a handshake": _visit_from_here(functools.partial(_python_sdk, "legacy")),
    "fastmcp": _visit_from_here(_fastmcp),
    "typescript sdk": _visit_by(_typescript_command),
    "go sdk": _visit_by(lambda: (str(gosdk.program()),)),
    "inspector": _inspect,
}
