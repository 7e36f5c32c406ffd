"""Layer 2, the filter itself: its exact verdict on every system call of x86-64 and aarch64, whatever machine this runs
on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyseccomp
import pytest

from kubescript_sandbox.confinement import lockdown, seccomp
from security_tests import bpf, syscalls

Count = Callable[[int], None]

FD: Final = lockdown.WORKER_FD
MACHINES: Final = {"X86_64": "x86_64", "AARCH64": "aarch64"}
"""libseccomp's name and ours."""

ON_SOCKET: Final = frozenset({"read", "write", "recvfrom", "sendto"})
PLAIN: Final = frozenset({"recvfrom", "sendto"})
ON_MEMORY: Final = frozenset({"mmap", "mprotect"})
ON_CLOCK: Final = frozenset({"clock_gettime", "clock_getres"})
ALWAYS: Final = syscalls.ALLOWED - ON_SOCKET - ON_MEMORY - ON_CLOCK
REFUSED: Final = frozenset({
    "open", "openat", "stat", "lstat", "fstat", "newfstatat", "statx", "access", "faccessat", "faccessat2", "readlink", "readlinkat",
    "getcwd", "lseek", "ioctl", "fcntl", "socket", "uname", "sysinfo", "getuid", "geteuid", "getgid", "getegid", "getppid", "getrusage",
    "sched_getaffinity", "nanosleep", "clock_nanosleep", "poll", "ppoll", "pipe2", "dup", "getdents64",
})  # fmt: skip
"""Told EPERM instead of being killed."""


def program(machine: str) -> bpf.Program:
    """The filter a worker would install on `machine`."""
    return bpf.load(seccomp.program(FD, machine))


def numbers(machine: str, names: frozenset[str]) -> dict[int, str]:
    """System call numbers on `machine`; names it does not have are left out."""
    arch = getattr(pyseccomp.Arch, machine)
    found = {pyseccomp.resolve_syscall(arch, name): name for name in names}
    return {number: name for number, name in found.items() if number >= 0}


EVERY: Final = (*range(1024), *(1 << bit for bit in range(10, 32)), 0x7FFFFFFF, 0xFFFFFFFF, 0xFFFFFFFE)


@pytest.mark.promise("K-09")
@pytest.mark.parametrize("machine", MACHINES)
def test_every_number_has_its_pinned_verdict(machine: str, attacks: Count) -> None:
    """Allowed, refused or killed: each number of the machine's own table gets what is pinned here, without regard to
    arguments."""
    code, arch = program(machine), bpf.ARCH[MACHINES[machine]]
    expected = dict.fromkeys(numbers(machine, ALWAYS), "allow") | dict.fromkeys(numbers(machine, REFUSED), "errno 1")
    checked = numbers(machine, ON_SOCKET | ON_MEMORY | ON_CLOCK)
    wrong = {
        number: found
        for number in EVERY
        if number not in checked
        for arguments in ((), (FD,) * 6, (-1,) * 6)
        if (found := bpf.verdict(code, arch, number, arguments)) != expected.get(number, "kill")
    }
    attacks(len(EVERY) * 3)
    assert wrong == {}


@pytest.mark.promise("K-09")
@pytest.mark.parametrize("machine", MACHINES)
def test_no_other_table_of_the_machine_is_answered(machine: str, attacks: Count) -> None:
    """i386 and x32 on x86-64, arm on aarch64, and any other architecture: every number kills the whole process."""
    code = program(machine)
    others = [arch for name, arch in bpf.ARCH.items() if name != MACHINES[machine]]
    calls = [(arch, number) for arch in others for number in EVERY]
    calls += [(bpf.ARCH["x86_64"], 0x40000000 | number) for number in range(1024)]
    attacks(len(calls))
    assert {bpf.verdict(code, arch, number, (FD,) * 6) for arch, number in calls} == {"kill"}


