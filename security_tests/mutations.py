"""For each step of the lockdown the attack that only it stops, once the steps that stop it as well are gone.

An attack is a script for a hostile worker which succeeds when its result is `True`, or a look from outside at a live
one.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from security_tests import benches
from tests.kit import patience

__all__ = ["MUTATIONS", "Mutation"]


@dataclass(frozen=True, slots=True)
class Mutation:
    """One step, the others that also stop the attack, and the attack."""

    step: str
    others: tuple[str, ...]
    attack: str
    look: Callable[[int], bool] | None = None
    """Asked while the worker runs `attack`; the attack succeeded when it says True."""
    options: tuple[str, ...] = ()

    def succeeds(self, *dropped: str) -> bool:
        """Whether the attack comes through without these steps."""
        with benches.opened(benches.hostile(*dropped, options=self.options), spares=0) as bench:
            if self.look is None:
                outcome = bench(self.attack, timeout_ms=patience.scaled_ms(10_000))
                print(outcome.fault)  # pytest shows it beside a mutation that was missed
                return outcome.result == b'"True"'
            seen: list[bool] = []
            look = self.look
            bench.during(self.attack, lambda pid: seen.append(look(pid)))
            return seen == [True]


def raised_privileges(pid: int) -> bool:
    """Whether the worker has root's rights once it runs a set-uid program; ends it."""
    name = Path(SET_UID).name[:15]
    patience.until(lambda: Path(f"/proc/{pid}/comm").read_text() == f"{name}\n")
    effective = Path(f"/proc/{pid}/status").read_text().split("Uid:")[1].split()[1]
    os.kill(pid, signal.SIGKILL)
    return effective == "0"


def shows_its_map(pid: int) -> bool:
    """Whether a powerless process of the worker's user may read where its memory is."""
    uid = Path(f"/proc/{pid}/status").read_text().split("Uid:")[1].split()[0]
    script = (
        "import ctypes, os, sys\nlibc = ctypes.CDLL(None)\nuid = int(sys.argv[2])\nos.setresgid(uid, uid, uid)\nos.setresuid(uid, uid, uid)\n"
        "libc.capset((ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)())\nprint(len(open(f'/proc/{sys.argv[1]}/maps').read()) > 0)"
    )
    command = [sys.executable, "-c", script, str(pid), uid]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout == "True\n"


def set_uid_program() -> str:
    """The path of a set-uid root program that only waits, made for the purpose."""
    path = Path("/var/tmp/kubescript-setuid-sleep")
    path.write_bytes(Path("/bin/sleep").read_bytes())
    path.chmod(0o4755)
    return str(path)


SET_UID: Final = "/var/tmp/kubescript-setuid-sleep"

FORK_BOMB: Final = """
pids = []
try:
    for _ in range(3):
        pid = os.fork()
        if pid == 0:
            while True: pass
        pids.append(pid)
except OSError:
    pass
for pid in pids:
    os.kill(pid, 9)
    os.waitpid(pid, 0)
result = len(pids) == 3
"""
CONTROL_SOCKET: Final = """
found = []
for number in range(4, 32):
    try:
        found.append(os.fstat(number).st_mode & 0o170000)
    except OSError:
        pass
result = len(found) > 0
"""
MACHINE_CODE: Final = """
page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
import platform
page.write(bytes.fromhex("b82a000000c3" if platform.machine() == "x86_64" else "40058052c0035fd6"))
result = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))() == 42
"""
OUTWARD: Final = """
wire = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
wire.connect(("127.0.0.1", 9))
result = True
"""
PARENT: Final = "result = os.kill(os.getppid(), 0) is None"

MUTATIONS: Final = (
    Mutation("environment", (), "libc.getenv.restype = ctypes.c_char_p\nresult = libc.getenv(b'TOKEN') == b'x'", options=("--leak=TOKEN=x",)),
    Mutation("oom_score", (), benches.WAIT, lambda pid: Path(f"/proc/{pid}/oom_score_adj").read_text().strip() != "1000"),
    Mutation("network", ("seccomp", "landlock", "scope"), OUTWARD),
    Mutation("identity", ("seccomp", "landlock", "scope"), "result = len(open('/etc/shadow').read()) > 0"),
    Mutation("capabilities", ("seccomp", "landlock", "scope", "identity"), "os.chroot('/')\nresult = True"),
    Mutation(
        "no_new_privs",
        ("seccomp", "landlock", "scope", "rlimits", "descriptors"),
        f"{benches.CALL}os.execv({SET_UID!r}, ['sleep', '600'])",
        raised_privileges,
    ),
    Mutation("landlock", ("seccomp", "scope"), "result = len(open('/etc/passwd').read()) > 0"),
    Mutation("scope", ("seccomp",), PARENT),
    Mutation("descriptors", ("seccomp",), CONTROL_SOCKET),
    Mutation("rlimits", (), "result = len(bytearray(1 << 30)) == 1 << 30"),
    Mutation("rlimits", ("seccomp",), FORK_BOMB),
    Mutation("not_dumpable", ("identity",), benches.WAIT, shows_its_map),
    Mutation("seccomp", (), MACHINE_CODE),
    Mutation("seccomp", (), "libc.prctl(15, b'renamed', 0, 0, 0)\nresult = True"),
    Mutation("seccomp", (), "a, b = socket.socketpair()\nresult = True"),
    Mutation("seccomp", (), "result = os.getppid() > 0"),
)  # fmt: skip
