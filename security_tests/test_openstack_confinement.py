"""What a process of `openstack` could do if what a cloud answers took it over: connect, and nothing else.

The attacks run as Python in the very process, after its confinement.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from kubescript.commands import confined_process
from kubescript.wire import orders
from kubescript_sandbox.host import spawner
from security_tests import benches

HOSTILE: Final = (sys.executable, str(Path(__file__).with_name("hostile_openstack.py")), "openstack")
SECRET: Final = "credential-of-the-call"
MEMORY: Final = 256 << 20
Attack = Callable[[str], str]


@pytest.fixture(scope="module")
def warm() -> Iterator[spawner.Spawner]:
    """A process that has loaded the client, of which each attack is a fork. To load it takes a busy machine longer than
    the 20 s that a command line may take to start."""
    with contextlib.closing(spawner.Spawner(HOSTILE)) as source, pytest.MonkeyPatch.context() as patch:
        patch.setattr(confined_process, "_START_S", 120.0)
        with benches.crowd():
            source.start()
        yield source


@pytest.fixture(scope="module")
def attack(warm: spawner.Spawner) -> Attack:
    """Runs an attack in a process of its own; gives what it left in `result`."""
    return lambda code: whole(warm, code).stdout.strip()


def whole(
    source: spawner.Spawner, code: str, seconds: float = 60, output: int = 1 << 20, cpu_seconds: int = 5
) -> confined_process.Output:
    with started(source, code, cpu_seconds) as running:
        return running.read(time.monotonic() + seconds, output)


def started(
    source: spawner.Spawner, code: str, cpu_seconds: int
) -> contextlib.AbstractContextManager[confined_process.Process]:
    order = orders.OpenStackOrder([code], SECRET, "", "test", {}, [], allow_write=False, readable=[])
    return confined_process.start(source.spawn(MEMORY, cpu_seconds), order, strict=True)


READS: Final = {
    "users": "/etc/passwd",
    "another process": f"/proc/{os.getpid()}/environ",
    "its own memory": "/proc/self/maps",
    "keys": "/etc/ssl/private",
    "the server's folder": str(Path(__file__).parent.parent / "README.md"),
    "home": str(Path("~").expanduser()),
}


@pytest.mark.promise("X-16")
@pytest.mark.parametrize("what", READS)
def test_it_reads_no_file_but_libraries_and_certificates(attack: Attack, what: str) -> None:
    """Files of users, keys, other processes and the server cannot be opened."""
    code = f"result = os.listdir({READS[what]!r}) if os.path.isdir({READS[what]!r}) else open({READS[what]!r}).read()"
    assert "PermissionError" in attack(code)
    assert attack("import json; result = json.dumps(1)") == "1"


@pytest.mark.promise("X-16")
@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm", "/var/tmp", ".", str(Path(__file__).parent), sys.prefix])
def test_it_writes_no_file(attack: Attack, folder: str) -> None:
    """No file is written and no folder made, wherever anybody may write."""
    assert "PermissionError" in attack(f"result = open({folder!r} + '/written', 'w')")
    assert "PermissionError" in attack(f"result = os.mkdir({folder!r} + '/made')")
    assert not Path(folder, "written").exists()


STARTS: Final = {
    "fork": "os.fork()",
    "vfork": "ctypes.CDLL(None, use_errno=True).vfork()",
    "clone": "ctypes.CDLL(None).syscall(56, 17, 0, 0, 0, 0)",
    "clone3": "ctypes.CDLL(None).syscall(435, 0, 0)",
    "another program": "os.execv('/bin/sh', ['sh', '-c', 'echo taken'])",
    "a program in memory": "os.memfd_create('x')",
    "spawn": "__import__('subprocess').run(['/bin/true'])",
}


@pytest.mark.promise("X-17")
@pytest.mark.parametrize("how", STARTS)
def test_it_starts_no_process_and_no_program(attack: Attack, how: str) -> None:
    """Neither fork nor exec nor a program in memory works."""
    answer = attack(f"result = {STARTS[how]}")
    assert answer == "-1" or "PermissionError" in answer, answer


@pytest.mark.promise("X-17")
def test_it_touches_no_other_process(attack: Attack) -> None:
    """No other process is signalled, opened or traced."""
    for code in (f"os.kill({os.getpid()}, 0)", f"os.pidfd_open({os.getpid()})", "os.kill(os.getppid(), 9)"):
        assert "PermissionError" in attack(f"result = {code}")
    assert attack(f"result = ctypes.CDLL(None).ptrace(16, {os.getpid()}, 0, 0)") == "-1"


@pytest.mark.promise("X-17")
@pytest.mark.parametrize("family", ["AF_UNIX", "AF_PACKET", "AF_VSOCK", "AF_ALG"])
def test_it_has_no_socket_but_those_of_the_internet(attack: Attack, family: str) -> None:
    """Sockets of container engines and doors into the kernel cannot be made."""
    assert "PermissionError" in attack(f"result = socket.socket(socket.{family}, socket.SOCK_STREAM)")
    assert "PermissionError" in attack("result = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9)")


@pytest.mark.promise("X-17")
def test_it_is_no_server(attack: Attack) -> None:
    """Nobody can connect to it."""
    assert "PermissionError" in attack("result = socket.create_server(('127.0.0.1', 0))")


@pytest.mark.promise("X-17")
def test_it_reaches_services_and_finds_their_names(attack: Attack) -> None:
    """A client's connections and the resolver work all the same."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert attack(f"result = socket.create_connection(('localhost', {port})).getpeername()[1]") == str(port)


