"""Raw system calls of a worker whose language wall has fallen, and how the filter stops one."""

from __future__ import annotations

from typing import Final

import pyseccomp

from kubescript_sandbox import runs

__all__ = [
    "ALLOWED",
    "CONFINEMENT",
    "FILES",
    "NETWORK",
    "OTHERS",
    "PROCESSES",
    "SURFACE",
    "is_killed",
    "is_stopped",
    "number",
    "script",
]

_FORBIDDEN: Final = "forbidden system call"
"""What the host says of a worker that SIGSYS ended."""
_NEWER: Final = {"mseal": 462}
"""Newer than some libseccomp; the same number on every architecture."""


def is_killed(outcome: runs.Outcome) -> bool:
    """Whether the filter ended the worker."""
    return outcome.fault is not None and _FORBIDDEN in outcome.fault.message


def is_stopped(outcome: runs.Outcome) -> bool:
    """Whether the filter stopped a raw call: the worker died of it, or was told EPERM before the kernel looked at an
    argument."""
    return is_killed(outcome) or outcome.result == b'"(-1, 1)"'


def number(name: str) -> int:
    """The number of a system call; below zero where this architecture or libseccomp has none of that name."""
    found: int = pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name)
    return _NEWER.get(name, found) if found < 0 else found


def script(name: str, arguments: str) -> str:
    """A script of a hostile worker that makes one raw system call."""
    return f"result = syscall({number(name)}, {arguments})"


ALLOWED: Final = frozenset({
    "brk", "munmap", "mremap", "madvise", "mmap", "mprotect", "futex", "sched_yield", "clock_gettime", "clock_getres", "gettimeofday",
    "time", "getrandom", "rt_sigreturn", "rt_sigprocmask", "sigaltstack", "restart_syscall", "getpid", "gettid", "close", "exit",
    "exit_group", "read", "write", "recvfrom", "sendto",
})  # fmt: skip
"""Pinned here on its own: a system call added to the filter must be added to this test as well, and be argued for."""

FILES: Final = {
    "open": 'b"/etc/passwd", 0',
    "openat": '-100, b"/proc/self/mem", 2',
    "openat2": '-100, b"/etc/passwd", 0, 0',
    "creat": 'b"/tmp/escape", 0o600',
    "mkdir": 'b"/tmp/escape", 0o700',
    "mkdirat": '-100, b"/tmp/escape", 0o700',
    "mknod": 'b"/tmp/escape", 0o020600, 0x101',
    "mknodat": '-100, b"/tmp/escape", 0o020600, 0x101',
    "rmdir": 'b"/tmp/escape"',
    "unlink": 'b"/etc/hostname"',
    "unlinkat": '-100, b"/etc/hostname", 0',
    "rename": 'b"/tmp/a", b"/tmp/b"',
    "renameat2": '-100, b"/tmp/a", -100, b"/tmp/b", 0',
    "link": 'b"/etc/passwd", b"/tmp/escape"',
    "linkat": '-100, b"/etc/passwd", -100, b"/tmp/escape", 0',
    "symlink": 'b"/etc/passwd", b"/tmp/escape"',
    "symlinkat": 'b"/etc/passwd", -100, b"/tmp/escape"',
    "chmod": 'b"/tmp", 0o777',
    "fchmod": "3, 0o777",
    "fchmodat": '-100, b"/tmp", 0o777, 0',
    "chown": 'b"/tmp", 0, 0',
    "fchownat": '-100, b"/tmp", 0, 0, 0',
    "truncate": 'b"/etc/hostname", 0',
    "ftruncate": "3, 0",
    "fallocate": "3, 0, 0, 1",
    "utimensat": '-100, b"/tmp", 0, 0',
    "setxattr": 'b"/tmp", b"user.x", b"y", 1, 0',
    "getxattr": 'b"/tmp", b"user.x", 0, 0',
    "statfs": 'b"/", 0',
    "chdir": 'b"/"',
    "fchdir": "3",
    "getdents": "3, 0, 0",
    "memfd_create": 'b"x", 0',
    "memfd_secret": "0",
    "open_by_handle_at": "-100, 0, 0",
    "name_to_handle_at": '-100, b"/", 0, 0, 0',
    "inotify_init1": "0",
    "fanotify_init": "0, 0",
    "quotactl": "0, 0, 0, 0",
    "acct": 'b"/tmp/escape"',
    "pipe": "0",
    "pread64": "3, 0, 0, 0",
    "pwrite64": "3, 0, 0, 0",
    "readv": "3, 0, 0",
    "writev": "3, 0, 0",
    "preadv2": "3, 0, 0, 0, 0, 0",
    "sendfile": "3, 0, 0, 1",
    "splice": "3, 0, 3, 0, 1, 0",
    "tee": "3, 3, 1, 0",
    "vmsplice": "3, 0, 0, 0",
    "copy_file_range": "3, 0, 3, 0, 1, 0",
}

