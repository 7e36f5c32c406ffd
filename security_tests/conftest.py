"""Workers to attack: one whose language wall stands, one where it has fallen."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kubescript import types
from kubescript.sandbox import conversation, executor, protocol, spawner

Run = Callable[..., types.Outcome]

HOSTILE = (sys.executable, "-I", str(Path(__file__).with_name("hostile.py")))


def no_cluster(_call: protocol.Call, _timeout_s: float) -> tuple[protocol.Reply, None]:
    """Answer every call with a fault: these tests stop before the broker."""
    return protocol.Reply(0, fault=protocol.ScriptFault("cluster.unreachable", "no cluster in this test")), None


def runner(command: tuple[str, ...]) -> Iterator[Run]:
    """Scripts run by the fork server `command`, two spares ahead."""
    source = spawner.Spawner(command)
    source.start()
    pool = executor.Executor(source, memory_bytes=256 << 20, cpu_seconds=30, spares=2, strict=True)

    def run(script: str, timeout_ms: int = 10_000, **limits: int) -> types.Outcome:
        bounds = types.Limits(timeout_ms=timeout_ms, memory_bytes=256 << 20, **limits)
        return pool.run(conversation.Job(script, bounds, "default", "test", no_cluster))

    yield run
    pool.close()
    source.close()


@pytest.fixture(scope="session")
def hostile() -> Iterator[Run]:
    """Runs unrestricted Python in a locked-down worker."""
    yield from runner(HOSTILE)


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Run]:
    """Runs scripts as the product does."""
    yield from runner(spawner.COMMAND)
