"""Layer 2, assuming layer 1 has fallen: unrestricted Python and raw system calls in a worker after its lockdown reach
nothing.

This file also runs inside test_kernel_unprivileged.py, for a host without privilege on a read-only root.
"""

from __future__ import annotations

import ast
import itertools
import os
import threading
import time
from collections.abc import Callable, Collection, Mapping

import pytest

from kubescript_sandbox import runs
from security_tests import benches, syscalls
from tests.kit import cases, patience

Count = Callable[..., None]


def tried(
    scripts: Mapping[str, str] | Collection[str],
    bench: benches.Bench,
    attacks: Count,
    held: Callable[[runs.Outcome], bool],
) -> None:
    """Every attack is held, each by a worker of its own, which shows that the one before left the host as it was; and the
    next script works."""

    def attack(script: str) -> None:
        outcome = bench(script)
        assert held(outcome), outcome

    attacks(len(scripts))
    cases.check(scripts, attack)
    assert bench.works()


def stopped(calls: Mapping[str, str], bench: benches.Bench, attacks: Count) -> None:
    """The filter stops each of these system calls that this architecture has, and the next script works."""
    here = {name: syscalls.script(name, arguments) for name, arguments in calls.items() if syscalls.number(name) >= 0}
    tried(here, bench, attacks, syscalls.is_stopped)
    attacks(len(here), absent=len(calls) - len(here))


def fails(outcome: runs.Outcome) -> bool:
    """Whether the script came to nothing."""
    return outcome.fault is not None


def values(outcome: runs.Outcome) -> list[object]:
    """The list an attack collected."""
    assert outcome.result is not None, outcome
    found = ast.literal_eval(ast.literal_eval(outcome.result.decode()))
    assert isinstance(found, list)
    return found


@pytest.mark.promise("K-02")
def test_no_system_call_reaches_a_file(hostile: benches.Bench, attacks: Count) -> None:
    """A raw call that names, makes, changes or copies a file is stopped by the filter, and the next script works."""
    stopped(syscalls.FILES, hostile, attacks)


PATHS = (
    "/etc/passwd", "/etc/shadow", "/root/.kube/config", "/var/run/secrets/kubernetes.io/serviceaccount/token", "/", ".", "..", "",
    "/tmp", "/tmp/escape", "/dev/null", "/dev/zero", "/dev/mem", "/dev/kmsg", "/dev/ptmx", "/dev/tty", "/dev/shm", "/dev/shm/escape",
    "/dev/net/tun", "/dev/fuse", "/dev/fd/3", "/proc", "/proc/self/mem", "/proc/self/environ", "/proc/self/maps", "/proc/self/fd/3",
    "/proc/self/root/etc/passwd", "/proc/self/oom_score_adj", "/proc/self/ns/net", "/proc/1/environ", "/proc/1/root", "/proc/kcore",
    "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/sys/kernel/uevent_helper", "/sys/fs/cgroup/cgroup.procs", "/run/docker.sock",
    "/run/containerd/containerd.sock",
)  # fmt: skip
FLAGS = {
    "read": os.O_RDONLY, "write": os.O_WRONLY, "create": os.O_RDWR | os.O_CREAT, "path only": os.O_PATH,
    "folder": os.O_DIRECTORY, "unnamed": os.O_TMPFILE | os.O_RDWR, "asynchronous": os.O_RDONLY | os.O_NONBLOCK,
}  # fmt: skip
OPEN_ALL = "result = [syscall({number}, -100, path.encode(), flags, 0o600) for path in {paths} for flags in {flags}]"


@pytest.mark.promise("K-02")
def test_no_path_opens_in_any_way(hostile: benches.Bench, attacks: Count) -> None:
    """Not /proc/self, not /dev, not an unnamed temporary file: no path opens with any flags."""
    number = syscalls.number("openat")
    outcome = hostile(OPEN_ALL.format(number=number, paths=PATHS, flags=tuple(FLAGS.values())))
    attacks(len(PATHS) * len(FLAGS))
    assert values(outcome) == [(-1, 1)] * len(PATHS) * len(FLAGS)
    assert hostile.works()


