"""A gate before API servers: many ports, each of which leads to one of them, or behaves as a broken cluster does.

    python -m tests.kit.gate PORT…          as a program; `Gate` starts it

It runs in a process of its own, whose processor time is not the server's. Each line of its standard input is a name, a
behaviour and, when the name is new, the port of its API server: it answers with the name's own port.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import ssl
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self, get_args

from tests.kit import paths

__all__ = ["Behaviour", "Gate"]

Behaviour = Literal["open", "slow", "held", "refuse", "silent", "cut", "401", "503", "endless"]
"""`silent` takes connections and says nothing; `cut` ends each in the middle of a list, and `held` waits there for another
behaviour; `endless` sends a list that has no end. `refuse` takes no connection, and cannot be changed."""

_PIECE: Final = 64 * 1024
_SLOW_S: Final = 0.1
"""How long each piece of a slow answer waits."""
_SLOW_PIECE: Final = 8 * 1024
_LOOK_S: Final = 0.02
_CUT: Final = 12 * 1024
"""How many bytes of answers pass before a connection is cut: the handshake takes 4 KiB of them, a list has more."""
_STATUS: Final = {
    "401": b'{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Unauthorized","code":401}',
    "503": b'{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"ServiceUnavailable","code":503}',
}
_ENDLESS: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
    b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[',
    b'{"metadata":{"name":"p","namespace":"n","labels":{"app":"%s"}},"spec":{},"status":{}},' % (b"x" * 900),
)
"""The head of the answer, the head of the list, and one of its items."""


@dataclass
class _Name:
    """One cluster as clients see it."""

    port: int
    behaviour: Behaviour
    connections: int = 0
    """How many were taken so far."""


class _Process:
    """The gate itself."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(certificate, key)
        self._names: dict[str, _Name] = {}
        self._servers: list[asyncio.Server] = []

    async def serve(self) -> None:
        """Answers lines until the standard input ends."""
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            print(await self._change(*line.split()), flush=True)

    async def _change(self, name: str, behaviour: str, port: str = "") -> int:
        """Changes a name, or adds it; returns its port, or how many connections it has taken if it is not new."""
        assert behaviour in get_args(Behaviour)
        known = self._names.get(name)
        if known is not None:
            known.behaviour = behaviour  # type: ignore[assignment]
            return known.connections
        added = self._names[name] = _Name(int(port), behaviour)  # type: ignore[arg-type]
        server = await asyncio.start_server(
            lambda reader, writer: self._take(added, reader, writer), "127.0.0.1", 0,
            limit=_PIECE, start_serving=behaviour != "refuse",
        )  # fmt: skip
        self._servers.append(server)
        own: int = server.sockets[0].getsockname()[1]
        return own

    async def _take(self, name: _Name, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        name.connections += 1
        with contextlib.suppress(OSError, asyncio.IncompleteReadError), contextlib.closing(writer):
            if name.behaviour in {"401", "503", "endless"}:
                await writer.start_tls(self._tls)
                await _answer(name.behaviour, reader, writer)
            elif name.behaviour == "silent":
                await reader.read()  # until the client hangs up
            else:
                await _relay(name, reader, writer)


async def _answer(behaviour: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers one request in place of the API server."""
    await reader.readuntil(b"\r\n\r\n")
    if behaviour in _STATUS:
        body = _STATUS[behaviour]
        head = f"HTTP/1.1 {behaviour} No\r\nContent-Type: application/json\r\nConnection: close\r\n"
        writer.write(head.encode() + b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        return await writer.drain()
    start, begin, item = _ENDLESS
    writer.write(start)
    for piece in itertools.chain([begin], itertools.repeat(item * 64)):
        writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        await writer.drain()
        # Over TLS, `drain` returns at once when the client has hung up: the loop would never hear of it, and spin.
        await asyncio.sleep(0)
    return None


async def _relay(name: _Name, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Passes bytes on in both directions until one side ends."""
    far_reader, far_writer = await asyncio.open_connection("127.0.0.1", name.port, limit=_PIECE)
    with contextlib.closing(far_writer):
        ways = [
            asyncio.create_task(_pass_on(reader, far_writer)),
            asyncio.create_task(_answer_as(name, far_reader, writer)),
        ]
        _, left = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for each in left:
            each.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


async def _pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while piece := await source.read(_PIECE):
        sink.write(piece)
        await sink.drain()


async def _answer_as(name: _Name, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """Passes on the API server's answers as the name behaves."""
    passed = 0
    while piece := await source.read(_SLOW_PIECE if name.behaviour == "slow" else _PIECE):
        passed += len(piece)
        if name.behaviour == "slow":
            await asyncio.sleep(_SLOW_S)
        while name.behaviour == "held" and passed > _CUT:
            await asyncio.sleep(_LOOK_S)
        if name.behaviour == "cut" and passed > _CUT:
            return
        sink.write(piece)
        await sink.drain()


class Gate:
    """The process, as a test sees it."""

    def __init__(self, folder: Path) -> None:
        """`folder` has `serving.crt` and `serving.key`, which the gate shows where it answers itself."""
        words = [str(folder / "serving.crt"), str(folder / "serving.key")]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.kit.gate", *words], cwd=paths.ROOT,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
        )  # fmt: skip

    def add(self, name: str, behaviour: Behaviour, port: int) -> int:
        """Adds a name for the API server at `port`; returns the name's own port."""
        return self._ask(f"{name} {behaviour} {port}")

    def change(self, name: str, behaviour: Behaviour) -> int:
        """Changes how new connections of a name are served; returns how many there have been."""
        return self._ask(f"{name} {behaviour}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def _ask(self, line: str) -> int:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        return int(self._process.stdout.readline())


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_Process(*map(Path, sys.argv[1:])).serve())
