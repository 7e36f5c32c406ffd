"""The system calls that a locked-down worker may make; every other call kills it. And those that a command line's
process, whose program is not ours, may not make: they fail.

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
from collections.abc import Callable, Iterator
from typing import Any, Final

__all__ = ["command_program", "install", "install_for_command", "program"]

_PR_SET_SECCOMP: Final = 22
_SECCOMP_MODE_FILTER: Final = 2
_PROT_EXEC: Final = 0x4
_MAP_SHARED: Final = 0x01
_MAP_ANONYMOUS: Final = 0x20
_SOCKET_CALLS: Final = ("read", "write")
"""Allowed on the worker's own socket only."""
_PLAIN_MESSAGES: Final = ("recvfrom", "sendto")
"""Likewise, without flags and without an address. Attack: out-of-band data (MSG_OOB). `sendmsg` and `recvmsg`, which
pass descriptors and credentials along, are not allowed, since a filter cannot look into a message."""
_ALL_BITS_OF_INT: Final = 0xFFFFFFFF

_PLAIN_CALLS: Final = (
    # memory the interpreter frees or moves; growing it is below, with arguments checked
    "brk", "munmap", "mremap", "madvise",
    # locks, clocks, randomness: dict, time and random
    "futex", "sched_yield", "clock_gettime", "clock_getres", "gettimeofday", "time", "getrandom",
    # signals: a worker can send none, but the interpreter's own handlers must return
    "rt_sigreturn", "rt_sigprocmask", "sigaltstack", "restart_syscall",
    "getpid", "gettid", "close", "exit", "exit_group",
)  # fmt: skip

_REFUSED_CALLS: Final = (
    # Library code makes these calls in good faith (a late import, a locale, a terminal size): an OSError explains more
    # than a dead worker.
    "open", "openat", "stat", "lstat", "fstat", "newfstatat", "statx", "access", "faccessat", "faccessat2", "readlink",
    "readlinkat", "getcwd", "lseek", "ioctl", "fcntl", "socket", "uname", "sysinfo", "getuid", "geteuid", "getgid",
    "getegid", "getppid", "getrusage", "sched_getaffinity", "nanosleep", "clock_nanosleep", "poll", "ppoll", "pipe2",
    "dup", "getdents64",
)  # fmt: skip

_FORBIDDEN_CALLS: Final = (
    # other processes and programs: see also `clone` below
    "fork", "vfork", "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "kill", "tkill",
    "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_open", "pidfd_getfd", "pidfd_send_signal",
    # namespaces, mounts and what only root does
    "unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsmount",
    "fsconfig", "fspick", "mount_setattr", "open_by_handle_at", "name_to_handle_at", "swapon", "swapoff", "reboot",
    "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "acct", "quotactl", "syslog",
    "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "sethostname", "setdomainname", "iopl", "ioperm",
    # doors into the kernel that no client needs
    "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register", "keyctl",
    "add_key", "request_key", "personality", "vhangup", "fanotify_init",
    # files without a path, for which Landlock has no word, and servers
    "memfd_create", "memfd_secret", "listen", "accept", "accept4",
)  # fmt: skip
_CLONE_THREAD: Final = 0x10000
_AF_INET: Final = 2
_AF_INET6: Final = 10
_AF_NETLINK: Final = 16
_NETLINK_ROUTE: Final = 0
_SOCKET_KIND: Final = 0xF
"""The bits that say what kind of socket is wanted; flags stand beside them."""
_OTHER_SOCKETS: Final = range(2, 11)
"""All kinds but streams."""
_ENOSYS: Final = 38

_LIBRARIES: Final = {"c": "libc.so.6", "seccomp": "libseccomp.so.2"}
"""Names under which the loader finds them on Linux with glibc."""
_EPERM: Final = 1
_INSTRUCTION_BYTES: Final = 8


class _SockFprog(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def install(descriptor: int) -> str:
    """Install the filter, which cannot be undone; returns its size as a detail for the report. Needs no_new_privs.
    Raises OSError when libseccomp is missing or the kernel has no seccomp."""
    return _install(program(descriptor))


def install_for_command(*, executes: bool) -> str:
    """Install the filter of a command line's process, as `install` does. It `executes` one program, or none."""
    return _install(command_program(executes=executes))


def _install(code: bytes) -> str:
    count = len(code) // _INSTRUCTION_BYTES
    buffer = ctypes.create_string_buffer(code, len(code))
    filter_ = _SockFprog(count, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(filter_), 0, 0)
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, "PR_SET_SECCOMP: " + os.strerror(number))
    return f"{count} instructions"