@pytest.mark.promise("K-09")
@pytest.mark.parametrize("machine", MACHINES)
def test_socket_calls_are_for_the_one_socket(machine: str, attacks: Count) -> None:
    """read, write, send and receive are allowed on the worker's socket only, also when a number merely ends in its
    bits."""
    code, arch = program(machine), bpf.ARCH[MACHINES[machine]]
    calls = numbers(machine, ON_SOCKET)
    assert len(calls) == len(ON_SOCKET)
    descriptors = [*range(64), *(1 << bit for bit in range(6, 64)), *(FD | 1 << bit for bit in range(2, 64)), -1, -2]
    for number in calls:
        for descriptor in descriptors:
            allowed = bpf.verdict(code, arch, number, (descriptor, 1, 1, 0, 0, 0)) == "allow"
            assert allowed == (descriptor == FD), (calls[number], descriptor)
    attacks(len(calls) * len(descriptors))


@pytest.mark.promise("K-20")
@pytest.mark.parametrize("machine", MACHINES)
def test_messages_have_no_flag_and_no_address(machine: str, attacks: Count) -> None:
    """Each of the 32 flags, and any address, kills. The kernel ignores what stands above an int."""
    code, arch = program(machine), bpf.ARCH[MACHINES[machine]]
    calls = numbers(machine, PLAIN)
    assert len(calls) == len(PLAIN)
    for number in calls:
        for bit in range(64):
            with_flag = bpf.verdict(code, arch, number, (FD, 1, 1, 1 << bit, 0, 0))
            with_address = bpf.verdict(code, arch, number, (FD, 1, 1, 0, 1 << bit, 0))
            assert with_flag == ("kill" if bit < 32 else "allow"), (calls[number], bit)
            assert with_address == "kill", (calls[number], bit)
    attacks(len(calls) * 128)


@pytest.mark.promise("K-05")
@pytest.mark.parametrize("machine", MACHINES)
def test_clocks_are_the_machines_and_its_own(machine: str, attacks: Count) -> None:
    """Those of other processes are named by their inverted numbers, and kill. The kernel ignores what stands above an
    int."""
    code, arch = program(machine), bpf.ARCH[MACHINES[machine]]
    clocks = [
        *range(64),
        *(1 << bit for bit in range(64)),
        *(~pid << 3 | kind for pid in range(64) for kind in range(8)),
    ]
    for number, name in numbers(machine, ON_CLOCK).items():
        for clock in clocks:
            expected = "allow" if clock & 0xFFFFFFFF < 16 else "kill"
            assert bpf.verdict(code, arch, number, (clock, 1)) == expected, (name, clock)
    attacks(len(ON_CLOCK) * len(clocks))


@pytest.mark.promise("K-08")
@pytest.mark.parametrize("machine", MACHINES)
def test_memory_calls_never_give_code_or_shared_pages(machine: str, attacks: Count) -> None:
    """mmap and mprotect with any bits: allowed exactly when not executable and, for mmap, private and anonymous, and
    neither huge nor growing down."""
    code, arch = program(machine), bpf.ARCH[MACHINES[machine]]
    by_name = {name: number for number, name in numbers(machine, ON_MEMORY).items()}
    wide = [1 << bit for bit in range(64)]
    protections = [*range(16), *wide, *(4 | bit for bit in wide), -1]
    flags = [*range(64), *(0x22 | bit for bit in wide), -1]
    tried = 0
    for protection in protections:
        runs = bool(protection & 4)
        assert (bpf.verdict(code, arch, by_name["mprotect"], (0, 4096, protection)) == "allow") == (not runs)
        for flag in flags:
            good = not runs and flag & ~0x13D810 == 0x22
            found = bpf.verdict(code, arch, by_name["mmap"], (0, 4096, protection, flag, -1, 0))
            assert found == ("allow" if good else "kill"), (protection, flag)
            tried += 1
    attacks(tried)


@pytest.mark.promise("K-09")
def test_the_pinned_table_is_the_filters_own() -> None:
    """What is pinned in these tests and what the filter lists are the same names, so that a change is argued for
    twice."""
    listed = {
        *seccomp._PLAIN_CALLS,
        *seccomp._SOCKET_CALLS,
        *seccomp._PLAIN_MESSAGES,
        *seccomp._CLOCK_CALLS,
        "mmap",
        "mprotect",
    }
    assert listed == syscalls.ALLOWED
    assert set(seccomp._REFUSED_CALLS) == REFUSED
