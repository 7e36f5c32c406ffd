"""Layer 2, assuming layer 1 has fallen: unrestricted Python and raw system calls in a worker after its lockdown reach nothing."""

from __future__ import annotations

import os
from collections.abc import Callable

import pyseccomp
import pytest

from kubescript import types

Run = Callable[..., types.Outcome]

SYSCALLS = {
    # files
    "open": 'b"/etc/passwd", 0',
    "openat": '-100, b"/proc/self/mem", 2',
    "openat2": '-100, b"/etc/passwd", 0, 0',
    "creat": 'b"/tmp/escape", 0o600',
    "mkdir": 'b"/tmp/escape", 0o700',
    "unlink": 'b"/etc/hostname"',
    "rename": 'b"/tmp/a", b"/tmp/b"',
    "link": 'b"/etc/passwd", b"/tmp/escape"',
    "symlink": 'b"/etc/passwd", b"/tmp/escape"',
    "chmod": 'b"/tmp", 0o777',
    "chown": 'b"/tmp", 0, 0',
    "truncate": 'b"/etc/hostname", 0',
    "chdir": 'b"/"',
    "chroot": 'b"/"',
    "execve": 'b"/bin/sh", 0, 0',
    "execveat": '-100, b"/bin/sh", 0, 0, 0',
    "memfd_create": 'b"x", 0',
    "open_by_handle_at": "-100, 0, 0",
    "name_to_handle_at": '-100, b"/", 0, 0, 0',
    "inotify_init1": "0",
    "fanotify_init": "0, 0",
    # network
    "socket": "2, 1, 0",
    "socketpair": "1, 1, 0, 0",
    "connect": "3, 0, 0",
    "bind": "3, 0, 0",
    "listen": "3, 1",
    "accept4": "3, 0, 0, 0",
    "getsockopt": "3, 1, 17, 0, 0",
    "setsockopt": "3, 1, 2, 0, 0",
    # processes
    "fork": "",
    "vfork": "",
    "clone": "17, 0, 0, 0, 0",
    "clone3": "0, 0",
    "kill": "1, 9",
    "tkill": "1, 9",
    "tgkill": "1, 1, 9",
    "rt_sigqueueinfo": "1, 9, 0",
    "pidfd_open": "1, 0",
    "pidfd_send_signal": "3, 9, 0, 0",
    "pidfd_getfd": "3, 0, 0",
    "ptrace": "16, 1, 0, 0",
    "process_vm_readv": "1, 0, 0, 0, 0, 0",
    "process_vm_writev": "1, 0, 0, 0, 0, 0",
    "setpriority": "0, 0, -20",
    "sched_setscheduler": "0, 1, 0",
    "setpgid": "0, 0",
    "setsid": "",
    # privileges and confinement
    "prctl": "38, 0, 0, 0, 0",
    "seccomp": "0, 0, 0",
    "prlimit64": "0, 9, 0, 0",
    "setrlimit": "9, 0",
    "setuid": "0",
    "setresuid": "0, 0, 0",
    "capset": "0, 0",
    "unshare": "0x10000000",
    "setns": "3, 0",
    "mount": 'b"none", b"/mnt", b"tmpfs", 0, 0',
    "umount2": 'b"/proc", 2',
    "pivot_root": 'b"/", b"/"',
    "fsopen": 'b"tmpfs", 0',
    "open_tree": '-100, b"/", 0',
    "landlock_create_ruleset": "0, 0, 1",
    # kernel surface
    "io_uring_setup": "8, 0",
    "bpf": "0, 0, 0",
    "perf_event_open": "0, 0, -1, -1, 0",
    "userfaultfd": "0",
    "keyctl": "0, -3, 0",
    "add_key": 'b"user", b"x", b"y", 1, -2',
    "request_key": 'b"user", b"x", 0, -2',
    "init_module": "0, 0, 0",
    "finit_module": '3, b"", 0',
    "kexec_load": "0, 0, 0, 0",
    "reboot": "0xfee1dead, 672274793, 0, 0",
    "swapon": 'b"/dev/null", 0',
    "syslog": "3, 0, 0",
    "iopl": "3",
    "modify_ldt": "0, 0, 0",
    "personality": "0xffffffff",
    "shmget": "0, 4096, 0o1000",
    "msgget": "0, 0o1000",
    "semget": "0, 1, 0o1000",
    "mq_open": 'b"/x", 0o100, 0o600, 0',
    "dup": "3",
    "dup2": "3, 5",
    "fcntl": "3, 0, 0",
    "ioctl": "3, 0x5413, 0",
    "sendfile": "3, 0, 0, 1",
    "splice": "3, 0, 3, 0, 1, 0",
    "epoll_create1": "0",
    "timer_create": "0, 0, 0",
    "setitimer": "0, 0, 0",
}

ALIVE = "result = 1 + 1"


