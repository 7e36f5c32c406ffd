"""The classic tools as a client calls them, and the real kubectl beside them."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import mcp_types
from anyio.from_thread import start_blocking_portal
from mcp.client import Client
from mcp.client.session import ElicitationFnT

from kubescript.cli import demo
from tests.kit import clients, commands, kubectl

__all__ = ["TOOLSETS", "Call", "calling", "saved_without_secrets", "text", "told", "typed_by_kubectl"]

TOOLSETS = "kubectl,helm,cluster"


class Call(Protocol):
    """Calls a tool by name."""

    def __call__(self, tool: str, /, **arguments: object) -> mcp_types.CallToolResult: ...


@contextlib.contextmanager
def calling(
    *flags: str,
    toolsets: str = TOOLSETS,
    mode: str = "auto",
    asked: ElicitationFnT | None = None,
    transport: str = "memory",
    heard: list[str] | None = None,
) -> Iterator[Call]:
    """One server with these toolsets and one client for many calls; `asked` answers for the person at it, and `heard`
    gets what the calls report of their progress."""
    connected = clients.connect(transport, ("--toolsets", toolsets, *flags), mode, asked)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(connected) as client:

        def call(tool: str, /, **arguments: object) -> mcp_types.CallToolResult:
            return portal.call(_call, client, tool, arguments, heard)

        yield call


async def _call(
    client: Client, tool: str, arguments: dict[str, object], heard: list[str] | None
) -> mcp_types.CallToolResult:
    if heard is None:
        return await client.call_tool(tool, arguments)

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message or "")

    return await client.call_tool(tool, arguments, progress_callback=hear)


def text(result: mcp_types.CallToolResult) -> str:
    """The answer of a call that succeeded, without the lines that mark text of the cluster."""
    assert not result.is_error, clients.whole(result)
    return clients.text(result)


def told(result: Any) -> Any:
    """The answer's JSON."""
    # A saved cluster says which namespaces it holds.
    found, _, _ = text(result).partition("\n[warning: the snapshot holds ")
    return json.loads(found)


def saved_without_secrets(folder: Path) -> Path:
    """The cluster of the demo, saved again by an operator who denies Secrets."""
    rules, out = folder / "rules.toml", folder / "saved"
    rules.write_text('denied_resources = [{group = "", kind = "Secret"}]\n')
    commands.run("snapshot", str(out), "--snapshot", str(demo.SNAPSHOT), "--config", str(rules)).check_returncode()
    return out


def typed_by_kubectl(kubeconfig: Path, *words: str) -> str:
    """What the real kubectl prints."""
    command = [str(kubectl.program()), "--kubeconfig", str(kubeconfig), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
