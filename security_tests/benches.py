"""A running executor to attack: real fork server, real workers, real wire."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from kubescript import programs, types
from kubescript.wire import exchanges
from kubescript_sandbox import runs
from kubescript_sandbox.host import conversation, executor, spawner
from kubescript_sandbox.wire import protocol
from tests.kit import patience, pids

__all__ = [
    "CALL",
    "HOSTILE",
    "MIB",
    "READ",
    "STRICT",
    "WAIT",
    "Bench",
    "crowd",
    "hostile",
    "no_cluster",
    "opened",
]

MIB: Final = 1 << 20
CALL: Final = 'sock.sendall(frame(4, \'{"method":"GET","path":["api","v1","pods"]}\'))\n'
"""What a hostile script says to call."""
READ: Final = """
from kubescript_sandbox.wire import protocol
kinds, result = frozenset(protocol.FrameType), b""
while True:
    kind, payload = link._frames.receive(kinds)
    result = result or payload
    if kind is protocol.FrameType.END:
        break
result = result.decode()
"""
"""How it reads an answer, to its end."""
WAIT: Final = CALL + READ
"""A hostile script that calls, and ends when it has been answered."""
HOSTILE: Final = (sys.executable, "-I", str(Path(__file__).with_name("hostile.py")))
STRICT: Final = os.environ.get("WALL_STRICT", "1") == "1"
"""Off only in the run without user namespaces, where a strict server rightly refuses to start."""


def hostile(*dropped: str, options: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The command of a hostile fork server that leaves out the steps `dropped`."""
    return (*HOSTILE, *([f"--without={','.join(dropped)}"] if dropped else []), *options)


@contextlib.contextmanager
def crowd() -> Iterator[None]:
    """Keeps 100 descriptors open, so that each new one has a number that the limits of a confined process exclude.

    Found so: the limit of 64 descriptors was read as the last one to close, and a command line's process kept the
    control socket of its fork server, which had the number 98.
    """
    with contextlib.ExitStack() as held:
        for _ in range(100):
            held.enter_context(open(os.devnull, "rb"))
        yield


def no_cluster(_call: exchanges.Call, _timeout_s: float) -> tuple[exchanges.Reply, types.Response | None]:
    """Answer every call with a fault: most of these tests stop before the broker."""
    return exchanges.Reply(0, fault=protocol.ScriptFault("cluster.unreachable", "no cluster in this test")), None


class Bench:
    """Runs scripts by one fork server. Call it with a script."""

    def __init__(self, source: spawner.Spawner, pool: executor.Executor) -> None:
        self.source = source
        self.pool = pool
        self.on_call: conversation.OnCall = no_cluster
        self.on_progress: conversation.OnProgress = lambda _: None

    def __call__(self, script: str, timeout_ms: int = 30_000, **limits: int) -> runs.Outcome:
        """One script to its outcome."""
        bounds = runs.Limits(**({"timeout_ms": timeout_ms, "memory_bytes": 256 * MIB} | limits))
        return self.pool.run(
            conversation.Job(script, bounds, exchanges.Parameters("default", "test"), self.on_call, self.on_progress)
        )

    def listen(self) -> list[exchanges.Call]:
        """The calls that reach the host's side from now on; each is answered with a fault."""
        heard: list[exchanges.Call] = []

        def on_call(call: exchanges.Call, left: float) -> tuple[exchanges.Reply, types.Response | None]:
            heard.append(call)
            return no_cluster(call, left)

        self.on_call = on_call
        return heard

    def works(self) -> bool:
        """Whether the next script gets its answer, from a hostile worker and from an honest one."""
        return self("result = 6 * 7\nresult", timeout_ms=60_000).result in {b"42", b'"42"'}

    def during(self, script: str, probe: Callable[[int], None]) -> runs.Outcome:
        """Run `script`; when it calls, `probe` is called with its worker's process id, and the answer comes afterwards.
        Needs a bench without spares."""
        found: list[BaseException] = []

        def look(call: exchanges.Call, left: float) -> tuple[exchanges.Reply, types.Response | None]:
            try:
                patience.until(lambda: len(pids.children(self.source.pid)) == 1)
                probe(*pids.children(self.source.pid))
            except BaseException as error:
                found.append(error)
            return no_cluster(call, left)

        self.on_call = look
        try:
            outcome = self(script, timeout_ms=120_000)
        finally:
            self.on_call = no_cluster
        for error in found:
            raise error
        return outcome


@contextlib.contextmanager
def opened(command: tuple[str, ...] = programs.WORKER, *, spares: int = 2, strict: bool = STRICT) -> Iterator[Bench]:
    """A bench with a fork server of its own."""
    source = spawner.Spawner(command)
    source.start()
    pool = executor.Executor(
        source, programs.SCRIPTS, memory_bytes=256 * MIB, cpu_seconds=30, spares=spares, strict=strict
    )
    try:
        yield Bench(source, pool)
    finally:
        pool.close()
        source.close()