NETWORK: Final = {
    "socket": "2, 1, 0",
    "socketpair": "1, 1, 0, 0",
    "connect": "3, 0, 0",
    "bind": "3, 0, 0",
    "listen": "3, 1",
    "accept": "3, 0, 0",
    "accept4": "3, 0, 0, 0",
    "shutdown": "3, 2",
    "getsockopt": "3, 1, 17, 0, 0",
    "setsockopt": "3, 1, 2, 0, 0",
    "getsockname": "3, 0, 0",
    "getpeername": "3, 0, 0",
    "sendmmsg": "3, 0, 0, 0",
    "recvmmsg": "3, 0, 0, 0, 0",
    "sethostname": 'b"x", 1',
}

PROCESSES: Final = {
    "fork": "",
    "vfork": "",
    "clone": "17, 0, 0, 0, 0",
    "clone3": "0, 0",
    "execve": 'b"/bin/sh", 0, 0',
    "execveat": '-100, b"/bin/sh", 0, 0, 0',
    "setpgid": "0, 0",
    "setsid": "",
    "wait4": "-1, 0, 0, 0",
    "waitid": "0, 0, 0, 0, 0",
}

OTHERS: Final = {
    "kill": "1, 9",
    "tkill": "1, 9",
    "tgkill": "1, 1, 9",
    "rt_sigqueueinfo": "1, 9, 0",
    "rt_tgsigqueueinfo": "1, 1, 9, 0",
    "rt_sigaction": "9, 0, 0, 8",
    "pidfd_open": "1, 0",
    "pidfd_send_signal": "3, 9, 0, 0",
    "pidfd_getfd": "3, 0, 0",
    "ptrace": "16, 1, 0, 0",
    "process_vm_readv": "1, 0, 0, 0, 0, 0",
    "process_vm_writev": "1, 0, 0, 0, 0, 0",
    "process_madvise": "3, 0, 0, 0, 0",
    "process_mrelease": "3, 0",
    "kcmp": "1, 1, 0, 0, 0",
    "migrate_pages": "1, 0, 0, 0",
    "move_pages": "1, 0, 0, 0, 0, 0",
    "setpriority": "0, 0, -20",
    "ioprio_set": "1, 0, 0",
    "sched_setscheduler": "0, 1, 0",
    "sched_setattr": "0, 0, 0",
    "sched_setaffinity": "1, 0, 0",
    "getpgid": "1",
    "getsid": "1",
    "alarm": "1",
    "setitimer": "0, 0, 0",
    "timer_create": "0, 0, 0",
    "timerfd_create": "0, 0",
    "signalfd4": "-1, 0, 8, 0",
    "eventfd2": "0, 0",
    "epoll_create1": "0",
    "shmget": "0, 4096, 0o1000",
    "shmat": "0, 0, 0",
    "msgget": "0, 0o1000",
    "semget": "0, 1, 0o1000",
    "mq_open": 'b"/x", 0o100, 0o600, 0',
}

