"""A raw MCP client over HTTP for many sessions at once, and the server that they ask.

The SDK's own client takes more processor time for a call than the server does, and both share two cores here.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks import servers

__all__ = ["Answer", "Serving", "Session", "served"]

_PROTOCOL: Final = "2025-06-18"
_CLIENT: Final = {"name": "benchmark", "version": "1"}
_START_S: Final = 120.0
_END_S: Final = 60.0
_LATE: Final = "a log line could not be masked"


@dataclass(frozen=True, slots=True)
class Answer:
    """What one request got, and the seconds from its first byte to the last of the answer."""

    status: int
    message: Mapping[str, Any]
    seconds: float

    @property
    def text(self) -> str:
        """The text of a tool's result, or the error."""
        result = self.message.get("result", {})
        content = result.get("content")
        if content:
            return str(content[0]["text"])
        return str(self.message.get("error", self.message))


class Session:
    """One session of one caller, on one connection. A request at a time."""

    def __init__(self, port: int, token: str = "") -> None:
        self._port = port
        self._headers = {
            "Host": f"127.0.0.1:{port}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
        }
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._numbers = itertools.count(1)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def begin(self) -> Answer:
        """Initialize."""
        params = {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": _CLIENT}
        answer = await self.request("initialize", params)
        if answer.status == 200:
            self._headers["MCP-Protocol-Version"] = _PROTOCOL
            await self._sent("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    async def script(self, script: str) -> Answer:
        """Run a script."""
        return await self.request("tools/call", {"name": "evaluate_script", "arguments": {"script": script}})

    async def request(self, method: str, params: Mapping[str, Any]) -> Answer:
        """Send a request and wait for its answer, whatever it is."""
        number = next(self._numbers)
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        started = time.perf_counter()
        status, body = await self._sent("POST", message)
        seconds = time.perf_counter() - started
        return Answer(status, _message(body), seconds)

    async def end(self) -> None:
        """Delete the session, and hang up."""
        if "Mcp-Session-Id" in self._headers:
            await self._sent("DELETE", None)
        self.hang_up()

    def hang_up(self) -> None:
        """Close the connection, and leave the session."""
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None

    async def _sent(self, method: str, message: Mapping[str, Any] | None) -> tuple[int, bytes]:
        body = b"" if message is None else json.dumps(message).encode()
        lines = [f"{method} /mcp HTTP/1.1", *(f"{name}: {value}" for name, value in self._headers.items())]
        lines.append(f"Content-Length: {len(body)}")
        for _ in range(2):
            fresh = self._streams is None
            if self._streams is None:
                self._streams = await asyncio.open_connection("127.0.0.1", self._port)
            reader, writer = self._streams
            try:
                writer.write("\r\n".join([*lines, "", ""]).encode() + body)
                status, headers, answer = await _read(reader)
            except (ConnectionError, asyncio.IncompleteReadError):
                self.hang_up()
                if fresh:  # a connection that was kept may have ended; a new one must not
                    raise
                continue
            break
        if "mcp-session-id" in headers:
            self._headers["Mcp-Session-Id"] = headers["mcp-session-id"]
        if headers.get("connection") == "close":
            self.hang_up()
        return status, answer


async def _read(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    status = int(first.split()[1])
    headers = {}
    for line in filter(None, lines):
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    if headers.get("transfer-encoding") == "chunked":
        return status, headers, await _chunks(reader)
    length = int(headers.get("content-length", 0))
    return status, headers, await reader.readexactly(length)


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int(await reader.readline(), 16):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readexactly(2)
    return body


def _message(body: bytes) -> Mapping[str, Any]:
    """The answer in a body: the only JSON, or the data of the last event."""
    if body[:1] != b"{":
        events = [line[5:] for line in body.splitlines() if line.startswith(b"data:")]
        # An event without data only keeps the stream open.
        data = [event for event in events if event.strip()]
        body = data[-1] if data else b"{}"
    with contextlib.suppress(ValueError):
        found: Mapping[str, Any] = json.loads(body)
        return found
    return {"error": body.decode(errors="replace")}


class Serving:
    """A `kubescript` process that serves HTTP."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        """`log` gets what it writes to standard error."""
        self.process = process
        self._log = log

    @property
    def pid(self) -> int:
        """Of the host process."""
        return self.process.pid

    @property
    def said(self) -> str:
        """All it has logged."""
        return self._log.read_text("utf-8", "replace")

    @property
    def complaints(self) -> list[str]:
        """What it has logged beside news; warnings of Python's too, of what nobody has closed. A machine that has too
        much to do masks no log line in half a second."""
        lines = self.said.splitlines()
        # Every line has its level, as JSON.
        return [line for line in lines if '"level":"info"' not in line and _LATE not in line]

    def port(self) -> int:
        """Waits until it listens; returns where. Raises RuntimeError."""
        deadline = time.monotonic() + _START_S
        # It prints the port that it was given.
        while time.monotonic() < deadline and self.process.poll() is None:
            found = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", self.said)
            if found:
                return int(found[1])
            time.sleep(0.05)
        raise RuntimeError(f"the server does not listen: {self.said[-500:]}")

    def terminate(self) -> None:
        """SIGTERM, as Kubernetes sends it."""
        self.process.send_signal(signal.SIGTERM)

    def wait(self) -> int:
        """The exit code."""
        return self.process.wait(_END_S)


@contextlib.contextmanager
def served(
    kubeconfig: Path, *tables: str, flags: Sequence[str] = (), program: Path = servers.PROGRAM
) -> Iterator[Serving]:
    """A server with these settings, on a port of its choice; SIGTERM ends it."""
    with tempfile.TemporaryDirectory(prefix="kubescript-") as folder:
        log, settings = Path(folder, "log"), Path(folder, "settings.toml")
        settings.write_text("\n".join(tables))
        command = [str(program), "--toolsets", "code", "--kubeconfig", str(kubeconfig), "--config", str(settings)]
        command += ["--transport", "http", "--port", "0", *flags]
        environment = {**os.environ, "PYTHONWARNINGS": "always::ResourceWarning"}
        with log.open("wb") as errors:
            process = subprocess.Popen(command, stderr=errors, env=environment)
        serving = Serving(process, log)
        try:
            yield serving
        finally:
            if process.poll() is None:
                serving.terminate()
            try:
                serving.wait()
            finally:
                process.kill()
