"""How each peer is started, with its defaults and read-only; and kubectl, which is asked like a server."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from benchmarks import report, stdio
from benchmarks.peers import programs
from tests.kit import kubectl

__all__ = ["KUBECTL", "PEERS", "Asked", "Kubectl", "Peer", "start", "start_all"]

KUBECTL = "kubectl"
"""The name under which plain kubectl stands beside the servers."""


class Asked(Protocol):
    """What answers calls: a server, or kubectl."""

    def call(self, tool: str, arguments: dict[str, Any]) -> stdio.Answer:
        """Returns the answer. Raises RuntimeError when it is an error."""
        ...


@dataclass(frozen=True, slots=True)
class Peer:
    """One server."""

    name: str
    program: Callable[[], list[str]]
    takes_kubeconfig: bool = False
    """Whether a flag names the kubeconfig; otherwise the environment does."""
    read_only: tuple[str, ...] = ()
    """Flags of its read-only mode."""
    read_only_environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def version(self) -> str:
        """The one that is pinned."""
        return programs.version(self.name)


PEERS = (
    Peer("kubernetes-mcp-server", programs.kubernetes_mcp_server, takes_kubeconfig=True, read_only=("--read-only",)),
    Peer(
        "mcp-server-kubernetes",
        programs.mcp_server_kubernetes,
        read_only_environment={"ALLOW_ONLY_READONLY_TOOLS": "true"},
    ),
    Peer("kubectl-mcp-server", programs.kubectl_mcp_server, read_only=("--read-only",)),
)


def start(peer: Peer, kubeconfig: Path, *, read_only: bool = False) -> stdio.Server:
    """A peer as its page says to start it. Raises Unavailable."""
    flags = ["--kubeconfig", str(kubeconfig)] if peer.takes_kubeconfig else []
    environment = {**os.environ, "PATH": programs.path(), "KUBECONFIG": str(kubeconfig)}
    if read_only:
        flags += peer.read_only
        environment |= peer.read_only_environment
    return stdio.Server([*peer.program(), *flags], environment)


@contextlib.contextmanager
def start_all(kubeconfig: Path) -> Iterator[tuple[dict[str, stdio.Server], list[str]]]:
    """Every peer that this machine can run, by name, and a note for each that it cannot."""
    running: dict[str, stdio.Server] = {}
    notes: list[str] = []
    with contextlib.ExitStack() as stack:
        for peer in PEERS:
            try:
                running[peer.name] = stack.enter_context(start(peer, kubeconfig))
            except report.Unavailable as error:
                notes.append(f"without {peer.name}: {error}")
        yield running, notes


class Kubectl:
    """kubectl in a shell: each call is a process of its own."""

    def __init__(self, kubeconfig: Path) -> None:
        self._program = str(kubectl.program())
        self._environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}

    def call(self, tool: str, arguments: dict[str, Any]) -> stdio.Answer:
        """Run the command line of `arguments`. Raises RuntimeError when it fails."""
        words = shlex.split(arguments["command"])
        assert words[0] == tool == KUBECTL, arguments
        started = time.perf_counter()
        done = subprocess.run([self._program, *words[1:]], env=self._environment, capture_output=True, text=True)
        seconds = time.perf_counter() - started
        if done.returncode:
            raise RuntimeError(f"{arguments['command']}: {done.stderr}")
        result = {"content": [{"type": "text", "text": done.stdout}]}
        return stdio.Answer(result, len(done.stdout.encode()), seconds)
