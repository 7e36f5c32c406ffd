"""Confines a worker by a list of named steps; each can stop the launch.

The fork server applies `SERVER_STEPS` once, after its warm-up; all its children inherit them. Each worker applies
`WORKER_STEPS` after its fork and before it reads a byte from the host. Every step yields a `Layer` that says whether it
is active and, if not, why. The host decides what a missing layer means (`sandbox.strict`). This module runs on the
untrusted side and imports nothing from the host.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import functools
import os
import resource
import signal
import socket
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kubescript_sandbox.confinement import command_filter, landlock, seccomp
from kubescript_sandbox.wire import protocol

__all__ = [
    "COMMAND_SERVER_STEPS", "LOOPBACK_STEPS", "SERVER_STEPS", "WORKER_FD", "WORKER_STEPS", "Confinement", "Steps",
    "address_space", "adopt_socket", "apply", "client_steps", "program_steps",
]  # fmt: skip

WORKER_FD: Final = 3
"""The only descriptor of a worker: its socket to the host."""

NOBODY: Final = 65534

_SIOCSIFFLAGS: Final = 0x8914
_IFF_UP: Final = 0x1
_MAX_FILES: Final = 64
"""Descriptors of a command line's process: the proxy accepts 32 connections. 32 pollers of 32 files are 1,024 watches,
of which a user has a million on a machine with 5 GiB."""
_MAX_THREADS: Final = 64
"""Threads of a command line's process: `oc` has about twenty. At the lowest priority, this many weigh less than one of
the host's."""
_LOWEST_PRIORITY: Final = 19
_MAX_STACK: Final = 8 << 20
"""Bytes of a command line's first stack, which no other limit counts."""
_RESERVED: Final = 1536 << 20
"""Bytes of address space that a program may reserve beyond what it writes to. Go needs 800 MiB, and the C library 8 MiB
for each stack. Attack: a program write-protects pages after writing them, or maps them over a reservation; the kernel
does not count these as data. This is the most of them that the host measures (commands/confined_process.py)."""
_OWN_USERS: Final = 0x70000000
"""The first of the user ids that no system assigns (systemd's table of them), more than there can be processes."""

_CLONE_NEWUSER: Final = 0x10000000
_CLONE_NEWIPC: Final = 0x08000000
_CLONE_NEWNET: Final = 0x40000000
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_DUMPABLE: Final = 4
_PR_SET_NO_NEW_PRIVS: Final = 38
_LINUX_CAPABILITY_VERSION_3: Final = 0x20080522
_LANDLOCK_SCOPES: Final = 6
_COUNTS_BY_NAMESPACE: Final = 2
"""Landlock's ABI in Linux 5.19."""
_DESCRIPTORS_WITHOUT_LIMIT: Final = 1 << 20

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Confinement:
    """The figures of this worker that the steps need."""

    parent: int
    """Process id of the fork server, which must still be the parent when the death signal is armed."""
    address_space: int
    """Bytes of address space, including those that the warm process already maps."""
    cpu_seconds: int
    """Processor time after which the kernel kills the worker, in case the host fails to."""


Step = Callable[[Confinement], str]
"""Applies one step and returns a detail for the report. Raises OSError when the kernel refuses."""
Steps = tuple[tuple[str, Step], ...]
"""Steps in order, each with its name."""


def apply(steps: Steps, confinement: Confinement) -> tuple[protocol.Layer, ...]:
    """Applies `steps` in order. A step that the kernel refuses is reported as inactive, with the kernel's reason."""
    layers = []
    for name, step in steps:
        try:
            detail = step(confinement)
            layers.append(protocol.Layer(name, active=True, detail=detail))
        except (OSError, ValueError) as error:  # setrlimit raises ValueError
            layers.append(protocol.Layer(name, active=False, detail=str(error)))
    return tuple(layers)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _prctl(option: int, value: int, what: str) -> None:
    result = _libc.prctl(option, value, 0, 0, 0)
    _check(result, what)


# --- once, in the fork server ---


def _environment(_: Confinement) -> str:
    """Clears all environment variables: they may contain tokens, proxies and paths."""
    # The process is started without any; this step also protects against callers that forget that.
    os.environ.clear()
    return ""


def _network(_: Confinement) -> str:
    """Enters a network namespace whose only interface is a loopback that is down. An unprivileged process also enters a
    new user namespace."""
    flags = _CLONE_NEWNET | _CLONE_NEWIPC
    if _libc.unshare(flags) == 0:
        return "own network and ipc namespaces"
    _check(_libc.unshare(flags | _CLONE_NEWUSER), "unshare")
    return "own user, network and ipc namespaces"


