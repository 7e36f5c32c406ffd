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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NoReturn

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

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self._command = list(command)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._buffer = b""
        self._number = 0
        started = time.perf_counter()
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            bufsize=0,
            env=environment,
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
        number = self._number
        line = _encode({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        started = time.perf_counter()
        self._push(line)
        while True:
            answer = self._line()
            # Before it is decoded: that is this program's own time.
            seconds = time.perf_counter() - started
            message = json.loads(answer)
            if message.get("id") == number and "method" not in message:
                break
        why = message.get("error")
        if why is not None:
            raise RuntimeError(f"{self._command[0]}: {method}: {why}")
        return Answer(message["result"], len(answer), seconds)

    def call(self, tool: str, arguments: dict[str, Any]) -> Answer:
        """Call a tool. Raises RuntimeError when its answer is an error: a failure must not pass for a fast success."""
        parameters = {"name": tool, "arguments": arguments}
        answer = self.request("tools/call", parameters)
        if answer.result.get("isError"):
            self._fail(tool, answer)
        return answer

    def _fail(self, tool: str, answer: Answer) -> NoReturn:
        """Raises RuntimeError with the text of an answer."""
        why = text(answer)[:500]
        raise RuntimeError(f"{self._command[0]}: {tool}: {why}\n{self._last_errors()}")

    def burst(self, tool: str, arguments: Sequence[dict[str, Any]]) -> list[Answer]:
        """Call a tool several times at once. Each answer's seconds count from the first request's first byte. Raises
        RuntimeError when one is an error."""
        first = self._number + 1
        self._number += len(arguments)
        lines = []
        for number, each in enumerate(arguments, first):
            call = {"name": tool, "arguments": each}
            lines.append(_encode({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}))
        started = time.perf_counter()
        self._push(b"".join(lines))
        found: dict[int, Answer] = {}
        while len(found) < len(arguments):
            line = self._line()
            message = json.loads(line)
            number = message.get("id", 0)
            if first <= number <= self._number and "method" not in message:
                found[number] = Answer(message["result"], len(line), time.perf_counter() - started)
        for answer in found.values():
            if answer.result.get("isError"):
                self._fail(tool, answer)
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
        """Send what has no answer."""
        line = _encode(message)
        self._push(line)

    def _push(self, line: bytes) -> None:
        view = memoryview(line)
        while view:
            view = view[os.write(self._write, view) :]

    def _line(self) -> bytes:
        """The next line, whole."""
        pieces = [self._buffer]
        # The last piece alone is searched for its end: an answer may have megabytes.
        while b"\n" not in pieces[-1]:
            piece = os.read(self._read, _READ)
            if not piece:
                raise RuntimeError(f"{self._command[0]} hung up: {self._last_errors()}")
            pieces.append(piece)
        last = pieces.pop()
        end, _, self._buffer = last.partition(b"\n")
        pieces.append(end)
        return b"".join(pieces)

    def _last_errors(self) -> str:
        with contextlib.suppress(OSError):
            self._errors.seek(0)
        written = self._errors.read()
        return written[-2000:].decode(errors="replace")


def text(answer: Answer) -> str:
    """The text of a tool's answer."""
    parts = answer.result["content"]
    texts = [part["text"] for part in parts if part["type"] == "text"]
    return "\n".join(texts)


def _encode(message: dict[str, Any]) -> bytes:
    line = json.dumps(message, separators=(",", ":"))
    return line.encode() + b"\n"
