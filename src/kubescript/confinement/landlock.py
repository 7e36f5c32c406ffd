"""Landlock: restricts this process by a ruleset that handles every right the kernel knows and grants none.

Called by lockdown.py. Uses the kernel's interface (landlock(7)) directly: its system calls have the same numbers on
every architecture.
"""

from __future__ import annotations

import ctypes
import os
from typing import Final

__all__ = ["abi", "restrict"]

_CREATE_RULESET: Final = 444
_RESTRICT_SELF: Final = 446
_VERSION_FLAG: Final = 1

_FS_RIGHTS: Final = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""Number of file-system rights (low bits) by ABI; later ABIs have those of 5."""
_NET_TCP: Final = 0b11
"""To bind and to connect a TCP port."""
_NET_ABI: Final = 4
_SCOPES: Final = 0b11
"""Abstract unix sockets and signals."""
_SCOPES_ABI: Final = 6

_libc = ctypes.CDLL(None, use_errno=True)


def abi() -> int:
    """Return the version of the kernel's Landlock ABI; 0 when it has none or has it switched off at boot."""
    return max(0, int(_libc.syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG)))


def restrict() -> str:
    """Restrict this process; returns the ABI as a detail for the report. Needs no_new_privs. Raises OSError where
    Landlock is missing."""
    version = abi()
    if version == 0:
        raise OSError(
            "the kernel has no Landlock (CONFIG_SECURITY_LANDLOCK, and `landlock` in the lsm= boot parameter)"
        )
    ruleset = _create(version)
    try:
        if _libc.syscall(_RESTRICT_SELF, ruleset, 0) != 0:
            raise _last_error("landlock_restrict_self")
    finally:
        os.close(ruleset)
    return f"abi {version}"


def _create(version: int) -> int:
    count = _FS_RIGHTS[min(version, 5)]
    handled = [(1 << count) - 1]
    if version >= _NET_ABI:
        handled.append(_NET_TCP)
    if version >= _SCOPES_ABI:
        handled.append(_SCOPES)
    attributes = (ctypes.c_uint64 * len(handled))(*handled)
    size = ctypes.sizeof(attributes)
    ruleset = int(_libc.syscall(_CREATE_RULESET, attributes, size, 0))
    if ruleset < 0:
        raise _last_error("landlock_create_ruleset")
    return ruleset


def _last_error(call: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{call}: {os.strerror(number)}")