@functools.cache
def program(descriptor: int, architecture: str = "NATIVE") -> bytes:
    """Build the filter, as BPF, for a worker whose socket is `descriptor`. The fork server does so once.

    `architecture` is libseccomp's name of another machine: the tests read which filter would be installed there.
    """
    lib = _library()
    rules = lib.SyscallFilter(defaction=lib.KILL_PROCESS)
    rules.set_attr(lib.Attr.ACT_BADARCH, lib.KILL_PROCESS)
    arch = getattr(lib.Arch, architecture)
    if not rules.exist_arch(arch):
        rules.add_arch(arch)
        rules.remove_arch(lib.Arch.NATIVE)
    add = functools.partial(_add, lib, rules, arch)
    for name in _PLAIN_CALLS:
        add(lib.ALLOW, name)
    own_socket = lib.Arg(0, lib.EQ, descriptor)
    for name in _SOCKET_CALLS:
        add(lib.ALLOW, name, own_socket)
    no_flags = lib.Arg(3, lib.MASKED_EQ, _ALL_BITS_OF_INT, 0)
    no_address = lib.Arg(4, lib.EQ, 0)
    for name in _PLAIN_MESSAGES:
        add(lib.ALLOW, name, own_socket, no_flags, no_address)
    refuse = lib.ERRNO(_EPERM)
    for name in _REFUSED_CALLS:
        add(refuse, name)
    _add_memory_rules(lib, add)
    return _export(rules)


@functools.cache
def command_program(*, executes: bool) -> bytes:
    """Build the filter, as BPF, for the process of a command line. A program that is not ours may need any call of an
    ordinary one, so this filter names those that fail."""
    lib = _library()
    rules = lib.SyscallFilter(defaction=lib.ALLOW)
    rules.set_attr(lib.Attr.ACT_BADARCH, lib.KILL_PROCESS)
    add = functools.partial(_add, lib, rules, lib.Arch.NATIVE)
    refuse = lib.ERRNO(_EPERM)
    for name in _FORBIDDEN_CALLS:
        add(refuse, name)
    # Threads, and no processes: plugins, editors, pagers, credential helpers. Its flags are the first argument, which
    # those of clone3 are not, so that the C library must do without it.
    add(refuse, "clone", lib.Arg(0, lib.MASKED_EQ, _CLONE_THREAD, 0))
    add(lib.ERRNO(_ENOSYS), "clone3")
    if executes:  # Attack: a name that is looked up carries a secret away. `oc` asks one address, over TCP
        for kind in _OTHER_SOCKETS:
            add(refuse, "socket", lib.Arg(1, lib.MASKED_EQ, _SOCKET_KIND, kind))
    else:
        add(refuse, "execve")
        add(refuse, "execveat")
    # Attack: the socket of a container engine or of systemd, to which Landlock lets everybody connect.
    known = {_AF_INET, _AF_INET6} if executes else {_AF_INET, _AF_INET6, _AF_NETLINK}
    for family in range(_AF_NETLINK + 1):
        if family not in known:
            add(refuse, "socket", lib.Arg(0, lib.EQ, family))
    add(refuse, "socket", lib.Arg(0, lib.GT, _AF_NETLINK))
    # By NETLINK_ROUTE the C library learns which addresses this machine has; others lead to other parts of the kernel.
    add(refuse, "socket", lib.Arg(0, lib.EQ, _AF_NETLINK), lib.Arg(2, lib.NE, _NETLINK_ROUTE))
    return _export(rules)


def _add_memory_rules(lib: Any, add: Callable[..., None]) -> None:
    """Allow memory that is private, anonymous and not executable. Attack: machine code written into a new page."""
    not_executable = lib.Arg(2, lib.MASKED_EQ, _PROT_EXEC, 0)
    flags = _MAP_SHARED | _MAP_ANONYMOUS
    private_anonymous = lib.Arg(3, lib.MASKED_EQ, flags, _MAP_ANONYMOUS)
    add(lib.ALLOW, "mmap", not_executable, private_anonymous)
    add(lib.ALLOW, "mprotect", not_executable)


def _add(lib: Any, rules: Any, arch: Any, action: int, name: str, *arguments: Any) -> None:
    """Add one rule. A name that this architecture or this libseccomp does not know needs no rule: the default kills."""
    if lib.resolve_syscall(arch, name) < 0:
        return
    rules.add_rule(action, name, *arguments)


def _export(rules: Any) -> bytes:
    with os.fdopen(os.memfd_create("seccomp"), "r+b") as file:  # in memory: a container's root may be read-only
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def _library() -> Any:
    try:
        with _found_by_name():
            import pyseccomp
    except (ImportError, RuntimeError, OSError):
        # Why is not said: after the fork nothing can be read any more, and that would be named as the reason.
        raise OSError("libseccomp is missing") from None
    return pyseccomp


@contextlib.contextmanager
def _found_by_name() -> Iterator[None]:
    """Within it, `find_library` knows the two libraries that pyseccomp looks for when it is imported."""
    # It runs ldconfig for each of them otherwise, and a compiler where that fails: 20 ms of a fork server's start.
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
