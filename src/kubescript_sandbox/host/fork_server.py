"""The host's side of one fork server: it starts the process, requests workers, and receives the reports of their ends.

One thread for each fork server reads its reports; everything else happens in the callers' threads.
"""

from __future__ import annotations

import array
import contextlib
import errno
import itertools
import os
import select
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from typing import IO, Final

import msgspec

from kubescript_sandbox.host.worker import Worker, start_error
from kubescript_sandbox.wire import control

__all__ = ["ForkServer"]

_END_S: Final = 2.0
"""The seconds within which a fork server must end its workers and itself."""


class ForkServer:
    """One fork server process and its workers."""

    def __init__(self, command: Sequence[str], given: bytes | None, *, waits: bool = False) -> None:
        """The process reads `given` from its standard input; with `waits`, it waits there for `give`."""
        self.alive = True
        self._asked = False
        """Whether a worker was ever requested: only then can the process have children."""
        self._input: IO[bytes] | None = None
        self._tickets = itertools.count(1)
        self._workers: dict[int, Worker] = {}
        self._lock = threading.Lock()
        self._link, theirs = _pair(socket.SOCK_SEQPACKET)
        with theirs:
            if waits:
                self.process, self._input = _launch_waiting(command, theirs.fileno())
            else:
                self.process = _launch(command, theirs.fileno(), given)
        self._listener = threading.Thread(target=self._listen, name="kubescript-spawner", daemon=True)
        try:
            self._listener.start()
        except RuntimeError:  # a thread counts as a process for the kernel's limits
            self._link.close()
            self.process.kill()  # waiting for its settings, it would never end, and `wait` would block forever
            self.process.wait()
            if self._input is not None:
                self._input.close()
            raise start_error(errno.EAGAIN) from None

    def fork(self, memory_bytes: int, cpu_seconds: int) -> Worker | None:
        """Requests a worker; returns None when the process is gone."""
        ours, theirs = _pair(socket.SOCK_STREAM)
        worker = Worker(ours, memory_bytes)
        ticket = next(self._tickets)
        self._asked = True
        request = control.ForkRequest(ticket, memory_bytes, cpu_seconds)
        with theirs, self._lock:
            self._workers[ticket] = worker
            try:
                self._ask(request, theirs)
            except OSError:  # including BlockingIOError
                self.alive = False
                del self._workers[ticket]
                ours.close()
                return None
        return worker

    def warm_up(self) -> None:
        """Has the process warm up without forking a worker."""
        with contextlib.suppress(OSError):  # the process may be gone; the next request for a worker will detect that
            self._link.send(msgspec.json.encode(control.WarmUp()), socket.MSG_DONTWAIT)

    def give(self, given: bytes) -> None:
        """Sends a fork server the bytes for which it waits at its standard input."""
        waiting, self._input = self._input, None
        if waiting is not None:
            with contextlib.suppress(OSError), waiting:
                waiting.write(given)

    def _ask(self, request: control.ForkRequest, theirs: socket.socket) -> None:
        """Sends a request. Raises OSError."""
        # A stopped process reads nothing. Its socket takes about 280 requests; the next one must not block forever
        # while holding its callers' locks. send_fds would ignore the flag.
        rights = array.array("i", [theirs.fileno()])
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)]
        self._link.sendmsg([msgspec.json.encode(request)], ancillary, socket.MSG_DONTWAIT)

    def close(self) -> None:
        """Closes the connection, which ends the process and its workers, and reaps the process."""
        with contextlib.suppress(OSError):
            self._link.shutdown(socket.SHUT_RDWR)
        if self._input is not None:
            self._input.close()
        if not self._asked:  # the process may still be warming up; waiting for that is needless
            self.process.kill()
        if not _ends(self.process, _END_S):
            self.process.kill()
        self.process.wait()
        self._listener.join()

    def _listen(self) -> None:
        """Passes reports on until the process is gone; runs in a thread of its own."""
        decoder = msgspec.json.Decoder(control.Message)
        while True:
            payload, descriptors = self._receive()
            if not payload or not self._report(decoder.decode(payload), descriptors):
                break
        self._release()

    def _receive(self) -> tuple[bytes, list[int]]:
        """Waits for a report and the descriptors that come with it; returns nothing when the process is gone."""
        try:
            payload, descriptors, _, _ = socket.recv_fds(self._link, control.MAX_MESSAGE, 1)
        except OSError:
            return b"", []
        return payload, descriptors

    def _report(self, message: control.Message, descriptors: list[int]) -> bool:
        """Passes a report on; returns False when the kernel had no room for the descriptor that came with it."""
        # A process could not be ended without its pidfd. So in that case the connection is closed, which ends all
        # processes.
        with self._lock:
            if isinstance(message, control.Exited):
                self._workers.pop(message.ticket).take_end(message)
            elif isinstance(message, control.Refused):
                self._workers.pop(message.ticket).fail_start(message.number)
            elif descriptors:
                self._workers[message.ticket].take_process(message.pid, descriptors[0])
            else:
                return False
        return True

    def _release(self) -> None:
        """Reports the end of every worker when the fork server is gone."""
        # The kernel kills workers together with their parent; callers may still wait for one.
        with self._lock:
            self.alive = False
            workers, self._workers = list(self._workers.values()), {}
            self._link.close()
        for worker in workers:
            worker.kill()
            worker.take_end(None)


