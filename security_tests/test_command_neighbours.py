"""What the process of a command line could do to its machine and to other command lines if its program were hostile:
reach other addresses, take more than its share, or touch a neighbour.

Unrestricted Python stands in for `oc`, with and without a network of its own, and for openstackclient.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from unittest import mock

import pytest

from kubescript import errors, types
from kubescript.commands import confined_process, http_connection, protobuf, proxy
from kubescript.wire import exchanges, orders
from kubescript_sandbox import runs
from kubescript_sandbox.confinement import landlock
from kubescript_sandbox.host import conversation, spawner
from security_tests import benches
from tests.kit import patience, pids

Count = Callable[[int], None]

HERE: Final = Path(__file__).parent
PROGRAMS: Final = {
    "oc": (str(HERE / "hostile_oc.py"), "openshift"),
    "oc, landlock only": (str(HERE / "hostile_oc.py"), "landlock-only", "openshift"),
    "openstack": (str(HERE / "hostile_openstack.py"), "openstack"),
}
MEMORY: Final = 64 << 20
SECONDS: Final = 240
"""For what takes a second or two where a processor is free: a command has the lowest priority."""
DENIED: Final = "PermissionError(1, 'Operation not permitted')"


@pytest.fixture(scope="module", autouse=True)
def _slow_starts() -> Iterator[None]:
    """A command's process has the lowest priority: beside other work, it may start later than a server would wait."""
    with mock.patch.object(confined_process, "_START_S", SECONDS):
        yield


@dataclass(frozen=True)
class Attacker:
    """Starts processes that run an attack in place of a program."""

    source: spawner.Spawner
    program: str

    def __call__(self, code: str) -> str:
        """What the attack leaves in `result`."""
        with self.started(code) as running:
            return running.read(time.monotonic() + SECONDS, 1 << 20).stdout.strip()

    @contextlib.contextmanager
    def started(self, code: str) -> Iterator[confined_process.Process]:
        order: orders.Order = orders.OpenShiftOrder([code], sys.executable, "default")
        if self.program == "openstack":
            order = orders.OpenStackOrder([code], "{}", "", "test", {}, [], allow_write=False, readable=[])
        with confined_process.start(self.source.spawn(MEMORY, 5), order, strict=True) as running:
            yield running


@pytest.fixture(scope="module", params=PROGRAMS)
def attacker(request: pytest.FixtureRequest) -> Iterator[Attacker]:
    if request.param == "oc, landlock only" and not landlock.knows_ports():
        pytest.skip("this kernel's Landlock knows no ports: oc does not run here without a network namespace")
    with contextlib.closing(spawner.Spawner((sys.executable, *PROGRAMS[request.param]))) as source:
        source.start()
        yield Attacker(source, request.param)


TRY: Final = """
import ctypes, fcntl, mmap, os, resource, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    ctypes.set_errno(0)
    found = getattr(libc, name)(*arguments)
    number = ctypes.get_errno()
    if found < 0 and number:
        raise OSError(number, os.strerror(number))
    return found
def outcome(attack):
    try:
        return str(attack())
    except OSError as error:
        return f"{type(error).__name__}({error.errno}, '{os.strerror(error.errno)}')"
"""


def outcomes(attacker: Attacker, attacks: dict[str, str], **values: int) -> dict[str, str]:
    """What comes of each attack, all in one process."""
    rows = "".join(f"{name!r}: outcome(lambda: {code}),\n" for name, code in attacks.items())
    names = "".join(f"{name} = {value}\n" for name, value in values.items())
    answer = attacker(f"{TRY}{names}result = {{\n{rows}}}")
    found = eval(answer) if answer.startswith("{") else {"the process": answer}
    return dict(found)


# --- other addresses ---