@pytest.mark.promise("K-03")
def test_no_system_call_makes_or_changes_a_socket(hostile: benches.Bench, attacks: Count) -> None:
    """A raw call that makes, connects or configures a socket is stopped by the filter, and the next script works."""
    stopped(syscalls.NETWORK, hostile, attacks)


FAMILIES = "result = [syscall({number}, family, kind, 0) for family in range(64) for kind in (1, 2, 3, 5)]"


@pytest.mark.promise("K-03")
def test_no_socket_of_any_family(hostile: benches.Bench, attacks: Count) -> None:
    """unix, inet, inet6, netlink, packet, vsock, alg, bluetooth and all others: no family gives a socket."""
    number = syscalls.number("socket")
    found = values(hostile(FAMILIES.format(number=number)))
    attacks(len(found))
    assert found == [(-1, 1)] * 256
    assert hostile.works()


ELSEWHERE = {
    "a path": "sock.sendmsg([b'x'], [], 0, '/run/docker.sock')",
    "an abstract name": "sock.sendmsg([b'x'], [], 0, '\\0bus')",
    "a path of sendto": "sock.sendto(b'x', '/run/docker.sock')",
    "an address that it wants to know": "sock.recvfrom(1)",
}


@pytest.mark.promise("K-03")
def test_the_one_socket_leads_to_the_host_only(hostile: benches.Bench, attacks: Count) -> None:
    """The socket there is takes no other address."""
    scripts = {name: f"result = {way}" for name, way in ELSEWHERE.items()}
    tried(scripts, hostile, attacks, fails)


PASS_DESCRIPTORS = """
import array
rights = array.array("i", [3] * 50)
for _ in range(200):
    try:
        sock.sendmsg([frame(2, "x")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
    except OSError:
        break
result = "sent"
"""
ANCILLARY = {
    "descriptors": PASS_DESCRIPTORS,
    "credentials": "sock.sendmsg([frame(2, 'x')], [(socket.SOL_SOCKET, 2, struct.pack('3i', os.getpid(), 65534, 65534))])",
    "a message of two buffers": "sock.sendmsg([frame(2, 'x'), frame(2, 'x')])",
    "a message that may bring descriptors": "sock.recvmsg(1, 1024)",
    "out-of-band data": "sock.send(frame(2, 'x'), socket.MSG_OOB)",
    "out-of-band data after data": "sock.send(frame(2, 'x'))\nsock.send(b'!', socket.MSG_OOB)",
    "a look at out-of-band data": "sock.recv(1, socket.MSG_OOB)",
    "a look ahead": "sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)",
    "no copy": "sock.send(b'x', 0x4000000)",
    "the end of a record": "sock.send(b'x', socket.MSG_EOR)",
    "flags above 32 bits and in them": "syscall({sendto}, 3, b'x', 1, (1 << 33) | 1, 0, 0)",
}


@pytest.mark.promise("K-20")
def test_the_socket_carries_plain_bytes_only(hostile: benches.Bench, attacks: Count) -> None:
    """A flag, an address or ancillary data kills the worker before the kernel looks at the message."""
    sendto = str(syscalls.number("sendto"))
    scripts = {name: script.replace("{sendto}", sendto) for name, script in ANCILLARY.items()}
    tried(scripts, hostile, attacks, syscalls.is_killed)


UNFILTERED = {
    "descriptors": PASS_DESCRIPTORS,
    "out-of-band data": "for _ in range(100): sock.send(b'!', socket.MSG_OOB)\ntime.sleep(0.3)\nresult = 'sent'",
    "out-of-band data before each frame": (
        "for _ in range(100):\n    sock.send(b'!', socket.MSG_OOB)\n    sock.send(frame(2, 'x'))\nresult = 'sent'"
    ),
    "out-of-band data while an answer comes": (
        'sock.send(frame(4, \'{"method":"GET","path":["api","v1","pods"]}\'))\nfor _ in range(100): sock.send(b\'!\', socket.MSG_OOB)\n'
        "time.sleep(0.3)\nresult = 'sent'"
    ),
}