@pytest.mark.promise("X-17")
def test_it_has_no_capability_no_environment_and_no_descriptor_of_others(attack: Attack) -> None:
    """Only three descriptors are open, and no privilege can be gained."""
    status = attack("result = [ctypes.CDLL(None).prctl(39, 0, 0, 0, 0), dict(os.environ)]")
    assert status == "[1, {}]", "PR_GET_NO_NEW_PRIVS, and the environment"
    opened = "[n for n in range(1024) if not isinstance(_try(n), OSError)]"
    code = "def _try(n):\n    try:\n        return os.fstat(n)\n    except OSError as error:\n        return error\n"
    assert attack(f"{code}result = {opened}") == "[0, 1, 2]"
    assert attack("result = sys.stdin.read()") == ""
    assert "PermissionError" in attack(
        "import ctypes as c; result = os.setuid(0) if os.getuid() else open('/proc/1/mem')"
    )


@pytest.mark.promise("X-18")
def test_memory_processor_and_output_have_limits(warm: spawner.Spawner) -> None:
    """Memory, processor time and output end at their limits, and the next process works."""
    assert "MemoryError" in whole(warm, "result = len(bytearray(2 << 30))").stdout
    loop = whole(warm, "while True: pass", seconds=200, cpu_seconds=1)
    assert loop.status == -9, "the kernel has ended it after one second of it"
    with started(warm, "while True: print('x' * 100000)", 5) as running:
        select.select([running._outputs[0]], [], [], 60)  # its time begins with its first word
        flood = running.read(time.monotonic() + 1, 1000)
    assert flood.is_over
    assert flood.dropped > 1000 > len(flood.stdout) - (64 << 10)
    assert whole(warm, "result = 1").stdout == "1\n"


@pytest.mark.promise("X-17")
def test_a_process_ends_with_its_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process does not outlive the server."""
    monkeypatch.setattr(confined_process, "_START_S", 120.0)
    source = spawner.Spawner(HOSTILE)
    worker = source.spawn(MEMORY, 5)
    order = orders.OpenStackOrder(["while True: pass"], SECRET, "", "test", {}, [], allow_write=False, readable=[])
    with confined_process.start(worker, order, strict=True):
        source.close()
        assert worker.wait(60)
