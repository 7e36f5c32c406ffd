"""One process that runs a command line: it gets its order, its output is read until it ends, and it is always killed.

It cannot start other processes, so killing it leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from kubescript import errors
from kubescript.wire import orders
from kubescript_sandbox.host import cancellation, layers, spawner
from kubescript_sandbox.wire import protocol

__all__ = ["Output", "Process", "WayOut", "start"]

_START_S: Final = 20.0
_REAP_S: Final = 5.0
_CHUNK: Final = 64 * 1024
# Within this time, a thread can write to some 100 MiB.
_LOOK_S: Final = 0.05
"""How many seconds pass between checks of how much memory a program has written to."""
# A program has written to this much memory when it starts, like a script's interpreter.
_OWN_BYTES: Final = 32 << 20
"""How many bytes of memory beyond the limit a program may write to."""
_MAPPINGS_BYTES: Final = 256 * 1024
"""How many bytes /proc/PID/maps has for some 3,000 mappings."""
# More is kept than is shown, so that no secret is cut in two before it is masked.
_SPARE: Final = 64 * 1024
"""How many bytes are kept beyond the part that is shown."""


@dataclass(frozen=True, slots=True)
class Output:
    """The output of a process, and how it ended."""

    stdout: str
    stderr: str
    dropped: int
    """How many bytes were not kept."""
    status: int | None = None
    """The exit code, negative for a signal; None if it is unknown."""
    is_over: bool = False
    """Whether the process was killed at its deadline."""
    cancelled: bool = False
    """Whether the client cancelled the command."""
    cpu_ms: float = 0.0
    peak_bytes: int = 0


@dataclass(frozen=True, slots=True)
class WayOut:
    """The only address that a program can reach."""

    listener: socket.socket
    secret: str = field(repr=False)
    """The first segment of each request's path."""

    @property
    def address(self) -> str:
        """The address that the program takes to be the cluster's."""
        host, port = self.listener.getsockname()
        return f"http://{host}:{port}/{self.secret}"


class Process:
    """A confined process that runs its program."""

    def __init__(self, worker: spawner.Worker, outputs: tuple[int, int], way_out: WayOut | None) -> None:
        self._worker = worker
        self._outputs = outputs
        self.way_out = way_out
        """The program's way out; None for a program with network access."""

    def read(self, deadline: float, limit: int, cancelled: cancellation.Cancellation | None = None) -> Output:
        """Returns what the process outputs until it ends or until the deadline (time.monotonic). About `limit` bytes of
        each of its two outputs are kept. `cancelled` can end it sooner."""
        stdout_end, stderr_end = self._outputs
        out = _Text(limit + _SPARE)
        err = _Text(limit + _SPARE)
        is_over = not _read_all({stdout_end: out, stderr_end: err}, deadline, self._look)
        if is_over:
            self._worker.kill()
        # The process may have closed its outputs but still be running.
        gives_up = time.monotonic() + _REAP_S
        while not self._worker.wait(_LOOK_S) and time.monotonic() < gives_up:
            self._look()
        # The outputs are decoded before the sum is taken, since decoding determines how much was cut.
        stdout = out.decode()
        stderr = err.decode()
        dropped = out.dropped + err.dropped
        is_cancelled = cancelled is not None and cancelled.cancelled
        output = Output(stdout, stderr, dropped, is_over=is_over, cancelled=is_cancelled)
        end = self._worker.exit
        if end is None:
            return output
        return replace(output, status=end.status, cpu_ms=end.cpu_ms, peak_bytes=end.peak_bytes)

    def _look(self) -> None:
        """Kills a program that has written to more memory than permitted, or that has too many mappings."""
        # Attack: a program writes to memory that RLIMIT_DATA does not count. RLIMIT_AS would count everything that the
        # client maps.
        if self.way_out is None:
            return
        worker = self._worker
        written = _measure_memory(worker.pid)
        is_beyond = written is None or written > worker.memory_bytes + _OWN_BYTES
        if is_beyond or _has_many_mappings(worker.pid):
            worker.kill()


def _measure_memory(pid: int) -> int | None:
    """Returns the size of a process's private memory in bytes; None if its first thread has ended."""
    # Attack: the first thread ends alone, after which nothing shows the memory of the other threads. None of the
    # supported programs does that, and killing a program that is ending anyway changes nothing.
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()
    except OSError:
        return 0
    size, resident, shared = map(int, pages[:3])
    if not size:
        return None
    private = resident - shared
    return private * resource.getpagesize()


def _has_many_mappings(pid: int) -> bool:
    """Says whether a process has some 3,000 mappings, if they can be read; a Go program has a hundred."""
    # Attack: a program maps a socket, which keeps the socket and its watches without a descriptor: 65,000 times 60 of
    # them.
    try:
        with Path(f"/proc/{pid}/maps").open("rb") as file:
            mappings = file.read(_MAPPINGS_BYTES)
        return len(mappings) == _MAPPINGS_BYTES
    except OSError:
        return False