SOCKETS: Final = {
    "MPTCP": "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262).connect(('127.0.0.1', port))",
    "MPTCP over IPv6": "socket.socket(socket.AF_INET6, socket.SOCK_STREAM, 262).connect(('::1', port))",
    "SCTP": "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132)",
    "SMC as a protocol": "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 256)",
    "SMC as a family": "socket.socket(43, socket.SOCK_STREAM, 0)",
    "SMC by an option": "socket.socket().setsockopt(socket.IPPROTO_TCP, 31, b'smc')",
    "a deferred connection": "socket.socket().setsockopt(socket.IPPROTO_TCP, 30, 1)",
    "echo requests": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1)",
    "raw": "socket.socket(socket.AF_INET, socket.SOCK_RAW, 255)",
    "netlink": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9)",
    "unix": "socket.socket(socket.AF_UNIX)",
    "a pair": "socket.socketpair()",
    "fast open": "socket.socket().sendto(b'x', 0x20000000, ('127.0.0.1', port))",
    "fast open by a message": "socket.socket().sendmsg([b'x'], [], 0x20000000, ('127.0.0.1', port))",
    "fast open by messages": "call('sendmmsg', socket.socket().fileno(), ctypes.create_string_buffer(64), 1, 0x20000000)",
    "a message to an address": "socket.socket().sendto(b'x', ('127.0.0.1', port))",
    "a server": "socket.socket().bind(('127.0.0.1', 0))",
    "another queue": "call('syscall', 425, 8, ctypes.create_string_buffer(256))",
}


@pytest.mark.promise("X-01")
@pytest.mark.promise("X-17")
def test_no_protocol_but_tcp_and_no_call_but_connect_reaches_anything(attacker: Attacker, attacks: Count) -> None:
    """Landlock judges connect() of TCP, so no other protocol, option or flag may connect."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        found = outcomes(attacker, SOCKETS, port=listener.getsockname()[1])
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()
    attacks(len(SOCKETS))
    assert found == dict.fromkeys(SOCKETS, DENIED)
    assert attacker("result = 1") == "1"


# --- its share ---

MEMORIES: Final = {
    "shared": "mmap.mmap(-1, 600 << 20)",
    "shared by its other name": "mmap.mmap(-1, 600 << 20, flags=3 | 0x20)",
    "that grows down": "mmap.mmap(-1, 600 << 20, flags=0x2 | 0x20 | 0x100)",
    "huge pages": "mmap.mmap(-1, 600 << 20, flags=0x2 | 0x20 | 0x40000)",
    "a segment": "call('shmget', 0, 600 << 20, 0o1600)",
    "a queue": "call('msgget', 0, 0o1600)",
    "semaphores": "call('semget', 0, 100, 0o1600)",
    "a file": "os.memfd_create('x')",
    "larger pipes": "fcntl.fcntl(os.pipe()[0], 1031, 1 << 20)",
    "a watch": "call('inotify_init1', 0)",
}


@pytest.mark.promise("X-05")
@pytest.mark.promise("X-18")
def test_there_is_no_memory_that_no_limit_counts(attacker: Attacker, attacks: Count) -> None:
    """Neither shared memory, nor memory that outlives the command, nor tables for pages that were never written."""
    found = outcomes(attacker, MEMORIES)
    attacks(len(MEMORIES) + 3)
    assert found == dict.fromkeys(MEMORIES, DENIED)
    # Other programs of this machine may use segments meanwhile.
    assert str(600 << 20) not in Path("/proc/sysvipc/shm").read_text().split()
    reserved = "mmap.mmap(-1, 1 << 37, flags=0x2 | 0x20 | 0x4000, prot=mmap.PROT_READ)"
    private = "mmap.mmap(-1, 600 << 20, flags=0x2 | 0x20)"
    assert set(outcomes(attacker, {"reserved": reserved, "private": private}).values()) == {
        "OSError(12, 'Cannot allocate memory')"
    }
    assert int(attacker("import resource; result = resource.getrlimit(resource.RLIMIT_STACK)[1]")) <= 8 << 20
    assert attacker("result = len(bytearray(1 << 20))") == "1048576"


TAKE: Final = """
import time
pointer, size = ctypes.c_void_p, ctypes.c_size_t
for name, kinds in {
    "mmap": (pointer, size, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long),
    "mprotect": (pointer, size, ctypes.c_int),
    "mremap": (pointer, size, size, ctypes.c_int),
}.items():
    getattr(libc, name).argtypes = kinds
libc.mmap.restype = libc.mremap.restype = pointer
NONE, RW, LAZY, PIECE, WANTED = 0, 3, 0x4022, 16 << 20, 256 << 20
refused = {None, ctypes.c_void_p(-1).value}
def mapped(at, length, protection, flags):
    found = libc.mmap(at, length, protection, flags, -1, 0)
    return None if found in refused else found
def protected():
    piece = mapped(None, PIECE, RW, 0x22)
    if piece:
        ctypes.memset(piece, 1, PIECE)
        return 0 if libc.mprotect(piece, PIECE, 1) else PIECE
    return 0