CONFINEMENT: Final = {
    "prctl": "38, 0, 0, 0, 0",
    "seccomp": "0, 0, 0",
    "prlimit64": "0, 9, 0, 0",
    "setrlimit": "9, 0",
    "getrlimit": "9, 0",
    "setuid": "0",
    "setgid": "0",
    "setresuid": "0, 0, 0",
    "setresgid": "0, 0, 0",
    "setreuid": "0, 0",
    "setfsuid": "0",
    "setgroups": "0, 0",
    "capset": "0, 0",
    "unshare": "0x10000000",
    "setns": "3, 0",
    "chroot": 'b"/"',
    "mount": 'b"none", b"/mnt", b"tmpfs", 0, 0',
    "umount2": 'b"/proc", 2',
    "pivot_root": 'b"/", b"/"',
    "fsopen": 'b"tmpfs", 0',
    "fsmount": "3, 0, 0",
    "fspick": '-100, b"/", 0',
    "open_tree": '-100, b"/", 0',
    "move_mount": '-100, b"/", -100, b"/", 0',
    "mount_setattr": '-100, b"/", 0, 0, 0',
    "landlock_create_ruleset": "0, 0, 1",
    "landlock_add_rule": "3, 1, 0, 0",
    "landlock_restrict_self": "3, 0",
    "personality": "0x0400000",
    "arch_prctl": "0x1002, 0",
    "set_tid_address": "0",
    "rseq": "0, 0, 0, 0",
    "dup": "3",
    "dup2": "3, 5",
    "dup3": "3, 5, 0",
    "fcntl": "3, 0, 0",
    "ioctl": "3, 0x5413, 0",
    "close_range": "0, 100, 0",
    "umask": "0",
}

SURFACE: Final = {
    "io_uring_setup": "8, 0",
    "io_uring_enter": "3, 1, 0, 0, 0, 0",
    "io_uring_register": "3, 0, 0, 0",
    "io_setup": "1, 0",
    "bpf": "0, 0, 0",
    "perf_event_open": "0, 0, -1, -1, 0",
    "userfaultfd": "0",
    "keyctl": "0, -3, 0",
    "add_key": 'b"user", b"x", b"y", 1, -2',
    "request_key": 'b"user", b"x", 0, -2',
    "init_module": "0, 0, 0",
    "finit_module": '3, b"", 0',
    "delete_module": 'b"x", 0',
    "kexec_load": "0, 0, 0, 0",
    "kexec_file_load": "3, 3, 0, 0, 0",
    "reboot": "0xfee1dead, 672274793, 0, 0",
    "swapon": 'b"/dev/null", 0',
    "swapoff": 'b"/dev/null"',
    "syslog": "3, 0, 0",
    "settimeofday": "0, 0",
    "clock_settime": "0, 0",
    "adjtimex": "0",
    "iopl": "3",
    "ioperm": "0, 1, 1",
    "modify_ldt": "0, 0, 0",
    "vhangup": "",
    "lookup_dcookie": "0, 0, 0",
    "membarrier": "0, 0, 0",
    "mbind": "0, 0, 0, 0, 0, 0",
    "set_mempolicy": "0, 0, 0",
    "mlock": "0, 4096",
    "mlockall": "1",
    "mincore": "0, 4096, 0",
    "msync": "0, 4096, 4",
    "mseal": "0, 4096, 0",
    "remap_file_pages": "0, 0, 0, 0, 0",
    "pkey_alloc": "0, 0",
    "pkey_mprotect": "0, 4096, 7, -1",
    "map_shadow_stack": "0, 4096, 0",
    "uselib": 'b"/lib/x"',
    "vserver": "",
    "cachestat": "3, 0, 0, 0",
    "futex_waitv": "0, 0, 0, 0, 0",
    "set_robust_list": "0, 0",
    "get_robust_list": "1, 0, 0",
}
