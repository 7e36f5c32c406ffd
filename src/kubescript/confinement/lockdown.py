"""Confinement of a worker as a list of named steps, each able to stop the launch.

The fork server applies `SERVER_STEPS` once, when it is warm, for itself and all its children, who inherit them; each
worker applies `WORKER_STEPS` after its fork and before it reads a byte from the host. Every step gives a `Layer` saying
whether it holds and, if not, why. What a missing layer means is the host's decision (`sandbox.strict`). Runs on the
untrusted side and imports nothing of the host's.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kubescript.confinement import landlock, seccomp
from kubescript.wire import protocol

__all__ = ["SERVER_STEPS", "WORKER_FD", "WORKER_STEPS", "Confinement", "address_space", "adopt_socket", "apply"]

WORKER_FD: Final = 3
"""The only descriptor a worker has: its socket to the host."""

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
    """What a step needs to know about this worker."""

    parent: int
    """Process id of the fork server, which must still be the parent when the death signal is armed."""
    address_space: int
    """Bytes of address space, the warm process's own included."""
    cpu_seconds: int
    """Processor time after which the kernel kills, should the host fail to."""


Step = Callable[[Confinement], str]
"""Applies one step and returns a detail worth reporting. Raises OSError when the kernel does not give it."""


def apply(steps: tuple[tuple[str, Step], ...], confinement: Confinement) -> tuple[protocol.Layer, ...]:
    """Apply `steps` in order; a step the kernel refuses is reported as inactive, with the kernel's reason."""
    layers = []
    for name, step in steps:
        try:
            detail = step(confinement)
            layers.append(protocol.Layer(name, active=True, detail=detail))
        except OSError as error:
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
    """No variable: tokens, proxies and paths live there. The process was started with none; this holds if a caller
    forgot."""
    os.environ.clear()
    return ""


def _network(_: Confinement) -> str:
    """A network namespace without any interface but a downed loopback. Without privilege, inside a new user
    namespace."""
    flags = _CLONE_NEWNET | _CLONE_NEWIPC
    if _libc.unshare(flags) == 0:
        return "own network and ipc namespaces"
    _check(_libc.unshare(flags | _CLONE_NEWUSER), "unshare")
    return "own user, network and ipc namespaces"


def _oom_score(_: Confinement) -> str:
    """When memory runs out, the kernel takes a worker before the host."""
    Path("/proc/self/oom_score_adj").write_text("1000")
    return ""


def adopt_socket(descriptor: int) -> socket.socket:
    """The worker's socket, moved to WORKER_FD. Before the lockdown: wrapping a descriptor asks the kernel things it
    then refuses."""
    if descriptor != WORKER_FD:
        os.dup2(descriptor, WORKER_FD, inheritable=False)
    return socket.socket(fileno=WORKER_FD)


def _descriptors(_: Confinement) -> str:
    """Every descriptor closed but the socket, stdin, stdout and stderr included: none may lead to a file or a peer."""
    os.closerange(0, WORKER_FD)
    os.closerange(WORKER_FD + 1, _max_descriptor())
    return ""


def _max_descriptor() -> int:
    _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard_limit == resource.RLIM_INFINITY:
        return _DESCRIPTORS_WITHOUT_LIMIT
    return hard_limit


def _identity(_: Confinement) -> str:
    """Root becomes nobody: root is exempt from several rlimits and may signal anyone."""
    if os.geteuid() != 0:
        return f"already uid {os.geteuid()}"
    with contextlib.suppress(PermissionError):  # a user namespace may forbid it; there are no groups to keep then
        os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    return f"uid {NOBODY}"


def _capabilities(_: Confinement) -> str:
    """No capability, not even those a new user namespace grants over itself."""
    header = (ctypes.c_uint32 * 2)(_LINUX_CAPABILITY_VERSION_3, 0)
    none = (ctypes.c_uint32 * 6)()
    _check(_libc.capset(header, none), "capset")
    return ""


def _parent_death(confinement: Confinement) -> str:
    """Die with the fork server, which dies with the host. Armed after the change of uid, which would disarm it."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, "PR_SET_PDEATHSIG")
    if os.getppid() != confinement.parent:
        os._exit(1)  # the parent died between fork and here, so its signal will never come
    return ""


def _not_dumpable(_: Confinement) -> str:
    """No core file, no ptrace and no /proc/PID/mem for processes of the same user."""
    _prctl(_PR_SET_DUMPABLE, 0, "PR_SET_DUMPABLE")
    return ""


def _rlimits(confinement: Confinement) -> str:
    """Bounds the kernel keeps even if the host is slow: memory, processor, files, processes, core."""
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
    """Bytes of address space this process maps now."""
    fields = Path("/proc/self/statm").read_text().split()
    pages = int(fields[0])
    return pages * resource.getpagesize()


def _no_new_privs(_: Confinement) -> str:
    """No set-uid program can raise privileges; also what lets an unprivileged process install the next two."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1, "PR_SET_NO_NEW_PRIVS")
    return ""


def _landlock(_: Confinement) -> str:
    """No file may be opened, no TCP port bound or connected, no signal sent out: a ruleset without a single rule."""
    return landlock.restrict()


def _scope(_: Confinement) -> str:
    """No signal to the fork server or to other workers, who share its Landlock domain: a domain of the worker's own
    inside it."""
    if landlock.abi() < _LANDLOCK_SCOPES:
        raise OSError("Landlock restricts signals from Linux 6.12 on; until then seccomp alone does")
    return landlock.restrict()


def _seccomp(_: Confinement) -> str:
    """Only the system calls a running interpreter needs; anything else kills the worker."""
    return seccomp.install(WORKER_FD)


SERVER_STEPS: Final[tuple[tuple[str, Step], ...]] = (
    ("environment", _environment),
    ("oom_score", _oom_score),
    ("network", _network),
    ("identity", _identity),
    ("capabilities", _capabilities),
    ("no_new_privs", _no_new_privs),
    ("landlock", _landlock),
)

WORKER_STEPS: Final[tuple[tuple[str, Step], ...]] = (
    ("descriptors", _descriptors),
    ("rlimits", _rlimits),
    ("not_dumpable", _not_dumpable),
    ("parent_death", _parent_death),
    ("scope", _scope),
    ("seccomp", _seccomp),
)