def over_a_reservation():
    reserved = mapped(None, WANTED, NONE, LAZY)
    if reserved and mapped(reserved, WANTED, RW, 0x32):
        ctypes.memset(reserved, 1, WANTED)
        return WANTED
    return 0
def where_all_is_reserved():
    reserved = mapped(None, WANTED, NONE, LAZY)
    length = 1 << 40
    while reserved and length > WANTED // 2:
        while mapped(None, length, NONE, LAZY):
            pass
        length //= 2
    if reserved and libc.mprotect(reserved, WANTED, RW) == 0:
        ctypes.memset(reserved, 1, WANTED)
        return WANTED
    return 0
def stack():
    free = (ctypes.c_void_p.in_dll(libc, "__libc_stack_end").value & ~4095) - (96 << 10)
    grown = libc.mremap(free, 4096, WANTED, 1)
    if grown in refused:
        return 0
    ctypes.memset(grown, 1, WANTED)
    return WANTED
taken = 0
while taken < WANTED and (more := way()):
    taken += more
while taken >= WANTED:
    time.sleep(1)
result = "refused"
"""
WAYS: Final = ("protected", "over_a_reservation", "where_all_is_reserved", "stack")


@pytest.mark.promise("X-05")
@pytest.mark.promise("X-18")
def test_memory_that_the_kernel_miscounts_ends_the_command(attacker: Attacker, attacks: Count) -> None:
    """RLIMIT_DATA counts no page that is write-protected after it was written, none that is mapped over a reservation,
    and none of the stack: what is really written is watched, and address space is bounded."""
    attacks(len(WAYS))
    for way in WAYS:
        with attacker.started(TRY + TAKE.replace("way()", f"{way}()")) as running:
            output = running.read(time.monotonic() + SECONDS, 1 << 20)
        assert not output.is_over, (way, "it holds four times its memory until its deadline")
        assert output.stdout == "refused\n" or output.status in {-9}, (way, output)
    limits = attacker("import resource; result = resource.getrlimit(resource.RLIMIT_AS)[1]")
    assert int(limits) <= (2 << 30) + MEMORY
    assert attacker("result = len(bytearray(1 << 20))") == "1048576"


ENDS_FIRST: Final = """
import threading
def go_on():
    exec(WAY, globals())
    print(result, flush=True)
    os._exit(0)
threading.Thread(target=go_on).start()
libc.syscall({"x86_64": 60, "aarch64": 93}[os.uname().machine], 0)
"""


@pytest.mark.promise("X-05")
@pytest.mark.promise("X-18")
def test_a_command_whose_first_thread_ends_is_watched_all_the_same(attacker: Attacker, attacks: Count) -> None:
    """Of such a process /proc says that it has no memory."""
    attacks(1)
    way = repr(TAKE.replace("way()", "protected()"))
    with attacker.started(f"{TRY}WAY = {way}\n{ENDS_FIRST}") as running:
        output = running.read(time.monotonic() + SECONDS, 1 << 20)
    assert not output.is_over, "it holds four times its memory until its deadline"
    assert output.stdout == "refused\n" or output.status == -9, output
    assert attacker("result = len(bytearray(1 << 20))") == "1048576"


STEAL: Final = """
import time
back = os.open("/proc/self/fd/2", os.O_RDONLY | os.O_NONBLOCK)
os.set_blocking(1, False)
def fill():
    try:
        while True:
            os.write(1, bytes(65536))
    except BlockingIOError:
        pass
before = time.monotonic()
while True:
    for _ in range(20):
        os.write(2, b"e")
        try:
            os.read(back, 100)
        except BlockingIOError:
            pass
    fill()
    time.sleep(0.2)
    try:
        os.write(1, b"o")
    except BlockingIOError:
        time.sleep(600)  # the host reads nothing any more
