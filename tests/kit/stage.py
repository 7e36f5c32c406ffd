"""Real workers whose calls are answered from a script of the test's own: bodies that come late, come slowly, or never
end."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from kubescript import programs, types
from kubescript.wire import exchanges
from kubescript_sandbox import runs
from kubescript_sandbox.host import cancellation, conversation, executor, spawner
from kubescript_sandbox.wire import protocol

MIB = 1024 * 1024
TIMEOUT_MS = 60_000
"""For scripts that end long before, also on a machine that does other work."""


def pod(name: str, **more: Any) -> dict[str, Any]:
    """A small pod."""
    return {"metadata": {"name": name, "namespace": "shop"}, "status": {"phase": "Running"}, **more}


def listing(*names: str, **metadata: Any) -> bytes:
    """A PodList as the API server writes it."""
    head = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1", **metadata}}
    return json.dumps({**head, "items": [pod(name) for name in names]}, separators=(",", ":")).encode()


class Stage:
    """Answers calls by the last segment of their path, each in the thread that asks, and remembers what happened."""

    def __init__(self) -> None:
        self.bodies: dict[str, Callable[[], Iterator[bytes]]] = {}
        self.delays: dict[str, float] = {}
        self.faults: dict[str, protocol.ScriptFault] = {}
        self.asked: list[str] = []
        self.contexts: list[str] = []
        self.closed: list[str] = []
        self.pulled: dict[str, int] = {}
        """Pieces of each body that were read so far."""
        self.most = 0
        """The largest number of calls that were under way at a time, bodies included."""
        self.is_over = threading.Event()
        """Ends all delays."""
        self._under_way: set[int] = set()
        self._lock = threading.Lock()

    def answer(self, call: exchanges.Call, left: float) -> tuple[exchanges.Reply, types.Response | None]:
        """What the broker would."""
        name = call.path[-2] if call.path[-1] in {"pods", "log"} else call.path[-1]
        with self._lock:
            self.asked.append(name)
            self.contexts.append(call.context or "test")
            number = len(self.asked)
            self._under_way.add(number)
            self.most = max(self.most, len(self._under_way))
        self.is_over.wait(min(left, self.delays.get(name, self.delays.get("*", 0))))
        if name in self.faults:
            self._end(number, name)
            return exchanges.Reply(0, fault=self.faults[name]), None
        body = self.bodies.get(name, lambda: iter([listing(name)]))
        chunks = self._pulled(number, name, body())
        return exchanges.Reply(200, "OK", "application/json"), types.Response(
            200, "OK", "application/json", chunks, lambda: self._end(number, name)
        )

    def _pulled(self, number: int, name: str, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self.pulled[name] = self.pulled.get(name, 0) + 1
            yield chunk
        with self._lock:
            self._under_way.discard(number)

    def _end(self, number: int, name: str) -> None:
        with self._lock:
            self._under_way.discard(number)
            self.closed.append(name)


class Bench:
    """An executor over a stage."""

    def __init__(self, pool: executor.Executor) -> None:
        self.stage = Stage()
        self.progress: list[tuple[float, str]] = []
        """When, and what."""
        self._pool = pool

    def run(
        self,
        script: str,
        switch: cancellation.Cancellation | None = None,
        contexts: tuple[str, ...] = (),
        **limits: int,
    ) -> runs.Outcome:
        """One script to its outcome."""
        bounds = runs.Limits(**({"timeout_ms": TIMEOUT_MS, "memory_bytes": 256 * MIB} | limits))
        job = conversation.Job(
            script,
            bounds,
            exchanges.Parameters("shop", "test", contexts),
            self.stage.answer,
            lambda report: self.progress.append((time.monotonic(), report.text)),
            switch or cancellation.Cancellation(),
        )
        return self._pool.run(job)

    def value(self, script: str, contexts: tuple[str, ...] = (), **limits: int) -> Any:
        """What the script returns. Fails when it has no result."""
        outcome = self.run(script, None, contexts, **limits)
        assert outcome.fault is None and outcome.result is not None, outcome
        return json.loads(outcome.result)

    def works(self) -> bool:
        """Whether the next script gets its answer, of a call too."""
        self.stage.is_over.set()
        self.stage = Stage()
        return bool(self.value("[p.metadata.name for p in k8s.coreV1().list_namespaced_pod('next')]") == ["next"])


@contextlib.contextmanager
def opened() -> Iterator[executor.Executor]:
    """A fork server and its executor."""
    source = spawner.Spawner(programs.WORKER)
    source.start()
    pool = executor.Executor(source, programs.SCRIPTS, memory_bytes=256 * MIB, cpu_seconds=120, spares=1, strict=True)
    try:
        yield pool
    finally:
        pool.close()
        source.close()
