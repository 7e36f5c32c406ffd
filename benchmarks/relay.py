"""A slow link: a TCP relay with a rate and a delay, in a process of its own. It stands between a client and an API server
that is far away.

    python -m benchmarks.relay PORT [--mbit 50] [--rtt-ms 40]

It forwards to 127.0.0.1:PORT, prints its own port, and answers each line on its standard input with its counters, as
JSON. All connections share the link, and each direction has the whole rate. What the link does to bytes is in `_Link`.
Lost packets and the slow start of TCP are left out: both would favour a client that keeps its connections.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

import yaml

__all__ = ["Counters", "Relay", "kubeconfig"]

_PIECE = 16 * 1024
_QUEUE_S = 0.02
"""Seconds of bytes that wait for their turn on the link. Who sends more waits, as TCP waits for a full queue."""


@dataclass
class Counters:
    """What has passed so far."""

    connections: int = 0
    up: int = 0
    """Bytes from clients."""
    down: int = 0
    turns: int = 0
    """How often a client spoke after it had been answered, or for the first time: its round trips."""


class _Link:
    """One direction. Bytes leave one after the other at the rate, and arrive half a round trip later."""

    def __init__(self, bytes_per_s: float, delay_s: float) -> None:
        self._bytes_per_s = bytes_per_s
        self._delay_s = delay_s
        self._free = 0.0
        """When the last byte that was given to the link has left."""

    def arrival(self, size: int, sent: float) -> float:
        """When the last of `size` bytes arrives that were sent at `sent`."""
        # What was sent before goes over the link first.
        start = max(self._free, sent)
        self._free = start + size / self._bytes_per_s
        return self._free + self._delay_s

    async def room(self) -> None:
        """Wait until few bytes wait for their turn."""
        while (wait := self._free - time.monotonic() - _QUEUE_S) > 0:
            await asyncio.sleep(wait)


class _Process:
    """The relay itself."""

    def __init__(self, port: int, mbit: float, rtt_s: float) -> None:
        self._port = port
        self._rtt_s = rtt_s
        bytes_per_s = mbit * 1e6 / 8
        # A round trip is there and back.
        delay_s = rtt_s / 2
        self._up = _Link(bytes_per_s, delay_s)
        self._down = _Link(bytes_per_s, delay_s)
        self.counters = Counters()

    async def serve(self) -> None:
        """Forward until the standard input ends."""
        server = await asyncio.start_server(self._connect, "127.0.0.1", 0, limit=_PIECE)
        print(server.sockets[0].getsockname()[1], flush=True)
        loop = asyncio.get_running_loop()
        while await loop.run_in_executor(None, sys.stdin.readline):
            print(json.dumps(asdict(self.counters)), flush=True)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Passes on between one connection of the client and one to the API server."""
        # The kernel has accepted at once. Over the link, the client could send nothing before one round trip was over.
        not_before = time.monotonic() + self._rtt_s
        self.counters.connections += 1
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._port, limit=_PIECE)
        speaking = [False]
        with contextlib.suppress(OSError):
            await asyncio.gather(
                self._forward(reader, far_writer, self._up, not_before, speaking, up=True),
                self._forward(far_reader, writer, self._down, 0.0, speaking, up=False),
            )
        for each in (writer, far_writer):
            each.close()

    async def _forward(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        link: _Link,
        not_before: float,
        speaking: list[bool],
        *,
        up: bool,
    ) -> None:
        """`speaking` says whether the client spoke last."""
        waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        delivering = asyncio.create_task(_deliver(waiting, writer))
        while piece := await reader.read(_PIECE):
            self._count(len(piece), speaking, up=up)
            waiting.put_nowait((link.arrival(len(piece), max(time.monotonic(), not_before)), piece))
            await link.room()
        waiting.put_nowait((time.monotonic() + self._rtt_s / 2, b""))
        await delivering

    def _count(self, size: int, speaking: list[bool], *, up: bool) -> None:
        if up:
            self.counters.up += size
            self.counters.turns += not speaking[0]
        else:
            self.counters.down += size
        speaking[0] = up


async def _deliver(waiting: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter) -> None:
    while True:
        arrival, piece = await waiting.get()
        if (wait := arrival - time.monotonic()) > 0:
            await asyncio.sleep(wait)
        if not piece:
            with contextlib.suppress(OSError):
                writer.write_eof()
            return
        writer.write(piece)
        await writer.drain()


class Relay:
    """The process, as a benchmark sees it."""

    def __init__(self, port: int, *, mbit: float = 50, rtt_ms: float = 40) -> None:
        command = [sys.executable, "-m", "benchmarks.relay", str(port), f"--mbit={mbit}", f"--rtt-ms={rtt_ms}"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.port = int(self._line())

    def counters(self) -> Counters:
        """What has passed so far."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        return Counters(**json.loads(self._line()))

    def __enter__(self) -> Relay:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()  # connections may be open, and the threads of asyncio wait for its input
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


@contextlib.contextmanager
def kubeconfig(near: Path, port: int) -> Iterator[Path]:
    """The same cluster, reached through the relay at `port`."""
    settings = yaml.safe_load(near.read_text())
    settings["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{port}"
    far = near.with_name(f"far-{port}.kubeconfig")
    far.write_text(yaml.safe_dump(settings))
    far.chmod(0o600)
    try:
        yield far
    finally:
        far.unlink()


def _main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("--mbit", type=float, default=50)
    parser.add_argument("--rtt-ms", type=float, default=40)
    options = parser.parse_args()
    asyncio.run(_Process(options.port, options.mbit, options.rtt_ms / 1000).serve())


if __name__ == "__main__":
    _main()
