"""The sandbox without a server: scripts have the language and its library, and can make no calls."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Final

from kubescript_sandbox import runs
from kubescript_sandbox.host import conversation, executor, guests, spawner
from kubescript_sandbox.wire import plain

__all__ = ["make_job", "open_runner"]

PLAIN: Final = guests.Guest(
    "kubescript_sandbox.guest.plain",
    plain.Call,
    plain.BATCH,
    plain.Refusal,
    plain.Nothing,
)
_LIMITS: Final = runs.Limits()


@contextlib.contextmanager
def open_runner(limits: runs.Limits = _LIMITS, *, strict: bool = False) -> Iterator[executor.Executor]:
    """Yields an executor that runs scripts. With `strict`, it runs none on a machine that lacks a required layer."""
    with contextlib.closing(spawner.Spawner(spawner.command(PLAIN.module))) as source:
        source.start()
        seconds = limits.timeout_ms // 1000 + 1
        runner = executor.Executor(
            source, PLAIN, memory_bytes=limits.memory_bytes, cpu_seconds=seconds, spares=0, strict=strict
        )
        with contextlib.closing(runner):
            yield runner


def make_job(script: str, limits: runs.Limits = _LIMITS) -> conversation.Job[plain.Nothing, conversation.OnCall]:
    """Returns a script as a job whose calls are refused."""
    parameters = plain.Nothing()
    return conversation.Job(script, limits, parameters, _refuse)


def _refuse(call: Any, timeout_s: float) -> tuple[plain.Refusal, None]:
    return plain.Refusal(), None