class _Text:
    """One output."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._parts = bytearray()
        self.dropped = 0

    def add(self, part: bytes) -> None:
        """Keeps as much of the part as there is room for."""
        room = self._room - len(self._parts)
        taken = part[:room]
        self._parts += taken
        self.dropped += len(part) - len(taken)

    def decode(self) -> str:
        """Returns the text; if it was cut, it ends at the end of a line, or where the cut cannot split a secret that is
        shown."""
        if self.dropped:
            size = len(self._parts)
            lines_end = self._parts.rfind(b"\n") + 1
            whole = max(lines_end, size - _SPARE)
            self.dropped += size - whole
            del self._parts[whole:]
        return self._parts.decode("utf-8", "replace")


def _read_all(texts: dict[int, _Text], deadline: float, look: Callable[[], None]) -> bool:
    """Reads until both outputs are closed, and checks the process regularly. Returns False if the deadline comes
    first."""
    poller = select.poll()
    for descriptor in texts:
        poller.register(descriptor, select.POLLIN)
    left = set(texts)
    looks_at = time.monotonic()
    while left:
        if time.monotonic() >= looks_at:
            look()
            looks_at = time.monotonic() + _LOOK_S
        seconds = min(deadline, looks_at) - time.monotonic()
        timeout_ms = max(0.0, seconds) * 1000
        for descriptor, _ in poller.poll(timeout_ms):
            try:
                part = os.read(descriptor, _CHUNK)
            except BlockingIOError:  # the program has made it blocking again, through its own /proc
                continue
            texts[descriptor].add(part)
            if not part:
                poller.unregister(descriptor)
                left.discard(descriptor)
        if time.monotonic() >= deadline and left:
            return False
    return True


@contextlib.contextmanager
def start(worker: spawner.Worker, order: orders.Order, *, strict: bool) -> Iterator[Process]:
    """Yields the process that runs a command line, and ends it afterwards. Raises WorkerError if it does not start, or
    if a required layer of its confinement is missing."""
    with contextlib.ExitStack() as held:
        held.callback(worker.close)
        outputs = _give(worker, order, held)
        way_out = _await_confinement(worker, held, strict=strict)
        yield Process(worker, outputs, way_out)


def _give(worker: spawner.Worker, order: orders.Order, held: contextlib.ExitStack) -> tuple[int, int]:
    """Gives a process its order and its outputs; returns the descriptors from which they are read."""
    out, out_end = os.pipe2(os.O_CLOEXEC)
    held.callback(os.close, out)
    err, err_end = os.pipe2(os.O_CLOEXEC)
    held.callback(os.close, err)
    os.set_blocking(out, False)
    os.set_blocking(err, False)
    worker.socket.settimeout(_START_S)
    try:
        orders.send(worker.socket, order, (out_end, err_end))
    except OSError as error:
        raise _start_error(error) from None
    finally:
        # An output ends only when no process holds its other end.
        os.close(out_end)
        os.close(err_end)
    return out, err


def _await_confinement(worker: spawner.Worker, held: contextlib.ExitStack, *, strict: bool) -> WayOut | None:
    """Waits until the process is confined, and checks the confinement; returns its way out, if it has one."""
    try:
        confined, descriptors = orders.receive(worker.socket, orders.Confined)
    except (OSError, EOFError, ValueError) as error:
        raise _start_error(error) from None
    way_out = None
    if descriptors:
        listener = held.enter_context(socket.socket(fileno=descriptors[0]))
        way_out = WayOut(listener, confined.secret)
    _check(confined.layers, strict=strict)
    try:
        worker.socket.sendall(orders.GO)
    except OSError as error:
        raise _start_error(error) from None
    return way_out


def _check(found: tuple[protocol.Layer, ...], *, strict: bool) -> None:
    """Raises WorkerError if a required layer is missing; warns about any other missing layer."""
    lacking = layers.missing(found, layers.COMMANDS)
    # Without `egress`, `oc` never runs: it could reach every server that this machine can reach.
    lacks_egress = any(layer.name == "egress" and not layer.active for layer in found)
    if lacks_egress:
        lacking = ("egress", *lacking)
    if not lacking:
        return
    if strict or lacks_egress:
        names = ", ".join(lacking)
        raise errors.WorkerError(
            f"this machine cannot confine command lines: {names} missing",
            code="worker.lockdown",
            remedy=layers.remedy(lacking),
        )
    layers.warn(lacking)


def _start_error(error: Exception) -> errors.WorkerError:
    kind = type(error).__name__
    return errors.WorkerError(
        f"the process of the command line did not start ({kind}); run it again", code="worker.spawn"
    )