@pytest.mark.promise("K-20")
def test_a_host_without_the_filter_is_not_confused(attacks: Count) -> None:
    """Without seccomp the attacks are real, and get through to the host: it keeps no descriptor, its own time holds, and the
    next script works."""

    def attack(script: str) -> None:
        began = time.monotonic()
        assert not syscalls.is_killed(bench(script, timeout_ms=5_000))
        assert time.monotonic() - began < patience.scaled(20)
        patience.until(lambda: len(os.listdir("/proc/self/fd")) <= before + 6)  # spares come and go
        assert bench.works()

    attacks(len(UNFILTERED))
    with benches.opened(benches.hostile("seccomp"), strict=False) as bench:
        bench("result = 1")
        before = len(os.listdir("/proc/self/fd"))
        cases.check(UNFILTERED, attack)


@pytest.mark.promise("K-04")
def test_no_system_call_starts_a_process_or_program(hostile: benches.Bench, attacks: Count) -> None:
    """fork, vfork, clone, clone3 and exec in every form are stopped, and the next script works."""
    stopped(syscalls.PROCESSES, hostile, attacks)


@pytest.mark.promise("K-05")
def test_no_system_call_touches_another_process(hostile: benches.Bench, attacks: Count) -> None:
    """Signals, traces, foreign memory, priorities and every System V or POSIX meeting place are stopped."""
    stopped(syscalls.OTHERS, hostile, attacks)


@pytest.mark.promise("K-06")
def test_no_system_call_loosens_the_confinement(hostile: benches.Bench, attacks: Count) -> None:
    """Identity, limits, namespaces, mounts, filters and descriptors stay as they were made."""
    stopped(syscalls.CONFINEMENT, hostile, attacks)


PRCTL = (1, 4, 15, 22, 23, 24, 35, 38, 47, 53, 59, 0x59616D61)


@pytest.mark.promise("K-06")
def test_no_prctl_at_all(hostile: benches.Bench, attacks: Count) -> None:
    """Death signal, dumpable, seccomp, capabilities, memory map, no_new_privs, ambient set, speculation, dispatch: none
    is reachable."""
    scripts = [syscalls.script("prctl", f"{option}, 0, 0, 0, 0") for option in PRCTL]
    tried(scripts, hostile, attacks, syscalls.is_killed)


@pytest.mark.promise("K-07")
def test_no_wide_interface_of_the_kernel(hostile: benches.Bench, attacks: Count) -> None:
    """io_uring, bpf, perf, userfaultfd, keys, modules, clocks, ports and memory policies are stopped by the filter."""
    stopped(syscalls.SURFACE, hostile, attacks)


MEMORY = {
    "executable anonymous memory": ("mmap", "0, 4096, 7, 0x22, -1, 0"),
    "executable only": ("mmap", "0, 4096, 4, 0x22, -1, 0"),
    "executable with a high bit": ("mmap", "0, 4096, ctypes.c_ulong(0x100000007), 0x22, -1, 0"),
    "a mapping of a descriptor": ("mmap", "0, 4096, 1, 0x02, 3, 0"),
    "an executable mapping of a descriptor": ("mmap", "0, 4096, 5, 0x02, 3, 0"),
    "memory made executable later": (
        "mprotect", "ctypes.c_void_p(ctypes.addressof(ctypes.create_string_buffer(8192)) & ~4095), 4096, 5",
    ),
    "code made writable": ("mprotect", "ctypes.c_void_p(ctypes.cast(libc.getpid, ctypes.c_void_p).value & ~4095), 4096, 7"),
}  # fmt: skip


@pytest.mark.promise("K-08")
def test_no_memory_becomes_code(hostile: benches.Bench, attacks: Count) -> None:
    """Memory is never mapped or made executable, and files are never mapped."""
    scripts = {name: syscalls.script(*call) for name, call in MEMORY.items()}
    tried(scripts, hostile, attacks, syscalls.is_killed)


