"""The steps by which the process of a command line gives up what its program does not need. The program is not ours.

`lockdown` applies these steps, and defines those that a worker takes too.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import resource
import socket
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from kubescript_sandbox.confinement import command_filter, landlock, lockdown
from kubescript_sandbox.confinement.lockdown import Confinement, Steps

__all__ = ["LOOPBACK_STEPS", "SERVER_STEPS", "client_steps", "program_steps"]

_SIOCSIFFLAGS: Final = 0x8914
_IFF_UP: Final = 0x1
# The proxy accepts 32 connections. 32 pollers of 32 files are 1,024 watches; a user may have a million of them on a
# machine with 5 GiB.
_MAX_FILES: Final = 64
# `oc` has about twenty threads. At the lowest priority, this many weigh less than one thread of the host.
_MAX_THREADS: Final = 64
_LOWEST_PRIORITY: Final = 19
_MAX_STACK: Final = 8 << 20
"""The maximum size in bytes of the first thread's stack, which no other limit counts."""
# Go needs 800 MiB, and the C library 8 MiB for each stack. Attack: a program write-protects pages after writing them,
# or maps them over a reservation; the kernel does not count these as data. Until the host measures such pages
# (commands/confined_process.py), only this limit bounds them.
_RESERVED: Final = 1536 << 20
"""How many bytes of address space a program may reserve beyond what it writes to."""
# No system assigns the user ids from here on (see systemd's table), and there are more of them than there can be
# processes.
_OWN_USERS: Final = 0x70000000
_COUNTS_BY_NAMESPACE: Final = 2
"""Landlock's ABI in Linux 5.19."""
_CLONE_NEWUSER: Final = 0x10000000

_libc = ctypes.CDLL(None, use_errno=True)


def _raise_loopback(confinement: Confinement) -> str:
    """Enters a network namespace that only this process is in, and brings its loopback up: only servers in the
    namespace can be reached."""
    detail = lockdown.isolate_network(confinement)
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))
    return detail


def _take_own_user(confinement: Confinement) -> str:
    """Changes root to a user that no other process has."""
    # Attack: one command line changes another one's limits, which ends it, reads its memory, or uses up the threads
    # that a user may have.
    if os.geteuid() != 0:
        return lockdown.become_nobody(confinement)
    user = _OWN_USERS + os.getpid()
    with contextlib.suppress(PermissionError):
        os.setgroups([])
    try:
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    except OSError:  # a user namespace has no such user
        return lockdown.become_nobody(confinement)
    return f"uid {user}"


def _lower_priority(_: Confinement) -> str:
    """Takes the lowest priority, in a new session."""
    # Kernels that group processes by session share the processor among sessions. Attack: a program keeps a processor
    # busy with each thread, and leaves none for the host or another command line.
    if os.getsid(0) != os.getpid():
        os.setsid()
    os.setpriority(os.PRIO_PROCESS, 0, _LOWEST_PRIORITY)
    return f"nice {_LOWEST_PRIORITY}"


def _limit_threads(_: Confinement) -> str:
    """Limits threads."""
    # The kernel counts a user's threads separately in each user namespace, so a process that shares its user enters
    # one.
    has_own_user = os.geteuid() == _OWN_USERS + os.getpid()
    if not has_own_user:
        if landlock.abi() < _COUNTS_BY_NAMESPACE:
            raise OSError("Linux counts threads by user namespace from 5.14 on, surely where Landlock's ABI is 2")
        # An unmapped namespace is the one that `isolate_network` made: a process cannot enter a second one from there.
        if Path("/proc/self/uid_map").read_text():
            lockdown.check(_libc.unshare(_CLONE_NEWUSER), "unshare")
    resource.setrlimit(resource.RLIMIT_NPROC, (_MAX_THREADS, _MAX_THREADS))
    return f"{_MAX_THREADS} threads"


def _limit_resources(confinement: Confinement, *, executes: bool) -> str:
    """Sets limits on memory, processor, files and core."""
    room = confinement.address_space
    memory = {resource.RLIMIT_AS: room}
    if executes:
        # A Go program reserves address space that it never uses, so its limit is on the memory that it may write to.
        memory = {resource.RLIMIT_AS: _RESERVED + room, resource.RLIMIT_DATA: room}
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
        lowered = value if most == resource.RLIM_INFINITY else min(value, most)  # a limit may not be raised
        resource.setrlimit(limit, (lowered, lowered))
    return f"memory {room >> 20} MiB, cpu {confinement.cpu_seconds} s"


def program_steps(paths: Mapping[str, int], port: int, execution: command_filter.Execution) -> Steps:
    """Returns the steps of a process that becomes another program, which can reach these paths and this port."""
    return (
        ("rlimits", lambda confinement: _limit_resources(confinement, executes=True)),
        ("priority", _lower_priority),
        ("identity", _take_own_user),
        ("threads", _limit_threads),
        ("capabilities", lockdown.drop_capabilities),
        ("parent_death", lockdown.arm_parent_death),
        ("no_new_privs", lockdown.forbid_new_privileges),
        ("landlock", lambda _: landlock.restrict(paths, (port,))),
        ("seccomp", lambda _: command_filter.install(execution)),
    )


def client_steps(paths: Mapping[str, int], ports: Sequence[int] | None = None) -> Steps:
    """Returns the steps of a client of external services: it reads these paths, and connects to these ports; None: to
    all."""
    # The client keeps its user, who may read Python's own files, but has no capabilities.
    return (
        ("rlimits", lambda confinement: _limit_resources(confinement, executes=False)),
        ("priority", _lower_priority),
        ("threads", _limit_threads),  # precedes the next step: a new user namespace grants capabilities over itself
        ("capabilities", lockdown.drop_capabilities),
        ("parent_death", lockdown.arm_parent_death),
        ("not_dumpable", lockdown.forbid_dumps),
        ("no_new_privs", lockdown.forbid_new_privileges),
        ("landlock", lambda _: landlock.restrict(paths, ports)),
        ("seccomp", lambda _: command_filter.install()),
    )


LOOPBACK_STEPS: Final[Steps] = (("network", _raise_loopback),)
SERVER_STEPS: Final[Steps] = (
    ("environment", lockdown.clear_environment),
    ("oom_score", lockdown.raise_oom_score),
)