"""


@pytest.mark.promise("X-05")
@pytest.mark.promise("X-18")
def test_output_that_is_taken_back_delays_no_deadline(attacker: Attacker, attacks: Count) -> None:
    """A program opens its own output, where its user may, and reads what the host was just told is there."""
    attacks(1)
    found: list[confined_process.Output] = []
    with attacker.started(STEAL) as running:
        deadline = time.monotonic() + 4
        reading = threading.Thread(target=lambda: found.append(running.read(deadline, 1000)), daemon=True)
        reading.start()
        reading.join(60)
        assert not reading.is_alive(), "the host waits for the program"
    assert found[0].is_over or "Permission denied" in found[0].stdout
    assert attacker("result = 1") == "1"


NUMBERS: Final = {
    "dup": "os.dup(0)",
    "dup2": "os.dup2(0, 50)",
    "dup3": "call('dup3', 0, 50, 0x80000)",
    "F_DUPFD": "fcntl.fcntl(0, 0, 10)",
    "F_DUPFD_CLOEXEC": "fcntl.fcntl(0, 1030, 10)",
    "another table": "call('syscall', 436, 100, 101, 2)",
    "another table, closed on execution": "call('syscall', 436, 100, 101, 6)",
    "a descriptor of another process": "call('syscall', 438, 3, 0, 0)",
}
WATCHES: Final = """
import select
files, pollers, watches = [], [], 0
try:
    while True:
        files.append(os.pipe()[0])
        pollers.append(select.epoll())
except OSError:
    pass
for poller in pollers:
    for file in files:
        poller.register(file, 0)
        watches += 1
result = watches
"""


@pytest.mark.promise("X-05")
@pytest.mark.promise("X-10")
def test_no_file_has_a_second_number(attacker: Attacker, attacks: Count) -> None:
    """Each of 120 files under each of 130 numbers made two million watches: 376 MiB of the kernel's memory, and all the
    watches that the server's user may have, so that the server answered nobody."""
    assert outcomes(attacker, NUMBERS) == dict.fromkeys(NUMBERS, DENIED)
    attacks(len(NUMBERS) + 1)
    if attacker.program == "openstack":
        assert DENIED in attacker("import select; select.epoll()")
    else:
        assert 0 < int(attacker(WATCHES)) <= 1024
    assert attacker("result = 1") == "1"


MAPPED: Final = """
import select, time
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
poller, result = select.epoll(), 0
while result < 30_000:
    with socket.socket() as sock:
        poller.register(sock, 0)
        if libc.mmap(None, 4096, 1, 2, sock.fileno(), 0) == ctypes.c_void_p(-1).value:
            break
    result += 1
time.sleep(600)
"""


@pytest.mark.promise("X-05")
@pytest.mark.promise("X-10")
def test_sockets_that_are_mapped_end_the_command(attacker: Attacker, attacks: Count) -> None:
    """A mapping of a TCP socket keeps it, and its watches, without a descriptor."""
    if attacker.program == "openstack":
        pytest.skip("it has no poller, so that no watch is kept")
    attacks(1)
    with attacker.started(f"{TRY}{MAPPED}") as running:
        output = running.read(time.monotonic() + SECONDS, 1 << 20)
    assert output.status == -9 and not output.is_over, output
    assert attacker("result = 1") == "1"


THREADS: Final = """
import threading
threading.stack_size(32 << 10)
end, result = threading.Event(), 0
try:
    while result < 4_000:
        threading.Thread(target=end.wait, daemon=True).start()
        result += 1
except RuntimeError:
    pass
"""


@pytest.mark.promise("X-05")
@pytest.mark.promise("X-18")
def test_the_threads_of_a_command_are_limited(attacker: Attacker) -> None:
    """Apart from those of its neighbours, which have theirs all the same."""
    if attacker.program == "openstack" and os.geteuid() == 0:
        pytest.skip("the kernel limits no threads of root, whose files openstackclient has to read")
    with holding(attacker, THREADS) as (_, go_on):
        assert attacker(THREADS) == "63"
        assert go_on() == "63"


@pytest.mark.promise("X-10")
def test_a_command_gives_way_to_its_server_and_its_neighbours(attacker: Attacker) -> None:
    """It has the lowest priority, and is a session of its own, among which kernels with groups by session share the
    processor. Threads of its own get no other."""
    spread = "import threading, time; threading.Thread(target=time.sleep, args=(60,), daemon=True).start()"
    with holding(attacker, f"{spread}; result = 'gave way'") as (pid, go_on):
        threads = [int(each.name) for each in Path(f"/proc/{pid}/task").iterdir()]
        assert len(threads) > 1
        assert {os.getpriority(os.PRIO_PROCESS, each) for each in threads} == {19}
        assert os.getsid(pid) == pid
        assert go_on() == "gave way"


# --- other programs ---