SHARED = {
    "shared": "0, 4096, 3, 0x21, -1, 0",
    "shared, validated": "0, 4096, 3, 0x23, -1, 0",
}


@pytest.mark.promise("K-13")
def test_no_page_can_be_shared(hostile: benches.Bench, attacks: Count) -> None:
    """A mapping that another process could see is refused."""
    scripts = {name: syscalls.script("mmap", arguments) for name, arguments in SHARED.items()}
    tried(scripts, hostile, attacks, syscalls.is_killed)


MACHINE_CODE = {
    "i386 getpid": "b814000000cd80c3",
    "i386 open": "b805000000cd80c3",
    "x32 getpid": "b8270000400f05c3",
    "native getpid": "b8270000000f05c3",
    "sysenter": "b8140000000f34c3",
    "nothing but a return": "c3",
}
JUMP = """
page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE)
page.write(bytes.fromhex("{code}"))
result = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
"""


def crashes(outcome: runs.Outcome) -> bool:
    """Whether the worker came to a bad end: SIGSEGV reads as too deep a recursion."""
    return outcome.fault is not None and outcome.fault.code in {"limit.depth", "worker.died"}


@pytest.mark.promise("K-08")
def test_machine_code_in_data_memory_does_not_run(hostile: benches.Bench, attacks: Count) -> None:
    """Jumping into bytes the script wrote crashes the worker and no more."""
    scripts = {name: JUMP.format(code=code) for name, code in MACHINE_CODE.items()}
    tried(scripts, hostile, attacks, crashes)


X32 = (0, 1, 2, 39, 41, 57, 59, 101, 257, 511, 512, 520, 521, 547)


@pytest.mark.promise("K-09")
def test_x32_system_calls_are_killed(hostile: benches.Bench, attacks: Count) -> None:
    """The x32 table of the same kernel is no way round the filter."""
    scripts = [f"result = syscall({0x40000000 + number}, 3, 0, 0)" for number in X32]
    tried(scripts, hostile, attacks, syscalls.is_killed)


NUMBERED = "result = syscall({}, 0, 0, 0, 0, 0, 0)"
UPROBES = {335: "uretprobe", 336: "uprobe"}
"""x86-64 from Linux 6.14: the kernel answers these two before any filter, and kills or refuses unless called from its
own trampoline."""


@pytest.mark.promise("K-01")
@pytest.mark.timeout(300)
@pytest.mark.skipif(
    not benches.STRICT or os.geteuid() != 0, reason="the same filter; numbers were tried in the run as root"
)
def test_no_number_off_the_list_is_answered(hostile: benches.Bench, attacks: Count) -> None:
    """Every system call number up to 470 that is not pinned as allowed is stopped by the real kernel."""
    known = {syscalls.number(name) for name in syscalls.ALLOWED} | UPROBES.keys()
    scripts = [NUMBERED.format(number) for number in range(470) if number not in known]
    tried(scripts, hostile, attacks, syscalls.is_stopped)


def comes_to_nothing(outcome: runs.Outcome) -> bool:
    """Whether the call ended the worker or failed by itself."""
    return fails(outcome) or outcome.result in {b'"(-1, 1)"', b'"(-1, 6)"', b'"(-1, 38)"'}


@pytest.mark.promise("K-01")
def test_calls_the_kernel_keeps_from_filters_come_to_nothing(hostile: benches.Bench, attacks: Count) -> None:
    """What no filter can forbid ends the worker or fails by itself."""
    scripts = {name: NUMBERED.format(number) for number, name in UPROBES.items()}
    tried(scripts, hostile, attacks, comes_to_nothing)


