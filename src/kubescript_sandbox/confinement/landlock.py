"""Landlock: restricts this process by a ruleset that handles every right the kernel supports, and grants few or none.

Called by lockdown.py. Uses the kernel's interface (landlock(7)) directly: its system calls have the same numbers on
every architecture.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import stat
from collections.abc import Mapping, Sequence
from typing import Final

__all__ = ["EXECUTE", "READ", "WRITE", "abi", "knows_ports", "restrict"]

EXECUTE: Final = 1 << 0
WRITE: Final = 1 << 1
READ: Final = 1 << 2 | 1 << 3
"""The right to read files and folders."""

_READ_FOLDER: Final = 1 << 3
_CREATE_RULESET: Final = 444
_ADD_RULE: Final = 445
_RESTRICT_SELF: Final = 446
_VERSION_FLAG: Final = 1

_FS_RIGHTS: Final = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""The number of file-system rights (the low bits) by ABI; later ABIs have those of ABI 5."""
_BIND: Final = 0b01
_CONNECT: Final = 0b10
"""The right to connect to a TCP port."""
_PATH_RULE: Final = 1
_PORT_RULE: Final = 2
_NET_ABI: Final = 4
_SCOPES: Final = 0b11
"""Abstract unix sockets and signals."""
_SCOPES_ABI: Final = 6

_libc = ctypes.CDLL(None, use_errno=True)


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


class _PortRule(ctypes.Structure):
    _fields_ = (("allowed", ctypes.c_uint64), ("port", ctypes.c_uint64))


@functools.cache
def abi() -> int:
    """Returns the version of the kernel's Landlock ABI; 0 when it has none or it was disabled at boot."""
    # The kernel is asked only once: the filter of a command line's process forbids the call.
    return max(0, int(_libc.syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG)))


def knows_ports() -> bool:
    """Says whether the kernel's Landlock restricts connections."""
    return abi() >= _NET_ABI


def restrict(paths: Mapping[str, int] = {}, connect: Sequence[int] | None = ()) -> str:
    """Restricts this process; returns the ABI as a detail for the report. Needs no_new_privs. Raises OSError where
    Landlock is missing.

    `paths` grants rights below a path; unreachable paths are left out. `connect` lists the TCP ports that may be
    connected to; None: all of them.
    """
    version = abi()
    if version == 0:
        raise OSError(
            "the kernel has no Landlock (CONFIG_SECURITY_LANDLOCK, and `landlock` in the lsm= boot parameter)"
        )
    ruleset = _create(version, connects=connect is not None)
    try:
        for path, rights in paths.items():
            _allow_path(ruleset, path, rights)
        for port in connect or ():
            if version >= _NET_ABI:
                _add(ruleset, _PORT_RULE, _PortRule(_CONNECT, port))
        if _libc.syscall(_RESTRICT_SELF, ruleset, 0) != 0:
            raise _last_error("landlock_restrict_self")
    finally:
        os.close(ruleset)
    return f"abi {version}"


def _allow_path(ruleset: int, path: str, rights: int) -> None:
    """Grants rights below a path, if this process can reach it."""
    # A path that this process cannot reach needs no rule, since everything else is forbidden anyway.
    with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not stat.S_ISDIR(os.fstat(parent).st_mode):
                rights &= ~_READ_FOLDER  # a file has no such right
            _add(ruleset, _PATH_RULE, _PathRule(rights, parent))
        finally:
            os.close(parent)


def _add(ruleset: int, kind: int, rule: ctypes.Structure) -> None:
    if _libc.syscall(_ADD_RULE, ruleset, kind, ctypes.byref(rule), 0) != 0:
        raise _last_error("landlock_add_rule")


def _create(version: int, *, connects: bool) -> int:
    """Creates a ruleset; with `connects`, it also handles connections to TCP ports."""
    count = _FS_RIGHTS[min(version, 5)]
    handled = [(1 << count) - 1]
    if version >= _NET_ABI:
        handled.append(_BIND | _CONNECT if connects else _BIND)
    if version >= _SCOPES_ABI:
        handled.append(_SCOPES)
    attributes = (ctypes.c_uint64 * len(handled))(*handled)
    size = ctypes.sizeof(attributes)
    ruleset = int(_libc.syscall(_CREATE_RULESET, attributes, size, 0))
    if ruleset < 0:
        raise _last_error("landlock_create_ruleset")
    return ruleset


def _last_error(call: str) -> OSError:
    """Returns the error of a call that has failed."""
    number = ctypes.get_errno()
    return OSError(number, f"{call}: {os.strerror(number)}")
