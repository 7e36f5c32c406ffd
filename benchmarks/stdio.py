"""A raw MCP client over stdio, the same for every server that is measured.

The SDK's own client adds about a millisecond to each call, more than some of what is measured here. This one writes a
line, reads to the end of the answer's line, and stops the clock before it looks inside.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

__all__ = ["Answer", "Server", "text"]

_PROTOCOL = "2025-11-25"
_READ = 1 << 20


@dataclass(frozen=True, slots=True)
class Answer:
    """A result, the bytes of its line, and the seconds from the request's first byte to the answer's last."""

    result: dict[str, Any]
    size: int
    seconds: float


class Server:
    """An MCP server process, initialized; `start_seconds` is from its launch to the end of its first answer."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._buffer = b""
        self._number = 0
        started = time.perf_counter()
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, bufsize=0
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._write, self._read = self._process.stdin.fileno(), self._process.stdout.fileno()
        client = {"name": "benchmark", "version": "1"}
        self.request("initialize", {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": client})
        self.start_seconds = time.perf_counter() - started
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    @property
    def pid(self) -> int:
        """Of the process that was started; it may have children."""
        return self._process.pid

    def request(self, method: str, params: dict[str, Any]) -> Answer:
        """Send a request and wait for its result. Raises RuntimeError when it fails."""
        self._number += 1
        line = _encode({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        started = time.perf_counter()
        self._push(line)
        while True:
            answer = self._line()
            seconds = time.perf_counter() - started
            message = json.loads(answer)
            if message.get("id") == self._number and "method" not in message:
                break
        if "error" in message:
            raise RuntimeError(f"{self._command[0]}: {method}: {message['error']}")
        return Answer(message["result"], len(answer), seconds)

    def call(self, tool: str, arguments: dict[str, Any]) -> Answer:
        """Call a tool. Raises RuntimeError when its answer is an error: a failure must not pass for a fast success."""
        answer = self.request("tools/call", {"name": tool, "arguments": arguments})
        if answer.result.get("isError"):
            raise RuntimeError(f"{self._command[0]}: {tool}: {text(answer)[:500]}\n{self._last_errors()}")
        return answer

    def burst(self, tool: str, arguments: Sequence[dict[str, Any]]) -> list[Answer]:
        """Call a tool several times at once. Each answer's seconds count from the first request's first byte. Raises
        RuntimeError when one is an error."""
        first = self._number + 1
        self._number += len(arguments)
        calls = ({"name": tool, "arguments": each} for each in arguments)
        lines = [
            _encode({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call})
            for number, call in enumerate(calls, first)
        ]
        started = time.perf_counter()
        self._push(b"".join(lines))
        found: dict[int, Answer] = {}
        while len(found) < len(arguments):
            line = self._line()
            message = json.loads(line)
            if first <= message.get("id", 0) <= self._number and "method" not in message:
                found[message["id"]] = Answer(message["result"], len(line), time.perf_counter() - started)
        failed = [text(answer)[:500] for answer in found.values() if answer.result.get("isError")]
        if failed:
            raise RuntimeError(f"{self._command[0]}: {tool}: {failed[0]}\n{self._last_errors()}")
        return [found[number] for number in sorted(found)]

    def said(self) -> str:
        """All it has logged."""
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Hang up, as a client does, and wait for the end."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._errors.close()

    def _send(self, message: dict[str, Any]) -> None:
        self._push(_encode(message))

    def _push(self, line: bytes) -> None:
        view = memoryview(line)
        while view:
            view = view[os.write(self._write, view) :]

    def _line(self) -> bytes:
        """The next line, whole. The last piece alone is searched for its end: an answer may have megabytes."""
        pieces = [self._buffer]
        while b"\n" not in pieces[-1]:
            piece = os.read(self._read, _READ)
            if not piece:
                raise RuntimeError(f"{self._command[0]} hung up: {self._last_errors()}")
            pieces.append(piece)
        end, _, self._buffer = pieces[-1].partition(b"\n")
        return b"".join([*pieces[:-1], end])

    def _last_errors(self) -> str:
        with contextlib.suppress(OSError):
            self._errors.seek(0)
        return self._errors.read()[-2000:].decode(errors="replace")


def text(answer: Answer) -> str:
    """The text of a tool's answer."""
    return "\n".join(part["text"] for part in answer.result["content"] if part["type"] == "text")


def _encode(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"
