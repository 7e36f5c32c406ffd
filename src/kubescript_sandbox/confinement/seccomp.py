"""The system calls that a locked-down worker may make; every other call kills it. Also builds and installs the filters
that `command_filter` defines for the processes of command lines.

The fork server builds the filter once with libseccomp (through pyseccomp), and each worker installs the finished BPF
program. libseccomp resolves names for the machine it runs on, so aarch64 gets its own numbers. A call through another
architecture's table (i386, x32) kills the worker too.
"""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import functools
import os
from collections.abc import Iterator
from typing import Any, Final

__all__ = ["CLOCK_BITS", "EPERM", "MAP_FLAGS", "Filter", "enforce", "install", "library", "program"]

_PR_SET_SECCOMP: Final = 22
_SECCOMP_MODE_FILTER: Final = 2
_PROT_EXEC: Final = 0x4
_MAP_PRIVATE: Final = 0x02
_MAP_ANONYMOUS: Final = 0x20
# Attack: a worker maps huge pages, which the machine takes from a shared pool.
MAP_FLAGS: Final = 0x10 | 0x20 | 0x800 | 0x1000 | 0x4000 | 0x8000 | 0x10000 | 0x20000 | 0x100000
"""fixed, anonymous, denywrite, executable, noreserve, populate, nonblock, stack, fixed_noreplace."""
_ALL_BITS_OF_LONG: Final = 0xFFFFFFFFFFFFFFFF
_SOCKET_CALLS: Final = ("read", "write")
"""Allowed on the worker's own socket only."""
# Attack: a worker sends out-of-band data (MSG_OOB). `sendmsg` and `recvmsg`, which pass descriptors and credentials
# along, are not allowed, since a filter cannot look into a message.
_PLAIN_MESSAGES: Final = ("recvfrom", "sendto")
"""Allowed on that socket only, and without flags or an address."""
_ALL_BITS_OF_INT: Final = 0xFFFFFFFF

_PLAIN_CALLS: Final = (
    # memory the interpreter frees or moves; growing it is below, with arguments checked
    "brk", "munmap", "mremap", "madvise",
    # locks, time, randomness: for dict, time and random; clocks are below
    "futex", "sched_yield", "gettimeofday", "time", "getrandom",
    # signals: a worker can send none, but the interpreter's own handlers must return
    "rt_sigreturn", "rt_sigprocmask", "sigaltstack", "restart_syscall",
    "getpid", "gettid", "close", "exit", "exit_group",
)  # fmt: skip

_CLOCK_CALLS: Final = ("clock_gettime", "clock_getres")
# Attack: a worker names another process's clock by its inverted process id, and learns that the process exists and how
# long it has computed.
CLOCK_BITS: Final = 0xF
"""The bits used by the ids of the machine's clocks and of the caller's own."""

_REFUSED_CALLS: Final = (
    # Library code makes these calls in good faith (a late import, a locale, a terminal size): an OSError explains more
    # than a dead worker.
    "open", "openat", "stat", "lstat", "fstat", "newfstatat", "statx", "access", "faccessat", "faccessat2", "readlink",
    "readlinkat", "getcwd", "lseek", "ioctl", "fcntl", "socket", "uname", "sysinfo", "getuid", "geteuid", "getgid",
    "getegid", "getppid", "getrusage", "sched_getaffinity", "nanosleep", "clock_nanosleep", "poll", "ppoll", "pipe2",
    "dup", "getdents64",
)  # fmt: skip

_LIBRARIES: Final = {"c": "libc.so.6", "seccomp": "libseccomp.so.2"}
"""The names under which the loader finds the two libraries on Linux with glibc."""
EPERM: Final = 1
_INSTRUCTION_BYTES: Final = 8


class _SockFprog(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def install(descriptor: int) -> str:
    """Installs the filter, which cannot be undone; returns its size as a detail for the report. Needs no_new_privs.
    Raises OSError when libseccomp or the kernel's seccomp is missing."""
    return enforce(program(descriptor))


def enforce(code: bytes) -> str:
    """Installs a finished filter, as `install` does."""
    count = len(code) // _INSTRUCTION_BYTES
    buffer = ctypes.create_string_buffer(code, len(code))
    filter_ = _SockFprog(count, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(filter_), 0, 0)
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, "PR_SET_SECCOMP: " + os.strerror(number))
    return f"{count} instructions"