def held(outcome: types.Outcome) -> bool:
    """Whether an attempt came to nothing: the worker was killed, or the kernel refused the call."""
    if outcome.fault is not None:
        return outcome.fault.code in {"worker.died", "hostile"}
    return outcome.result is not None and outcome.result.startswith(b'"(-1,')


@pytest.mark.parametrize("name", SYSCALLS)
def test_no_forbidden_system_call_succeeds(name: str, hostile: Run) -> None:
    """A raw system call off the list fails or kills the worker, and the next script works."""
    number = pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name)
    if number < 0:
        pytest.skip(f"this architecture or libseccomp has no {name}")
    outcome = hostile(f"result = syscall({number}, {SYSCALLS[name]})")
    assert held(outcome), outcome
    assert hostile(ALIVE).result == b'"2"'


MEMORY = {
    "executable anonymous memory": "result = syscall({mmap}, 0, 4096, 7, 0x22, -1, 0)",
    "memory made executable later": "page = mmap.mmap(-1, 4096); address = ctypes.addressof(ctypes.c_char.from_buffer(page)); "
    "result = syscall({mprotect}, ctypes.c_void_p(address), 4096, 5)",
    "memory shared with another process": "result = syscall({mmap}, 0, 4096, 3, 0x21, -1, 0)",
    "a mapping of a descriptor": "result = syscall({mmap}, 0, 4096, 1, 0x02, 3, 0)",
}


@pytest.mark.parametrize("name", MEMORY)
def test_no_memory_becomes_code_or_is_shared(name: str, hostile: Run) -> None:
    """Machine code an attacker brings cannot run, and no page is shared with another process."""
    numbers = {call: pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, call) for call in ("mmap", "mprotect")}
    assert held(hostile(MEMORY[name].format(**numbers)))
    assert hostile(ALIVE).result == b'"2"'


PYTHON = {
    "open a file": "open('/etc/passwd')",
    "list a folder": "os.listdir('/')",
    "read its own environment": "open('/proc/self/environ').read()",
    "start a process": "os.system('id')",
    "fork": "os.fork()",
    "open a socket": "__import__('socket').socket()",
    "resolve a name": "__import__('socket').getaddrinfo('localhost', 80)",
    "kill the parent": "os.kill(os.getppid(), 9)",
    "load a library": "ctypes.CDLL('libresolv.so.2')",
}


@pytest.mark.parametrize("name", PYTHON)
def test_python_without_restrictions_reaches_nothing(name: str, hostile: Run) -> None:
    """What Python's own library offers beyond the process is refused by the kernel."""
    outcome = hostile("result = " + PYTHON[name])
    assert outcome.fault is not None, outcome
    assert hostile(ALIVE).result == b'"2"'


def test_only_the_socket_is_open(hostile: Run) -> None:
    """Writing to any descriptor but the worker's own socket fails: stdin, stdout and stderr are closed, nothing was inherited."""
    for descriptor in (0, 1, 2, 4, 5, 10, 100):
        assert held(hostile(f"result = os.write({descriptor}, b'x')"))


def test_environment_is_empty(hostile: Run) -> None:
    """A worker has no environment variable, whatever the host has."""
    assert os.environ
    outcome = hostile("result = (dict(os.environ), ctypes.c_void_p.in_dll(libc, 'environ').value)")
    assert outcome.result is not None
    assert outcome.result.startswith(b'"({},')


def test_worker_is_nobody_without_capabilities(hostile: Run) -> None:
    """Even when the server runs as root, a worker does not: a foreign process of root's cannot be signalled or read."""
    outcome = hostile("os.kill(1, 0)")
    assert outcome.fault is not None


I386_GETPID = """
code = bytes.fromhex("b814000000cd80c3")  # mov eax, 20; int 0x80; ret
page = mmap.mmap(-1, 4096)
page.write(code)
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
result = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
"""


def test_machine_code_in_data_memory_does_not_run(hostile: Run) -> None:
    """Jumping into bytes the script wrote (here an i386 system call) crashes the worker, not the host."""
    outcome = hostile(I386_GETPID)
    assert outcome.fault is not None
    assert hostile(ALIVE).result == b'"2"'


X32 = "result = syscall(0x40000000 + 39)"


def test_x32_system_calls_are_refused(hostile: Run) -> None:
    """The x32 table of the same kernel is no way round the filter."""
    assert held(hostile(X32))


CANARY = "canary-5f1c2e7b-token"

SEARCH_MEMORY = """
needle = ("canary-" + "5f1c2e7b" + "-token").encode()
import gc
found = [type(o).__name__ for o in gc.get_objects() if isinstance(o, (bytes, str)) and needle in (o if isinstance(o, bytes) else o.encode())]
result = len(found)
"""


def test_secrets_of_the_host_are_not_in_the_workers_memory(hostile: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token in the host's environment and memory is in no object of a worker."""
    monkeypatch.setenv("CANARY_TOKEN", CANARY)
    assert hostile(SEARCH_MEMORY).result == b'"0"'