def _oom_score(_: Confinement) -> str:
    """Makes the kernel kill a worker before the host when memory runs out."""
    Path("/proc/self/oom_score_adj").write_text("1000")
    return ""


def adopt_socket(descriptor: int) -> socket.socket:
    """Moves the worker's socket to WORKER_FD and wraps it."""
    # Called before the lockdown, which refuses the system calls that wrapping a descriptor needs.
    if descriptor != WORKER_FD:
        os.dup2(descriptor, WORKER_FD, inheritable=False)
    return socket.socket(fileno=WORKER_FD)


def _descriptors(_: Confinement) -> str:
    """Closes every descriptor except the socket, including stdin, stdout and stderr: none may lead to a file or a
    peer."""
    os.closerange(0, WORKER_FD)
    os.closerange(WORKER_FD + 1, _max_descriptor())
    # Python itself writes warnings and exceptions of freed generators there, for which the filter would kill the
    # worker.
    sys.stdin = sys.stdout = sys.stderr = None
    return ""


def _max_descriptor() -> int:
    _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard_limit == resource.RLIM_INFINITY:
        return _DESCRIPTORS_WITHOUT_LIMIT
    return hard_limit


def _identity(_: Confinement) -> str:
    """Changes root to nobody."""
    # Root is exempt from several rlimits and may signal any process.
    if os.geteuid() != 0:
        return f"already uid {os.geteuid()}"
    with contextlib.suppress(PermissionError):  # a user namespace may forbid it; then there are no groups to drop
        os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    return f"uid {NOBODY}"


def _capabilities(_: Confinement) -> str:
    """Drops all capabilities, including those that a new user namespace grants over itself."""
    header = (ctypes.c_uint32 * 2)(_LINUX_CAPABILITY_VERSION_3, 0)
    none = (ctypes.c_uint32 * 6)()
    _check(_libc.capset(header, none), "capset")
    return ""


def _parent_death(confinement: Confinement) -> str:
    """Makes the worker die with the fork server, which dies with the host."""
    # Armed after the change of uid, which would disarm it.
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, "PR_SET_PDEATHSIG")
    if os.getppid() != confinement.parent:
        os._exit(1)  # the parent died between the fork and here, so its signal will never come
    return ""


def _not_dumpable(_: Confinement) -> str:
    """Forbids core files, and ptrace and /proc/PID/mem to processes of the same user."""
    _prctl(_PR_SET_DUMPABLE, 0, "PR_SET_DUMPABLE")
    return ""


def _rlimits(confinement: Confinement) -> str:
    """Sets limits that the kernel enforces even if the host is slow: memory, processor, files, processes, core."""
    fixed = {
        resource.RLIMIT_AS: confinement.address_space,
        resource.RLIMIT_CPU: confinement.cpu_seconds,
        resource.RLIMIT_NPROC: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: WORKER_FD + 1,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_SIGPENDING: 0,
    }
    for limit, value in fixed.items():
        resource.setrlimit(limit, (value, value))
    mebibytes = confinement.address_space >> 20
    return f"address space {mebibytes} MiB, cpu {confinement.cpu_seconds} s"


def address_space() -> int:
    """Returns the bytes of address space that this process maps now."""
    fields = Path("/proc/self/statm").read_text().split()
    pages = int(fields[0])
    return pages * resource.getpagesize()