def _ends(process: subprocess.Popen[bytes], within_s: float) -> bool:
    """Waits until this child has ended; returns False when it has not ended in time."""
    if process.poll() is not None:  # `kill` reaps a child that has ended; its pid may then name another process
        return True
    # subprocess polls at intervals of up to 50 ms when it waits with a timeout, which would delay each command as much.
    try:
        pidfd = os.pidfd_open(process.pid)
    except OSError:  # no descriptor is free
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(within_s)
        return process.poll() is not None
    try:
        poller = select.poll()
        poller.register(pidfd, select.POLLIN)
        return bool(poller.poll(within_s * 1000))
    finally:
        os.close(pidfd)


def _pair(kind: int) -> tuple[socket.socket, socket.socket]:
    """Returns two connected sockets. Raises WorkerError."""
    try:
        return socket.socketpair(socket.AF_UNIX, kind)
    except OSError as error:
        raise start_error(error.errno or 0) from None


def _launch(command: Sequence[str], descriptor: int, given: bytes | None) -> subprocess.Popen[bytes]:
    """Starts the fork server. Raises WorkerError when the kernel starts no process."""
    try:
        with _standard_input(given) as source:
            return _start_program(command, descriptor, source)
    except OSError as error:
        raise start_error(error.errno or 0) from None


def _launch_waiting(command: Sequence[str], descriptor: int) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
    """Starts a fork server that waits; returns it and the file whose closing lets it continue. Raises WorkerError."""
    try:
        reader, writer = os.pipe2(os.O_CLOEXEC)
        with os.fdopen(reader, "rb") as source, contextlib.ExitStack() as held:
            waiting = held.enter_context(os.fdopen(writer, "wb"))
            process = _start_program(command, descriptor, source.fileno())
            held.pop_all()
    except OSError as error:
        raise start_error(error.errno or 0) from None
    return process, waiting


@contextlib.contextmanager
def _standard_input(given: bytes | None) -> Iterator[int]:
    """Yields the process's standard input: a file in memory, which it can read at any time."""
    if given is None:
        yield subprocess.DEVNULL
        return
    with os.fdopen(os.memfd_create("settings"), "w+b") as file:
        file.write(given)
        file.seek(0)
        yield file.fileno()


def _start_program(command: Sequence[str], descriptor: int, source: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - the command is ours, never a caller's text
        [*command, str(descriptor)],
        env={},  # none of our variables: they contain tokens, proxies and paths
        pass_fds=(descriptor,),
        stdin=source,
        stdout=subprocess.DEVNULL,  # on the stdio transport our stdout is the MCP wire
        cwd="/",
    )
