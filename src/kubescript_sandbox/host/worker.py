"""The host's handle to one confined process, which a fork server forks, and reaps when it has ended."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import socket
import sys
import threading
from typing import Final

from kubescript_sandbox import errors
from kubescript_sandbox.wire import control

__all__ = ["Worker", "start_error"]

_REMEDY: Final = {
    errno.EAGAIN: "too many processes: raise `ulimit -u`, TasksMax or the pod's pids limit, or end some",
    errno.ENOMEM: "the machine or its control group has no memory left: raise the limit, or end something",
    errno.EACCES: "let this user execute it: chmod, or use a file system that is not mounted noexec",
    errno.EMFILE: "no descriptor is left: raise `ulimit -n`, or lower sandbox.max_scripts",
    errno.ENOENT: "the interpreter is gone: install kubescript again",
}

_NICENESS: Final = 10
"""What is added to a process's niceness. Linux then gives nine tenths of a core to one that did not yield."""


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
        self._yields = False

    def kill(self) -> None:
        """Ends the process at once. Any thread may call it, at any time, any number of times."""
        with self._lock:
            self._doomed = True
            self._signal()

    def wait(self, timeout_s: float) -> bool:
        """Waits until the process is reaped. Returns False when it is not reaped within `timeout_s` seconds."""
        return self._ended.wait(timeout_s)

    def yield_cores(self) -> None:
        """Lets other processes compute first, for the rest of this process's life."""
        with self._lock:
            self._yields = True
            self._lower_priority()

    def close(self) -> None:
        """Kills the process and closes its socket; its end is still reported to `exit`."""
        self.kill()
        self.socket.close()

    @property
    def has_ended(self) -> bool:
        """Whether the process is dead now, according to the kernel."""
        with self._lock:
            return self._is_dead() if self._pidfd >= 0 else self._ended.is_set()

    def take_process(self, pid: int, pidfd: int) -> None:
        """Takes the process id from the spawner; performs what was requested earlier."""
        with self._lock:
            self.pid, self._pidfd = pid, pidfd
            if self._doomed:
                self._signal()
            elif self._yields:
                self._lower_priority()

    def fail_start(self, number: int) -> None:
        """Takes the number of the system error that prevented the process from starting."""
        self.unstarted = start_error(number)
        self.take_end(None)

    def take_end(self, report: control.Exited | None) -> None:
        """Takes the end of the process from the spawner; closes the pidfd, so that later kills do nothing."""
        with self._lock:
            self.exit = report
            if self._pidfd >= 0:
                os.close(self._pidfd)
                self._pidfd = -1
        self._ended.set()

    def _lower_priority(self) -> None:
        """Lowers the process's priority, if it was forked and lives."""
        # There is no call that takes a pidfd, and the pid of a process that has ended may be another's later. Until its
        # fork is reported, the pid is 0, with which the kernel would lower the priority of the calling thread.
        if self._pidfd < 0 or self._is_dead():
            return
        with contextlib.suppress(OSError):
            niceness = os.getpriority(os.PRIO_PROCESS, self.pid) + _NICENESS
            os.setpriority(os.PRIO_PROCESS, self.pid, niceness)

    def _is_dead(self) -> bool:
        """Whether the process that the pidfd names has ended: a pidfd becomes readable then."""
        poller = select.poll()
        poller.register(self._pidfd, select.POLLIN)
        return bool(poller.poll(0))

    def _signal(self) -> None:
        """Kills the process, if it was forked and not reaped yet."""
        if self._pidfd >= 0:  # a pidfd names exactly this process, never a later one with the same number
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)


def start_error(number: int) -> errors.WorkerError:
    """Returns the error for a process that the kernel did not start, with its remedy."""
    return errors.WorkerError(
        f"the sandbox's process {sys.executable} could not be started: {os.strerror(number)}",
        code="worker.spawn",
        remedy=_REMEDY.get(number, "see what keeps this user from starting processes"),
    )
