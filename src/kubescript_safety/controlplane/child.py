"""A program of the control plane as a child process that cannot outlive this one.

`server.py` starts etcd and kube-apiserver through it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PR_SET_PDEATHSIG = 1
TAIL_LINES = 25

# Loaded before any fork: after a fork, only the system call is allowed.
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


class Child:
    """A program that can be started and stopped repeatedly; its output goes to one log file."""

    def __init__(self, command: list[str], log: Path) -> None:
        self._command = command
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        # The kernel sends the death signal when the *thread* that forked ends, not when the process does. So a
        # dedicated thread forks: a caller's short-lived thread then cannot take the program with it.
        self._keeper = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"keeper-{log.stem}")

    @property
    def pid(self) -> int | None:
        """The process id while the program runs."""
        if self._process and self._process.poll() is None:
            return self._process.pid
        return None

    def start(self) -> None:
        """Starts the program; it runs until stopped, or until this process ends for any reason."""
        assert self.pid is None, f"{self._log.stem} runs already"
        # The program is started in the keeper's thread, for the reason that `__init__` gives.
        started = self._keeper.submit(self._spawn)
        self._process = started.result()

    def stop(self, grace: float = 10) -> None:
        """Asks the program to end, and kills its whole process group after `grace` seconds."""
        if self._process is None:
            return
        self._signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(grace)
        self.kill()

    def kill(self) -> None:
        """Kills the program and all its child processes at once, as in a crash."""
        if self._process is None:
            return
        self._signal(signal.SIGKILL)
        self._process.wait()
        self._process = None

    def close(self) -> None:
        """Kills the program for good."""
        self.kill()
        self._keeper.shutdown()

    def tail(self) -> str:
        """Returns the last lines of the log: what the program printed before it failed."""
        text = self._log.read_text(errors="replace") if self._log.exists() else ""
        last = text.splitlines()[-TAIL_LINES:]
        return "\n".join([f"--- {self._log}", *last])

    def _spawn(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            return subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._log.parent,
                start_new_session=True,
                preexec_fn=_die_with_parent,  # noqa: PLW1509 - it makes one system call
            )

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        # Until it is waited for, the process id (which is also the group's) cannot be reused.
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)


def _die_with_parent() -> None:
    if _libc is not None:
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
