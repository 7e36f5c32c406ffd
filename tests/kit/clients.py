"""Real MCP clients: the SDK's own, over stdio or HTTP, talking to a `kubescript` process started as a user starts it,
or in memory, talking to the same application in this process."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from unittest import mock

import anyio
import httpx2
import mcp_types
from anyio.from_thread import start_blocking_portal
from mcp.client import Client
from mcp.client.session import ElicitationFnT as Asked
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.server.lowlevel import Server
from mcp.shared import memory

from kubescript import app, tenant
from kubescript.cli import flags as cli_flags
from kubescript.cli import main
from kubescript.output import fencing
from kubescript_safety.controlplane import server as control_plane
from tests.kit import fork_servers, warm

INSTALLED = str(Path(sys.executable).with_name("kubescript"))
"""The program as it is installed: for tests of its start, its processes, signals and environment."""
KUBESCRIPT = warm.program()
"""The same, forked from a warm process: for all other tests."""
TRANSPORTS = ("stdio", "http")
ALL_TRANSPORTS = ("memory", "stdio", "http", "sse")
CACHE = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
"""Where compiled rules are saved: a command with a home of its own need not compile them again."""


INITIALIZE: Final = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "by hand", "version": "1"}},
}  # fmt: skip
"""What a client without an SDK sends first."""


@contextlib.asynccontextmanager
async def connect(
    transport: str,
    flags: Sequence[str],
    mode: str = "auto",
    asked: Asked | None = None,
    environment: Mapping[str, str] | None = None,
) -> AsyncIterator[Client]:
    """A client of a server with these flags and the code toolset, over this transport: `memory` (no process of the
    server's own, and no log), `stdio`, `http` or `sse` (of the era `legacy`). `asked` answers what the server asks the
    person at the client; without it the client can ask nobody."""
    flags = ("--toolsets", "code", *flags)
    environment = environment or {}
    if transport == "memory":
        with mock.patch.dict(os.environ, environment), application(flags) as opened:
            async with joined(opened, mode, asked) as client:
                yield client
    elif transport == "stdio":
        async with connected(server(flags, PYTHONFAULTHANDLER="1", **environment), mode, asked) as client:
            yield client
    else:
        with serving(flags, **environment) as port:
            url = f"http://127.0.0.1:{port}"
            door, mode = (sse_client(f"{url}/sse"), "legacy") if transport == "sse" else (f"{url}/mcp", mode)
            async with Client(door, mode=mode, elicitation_callback=asked) as client:
                yield client


@contextlib.contextmanager
def application(flags: Sequence[str]) -> Iterator[app.Application]:
    """What `kubescript` with these flags serves, in this process, for one client (`joined`) after the other; it logs as
    this process does. Raises ConfigError."""
    masking = fork_servers.Maskers()
    with (
        main.cli.make_context("kubescript", list(flags), obj=fork_servers.workers()) as context,
        contextlib.closing(masking),
    ):
        settings = cli_flags.settings(context, context.params)
        with app.opened(
            settings, fork_servers.workers(), masking, cli_flags.of_plans(context, context.params)
        ) as opened:
            opened.load_sdk()
            yield opened


@contextlib.asynccontextmanager
async def joined(
    opened: app.Application, mode: str = "auto", asked: Asked | None = None, name: str = "mcp"
) -> AsyncIterator[Client]:
    """A client of this application, which calls itself `name`."""
    async with joined_as(opened.operator, mode, asked, name) as client:
        yield client


@contextlib.asynccontextmanager
async def joined_as(
    caller: tenant.Tenant, mode: str = "auto", asked: Asked | None = None, name: str = "mcp"
) -> AsyncIterator[Client]:
    """A client that serves one caller."""
    info = mcp_types.Implementation(name=name, version="1")
    served = _in_memory(caller.server().mcp)
    async with Client(served, mode=mode, elicitation_callback=asked, client_info=info) as client:
        yield client


@contextlib.asynccontextmanager
async def _in_memory(served: Server[Any]) -> AsyncIterator[memory.MessageStream]:
    """A connection to this server, with the messages of stdio."""
    streams = memory.create_client_server_memory_streams()
    async with streams as (ours, theirs), anyio.create_task_group() as tasks:
        tasks.start_soon(served.run, *theirs, served.create_initialization_options())
        yield ours
        tasks.cancel_scope.cancel()


@contextlib.asynccontextmanager
async def connected(
    started: StdioServerParameters, mode: str = "auto", asked: Asked | None = None
) -> AsyncIterator[Client]:
    """A client of this stdio server."""
    with tempfile.TemporaryFile("w+", errors="replace") as heard:
        try:
            async with Client(stdio_client(started, heard), mode=mode, elicitation_callback=asked) as client:
                yield client
        finally:
            heard.seek(0)
            # pytest shows it beside a test that failed: a server that fell said why.
            sys.stderr.write(heard.read())


def server(flags: Sequence[str], **environment: str) -> StdioServerParameters:
    """A `kubescript` over stdio."""
    return StdioServerParameters(command=KUBESCRIPT, args=list(flags), env=environment)


@contextlib.contextmanager
def serving(flags: Sequence[str], scheme: str = "http", **environment: str) -> Iterator[int]:
    """A `kubescript` that serves HTTP; gives its port once it answers."""
    with running(flags, scheme, **environment) as (port, _):
        yield port


@contextlib.contextmanager
def running(
    flags: Sequence[str],
    scheme: str = "http",
    program: Sequence[str] = (KUBESCRIPT,),
    level: str = "warning",
    **environment: str,
) -> Iterator[tuple[int, int]]:
    """The same; gives its port and the number of its process."""
    port = free_port()
    command = [*program, *flags, "--transport", "http", "--port", str(port), "--log-level", level]
    process = subprocess.Popen(command, env={**os.environ, **environment})
    try:
        _wait(f"{scheme}://127.0.0.1:{port}/health", process)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(timeout=60)


def free_port() -> int:
    """A port nobody listens on just now."""
    return control_plane.free_port()


async def evaluate(client: Client, script: str, **arguments: object) -> mcp_types.CallToolResult:
    """Call the one tool."""
    return await client.call_tool("evaluate_script", {"script": script, **arguments})


@contextlib.contextmanager
def asking(*flags: str, transport: str = "memory") -> Iterator[Callable[[str], mcp_types.CallToolResult]]:
    """One server and one client for many scripts; the client's event loop runs in a thread of its own."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(connect(transport, flags)) as client,
    ):
        yield lambda script: portal.call(evaluate, client, script)


_ONLY_MASKED: Final = re.compile(r"\n\[redacted: [^;\]]*\]\Z")


def text(result: mcp_types.CallToolResult) -> str:
    """The answer's text, without the lines that mark prose of the cluster (see test_fencing), nor the note of a script
    that missed nothing but masked values (see test_redaction_live)."""
    return _ONLY_MASKED.sub("", fencing.unfence(whole(result)))


def whole(result: mcp_types.CallToolResult) -> str:
    """The answer's text as the model gets it."""
    (content,) = result.content
    assert isinstance(content, mcp_types.TextContent)
    return content.text


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert process.poll() is None, "the server ended at start"
        with contextlib.suppress(httpx2.HTTPError):
            httpx2.get(url, timeout=10, verify=False)
            return
        time.sleep(0.1)
    raise AssertionError("the server did not answer")
