"""Runs a command as a container would: no privilege, no capability, a read-only root. Needs root; run by path.

    container.py [--no-user-namespaces] COMMAND...

Folders on the way to the interpreter and to this repository that others may not enter (/root) are replaced by ones they
may.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Final

USER: Final = 10001
_CLONE_NEWNS: Final = 0x00020000
_MS_BIND_REC: Final = 0x1000 | 0x4000
_MS_PRIVATE_REC: Final = 0x40000 | 0x4000
_MOUNT_SETATTR: Final = 442
_AT_RECURSIVE: Final = 0x8000
_RDONLY: Final = 1
_PR_CAPBSET_DROP: Final = 24
_PR_SET_NO_NEW_PRIVS: Final = 38

libc = ctypes.CDLL(None, use_errno=True)


def check(result: int) -> None:
    """Raise what the C library reported."""
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """mount(2)."""
    check(libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode()))


def opened_to_others(needed: list[Path]) -> None:
    """Replace each closed folder above `needed` by an empty one that shows nothing else."""
    closed = {parent for path in needed for parent in path.parents if not parent.stat().st_mode & 0o001}
    for folder in sorted(closed):
        wanted = {path: os.open(path, os.O_PATH) for path in needed if folder in path.parents}
        mount("tmpfs", str(folder), "tmpfs", 0, "mode=755")
        for path, descriptor in wanted.items():
            path.mkdir(parents=True, exist_ok=True)
            mount(f"/proc/self/fd/{descriptor}", str(path), "", _MS_BIND_REC)
            os.close(descriptor)


def read_only() -> None:
    """Every mount but /proc, whose files are no disk."""
    attributes = (ctypes.c_uint64 * 4)(_RDONLY, 0, 0, 0)
    check(libc.syscall(_MOUNT_SETATTR, -100, b"/", _AT_RECURSIVE, attributes, ctypes.sizeof(attributes)))
    writable = (ctypes.c_uint64 * 4)(0, _RDONLY, 0, 0)
    check(libc.syscall(_MOUNT_SETATTR, -100, b"/proc", 0, writable, ctypes.sizeof(writable)))


def powerless() -> None:
    """Another user, no group, no capability now or ever."""
    for capability in range(64):
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    os.setgroups([])
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)
    check(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


def no_user_namespaces() -> None:
    """As the default seccomp profile of container runtimes."""
    import pyseccomp

    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    for name in ("unshare", "setns"):
        rules.add_rule(pyseccomp.ERRNO(1), name)
    rules.load()


def main() -> None:
    """Confine, then become the command."""
    command = sys.argv[1:]
    forbid = command[0] == "--no-user-namespaces"
    command = command[1:] if forbid else command
    check(libc.unshare(_CLONE_NEWNS))
    mount("none", "/", "", _MS_PRIVATE_REC)
    repository = Path(__file__).resolve().parent.parent
    opened_to_others([Path(sys.prefix), Path(sys.base_prefix), repository])
    os.chdir(repository)
    read_only()
    powerless()
    if forbid:
        no_user_namespaces()
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
