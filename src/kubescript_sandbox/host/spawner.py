"""The host's side of a fork server: it starts the server, requests confined processes, receives the reports of their
ends, and restarts the server when it has died. The executor uses one for workers, and redaction another for maskers.

One thread for each fork server reads its reports; everything else happens in the callers' threads.
"""

from __future__ import annotations

import array
import contextlib
import errno
import itertools
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import IO, Final

import msgspec

from kubescript_sandbox import errors
from kubescript_sandbox.wire import control

__all__ = ["Spawner", "Worker", "command"]

_END_S: Final = 2.0
"""Seconds in which a fork server must end its workers and itself."""
_REMEDY: Final = {
    errno.EAGAIN: "too many processes: raise `ulimit -u`, TasksMax or the pod's pids limit, or end some",
    errno.ENOMEM: "the machine or its control group has no memory left: raise the limit, or end something",
    errno.EACCES: "let this user execute it: chmod, or use a file system that is not mounted noexec",
    errno.EMFILE: "no descriptor is left: raise `ulimit -n`, or lower sandbox.max_scripts",
    errno.ENOENT: "the interpreter is gone: install kubescript again",
}


def command(module: str) -> tuple[str, ...]:
    """Returns the command line of a fork server whose workers run scripts of this module's guest."""
    # -I makes Python ignore PYTHON* variables, the user's packages and the current folder.
    return (sys.executable, "-I", "-m", "kubescript_sandbox.guest.launch", module)


class Worker:
    """The host's handle to one confined process."""

    def __init__(self, sock: socket.socket, memory_bytes: int) -> None:
        self.socket = sock
        self.memory_bytes = memory_bytes
        self.pid = 0
        self.exit: control.Exited | None = None
        """The report of its end, once the fork server has reaped it; None when the fork server itself died."""
        self.unstarted: errors.WorkerError | None = None
        """Why there is no process; None when there is or was one."""
        self._pidfd = -1
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._doomed = False

    def kill(self) -> None:
        """Ends the process at once. Any thread may call it, at any time, any number of times."""
        with self._lock:
            self._doomed = True
            self._signal()

    def wait(self, timeout_s: float) -> bool:
        """Waits until the process is reaped. Returns False when it is not reaped within `timeout_s` seconds."""
        return self._ended.wait(timeout_s)

    def close(self) -> None:
        """Kills the process and closes its socket; its end is still reported to `exit`."""
        self.kill()
        self.socket.close()

    @property
    def has_ended(self) -> bool:
        """Whether the process is dead now, according to the kernel."""
        # A pidfd becomes readable when its process has ended.
        with self._lock:
            if self._pidfd < 0:
                return self._ended.is_set()
            poller = select.poll()
            poller.register(self._pidfd, select.POLLIN)
            return bool(poller.poll(0))

    def forked(self, pid: int, pidfd: int) -> None:
        """Takes the process id from the spawner; performs a kill that was requested earlier."""
        with self._lock:
            self.pid, self._pidfd = pid, pidfd
            if self._doomed:
                self._signal()

    def refused(self, number: int) -> None:
        """Takes the system error that prevented the process."""
        self.unstarted = _start_error(number)
        self.ended(None)

    def ended(self, report: control.Exited | None) -> None:
        """Takes the end of the process from the spawner; closes the pidfd, so that later kills do nothing."""
        with self._lock:
            self.exit = report
            if self._pidfd >= 0:
                os.close(self._pidfd)
                self._pidfd = -1
        self._ended.set()

    def _signal(self) -> None:
        if self._pidfd >= 0:  # a pidfd names exactly this process, never a later one with the same number
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)