EXECUTE: Final = """
import threading
loader = next(path for path in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1") if os.path.exists(path))
def execute():
    global result
    number = 322 if os.uname().machine == "x86_64" else 281
    words, none = (ctypes.c_char_p * 3)(b"x", b"--version", None), (ctypes.c_char_p * 1)(None)
    result = outcome(lambda: call("syscall", number, os.open(loader, os.O_RDONLY), b"", words, none, 0x1000))
"""


@pytest.mark.promise("X-03")
@pytest.mark.promise("X-17")
def test_no_program_is_executed_once_it_runs(attacker: Attacker, attacks: Count) -> None:
    """Not even the loader, which Landlock lets it execute. A thread that became one would outlive the server: the
    signal at its parent's death is the first thread's own."""
    thread = "thread = threading.Thread(target=execute)\nthread.start()\nthread.join()"
    for how in ("execute()", thread):
        assert attacker(f"{TRY}{EXECUTE}{how}") == DENIED, how
    attacks(2)
    assert attacker("result = 1") == "1"


# --- its host ---

PROXY: Final = """
import json
address = json.load(open(environment["KUBECONFIG"]))["clusters"][0]["cluster"]["server"]
place, _, secret = address.removeprefix("http://").partition("/")
host, _, port = place.partition(":")
way_out = host, int(port)
"""
ASK: Final = """
sock = socket.socket()
sock.connect(way_out)
sock.sendall(f"GET {path} HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n".encode())
result = "".join(iter(lambda: sock.recv(1 << 16).decode(), ""))
"""


@pytest.mark.promise("X-01")
@pytest.mark.parametrize(
    "path", ["/", "/api/v1/secrets", f"/{'0' * 32}/api/v1/secrets", "//api", "http://x/api", "/%2e/api", "x", "*"]
)
def test_without_its_secret_the_proxy_passes_nothing_on(attacker: Attacker, path: str) -> None:
    """Another process of this machine may find the port where there is no network of its own."""
    if attacker.program == "openstack":
        pytest.skip("it has no proxy")
    heard: list[exchanges.Call] = []

    def on_call(call: exchanges.Call, left: float) -> tuple[exchanges.Reply, types.Response | None]:
        heard.append(call)
        return benches.no_cluster(call, left)

    deadline = time.monotonic() + SECONDS
    job = conversation.Job("", runs.Limits(), exchanges.Parameters("default", "test"), on_call)
    with attacker.started(f"{PROXY}path = {path!r}\n{ASK}") as running:
        assert running.way_out is not None
        with proxy.Proxy(running.way_out, job, deadline).serving():
            output = running.read(deadline, 1 << 16)
    assert "HTTP/1.1 400" in output.stdout and "not the cluster's" in output.stdout, output
    assert not heard


REQUESTS: Final = {
    "without the secret": "GET /api/v1/pods HTTP/1.1\r\nHost: x\r\n\r\n",
    "by an unknown method": "TRACE /SECRET/api HTTP/1.1\r\nHost: x\r\n\r\n",
    "with a query that cannot be read": "GET /SECRET/api?x=%ff HTTP/1.1\r\nHost: x\r\n\r\n",
    "writes": "DELETE /SECRET/api/v1/namespaces/x HTTP/1.1\r\nHost: x\r\n\r\n",
    "reads": "GET /SECRET/api/v1/pods HTTP/1.1\r\nHost: x\r\n\r\n",
    "no HTTP": "x\r\n\r\n",
    "nothing": "",
}
FLOOD: Final = f"""{PROXY}
sent = REQUEST.replace("SECRET", secret).encode() * 20
answers = refused = 0
for _ in range(60):
    with socket.socket() as sock:
        sock.settimeout(30)
        try:
            sock.connect(way_out)
            sock.sendall(sent)
            sock.shutdown(socket.SHUT_WR)
            while part := sock.recv(1 << 16):
                answers += part.count(b"HTTP/1.1 ")
        except ConnectionRefusedError:
            refused += 1
        except OSError:
            pass
result = answers, refused
"""


