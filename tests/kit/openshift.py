"""A server with the toolset `openshift`, a real MCP client of it, and what /proc says of its processes."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Final

import mcp_types
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client import Client
from mcp.client.session import ElicitationFnT

from tests.kit import clients, kubectl, pids

__all__ = ["NOTE", "TOOL", "Talk", "commands_of", "configured", "plain", "talking"]

TOOL: Final = "openshift-cli"
NOTE: Final = "[oc is not installed here, so kubectl has answered]"


class Talk:
    """A conversation with a server of this process: its command lines are processes of their own all the same."""

    def __init__(self, portal: BlockingPortal, client: Client, file: Path) -> None:
        self._portal = portal
        self._client = client
        self.file = file
        """The server's configuration."""

    def send(self, line: str) -> futures.Future[mcp_types.CallToolResult]:
        """Begins a call; to cancel the future is to cancel the call."""
        return self._portal.start_task_soon(self._client.call_tool, TOOL, {"command_str": line})

    def ask(self, line: str) -> mcp_types.CallToolResult:
        """The answer to one command line."""
        return self.send(line).result()

    def text(self, line: str) -> str:
        """What a command writes that succeeds, without the note that it is kubectl's."""
        answer = self.ask(line)
        said = clients.whole(answer)
        assert not answer.is_error, said
        return said.removesuffix(NOTE).rstrip("\n")

    def commands(self) -> set[int]:
        """The processes of command lines that live now."""
        return commands_of(os.getpid())


def configured(folder: Path, kubeconfig: Path | None, *, top: str = "", openshift: str = "", more: str = "") -> Path:
    """Writes a configuration: lines of its beginning, of its table [openshift], and further tables."""
    named = f'kubeconfig = "{kubeconfig}"\n' if kubeconfig is not None else ""
    binary = "" if "binary" in openshift else f'binary = "{kubectl.program()}"\n'
    file = folder / "openshift.toml"
    file.write_text(
        f'toolsets = ["openshift"]\nlog_level = "warning"\n{named}{top}\n[openshift]\n{binary}{openshift}\n{more}\n'
    )
    return file


@contextlib.contextmanager
def talking(file: Path, asked: ElicitationFnT | None = None, **environment: str) -> Iterator[Talk]:
    """A conversation with a server of this configuration; `asked` is the person at the client."""
    mode = "legacy" if asked else "auto"
    connected = clients.connect("memory", ("--config", str(file), "--toolsets", "openshift"), mode, asked, environment)
    opened = contextlib.ExitStack()
    portal = opened.enter_context(start_blocking_portal())
    client = opened.enter_context(portal.wrap_async_context_manager(connected))
    try:
        yield Talk(portal, client, file)
    finally:
        opened.close()  # what fails in a test is no business of the client's tasks


def plain(line: str, kubeconfig: Path) -> subprocess.CompletedProcess[str]:
    """What kubectl does with the line by itself, in the same environment, which is almost empty."""
    return subprocess.run(
        [str(kubectl.program()), *shlex.split(line)],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={"KUBECONFIG": str(kubeconfig), "KUBERC": "off"},
        cwd=kubeconfig.parent,  # it has a cache there
        check=False,
    )


def commands_of(server: int) -> set[int]:
    """The processes of command lines that live now, of the server that is this process."""
    forks = [pid for pid in pids.children(server) if "kubescript.launcher.start" in _words(pid)]
    return {pid for fork in forks for pid in pids.children(fork) if pids.is_alive(pid)}


def _words(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
    except OSError:
        return []
