"""The proxy: the MCP client on our standard input is the agent. Every message passes unchanged in both directions, and
the calls and questions in it are recorded."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Final

from mcp import StdioServerParameters

from kubescript_safety import scenario
from kubescript_safety.agents import messages
from kubescript_safety.runs import conversation

__all__ = ["Proxy"]

_POLL_S: Final = 0.05
_MAX_LINE: Final = 64 << 20
_GRACE_S: Final = 2.0
"""How long the server may take to end once its client has gone: as long as the SDK's client allows."""


class Proxy:
    """An agent that is a client of this process."""

    def __init__(self, name: str, incoming: IO[bytes] | None = None, outgoing: IO[bytes] | None = None) -> None:
        """`incoming` and `outgoing` default to standard input and output."""
        self.name = name
        self.settings: Mapping[str, Any] = {}
        self._incoming = incoming or sys.stdin.buffer
        self._outgoing = outgoing or sys.stdout.buffer
        self._ended = threading.Event()

    def hang_up(self) -> None:
        """Ends the session as if the client had hung up."""
        self._ended.set()

    def work(
        self, task: scenario.Scenario, talk: conversation.Conversation, tell: conversation.Tell, seconds: float
    ) -> dict[str, int]:
        """Serves until the client hangs up or the server ends. No timeout: the client may be a person."""
        heard = messages.Messages(tell)
        with tempfile.TemporaryFile() as said, _start(talk.started, said) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            to_server = _start_passing(self._incoming, server.stdin, heard.from_client)
            to_client = _start_passing(server.stdout, self._outgoing, heard.from_server)
            # Either side may be the first to go; a thread that reads standard input cannot be woken.
            while to_server.is_alive() and to_client.is_alive() and not self._ended.wait(_POLL_S):
                continue
            _end(server)
            to_client.join(_GRACE_S)
        return {}


def _start(program: StdioServerParameters, log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Starts a second server with the command that started the first one; the first was asked for its tools, and gets
    no calls."""
    return subprocess.Popen(
        [program.command, *program.args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        cwd=Path(program.cwd or "."),
        env=program.env,
        start_new_session=True,  # so that processes started by npx end with it
    )


def _end(server: subprocess.Popen[bytes]) -> None:
    """Closes the server's input, as a client does, waits briefly, and kills the remaining processes of its session."""
    assert server.stdin is not None
    with contextlib.suppress(OSError):  # the server ended before it had read all bytes
        server.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        server.wait(_GRACE_S)
    # Servers that npx has started are its children, and outlive it.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)
    server.wait()


def _start_passing(source: IO[bytes], target: IO[bytes], heard: messages.Hear) -> threading.Thread:
    """Starts a thread that passes lines on."""
    thread = threading.Thread(target=_pass_on, args=(source, target, heard), daemon=True)
    thread.start()
    return thread


def _pass_on(source: IO[bytes], target: IO[bytes], heard: messages.Hear) -> None:
    """Passes lines on until either side hangs up. Attack: a client or a server sends a line that never ends."""
    for line in iter(lambda: source.readline(_MAX_LINE), b""):
        if len(line) == _MAX_LINE and not line.endswith(b"\n"):
            return
        heard(line)
        try:
            target.write(line)
            target.flush()
        except (OSError, ValueError):  # the other side has hung up
            return
