"""The filter of command lines' processes: its exact verdict on every system call of x86-64 and aarch64, for `oc` and for
openstackclient, whatever machine this runs on."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Final

import pyseccomp
import pytest

from kubescript_sandbox.confinement import command_filter
from security_tests import bpf

Count = Callable[[int], None]

MACHINES: Final = {"X86_64": "x86_64", "AARCH64": "aarch64"}
"""libseccomp's name and ours."""
PLAIN: Final = frozenset({
    "brk", "munmap", "mremap", "mprotect", "madvise", "futex", "set_robust_list", "set_tid_address", "rseq", "sched_yield",
    "sched_getaffinity", "exit", "exit_group", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall",
    "tgkill", "gettimeofday", "time", "nanosleep", "getrandom", "getpid", "gettid",
    "getppid", "getpgrp", "getuid", "geteuid", "getgid", "getegid", "uname", "sysinfo", "getrusage", "getrlimit", "open", "openat",
    "stat", "lstat", "fstat", "newfstatat", "statx", "statfs", "fstatfs", "access", "faccessat", "faccessat2", "readlink", "readlinkat",
    "getcwd", "getdents64", "read", "write", "readv", "writev", "pread64", "lseek", "close", "pipe", "pipe2",
    "poll", "ppoll", "select", "pselect6", "connect", "shutdown", "getsockname", "getpeername", "recvfrom", "recvmsg",
})  # fmt: skip
"""Pinned here on its own: a system call added to the filter must be added to this test as well, and be argued for."""
BY_ARGUMENT: Final = {
    "fcntl": (1, {1, 2, 3, 4}),
    "close_range": (2, {0}),
    "ioctl": (1, {0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451, 0x8910}),
    "prctl": (0, {15, 16, 39}),
    "arch_prctl": (0, {0x1002}),
    "prlimit64": (0, {0}),
    "getsockopt": (1, {1}),
}
OPTIONS: Final = {(1, 6), (1, 9), (6, 1), (6, 4), (6, 5), (6, 6), (6, 18), (41, 26), (0, 11), (41, 25)}
CLOCKS: Final = frozenset({"clock_gettime", "clock_getres", "clock_nanosleep"})
BY_MORE: Final = CLOCKS | frozenset({"mmap", "clone", "socket", "setsockopt", "sendto", "sendmsg"})
OF_ONE: Final = {True: frozenset({"execveat"}), False: frozenset({"sendmmsg", "bind"})}
POLLERS: Final = frozenset({"eventfd2", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait"})
"""For Go alone."""
UNKNOWN: Final = frozenset({"clone3", "openat2"})
NEWEST: Final = 439

BITS: Final = tuple(1 << bit for bit in range(64))
EVERY: Final = (*range(1024), *BITS[10:32], 0x7FFFFFFF, 0xFFFFFFFF, 0xFFFFFFFE)
VALUES: Final = (*range(2048), *BITS, 0x5401, 0x8901, 0x8914, 0xFFFFFFFF, -1)
ARGUMENTS: Final = ((), (1,) * 6, (-1,) * 6)

both = pytest.mark.parametrize("executes", [True, False], ids=["oc", "openstack"])
machines = pytest.mark.parametrize("machine", MACHINES)


class Filter:
    """What the kernel of a machine would say."""

    def __init__(self, machine: str, *, executes: bool) -> None:
        self._program = bpf.load(command_filter.program(executes=executes, architecture=machine))
        self._machine = machine
        self._arch = bpf.ARCH[MACHINES[machine]]

    def number(self, name: str) -> int:
        """Below zero where the machine has no such call."""
        found: int = pyseccomp.resolve_syscall(getattr(pyseccomp.Arch, self._machine), name)
        return found

    def numbers(self, names: frozenset[str]) -> set[int]:
        """Those that the machine has."""
        return {number for name in names if (number := self.number(name)) >= 0}

    def verdict(self, number: int, *arguments: int, arch: str = "") -> str:
        """Its answer."""
        return bpf.verdict(self._program, bpf.ARCH[arch] if arch else self._arch, number, arguments)

    def allows(self, name: str, *arguments: int) -> bool:
        """Its answer to a call that is allowed or else refused."""
        found = self.verdict(self.number(name), *arguments)
        assert found in {"allow", "errno 1"}, (name, arguments, found)
        return found == "allow"


@machines
@both
@pytest.mark.promise("X-09")
def test_every_number_has_its_pinned_verdict(machine: str, executes: bool, attacks: Count) -> None:
    """Allowed, refused or unknown, without regard to arguments where none decides."""
    filter_ = Filter(machine, executes=executes)
    plain, unknown = filter_.numbers(PLAIN | POLLERS if executes else PLAIN), filter_.numbers(UNKNOWN)
    decided = filter_.numbers(BY_MORE | OF_ONE[executes] | frozenset(BY_ARGUMENT))
    wrong = {}
    for number, arguments in itertools.product(set(EVERY) - decided, ARGUMENTS):
        expected = "errno 38" if number > NEWEST or number in unknown else "errno 1"
        found = filter_.verdict(number, *arguments)
        if found != ("allow" if number in plain else expected):
            wrong[number] = found
    attacks(len(EVERY) * len(ARGUMENTS))
    assert wrong == {}


@machines
@both
@pytest.mark.promise("X-09")
def test_no_other_table_of_the_machine_is_answered(machine: str, executes: bool, attacks: Count) -> None:
    """i386 and x32 on x86-64, arm on aarch64, and any other architecture: no number is allowed."""
    filter_ = Filter(machine, executes=executes)
    others = [arch for arch in bpf.ARCH if arch != MACHINES[machine]]
    found = {filter_.verdict(number, *((1,) * 6), arch=arch) for arch in others for number in EVERY}
    found |= {filter_.verdict(0x40000000 | number, *((1,) * 6), arch="x86_64") for number in range(1024)}
    attacks(len(others) * len(EVERY) + 1024)
    assert found == {"kill", "errno 38"}


@machines
@both
@pytest.mark.promise("X-09")
def test_calls_are_allowed_by_their_argument(machine: str, executes: bool, attacks: Count) -> None:
    """Each value that is not pinned is refused; the kernel ignores what stands above an int."""
    filter_ = Filter(machine, executes=executes)
    for name, (at, values) in BY_ARGUMENT.items():
        if filter_.number(name) < 0:
            continue
        for value in (*VALUES, *values):
            assert filter_.allows(name, *((7,) * at), value) == (value & 0xFFFFFFFF in values), (name, value)
    attacks(len(BY_ARGUMENT) * len(VALUES))


@machines
@both
@pytest.mark.promise("X-03")
@pytest.mark.promise("X-17")
def test_no_clock_of_another_process_is_read(machine: str, executes: bool, attacks: Count) -> None:
    """Such a clock is named by the inverted number of a process or a thread, or by a descriptor: below zero."""
    filter_ = Filter(machine, executes=executes)
    clocks = (*range(64), *BITS, *(~pid << 3 | kind for pid in range(64) for kind in range(8)))
    for name in CLOCKS:
        for clock in clocks:
            assert filter_.allows(name, clock) == (0 <= clock & 0xFFFFFFFF < 16), (name, clock)
    attacks(len(CLOCKS) * len(clocks))


@machines
@both
@pytest.mark.promise("X-01")
@pytest.mark.promise("X-17")
def test_sockets_are_allowed_by_family_kind_and_protocol(machine: str, executes: bool, attacks: Count) -> None:
    """TCP for `oc`; UDP and NETLINK_ROUTE besides for openstackclient."""
    filter_ = Filter(machine, executes=executes)
    families = (*range(48), 1 << 16, -1)
    kinds = (*range(12), 0x801, 0x80801, 0x80802, 0x80803, 0x80805, 0x10001, 0x41, -1)
    protocols = (0, 1, 2, 6, 17, 58, 132, 255, 256, 262, -1)
    for family, kind, protocol in itertools.product(families, kinds, protocols):
        plain = kind & ~0x80800
        known = family in {2, 10} and (plain, protocol) in {(1, 0), (1, 6)}
        if not executes:
            known |= family in {2, 10} and (plain, protocol) in {(2, 0), (2, 17)}
            known |= (family, plain, protocol) == (16, 3, 0)
        assert filter_.allows("socket", family, kind, protocol) == known, (family, kind, protocol)
    levels = (0, 1, 6, 17, 41, 132, 255, 270, 284, 286, -1)
    for level, option in itertools.product(levels, (*range(80), -1)):
        assert filter_.allows("setsockopt", 3, level, option) == ((level, option) in OPTIONS), (level, option)
    attacks(len(families) * len(kinds) * len(protocols) + len(levels) * 81)


@machines
@both
@pytest.mark.promise("X-01")
@pytest.mark.promise("X-17")
def test_no_message_connects(machine: str, executes: bool, attacks: Count) -> None:
    """Each of the 32 flags but three is refused, MSG_FASTOPEN among them, and so is an address of the internet."""
    filter_ = Filter(machine, executes=executes)
    calls = {"sendto": 3, "sendmsg": 2} if executes else {"sendto": 3, "sendmsg": 2, "sendmmsg": 3}
    for (name, at), bit in itertools.product(calls.items(), BITS):
        good = bit in {0x40, 0x4000, 0x8000} or bit >> 32 > 0
        assert filter_.allows(name, *((0,) * at), bit, 0, 0) == good, (name, bit)
        assert filter_.allows(name, *((0,) * at), bit | 0x4000, 0, 0) == good, (name, bit)
    for size, address in itertools.product((0, *range(1, 130), *BITS[7:]), (1, *BITS)):
        assert filter_.allows("sendto", 3, 1, 1, 0, address, size) == (size & 0xFFFFFFFF == 12 and not executes)
        assert filter_.allows("bind", 3, address, size) == (size & 0xFFFFFFFF == 12 and not executes)
    attacks(len(calls) * 128 + 187 * 65 * 2)


@machines
@both
@pytest.mark.promise("X-05")
@pytest.mark.promise("X-18")
def test_memory_is_private_and_counted(machine: str, executes: bool, attacks: Count) -> None:
    """Shared memory, memory that grows down, huge pages and kinds that no kernel has yet are refused."""
    filter_ = Filter(machine, executes=executes)
    allowed = {0x10, 0x20, 0x800, 0x1000, 0x4000, 0x8000, 0x10000, 0x20000, 0x100000}
    for low, bit in itertools.product(range(16), (0, *BITS)):
        flags = low | bit
        good = flags & 0xF == 2 and (bit < 0x10 or bit in allowed)
        assert filter_.allows("mmap", 0, 4096, 3, flags, -1, 0) == good, hex(flags)
    attacks(16 * 65)


THREAD: Final = 0x50F00
"""What Go asks for; the C library asks for four flags more."""


def wrong_threads() -> Iterator[int]:
    """Flags of clone that ask for more or for less than a thread."""
    yield from (THREAD & ~bit for bit in BITS if THREAD & bit)
    yield from (
        THREAD | bit for bit in BITS[:32] if bit not in {0x80000, 0x100000, 0x200000, 0x400000} | {THREAD & bit}
    )
    yield from (0, 17, 0x4111, 0x1200011, 0x10000000, 0xFFFFFFFF)


@machines
@both
@pytest.mark.promise("X-03")
@pytest.mark.promise("X-17")
def test_clone_makes_threads_and_nothing_else(machine: str, executes: bool, attacks: Count) -> None:
    """No process, namespace, traced or stopped thread, by any bit; and no program but by a descriptor."""
    filter_ = Filter(machine, executes=executes)
    assert all(filter_.allows("clone", flags) for flags in (THREAD, THREAD | 0x80000, 0x3D0F00, 0x7D0F00))
    wrong = tuple(wrong_threads())
    assert [flags for flags in wrong if filter_.allows("clone", flags)] == []
    for flags in (*range(64), *BITS, -1):
        known = executes and flags & 0xFFFFFFFF == 0x1000
        assert filter_.allows("execveat", 3, 0, 0, 0, flags) == known, flags
    attacks(len(wrong) + 129)


@machines
@pytest.mark.promise("X-03")
def test_no_execution_passes_but_the_one_with_its_secrets(machine: str, attacks: Count) -> None:
    """Nor one that differs in a bit, of the descriptor, of the flags or of what the kernel ignores above them."""
    arch = bpf.ARCH[MACHINES[machine]]
    number: int = pyseccomp.resolve_syscall(getattr(pyseccomp.Arch, machine), "execveat")
    for execution in (command_filter.Execution(7), command_filter.Execution(255, (0xFFFFFFFF, 0x80000001))):
        program = bpf.load(command_filter.own(2, execution, machine))
        good = execution.descriptor, execution.flags
        assert (good[0] & 0xFFFFFFFF, good[1] & 0xFFFFFFFF) == (execution.binary, 0x1000)
        wrong = [(good[0] ^ bit, good[1]) for bit in BITS] + [(good[0], good[1] ^ bit) for bit in BITS]
        wrong += [(execution.binary, 0x1000), (good[0], 0x1000), (execution.binary, good[1])]
        found = {at: bpf.verdict(program, arch, number, (at[0], 1, 1, 1, at[1])) for at in (good, *wrong)}
        assert found == {good: "allow", **dict.fromkeys(wrong, "errno 1")}
    assert command_filter.Execution(7).secrets != command_filter.Execution(7).secrets
    attacks(2 * 131)


@machines
@pytest.mark.promise("X-10")
def test_threads_are_signalled_of_one_process_alone(machine: str, attacks: Count) -> None:
    """Also when another process's number merely shares its bits."""
    arch = bpf.ARCH[MACHINES[machine]]
    number: int = pyseccomp.resolve_syscall(getattr(pyseccomp.Arch, machine), "tgkill")
    for own in (2, 77, 4_194_303):
        program = bpf.load(command_filter.own(own, None, machine))
        for pid in (*range(4096), *BITS, *(own | bit for bit in BITS), own, -1, -own):
            assert (bpf.verdict(program, arch, number, (pid, own, 9)) == "allow") == (pid == own), (own, pid)
    attacks(3 * 4226)