PYTHON = {
    "open a file": "open('/etc/passwd')",
    "list a folder": "os.listdir('/')",
    "read its own environment": "open('/proc/self/environ').read()",
    "start a process": "os.system('id')",
    "start a process the modern way": "__import__('subprocess').run(['id'])",
    "spawn": "os.posix_spawn('/bin/sh', ['sh'], {})",
    "fork": "os.fork()",
    "start a thread": "__import__('_thread').start_new_thread(print, ())",
    "open a socket": "__import__('socket').socket()",
    "resolve a name": "__import__('socket').getaddrinfo('localhost', 80)",
    "kill the parent": "os.kill(os.getppid(), 9)",
    "kill the group": "os.killpg(0, 9)",
    "stop its own guards": "__import__('signal').alarm(1)",
    "load a library": "ctypes.CDLL('libresolv.so.2')",
    "import from the disk": "__import__('antigravity')",
    "a temporary file": "__import__('tempfile').TemporaryFile()",
    "shared memory": "__import__('multiprocessing.shared_memory').shared_memory.SharedMemory(create=True, size=1)",
    "a pipe": "os.pipe()",
    "a pseudo-terminal": "os.openpty()",
    "sleep in the kernel": "time.sleep(0.01)",
}


@pytest.mark.promise("K-01")
def test_python_without_restrictions_reaches_nothing(hostile: benches.Bench, attacks: Count) -> None:
    """What Python's own library offers beyond the process is refused by the kernel."""
    tried({name: f"result = {way}" for name, way in PYTHON.items()}, hostile, attacks, fails)


@pytest.mark.promise("K-10")
def test_only_the_socket_answers(hostile: benches.Bench, attacks: Count) -> None:
    """Writing to stdin, stdout, stderr or any inherited descriptor kills the worker; only its socket may be used."""
    descriptors = (0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 100, -1)
    calls = itertools.product(("write", "sendto", "read"), descriptors)
    scripts = [syscalls.script(call, f"{descriptor}, b'x', 1, 0, 0, 0") for call, descriptor in calls]
    tried(scripts, hostile, attacks, syscalls.is_killed)


CLOSE_ALL = "result = [number for number in range(4096) if number != 3 and libc.close(number) == 0]"


@pytest.mark.promise("K-10")
def test_no_descriptor_but_the_socket_is_open(hostile: benches.Bench, attacks: Count) -> None:
    """Closing every number but the socket's fails with EBADF: nothing else was open."""
    attacks(4095)
    assert values(hostile(CLOSE_ALL)) == []
    assert hostile.works()


ENVIRON = """
libc.getenv.restype = ctypes.c_char_p
block = ctypes.c_void_p.in_dll(libc, "environ").value
first = ctypes.c_char_p.from_address(block).value if block else None
result = [dict(os.environ), first, libc.getenv(b"PATH"), libc.getenv(b"HOME")]
"""


@pytest.mark.promise("K-11")
def test_environment_is_empty(hostile: benches.Bench) -> None:
    """A worker has no environment variable, in Python or in C, whatever the host has."""
    assert os.environ
    assert values(hostile(ENVIRON)) == [{}, None, None, None]
    assert hostile.works()


SPIN = "while True:\n    pass"
FLOOD_MEMORY = (
    "kept = []\nwhile True:\n    try:\n        kept.append(bytearray(1 << 20))\n    except MemoryError:\n        pass"
)


@pytest.mark.promise("K-16")
@pytest.mark.parametrize("script", [SPIN, FLOOD_MEMORY], ids=["processor", "memory"])
def test_hostile_workers_do_not_starve_the_host(script: str, hostile: benches.Bench) -> None:
    """While four workers burn processor or memory, another script is answered, and all four end at their deadline."""
    ends: list[runs.Outcome] = []
    threads = [threading.Thread(target=lambda: ends.append(hostile(script, timeout_ms=700))) for _ in range(4)]
    for thread in threads:
        thread.start()
    began = time.monotonic()
    assert hostile.works()
    assert time.monotonic() - began < patience.scaled(5)
    for thread in threads:
        thread.join(120)
    assert [end.fault.code if end.fault else "" for end in ends] == ["limit.time"] * 4


@pytest.mark.promise("K-06")
def test_every_layer_is_reported_by_a_fresh_worker(hostile: benches.Bench) -> None:
    """What the worker says of its lockdown: all required layers hold."""
    from kubescript_sandbox.host import layers

    assert layers.missing(hostile.pool.probe()) == ()