@pytest.mark.promise("X-05")
def test_every_request_and_every_connection_counts(attacker: Attacker, attacks: Count) -> None:
    """Whatever is asked: `limits.api_calls` are answered, a few more are told why not, and then nobody listens."""
    if attacker.program == "openstack":
        pytest.skip("it has no proxy")
    attacks(len(REQUESTS))
    bound = 20
    for what, request in REQUESTS.items():
        heard: list[exchanges.Call] = []

        def on_call(
            call: exchanges.Call, left: float, heard: list[exchanges.Call] = heard
        ) -> tuple[exchanges.Reply, types.Response | None]:
            heard.append(call)
            return benches.no_cluster(call, left)

        job = conversation.Job("", runs.Limits(api_calls=bound), exchanges.Parameters("default", "test"), on_call)
        deadline = time.monotonic() + SECONDS
        with attacker.started(FLOOD.replace("REQUEST", repr(request))) as running:
            assert running.way_out is not None
            asked = proxy.Proxy(running.way_out, job, deadline)
            with asked.serving():
                answers, refused = eval(running.read(deadline, 1 << 20).stdout)
        assert refused > 0, (what, "it connects for ever")
        assert answers <= bound + 16 and len(heard) <= bound, (what, answers)
        assert list(asked.faults)[-1] == "limit.calls"
    assert attacker("result = 1") == "1"


