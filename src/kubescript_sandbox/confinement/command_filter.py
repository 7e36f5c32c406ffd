"""The system calls allowed to a command line's process, whose program is not ours; every other call fails.

The lists contain the calls that kubectl, a Go program with the C library's resolver, and openstackclient made (strace
on x86-64, during the tests of command lines), and their equivalents on aarch64. Landlock judges which files a call
opens and which port it connects to. This filter refuses what Landlock does not judge: other protocols, memory that no
limit counts, and calls that name another process.
"""

from __future__ import annotations

import ctypes
import functools
import os
import secrets
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from kubescript_sandbox.confinement import seccomp

__all__ = ["Execution", "install", "own", "program"]

_PLAIN_CALLS: Final = (
    # memory; `mmap` is below
    "brk", "munmap", "mremap", "mprotect", "madvise",
    # threads and their locks; `clone` is below
    "futex", "set_robust_list", "set_tid_address", "rseq", "sched_yield", "sched_getaffinity", "exit", "exit_group",
    # signals to itself
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall", "tgkill",
    # time and randomness
    "gettimeofday", "time", "nanosleep", "getrandom",
    # its identity and its machine
    "getpid", "gettid", "getppid", "getpgrp", "getuid", "geteuid", "getgid", "getegid", "uname", "sysinfo", "getrusage",
    "getrlimit",
    # files: names and sizes are visible to all, and Landlock judges the rest
    "open", "openat", "stat", "lstat", "fstat", "newfstatat", "statx", "statfs", "fstatfs", "access", "faccessat",
    "faccessat2", "readlink", "readlinkat", "getcwd", "getdents64",
    # descriptors that it already has
    "read", "write", "readv", "writev", "pread64", "lseek", "close", "pipe", "pipe2", "poll", "ppoll", "select",
    "pselect6",
    # sockets; creating them and sending are below
    "connect", "shutdown", "getsockname", "getpeername", "recvfrom", "recvmsg",
)  # fmt: skip
# Go waits with epoll. Attack: a program gives a file many descriptors, each of which is a separate watch of epoll. Two
# million of them took 376 MiB that no limit counts, and used up the watches of the server's user. So no call here may
# give a file a second descriptor, neither by duplicating it nor by copying the table.
_POLLER_CALLS: Final = ("eventfd2", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait")
_CLOCK_CALLS: Final = ("clock_gettime", "clock_getres", "clock_nanosleep")
_NEWEST: Final = 439
"""faccessat2, the newest of these calls. From 424 on, the numbers are the same on all architectures."""
# Attack: a program passes these calls forbidden flags in memory, where no filter sees them. The C library works without
# them.
_UNKNOWN_CALLS: Final = ("clone3", "openat2")

_INT: Final = 0xFFFFFFFF
"""The bits of an int: the kernel ignores the higher ones."""
_LONG: Final = 0xFFFFFFFFFFFFFFFF

_BY_ARGUMENT: Final = {
    # descriptors and their flags. Attack: with F_SETOWN and F_SETSIG, or FIOSETOWN, a program makes the kernel signal
    # another process.
    "fcntl": (1, (1, 2, 3, 4)),
    # Attack: with CLOSE_RANGE_UNSHARE, each thread gets its own table of descriptors, each with its own limit.
    "close_range": (2, (0,)),
    # TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX, SIOCGIFNAME
    "ioctl": (1, (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451, 0x8910)),
    # PR_SET_NAME, PR_GET_NAME, PR_GET_NO_NEW_PRIVS. Attack: with PR_SET_PDEATHSIG, a program outlives the server.
    "prctl": (0, (15, 16, 39)),
    # ARCH_SET_FS
    "arch_prctl": (0, (0x1002,)),
    # Attack: a program sets a processor limit of zero seconds for another process of its user, which ends it. Zero
    # names the caller.
    "prlimit64": (0, (0,)),
    # SOL_SOCKET
    "getsockopt": (1, (1,)),
}  # fmt: skip
"""Calls that are allowed only for some values of one argument: its index, and the values."""
# Attack: TCP_ULP and TCP_FASTOPEN_CONNECT change what a socket does when it connects.
_SOCKET_OPTIONS: Final = (
    # broadcast and keepalive; nodelay and keepalive's times; v6only; the resolver's recverr
    (1, 6), (1, 9), (6, 1), (6, 4), (6, 5), (6, 6), (6, 18), (41, 26), (0, 11), (41, 25),
)  # fmt: skip
"""The level and the name of each option."""

_MAP_PRIVATE: Final = 0x2
_THREAD: Final = 0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x40000
"""The flags of clone(2) that make a thread: vm, fs, files, sighand, thread, sysvsem."""
_THREAD_DETAILS: Final = 0x80000 | 0x100000 | 0x200000 | 0x400000
"""A thread's optional flags: settls, parent_settid, child_cleartid, detached."""

_FAMILIES: Final = (2, 10)
"""IPv4 and IPv6."""
# Attack: a program uses MPTCP, SCTP or SMC, which are streams too; Landlock judges only TCP.
_STREAMS: Final = {1: (0, 6)}
"""TCP: kind of socket and protocols."""
_DATAGRAMS: Final = {2: (0, 17)}
"""UDP, for the resolver."""
_NETLINK: Final = 16
_NETLINK_RAW: Final = 3
# openstackclient uses this protocol to ask whether the machine has IPv6; the other netlink protocols reach other parts
# of the kernel.
_NETLINK_ROUTE: Final = 0
# IPv4 and IPv6 addresses are longer, and the kernel does not accept shortened ones.
_NETLINK_ADDRESS: Final = 12
"""The size of a netlink address in bytes."""
_SOCKET_FLAGS: Final = 0x800 | 0x80000
"""nonblock, cloexec"""
# Attack: with MSG_FASTOPEN, a program connects without any rule on connections being checked.
_SEND_FLAGS: Final = 0x40 | 0x4000 | 0x8000
"""dontwait, nosignal, more."""
_AT_EMPTY_PATH: Final = 0x1000
_EXECVEAT: Final = {"x86_64": 322, "aarch64": 281}

_ENOSYS: Final = 38
_LOAD_NUMBER: Final = struct.pack("<HBBI", 0x20, 0, 0, 0)
_SKIP_UNLESS_GREATER: Final = struct.pack("<HBBI", 0x25, 0, 1, _NEWEST)
_RETURN_ENOSYS: Final = struct.pack("<HBBI", 0x06, 0, 0, 0x50000 | _ENOSYS)


@dataclass(frozen=True)
class Execution:
    """The one program that a process becomes, named by its descriptor. Attack: the program executes another one, or a
    thread becomes another program and outlives the server, since only the first thread gets a signal at its parent's
    death."""

    binary: int
    secrets: tuple[int, int] = field(default_factory=lambda: (secrets.randbits(32), secrets.randbits(32)), repr=False)
    """The filter requires these numbers in the upper halves of the two arguments that are ints, which the kernel
    ignores. The executed program no longer has this process's memory, and cannot guess 64 bits within its processor
    time."""

    @property
    def descriptor(self) -> int:
        """The call's first argument."""
        return self.secrets[0] << 32 | self.binary

    @property
    def flags(self) -> int:
        """The call's last argument."""
        return self.secrets[1] << 32 | _AT_EMPTY_PATH

    def run(self, words: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
        """Becomes the program. Raises OSError."""
        libc = ctypes.CDLL(None, use_errno=True)
        number = _EXECVEAT.get(os.uname().machine, -1)
        settings = [f"{name}={value}" for name, value in environment.items()]
        libc.syscall(
            ctypes.c_long(number),
            ctypes.c_ulong(self.descriptor),
            b"",  # no path: the descriptor names the program
            _texts(words),
            _texts(settings),
            ctypes.c_ulong(self.flags),
        )
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def _texts(texts: Sequence[str]) -> ctypes.Array[ctypes.c_char_p]:
    """Returns strings as the array of C strings that execve(2) takes; a null pointer ends it."""
    encoded = map(os.fsencode, texts)
    array_type = ctypes.c_char_p * (len(texts) + 1)
    return array_type(*encoded, None)


def install(execution: Execution | None = None) -> str:
    """Installs the filter, which cannot be undone; returns its size as a detail for the report. The process may then
    execute the given program, or none at all. Needs no_new_privs. Raises OSError when libseccomp or the kernel's
    seccomp is missing."""
    seccomp.enforce(own(os.getpid(), execution))
    return seccomp.enforce(program(executes=execution is not None))


@functools.cache
def program(*, executes: bool, architecture: str = "NATIVE") -> bytes:
    """Builds the filter, as BPF. The fork server does so once."""
    lib = seccomp.library()
    rules = seccomp.Filter(lib.ERRNO(seccomp.EPERM), architecture)
    for name in _PLAIN_CALLS:
        rules.add(lib.ALLOW, name)
    for name in _UNKNOWN_CALLS:
        rules.add(lib.ERRNO(_ENOSYS), name)
    for name, (at, values) in _BY_ARGUMENT.items():
        for value in values:
            rules.add(lib.ALLOW, name, _equals(lib, at, value))
    for name in _CLOCK_CALLS:
        rules.add(lib.ALLOW, name, _has_only(lib, 0, seccomp.CLOCK_BITS))
    _add_memory_and_thread_rules(lib, rules)
    if executes:  # a program by its descriptor; `own` restricts it to one
        _add_socket_rules(lib, rules, _STREAMS)
        rules.add(lib.ALLOW, "execveat", _equals(lib, 4, _AT_EMPTY_PATH))
        for name in _POLLER_CALLS:
            rules.add(lib.ALLOW, name)
    else:
        _add_socket_rules(lib, rules, {**_STREAMS, **_DATAGRAMS})
        _add_client_rules(lib, rules)
    # Newer calls fail as if the kernel did not know them: only then do libraries fall back to older ones.
    return _LOAD_NUMBER + _SKIP_UNLESS_GREATER + _RETURN_ENOSYS + rules.export()


def own(pid: int, execution: Execution | None, architecture: str = "NATIVE") -> bytes:
    """Builds the filter, as BPF, that lets a process signal only its own threads, and execute only this program."""
    lib = seccomp.library()
    rules = seccomp.Filter(lib.ALLOW, architecture)
    refuse = lib.ERRNO(seccomp.EPERM)
    # Attack: a program uses `tgkill`, which Go needs, to end any process of its user; Landlock restricts signals only
    # from Linux 6.12 on.
    is_other_process = lib.Arg(0, lib.NE, pid)
    rules.add(refuse, "tgkill", is_other_process)
    if execution is not None:
        is_other_program = lib.Arg(0, lib.NE, execution.descriptor)
        has_other_flags = lib.Arg(4, lib.NE, execution.flags)
        rules.add(refuse, "execveat", is_other_program)
        rules.add(refuse, "execveat", has_other_flags)
    return rules.export()


def _add_memory_and_thread_rules(lib: Any, rules: seccomp.Filter) -> None:
    """Allows private memory, and threads."""
    # Attack: a program maps shared pages or pages that grow down, which RLIMIT_DATA does not count.
    is_private = lib.Arg(3, lib.MASKED_EQ, _LONG & ~seccomp.MAP_FLAGS, _MAP_PRIVATE)
    rules.add(lib.ALLOW, "mmap", is_private)
    is_thread = lib.Arg(0, lib.MASKED_EQ, _INT & ~_THREAD_DETAILS, _THREAD)
    rules.add(lib.ALLOW, "clone", is_thread)


def _add_socket_rules(lib: Any, rules: seccomp.Filter, kinds: Mapping[int, tuple[int, ...]]) -> None:
    """Allows sockets of these kinds, their options, and messages to the address they are connected to."""
    for family in _FAMILIES:
        is_family = _equals(lib, 0, family)
        for kind, protocols in kinds.items():
            is_kind = lib.Arg(1, lib.MASKED_EQ, _INT & ~_SOCKET_FLAGS, kind)
            for protocol in protocols:
                is_protocol = _equals(lib, 2, protocol)
                rules.add(lib.ALLOW, "socket", is_family, is_kind, is_protocol)
    for level, option in _SOCKET_OPTIONS:
        is_level = _equals(lib, 1, level)
        is_option = _equals(lib, 2, option)
        rules.add(lib.ALLOW, "setsockopt", is_level, is_option)
    no_address = lib.Arg(4, lib.EQ, 0)
    rules.add(lib.ALLOW, "sendto", _has_only(lib, 3, _SEND_FLAGS), no_address)
    rules.add(lib.ALLOW, "sendmsg", _has_only(lib, 2, _SEND_FLAGS))


def _add_client_rules(lib: Any, rules: seccomp.Filter) -> None:
    """Allows the resolver to send its two questions in one call, and allows questions to NETLINK_ROUTE."""
    flags = _has_only(lib, 3, _SEND_FLAGS)
    rules.add(lib.ALLOW, "sendmmsg", flags)
    is_netlink = _equals(lib, 0, _NETLINK)
    is_raw = lib.Arg(1, lib.MASKED_EQ, _INT & ~_SOCKET_FLAGS, _NETLINK_RAW)
    is_route = _equals(lib, 2, _NETLINK_ROUTE)
    rules.add(lib.ALLOW, "socket", is_netlink, is_raw, is_route)
    rules.add(lib.ALLOW, "bind", _equals(lib, 2, _NETLINK_ADDRESS))
    has_netlink_address = _equals(lib, 5, _NETLINK_ADDRESS)
    rules.add(lib.ALLOW, "sendto", flags, has_netlink_address)


def _equals(lib: Any, at: int, value: int) -> Any:
    """Returns a comparison of an argument that is an int."""
    return lib.Arg(at, lib.MASKED_EQ, _INT, value)


def _has_only(lib: Any, at: int, flags: int) -> Any:
    """Returns a comparison that fails for any flags except these."""
    return lib.Arg(at, lib.MASKED_EQ, _INT & ~flags, 0)