def _no_new_privs(_: Confinement) -> str:
    """Keeps set-uid programs from raising privileges. Landlock and seccomp require this of an unprivileged process."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1, "PR_SET_NO_NEW_PRIVS")
    return ""


def _landlock(_: Confinement) -> str:
    """Forbids opening files, binding or connecting TCP ports, and signals to the outside: a ruleset without a rule."""
    return landlock.restrict()


def _scope(_: Confinement) -> str:
    """Forbids signals to the fork server and to other workers."""
    # They share one Landlock domain, so the worker enters another domain inside it.
    if landlock.abi() < _LANDLOCK_SCOPES:
        raise OSError("Landlock restricts signals from Linux 6.12 on; until then seccomp alone does")
    return landlock.restrict()


def _seccomp(_: Confinement) -> str:
    """Allows only the system calls that a running interpreter needs; any other kills the worker."""
    return seccomp.install(WORKER_FD)


# --- in the process of each command line, whose program is not ours ---


def _loopback(confinement: Confinement) -> str:
    """Enters a network namespace for this process alone, and brings its loopback up: only servers in the namespace can
    be reached."""
    detail = _network(confinement)
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))
    return detail


def _own_user(confinement: Confinement) -> str:
    """Changes root to a user that no other process has. Attack: one command line changes another one's limits, which
    ends it, reads its memory, or uses up the threads that a user may have."""
    if os.geteuid() != 0:
        return _identity(confinement)
    user = _OWN_USERS + os.getpid()
    with contextlib.suppress(PermissionError):
        os.setgroups([])
    try:
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    except OSError:  # a user namespace has no such user
        return _identity(confinement)
    return f"uid {user}"


def _priority(_: Confinement) -> str:
    """Takes the lowest priority, in a new session: kernels that group processes by session share the processor among
    sessions. Attack: a program keeps a processor busy with each thread, and leaves none for the host or another command
    line."""
    if os.getsid(0) != os.getpid():
        os.setsid()
    os.setpriority(os.PRIO_PROCESS, 0, _LOWEST_PRIORITY)
    return f"nice {_LOWEST_PRIORITY}"


def _threads(_: Confinement) -> str:
    """Limits threads. The kernel counts a user's threads separately in each user namespace, so a process that shares
    its user enters one."""
    if os.geteuid() != _OWN_USERS + os.getpid():
        if landlock.abi() < _COUNTS_BY_NAMESPACE:
            raise OSError("Linux counts threads by user namespace from 5.14 on, surely where Landlock's ABI is 2")
        # An unmapped namespace is the one that `_network` made: a process cannot enter a second one from there.
        if Path("/proc/self/uid_map").read_text():
            _check(_libc.unshare(_CLONE_NEWUSER), "unshare")
    resource.setrlimit(resource.RLIMIT_NPROC, (_MAX_THREADS, _MAX_THREADS))
    return f"{_MAX_THREADS} threads"


def _limits(confinement: Confinement, *, executes: bool) -> str:
    """Sets limits on memory, processor, files and core. A Go program reserves address space that it never uses, so its
    limit is on the memory that it may write to."""
    memory = {resource.RLIMIT_AS: confinement.address_space}
    if executes:
        reserved = _RESERVED + confinement.address_space
        memory = {resource.RLIMIT_AS: reserved, resource.RLIMIT_DATA: confinement.address_space}
    fixed = memory | {
        resource.RLIMIT_STACK: _MAX_STACK,
        resource.RLIMIT_CPU: confinement.cpu_seconds,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: _MAX_FILES,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
    }
    for limit, value in fixed.items():
        _, most = resource.getrlimit(limit)
        lowered = value if most == resource.RLIM_INFINITY else min(value, most)  # it may not be raised
        resource.setrlimit(limit, (lowered, lowered))
    return f"memory {confinement.address_space >> 20} MiB, cpu {confinement.cpu_seconds} s"


def program_steps(paths: Mapping[str, int], port: int, execution: command_filter.Execution) -> Steps:
    """Returns the steps of a process that becomes another program, which can reach these paths and this port."""
    return (
        ("rlimits", functools.partial(_limits, executes=True)),
        ("priority", _priority),
        ("identity", _own_user),
        ("threads", _threads),
        ("capabilities", _capabilities),
        ("parent_death", _parent_death),
        ("no_new_privs", _no_new_privs),
        ("landlock", lambda _: landlock.restrict(paths, (port,))),
        ("seccomp", lambda _: command_filter.install(execution)),
    )


def client_steps(paths: Mapping[str, int], ports: Sequence[int] | None = None) -> Steps:
    """Returns the steps of a client of external services: it reads these paths, and connects to these ports; None: to
    all."""
    # It keeps its user, who may read Python's own files, but has no capabilities.
    return (
        ("rlimits", functools.partial(_limits, executes=False)),
        ("priority", _priority),
        ("threads", _threads),  # before the next: a new user namespace grants capabilities over itself
        ("capabilities", _capabilities),
        ("parent_death", _parent_death),
        ("not_dumpable", _not_dumpable),
        ("no_new_privs", _no_new_privs),
        ("landlock", lambda _: landlock.restrict(paths, ports)),
        ("seccomp", lambda _: command_filter.install()),
    )


LOOPBACK_STEPS: Final[Steps] = (("network", _loopback),)
COMMAND_SERVER_STEPS: Final[Steps] = (
    ("environment", _environment),
    ("oom_score", _oom_score),
)

SERVER_STEPS: Final[Steps] = (
    ("environment", _environment),
    ("oom_score", _oom_score),
    ("network", _network),
    ("identity", _identity),
    ("capabilities", _capabilities),
    ("no_new_privs", _no_new_privs),
    ("landlock", _landlock),
)

WORKER_STEPS: Final[Steps] = (
    ("descriptors", _descriptors),
    ("rlimits", _rlimits),
    ("not_dumpable", _not_dumpable),
    ("parent_death", _parent_death),
    ("scope", _scope),
    ("seccomp", _seccomp),
)
