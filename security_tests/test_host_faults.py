"""Faults of the host's own, which an attacker may bring about: nothing is lost of the record, and the next call works."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from kubescript import errors, programs, types
from kubescript.broker import call as broker_call
from kubescript.broker import operation, records
from kubescript.cli import demo
from kubescript.policy import policy
from kubescript.request import request
from kubescript.wire import exchanges
from kubescript_sandbox.host import cancellation, spawner
from security_tests import benches
from tests.kit import patience, reading

GRACE_S: Final = 60.0
"""Seconds that a machine with other work to do may need for what takes milliseconds."""


class Cluster:
    """A cluster that answers with a warning, and counts the answers that were closed."""

    name = "warning"
    address = "https://127.0.0.1:6443"
    namespace = "default"
    is_named_by_data = False

    def __init__(self) -> None:
        self.closed = 0

    def perform(self, _call: request.Request, _s: float, _cancel: cancellation.Cancellation) -> types.Response:
        """Answer."""
        body = iter([b'{"items":[]}'])
        return types.Response(200, "OK", "application/json", body, self._close, {"warning": "a warning"})

    def _close(self) -> None:
        self.closed += 1

    def close(self) -> None:
        """Nothing is open."""


UNFORESEEN: Final = {
    "in the warning of an answer": ("a warning", ("api", "v1", "pods")),
    "in the text of a denial": (
        "the operator denies",
        ("api", "v1", "namespaces", "a", "serviceaccounts", "b", "token"),
    ),
    "in the text of a refusal": ("cannot be a path segment", ("api", "v1", "..")),
}


@pytest.mark.promise("A-09", "W-06")
@pytest.mark.parametrize("name", UNFORESEEN)
def test_a_call_that_fails_in_an_unforeseen_way_is_recorded_once(name: str) -> None:
    """What masks a text fails as nobody foresaw: the call is an answer by name and on record, and holds no connection."""
    poison, path = UNFORESEEN[name]
    recorded: list[records.Record] = []
    cluster = Cluster()

    def mask(text: str, _found: broker_call.Found, _check: broker_call.Check) -> str:
        if poison in text:
            raise ValueError(text)
        return text

    door = reading.made(cluster, policy.Policy(), mask=mask, record=recorded.append)
    reply, response = door.handle(exchanges.Call("GET", path), operation.Operation(), GRACE_S)
    assert response is None and reply.fault is not None and reply.fault.code == "internal"
    assert poison not in reply.fault.message
    assert len(recorded) == 1 and recorded[0].fault
    poison = "\0"
    reply, response = door.handle(exchanges.Call("GET", ("api", "v1", "pods")), operation.Operation(), GRACE_S)
    assert reply.status == 200 and response is not None
    response.close()
    assert len(recorded) == 2 and cluster.closed == 1 + (path[-1] == "pods")


@contextmanager
def no_descriptors() -> Iterator[None]:
    """This process can open nothing."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    held: list[int] = []
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 8, limits[1]))
        with pytest.raises(OSError, match="Too many open files"):
            while True:
                held.append(os.dup(0))
        yield
    finally:
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.promise("F-04", "F-08")
def test_a_process_whose_descriptor_finds_no_room_is_no_process_for_ever() -> None:
    """Scripts and clients hold all descriptors at the moment when a process is forked: nobody could ever end it, nor any
    that was forked later, for the thread that takes the reports had ended."""
    source = spawner.Spawner(programs.WORKER)
    source.start()
    try:
        first = source.spawn(256 << 20, 10)
        patience.until(lambda: first.pid > 0, GRACE_S)
        os.kill(source.pid, signal.SIGSTOP)
        stopped = source.pid
        lost = source.spawn(256 << 20, 10)
        with no_descriptors():
            os.kill(stopped, signal.SIGCONT)
            assert lost.wait(GRACE_S) and first.wait(GRACE_S)
            with pytest.raises(errors.WorkerError) as caught:
                source.spawn(256 << 20, 10)
        assert caught.value.code == "worker.spawn" and "ulimit -n" in caught.value.remedy
        later = source.spawn(256 << 20, 10)
        later.close()
        assert later.wait(GRACE_S)
        lost.close()
        first.close()
    finally:
        source.close()


@pytest.mark.promise("F-04")
def test_a_chore_that_fails_does_not_keep_others_from_being_done() -> None:
    """The thread that ends workers and forks spares goes on, whatever fails in it."""
    done = threading.Event()
    with benches.opened() as bench:
        bench.pool.later(lambda: os.close(-1))
        bench.pool.later(done.set)
        assert done.wait(GRACE_S)
        assert bench.works()


NO_THREAD: Final = """\
import threading
from kubescript import errors, programs
from kubescript_sandbox.host import spawner
before = threading.stack_size(1 << 60)  # more than there are addresses: no thread can be started
source = spawner.Spawner(programs.MASKER, reads=True)
try:
    source.start()
except errors.WorkerError as error:
    print(error.code, "ulimit -u" in error.remedy)
threading.stack_size(before)
source.start()
print(source.pid > 0)
source.close()
"""


@pytest.mark.promise("F-04")
def test_a_start_for_which_there_is_no_thread_ends() -> None:
    """No thread can be had while the maskers' process waits for its settings: the server waited for the end of that
    process, which waited for the server."""
    done = subprocess.run([sys.executable, "-c", NO_THREAD], capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout.split(), done.returncode) == (["worker.spawn", "True", "True"], 0), done.stderr


IN_THE_BACKGROUND: Final = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
"""How a shell without a terminal starts a command with `&`: SIGINT is ignored."""
ENDLESS: Final = ("run", "-c", "while True: pass", "--timeout", "300000")


def catches_sigterm(pid: int) -> bool:
    """Whether the process has a handler of its own for SIGTERM."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


@pytest.mark.promise("F-05")
@pytest.mark.parametrize("seconds", [0, 2])
def test_sigterm_ends_what_ignores_sigint(seconds: float) -> None:
    """SIGTERM was turned into a SIGINT, which a command in the background ignores: a script ran on to its deadline, and
    a server that was still starting went on to serve."""
    command = (*IN_THE_BACKGROUND, sys.executable, "-m", "kubescript", *ENDLESS, "--snapshot", str(demo.SNAPSHOT))
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        patience.until(lambda: catches_sigterm(running.pid), GRACE_S)
        time.sleep(seconds)
        running.terminate()
        assert running.wait(GRACE_S) == 143
    finally:
        running.kill()
        running.wait()
