"""Confines a worker by a list of named steps; each can stop the launch.

The fork server applies `SERVER_STEPS` once, after its warm-up; all its children inherit them. Each worker applies
`WORKER_STEPS` after its fork and before it reads a byte from the host. Every step yields a `Layer` that says whether it
is active and, if not, why. The host decides what a missing layer means (`sandbox.strict`). This module runs on the
untrusted side and imports nothing from the host.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kubescript_sandbox.confinement import landlock, seccomp
from kubescript_sandbox.wire import protocol

__all__ = [
    "SERVER_STEPS", "WORKER_FD", "WORKER_STEPS", "Confinement", "Step", "Steps", "address_space", "adopt_socket",
    "apply", "arm_parent_death", "become_nobody", "check", "clear_environment", "drop_capabilities", "forbid_dumps",
    "forbid_new_privileges", "isolate_network", "raise_oom_score",
]  # fmt: skip

WORKER_FD: Final = 3
"""The only descriptor of a worker: its socket to the host."""

NOBODY: Final = 65534
_CLONE_NEWUSER: Final = 0x10000000
_CLONE_NEWIPC: Final = 0x08000000
_CLONE_NEWNET: Final = 0x40000000
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_DUMPABLE: Final = 4
_PR_SET_NO_NEW_PRIVS: Final = 38
_LINUX_CAPABILITY_VERSION_3: Final = 0x20080522
_LANDLOCK_SCOPES: Final = 6
_DESCRIPTORS_WITHOUT_LIMIT: Final = 1 << 20

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Confinement:
    """The figures of this worker that the steps need."""

    parent: int
    """Process id of the fork server, which must still be the parent when the death signal is armed."""
    address_space: int
    """The limit on address space in bytes, including what the warm process already maps."""
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


def check(result: int, what: str) -> None:
    """Checks the result of a function of the C library. Raises OSError with its name."""
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _prctl(option: int, value: int, what: str) -> None:
    result = _libc.prctl(option, value, 0, 0, 0)
    check(result, what)


# --- once, in the fork server ---


def clear_environment(_: Confinement) -> str:
    """Clears all environment variables: they may contain tokens, proxies and paths."""
    # The process is started without environment variables; this step also protects against callers that forget that.
    os.environ.clear()
    return ""


def isolate_network(_: Confinement) -> str:
    """Enters a network namespace whose only interface is a loopback that is down. An unprivileged process also enters a
    new user namespace."""
    flags = _CLONE_NEWNET | _CLONE_NEWIPC
    if _libc.unshare(flags) == 0:
        return "own network and ipc namespaces"
    check(_libc.unshare(flags | _CLONE_NEWUSER), "unshare")
    return "own user, network and ipc namespaces"


def raise_oom_score(_: Confinement) -> str:
    """Makes the kernel kill a worker before the host when memory runs out."""
    Path("/proc/self/oom_score_adj").write_text("1000")
    return ""


def adopt_socket(descriptor: int) -> socket.socket:
    """Moves the worker's socket to WORKER_FD and wraps it."""
    # Called before the lockdown, which refuses the system calls that wrapping a descriptor needs.
    if descriptor != WORKER_FD:
        os.dup2(descriptor, WORKER_FD, inheritable=False)
    return socket.socket(fileno=WORKER_FD)


def _close_descriptors(_: Confinement) -> str:
    """Closes every descriptor except the socket, including stdin, stdout and stderr: none may lead to a file or a
    peer."""
    os.closerange(0, WORKER_FD)
    os.closerange(WORKER_FD + 1, _max_descriptor())
    # Python itself writes warnings, and the exceptions of generators that are freed, to these streams; the filter would
    # kill the worker for that.
    sys.stdin = sys.stdout = sys.stderr = None
    return ""


def _max_descriptor() -> int:
    _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard_limit == resource.RLIM_INFINITY:
        return _DESCRIPTORS_WITHOUT_LIMIT
    return hard_limit


def become_nobody(_: Confinement) -> str:
    """Changes root to nobody."""
    # Root is exempt from several rlimits and may signal any process.
    if os.geteuid() != 0:
        return f"already uid {os.geteuid()}"
    with contextlib.suppress(PermissionError):  # a user namespace may forbid it; then there are no groups to drop
        os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    return f"uid {NOBODY}"


def drop_capabilities(_: Confinement) -> str:
    """Drops all capabilities, including those that a new user namespace grants over itself."""
    header = (ctypes.c_uint32 * 2)(_LINUX_CAPABILITY_VERSION_3, 0)
    none = (ctypes.c_uint32 * 6)()
    check(_libc.capset(header, none), "capset")
    return ""


def arm_parent_death(confinement: Confinement) -> str:
    """Makes the worker die with the fork server, which dies with the host."""
    # Armed after the change of uid, which would disarm it.
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, "PR_SET_PDEATHSIG")
    if os.getppid() != confinement.parent:
        os._exit(1)  # the parent died between the fork and here, so its signal will never come
    return ""


def forbid_dumps(_: Confinement) -> str:
    """Forbids core files, and ptrace and /proc/PID/mem to processes of the same user."""
    _prctl(_PR_SET_DUMPABLE, 0, "PR_SET_DUMPABLE")
    return ""


def _set_limits(confinement: Confinement) -> str:
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


def forbid_new_privileges(_: Confinement) -> str:
    """Keeps set-uid programs from raising privileges. Landlock and seccomp require this of an unprivileged process."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1, "PR_SET_NO_NEW_PRIVS")
    return ""


def _restrict_files(_: Confinement) -> str:
    """Forbids opening files, binding or connecting to TCP ports, and sending signals to the outside: a ruleset without
    a rule."""
    return landlock.restrict()


def _restrict_signals(_: Confinement) -> str:
    """Forbids signals to the fork server and to other workers."""
    # All these processes share one Landlock domain, so the worker enters another domain inside it.
    if landlock.abi() < _LANDLOCK_SCOPES:
        raise OSError("Landlock restricts signals from Linux 6.12 on; until then seccomp alone does")
    return landlock.restrict()


def _filter_calls(_: Confinement) -> str:
    """Allows only the system calls that a running interpreter needs; any other call kills the worker."""
    return seccomp.install(WORKER_FD)


SERVER_STEPS: Final[Steps] = (
    ("environment", clear_environment),
    ("oom_score", raise_oom_score),
    ("network", isolate_network),
    ("identity", become_nobody),
    ("capabilities", drop_capabilities),
    ("no_new_privs", forbid_new_privileges),
    ("landlock", _restrict_files),
)

WORKER_STEPS: Final[Steps] = (
    ("descriptors", _close_descriptors),
    ("rlimits", _set_limits),
    ("not_dumpable", forbid_dumps),
    ("parent_death", arm_parent_death),
    ("scope", _restrict_signals),
    ("seccomp", _filter_calls),
)