class Filter:
    """A filter under construction."""

    def __init__(self, default: int, architecture: str = "NATIVE") -> None:
        """`default` is the action for calls without a rule. `architecture` is libseccomp's name of another machine, so
        that tests can read its filter."""
        self._lib = library()
        self._rules = self._lib.SyscallFilter(defaction=default)
        self._rules.set_attr(self._lib.Attr.ACT_BADARCH, self._lib.KILL_PROCESS)
        self._arch = getattr(self._lib.Arch, architecture)
        if not self._rules.exist_arch(self._arch):
            self._rules.add_arch(self._arch)
            self._rules.remove_arch(self._lib.Arch.NATIVE)

    def add(self, action: int, name: str, *arguments: Any) -> None:
        """Adds one rule. A name unknown to this architecture or this libseccomp is skipped."""
        if self._lib.resolve_syscall(self._arch, name) >= 0:
            self._rules.add_rule(action, name, *arguments)

    def export(self) -> bytes:
        """Returns the filter as BPF."""
        # The filter goes through a pipe, which holds 64 KiB: the root may be read-only, and the limit on file size
        # applies to files in memory too.
        reader, writer = os.pipe2(os.O_CLOEXEC)
        with os.fdopen(reader, "rb") as source:
            with os.fdopen(writer, "wb") as sink:
                self._rules.export_bpf(sink)
            return source.read()


@functools.cache
def program(descriptor: int, architecture: str = "NATIVE") -> bytes:
    """Builds the filter, as BPF, for a worker whose socket is `descriptor`. The fork server does so once."""
    lib = library()
    rules = Filter(lib.KILL_PROCESS, architecture)
    for name in _PLAIN_CALLS:
        rules.add(lib.ALLOW, name)
    own_socket = lib.Arg(0, lib.EQ, descriptor)
    for name in _SOCKET_CALLS:
        rules.add(lib.ALLOW, name, own_socket)
    no_flags = lib.Arg(3, lib.MASKED_EQ, _ALL_BITS_OF_INT, 0)
    no_address = lib.Arg(4, lib.EQ, 0)
    for name in _PLAIN_MESSAGES:
        rules.add(lib.ALLOW, name, own_socket, no_flags, no_address)
    known_clock = lib.Arg(0, lib.MASKED_EQ, _ALL_BITS_OF_INT & ~CLOCK_BITS, 0)
    for name in _CLOCK_CALLS:
        rules.add(lib.ALLOW, name, known_clock)
    refuse = lib.ERRNO(EPERM)
    for name in _REFUSED_CALLS:
        rules.add(refuse, name)
    _add_memory_rules(lib, rules)
    return rules.export()


def _add_memory_rules(lib: Any, rules: Filter) -> None:
    """Allows memory that is private, anonymous and not executable."""
    # Attack: a worker writes machine code into a new page.
    not_executable = lib.Arg(2, lib.MASKED_EQ, _PROT_EXEC, 0)
    others = _ALL_BITS_OF_LONG & ~MAP_FLAGS | _MAP_ANONYMOUS
    private_anonymous = lib.Arg(3, lib.MASKED_EQ, others, _MAP_PRIVATE | _MAP_ANONYMOUS)
    rules.add(lib.ALLOW, "mmap", not_executable, private_anonymous)
    rules.add(lib.ALLOW, "mprotect", not_executable)


def library() -> Any:
    """Returns pyseccomp. Raises OSError where libseccomp is missing."""
    try:
        with _find_by_name():
            import pyseccomp
    except (ImportError, RuntimeError, OSError):
        # The cause is left out: after the fork no file can be read, and that failure would be reported as the cause.
        raise OSError("libseccomp is missing") from None
    return pyseccomp


@contextlib.contextmanager
def _find_by_name() -> Iterator[None]:
    """Makes `find_library` find the two libraries that pyseccomp needs, while it is imported."""
    # Otherwise `find_library` runs ldconfig for each library, and a compiler where that fails, which adds 20 ms to a
    # fork server's start.
    search = ctypes.util.find_library

    def find(name: str) -> str | None:
        known = _LIBRARIES.get(name)
        with contextlib.suppress(OSError):
            if known is not None and ctypes.CDLL(known):
                return known
        return search(name)

    ctypes.util.find_library = find
    try:
        yield
    finally:
        ctypes.util.find_library = search