class Spawner:
    """Keeps one fork server running."""

    def __init__(self, command: Sequence[str], *, reads: bool = False) -> None:
        """`command` starts the fork server. With `reads`, the fork server waits at its standard input for the bytes
        that `give` gets."""
        self._command = command
        self._reads = reads
        self._given: bytes | None = None
        self._lock = threading.Lock()
        self._server: _ForkServer | None = None
        self._closed = False

    def start(self) -> None:
        """Starts the fork server."""
        # Called before settings or credentials are read, so that the fork server holds no secret.
        if sys.platform != "linux":
            return  # `spawn` raises the error that says why
        with self._lock:
            waits = self._reads and self._given is None
            self._server = _ForkServer(self._command, self._given, waits=waits)

    def warm_up(self) -> None:
        """Has the fork server prepare for its first worker while the host starts, which takes a third of a second of
        processor time. With a single processor, this waits until the first worker is requested."""
        if sys.platform != "linux" or len(os.sched_getaffinity(0)) == 1:
            return
        if self._server is None:
            self.start()
        with self._lock:
            if self._server is not None:
                self._server.warm_up()

    def give(self, given: bytes) -> None:
        """Sets what each fork server reads from its standard input."""
        with self._lock:
            self._given = given
            if self._server is not None:
                self._server.give(given)

    def close(self) -> None:
        """Ends the fork server and with it every worker."""
        with self._lock:
            self._closed = True
            server, self._server = self._server, None
        if server is not None:
            server.close()

    def spawn(self, memory_bytes: int, cpu_seconds: int) -> Worker:
        """Returns a new worker, which may still be starting. Raises WorkerError when no fork server can be started."""
        if sys.platform != "linux":
            raise errors.WorkerError(
                f"scripts run on Linux only: {sys.platform} has no seccomp, Landlock or namespaces to confine them",
                code="worker.lockdown",
                remedy="run kubescript in a Linux container or virtual machine (Docker Desktop, WSL 2)",
            )
        with self._lock:
            if self._server is None or not self._server.alive:
                self._server = self._restart()
            worker = self._server.fork(memory_bytes, cpu_seconds)
            if worker is None:  # it died between the check and the request
                self._server = self._restart()
                worker = self._server.fork(memory_bytes, cpu_seconds)
        if worker is None:
            raise errors.WorkerError("no sandbox process could be started", code="worker.spawn")
        return worker

    @property
    def pid(self) -> int:
        """Process id of the fork server, 0 when there is none."""
        server = self._server
        return server.process.pid if server is not None else 0

    def _restart(self) -> _ForkServer:
        if self._closed:
            raise errors.WorkerError("the server is shutting down", code="worker.spawn")
        if self._server is not None:
            self._server.close()
        return _ForkServer(self._command, self._given)


class _ForkServer:
    """One fork server process and its workers."""

    def __init__(self, command: Sequence[str], given: bytes | None, *, waits: bool = False) -> None:
        """It reads `given` from its standard input, or with `waits` waits there for `give`."""
        self.alive = True
        self._asked = False
        """Whether a worker was ever requested: only then can it have children."""
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
            raise _start_error(errno.EAGAIN) from None

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
        with contextlib.suppress(OSError):  # it is gone; the next request for a worker detects that
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
        if not self._asked:  # it may still be warming up; waiting for that is needless
            self.process.kill()
        if not _ends(self.process, _END_S):
            self.process.kill()
        self.process.wait()
        self._listener.join()

    def _listen(self) -> None:
        decoder = msgspec.json.Decoder(control.Message)
        while True:
            payload, descriptors = self._receive()
            if not payload or not self._report(decoder.decode(payload), descriptors):
                break
        self._release()

    def _receive(self) -> tuple[bytes, list[int]]:
        try:
            payload, descriptors, _, _ = socket.recv_fds(self._link, control.MAX_MESSAGE, 1)
        except OSError:
            return b"", []
        return payload, descriptors

    def _report(self, message: control.Message, descriptors: list[int]) -> bool:
        """Passes a report on; returns False when the kernel had no room for the descriptor that came with it."""
        # Without its pidfd a process could not be ended. Then the connection is closed, which ends all of them.
        with self._lock:
            if isinstance(message, control.Exited):
                self._workers.pop(message.ticket).ended(message)
            elif isinstance(message, control.Refused):
                self._workers.pop(message.ticket).refused(message.number)
            elif descriptors:
                self._workers[message.ticket].forked(message.pid, descriptors[0])
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
            worker.ended(None)


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
    try:
        return socket.socketpair(socket.AF_UNIX, kind)
    except OSError as error:
        raise _start_error(error.errno or 0) from None


def _launch(command: Sequence[str], descriptor: int, given: bytes | None) -> subprocess.Popen[bytes]:
    """Starts the fork server. Raises WorkerError when the kernel starts no process."""
    try:
        with _standard_input(given) as source:
            return _start_program(command, descriptor, source)
    except OSError as error:
        raise _start_error(error.errno or 0) from None


def _launch_waiting(command: Sequence[str], descriptor: int) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
    """Starts a fork server that waits; returns it and the file whose end lets it continue. Raises WorkerError."""
    try:
        reader, writer = os.pipe2(os.O_CLOEXEC)
        with os.fdopen(reader, "rb") as source, contextlib.ExitStack() as held:
            waiting = held.enter_context(os.fdopen(writer, "wb"))
            process = _start_program(command, descriptor, source.fileno())
            held.pop_all()
    except OSError as error:
        raise _start_error(error.errno or 0) from None
    return process, waiting


def _start_error(number: int) -> errors.WorkerError:
    return errors.WorkerError(
        f"the sandbox's process {sys.executable} could not be started: {os.strerror(number)}",
        code="worker.spawn",
        remedy=_REMEDY.get(number, "see what keeps this user from starting processes"),
    )


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
