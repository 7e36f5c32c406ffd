"""Threads of the host that read the first message of its kind at once do not crash it, as msgspec 0.22 alone would."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import msgspec

from kubescript.redaction import hostile_changes
from kubescript.wire import exchanges, inspection
from kubescript_sandbox.wire import protocol
from tests.kit import cases, processes

THREADS: Final = 16
PROCESSES: Final = 12
"""Each crashed one time in two, where types were made known to msgspec only when they were used."""

_CALL: Final = exchanges.Call("GET", ("api", "v1", "pods"), (("limit", "5"),))
_FACTS: Final = inspection.Facts(uid="x", digest="0" * 64)
_CHANGES: Final = inspection.Changes(
    _FACTS, _FACTS, (inspection.Row("a", "1", "2"),), digest="0" * 64, requested="0" * 64
)


def read_changes(data: bytes) -> object:
    return hostile_changes.read(data, has_before=True, has_after=True)


READS: Final[dict[str, tuple[Callable[[bytes], object], msgspec.Struct]]] = {
    "calls of a script": (lambda data: protocol.decode(data, exchanges.BATCH), protocol.Batch((_CALL,))),
    "changes of a write": (read_changes, _CHANGES),
}


def read_from_threads(name: str) -> None:
    """In a process of its own: many threads read the first message of this kind."""
    read, message = READS[name]
    data, start = msgspec.json.encode(message), threading.Barrier(THREADS)
    sys.setswitchinterval(1e-6)

    def read_one(_: int) -> object:
        start.wait()
        return read(data)

    with ThreadPoolExecutor(THREADS) as threads:
        assert list(threads.map(read_one, range(THREADS))) == [message] * THREADS


@cases.each("name", READS)
def test_threads_that_read_the_first_message_at_once_do_not_crash_the_host(name: str) -> None:
    """Each process reads its first one."""
    codes = []
    for _ in range(PROCESSES):
        process = processes.CONTEXT.Process(target=read_from_threads, args=(name,))
        process.start()
        process.join()
        codes.append(process.exitcode)
    assert codes == [0] * PROCESSES