BODIES: Final = f"""{PROXY}
body = b'{{"spec":"' + b"x" * (1 << 20) + b'"}}'
framing, sent = {{
    "length": (f"Content-Length: {{len(body)}}", body),
    "chunks": ("Transfer-Encoding: chunked", f"{{len(body):x}}\\r\\n".encode() + body + b"\\r\\n0\\r\\n\\r\\n"),
    "both": (f"Content-Length: 1\\r\\nTransfer-Encoding: chunked", f"{{len(body):x}}\\r\\n".encode() + body + b"\\r\\n0\\r\\n\\r\\n"),
}}[FRAMING]
head = f"POST /{{secret}}/apis/authorization.k8s.io/v1/selfsubjectaccessreviews HTTP/1.1\\r\\nHost: x\\r\\n{{framing}}\\r\\n\\r\\n"
threading.stack_size(256 << 10)
result = []
def ask():
    with socket.socket() as sock:
        sock.connect(way_out)
        sock.sendall(head.encode() + sent)
        result.append(sock.recv(100)[:12])
threads = [threading.Thread(target=ask) for _ in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.mark.promise("X-05")
@pytest.mark.parametrize("framing", ["length", "chunks", "both"])
def test_one_large_body_of_a_command_is_held_at_a_time(attacker: Attacker, framing: str, attacks: Count) -> None:
    """In the host, until the cluster has answered: 32 of them took 345 MiB."""
    if attacker.program == "openstack":
        pytest.skip("it has no proxy")
    attacks(1)
    held, most = threading.Semaphore(1), []

    def on_call(call: exchanges.Call, left: float) -> tuple[exchanges.Reply, types.Response | None]:
        most.append(held.acquire(timeout=0))
        time.sleep(0.1)
        held.release()
        return benches.no_cluster(call, left)

    deadline = time.monotonic() + SECONDS
    job = conversation.Job("", runs.Limits(), exchanges.Parameters("default", "test"), on_call)
    with attacker.started(f"FRAMING = {framing!r}\n{BODIES}") as running:
        assert running.way_out is not None
        with proxy.Proxy(running.way_out, job, deadline).serving():
            answers = eval(running.read(deadline, 1 << 16).stdout)
    assert most == [True] * len(most), "two at once"
    assert len(most) == 6 or framing == "both", answers
    assert attacker("result = 1") == "1"


COSTLY: Final = {
    "chunks of one byte": (
        "POST /SECRET/apis/x/v1/selfsubjectaccessreviews HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
        "1\r\nx\r\n",
        3 << 20,
    ),
    "lines of a head": ("", "GET /SECRET/api/v1/pods HTTP/1.1\r\nHost: x\r\n" + "a:\r\n" * 15_000 + "\r\n", 900),
}
SEND: Final = f"""{PROXY}
head, part, times = REQUEST
each = 1 + 60_000 // len(part)
result = "read"
with socket.socket() as sock:
    sock.connect(way_out)
    reader = threading.Thread(target=lambda: list(iter(lambda: sock.recv(1 << 16), b"")), daemon=True)
    reader.start()
    try:
        sock.sendall(head.replace("SECRET", secret).encode())
        for _ in range(times // each):
            sock.sendall(part.replace("SECRET", secret).encode() * each)
        sock.shutdown(socket.SHUT_WR)
        reader.join()
    except OSError:
        result = "given up"
"""


@pytest.mark.promise("X-05")
def test_what_it_costs_to_read_requests_is_bounded(attacker: Attacker, attacks: Count) -> None:
    """Whatever they are made of: the host's processor is one for all commands, and for all scripts."""
    if attacker.program == "openstack":
        pytest.skip("it has no proxy")
    attacks(len(COSTLY))
    for what, request in COSTLY.items():
        deadline = time.monotonic() + SECONDS
        job = conversation.Job("", runs.Limits(), exchanges.Parameters("default", "test"), benches.no_cluster)
        with attacker.started(SEND.replace("REQUEST", repr(request))) as running:
            assert running.way_out is not None
            asked = proxy.Proxy(running.way_out, job, deadline)
            with asked.serving():
                output = running.read(deadline, 1 << 16)
        assert "2 s in which" in asked.faults.get("limit.calls", ""), (what, output)
    assert attacker("result = 1") == "1"


@pytest.mark.promise("X-05")
def test_a_question_in_protobuf_is_read_only_if_it_is_small() -> None:
    """3 MiB of empty fields took 2.7 s to read."""
    path = "/secret/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    kind = {"content-type": protobuf.CONTENT_TYPE}

    def question(fields: int) -> bytes:
        about = b"\x0a\x17authorization.k8s.io/v1\x12\x17SelfSubjectAccessReview"
        metadata = b"\x0a" + varint(2 * fields) + b"\x0a\x00" * fields
        return b"k8s\x00\x0a" + varint(len(about)) + about + b"\x12" + varint(len(metadata)) + metadata

    with pytest.raises(errors.RequestError):
        http_connection.call("POST", path, kind, question(20_000), "secret")
    asked = http_connection.call("POST", path, kind, question(20), "secret")
    assert asked.body is not None and json.loads(bytes(asked.body))["kind"] == "SelfSubjectAccessReview"


def varint(number: int) -> bytes:
    """A number as protobuf writes it."""
    if number > 0x7F:
        return bytes([number & 0x7F | 0x80]) + varint(number >> 7)
    return bytes([number])


# --- its neighbours ---


@pytest.mark.promise("X-10")
def test_its_proxy_is_not_found_by_its_port(attacker: Attacker, attacks: Count) -> None:
    """Where there is no network of its own, a process of `openstack` that tries all ports takes no connection of it."""
    if attacker.program == "openstack":
        pytest.skip("it has no proxy")
    deadline = time.monotonic() + SECONDS
    job = conversation.Job("", runs.Limits(), exchanges.Parameters("default", "test"), benches.no_cluster)
    wait = "import time; time.sleep(1); path = f'/{secret}/api'"
    with attacker.started(f"{PROXY}{wait}\n{ASK}") as running, contextlib.ExitStack() as held:
        assert running.way_out is not None
        hosts = ["127.0.0.1", "127.0.0.2", "127.1.1.1", socket.gethostbyname("localhost")] * 10
        attacks(len(hosts))
        port = running.way_out.listener.getsockname()[1]
        strangers = [held.enter_context(socket.socket()) for _ in hosts]
        served = proxy.Proxy(running.way_out, job, deadline)
        with served.serving():
            pairs = zip(strangers, hosts, strict=True)
            found = [sock for sock, host in pairs if not sock.connect_ex((host, port)) and not is_its_own_peer(sock)]
            for sock in found:
                ask(sock)
            output = running.read(deadline, 1 << 16)
    assert served.calls == 1, output
    assert output.stdout.startswith("HTTP/1.1 503"), output


def ask(sock: socket.socket) -> None:
    """Sends a request to what may be any server of this machine: one at another address may have the same port."""
    sock.settimeout(5)
    with contextlib.suppress(OSError):
        sock.sendall(b"GET /api HTTP/1.1\r\nhost: localhost\r\n\r\n")
        sock.recv(1)


def is_its_own_peer(sock: socket.socket) -> bool:
    """Whether the kernel gave a socket the very port that it connects to: then it is connected to itself."""
    with contextlib.suppress(OSError):  # it is closed already
        return bool(sock.getpeername() == sock.getsockname())
    return False


NEIGHBOURS: Final = {
    "a limit": "resource.prlimit(pid, resource.RLIMIT_CPU, (0, 0))",
    "a limit, read": "resource.prlimit(pid, resource.RLIMIT_CPU)",
    "a signal": "os.kill(pid, 9)",
    "a signal to all": "os.kill(-1, 0)",
    "a signal to a thread": "call('tgkill', pid, pid, 0)",
    "a signal to any thread": "call('syscall', tkill, pid, 0)",
    "a queued signal": "call('sigqueue', pid, 0, 0)",
    "a signal by a file": "fcntl.fcntl(os.pipe()[0], 8, pid)",
    "the choice of that signal": "fcntl.fcntl(os.pipe()[0], 10, 9)",
    "a signal by a socket": "fcntl.ioctl(socket.socket(), 0x8901, pid.to_bytes(4, 'little'))",
    "a handle": "os.pidfd_open(pid)",
    "a processor": "os.sched_setaffinity(pid, {0})",
    "a policy": "os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))",
    "a parameter": "os.sched_setparam(pid, os.sched_param(0))",
    "its own policy": "os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))",
    "a priority": "os.setpriority(os.PRIO_PROCESS, pid, 19)",
    "the user's priority": "os.setpriority(os.PRIO_USER, 0, 19)",
    "a priority of its disk": "call('syscall', ioprio_set, 1, pid, 3 << 13)",
    "its group": "os.setpgid(pid, pid)",
    "a trace": "call('ptrace', 16, pid, 0, 0)",
    "its memory": "call('process_vm_readv', pid, 0, 0, 0, 0, 0)",
    "an end with the server": "call('prctl', 1, 0, 0, 0, 0)",
    "a core file": "call('prctl', 4, 1, 0, 0, 0)",
    "its clock": "__import__('time').clock_gettime(~pid << 3 | 2)",
    "a namespace": "call('unshare', 0x10000000)",
    "a user": "os.setresuid(0, 0, 0)",
    "a process": "os.fork()",
}


@pytest.mark.promise("X-10")
def test_no_neighbour_is_touched(attacker: Attacker, attacks: Count) -> None:
    """Another command line keeps its limits, its processors, its priority and its life."""
    numbers = {"tkill": 200, "ioprio_set": 251} if os.uname().machine == "x86_64" else {"tkill": 130, "ioprio_set": 30}
    with holding(attacker, "result = 'unharmed'") as (pid, go_on):
        before = state(pid)
        found = outcomes(attacker, NEIGHBOURS, pid=pid, **numbers)
        attacks(len(NEIGHBOURS))
        assert found == dict.fromkeys(NEIGHBOURS, DENIED)
        assert state(pid) == before
        assert go_on() == "unharmed"


@pytest.mark.promise("X-10")
def test_each_command_of_a_root_server_is_a_user_of_its_own(attacker: Attacker) -> None:
    """So that nothing one user may do to its other processes is to be had."""
    if attacker.program == "openstack" or os.geteuid() != 0:
        pytest.skip("only root may choose a user, and openstackclient has to read the files of its own")
    with holding(attacker, "result = 1") as (one, _), holding(attacker, "result = 2") as (other, _):
        users = {pid: owners(pid) for pid in (one, other)}
    assert users == {pid: {str(0x70000000 + pid)} for pid in users}


def owners(pid: int) -> set[str]:
    """The users and groups of a process, in each of their roles."""
    rows = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {word for row in rows if row.startswith(("Uid:", "Gid:", "Groups:")) for word in row.split()[1:]}


WAIT: Final = """
import signal, time
signalled = []
signal.signal(signal.SIGUSR1, lambda *_: signalled.append(1))
while not signalled:
    time.sleep(0.01)
"""


@contextlib.contextmanager
def holding(attacker: Attacker, code: str) -> Iterator[tuple[int, Callable[[], str]]]:
    """A command line that waits when it has run this: its process, and what lets it end and gives what it prints."""
    others = set(pids.children(attacker.source.pid))
    with attacker.started(code + WAIT) as running:
        (pid,) = set(pids.children(attacker.source.pid)) - others

        def go_on() -> str:
            os.kill(pid, signal.SIGUSR1)
            return running.read(time.monotonic() + SECONDS, 1 << 20).stdout.strip()

        patience.until(lambda: listens(pid), SECONDS)
        yield pid, go_on


def listens(pid: int) -> bool:
    """Whether a process has a handler for the signal."""
    caught = re.search(r"SigCgt:\t(\w+)", Path(f"/proc/{pid}/status").read_text())
    return caught is not None and bool(int(caught[1], 16) & 1 << signal.SIGUSR1 - 1)


def state(pid: int) -> tuple[object, ...]:
    """What a neighbour could change of a process."""
    limits = Path(f"/proc/{pid}/limits").read_text()
    return limits, os.sched_getaffinity(pid), os.sched_getscheduler(pid), os.getpriority(os.PRIO_PROCESS, pid)
