"""Machines on which nothing of kubescript is installed: a system's root, in namespaces of its own, with users.

Only root can use them. Processes see the network of this machine, and no process or device of it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Final

from tests.kit import systems

__all__ = ["Home", "Machine"]

CERTIFICATES: Final = "etc/ssl/certs/ca-certificates.crt"
COPIED: Final = (CERTIFICATES, "etc/resolv.conf", "etc/pip.conf")
"""How this machine reaches package indexes, perhaps through a proxy with an authority of its own."""
TRUST: Final = dict.fromkeys(("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"), f"/{CERTIFICATES}")
PASSED: Final = ("http_proxy", "https_proxy", "no_proxy", "PIP_INDEX_URL", "UV_DEFAULT_INDEX")
ENTER: Final = """
set -eu
mount --bind "$1" "$1"
cd "$1"
shift
mount -t tmpfs -o mode=755 tmpfs dev
for node in null:3 zero:5 full:7 random:8 urandom:9; do
    mknod -m 666 "dev/${node%:*}" c 1 "${node#*:}"
done
mkdir -m 1777 dev/shm
ln -s /proc/self/fd dev/fd
mount --rbind /sys sys
mount -t proc proc proc
mount -t tmpfs tmpfs tmp
pivot_root . mnt
cd /
umount --lazy /mnt
exec "$@"
"""
"""Makes a folder the root of this mount namespace: where chroot made it, a process could make no user namespace."""


class Machine:
    """A copy of a system's root, until the block ends."""

    def __init__(self, system: systems.System = systems.DEBIAN_12) -> None:
        """Raises debian.Missing."""
        original = systems.root(system)
        self.folder = Path(tempfile.mkdtemp(prefix="kubescript-machine-"))
        self.folder.chmod(0o755)
        self._root = self.folder / "root"
        subprocess.run(["cp", "--archive", "--reflink=auto", original, self._root], check=True)
        for name in COPIED:
            if Path("/", name).exists():
                shutil.copyfile(Path("/", name), self._root / name)
        # Without it, an installation spends most of its time on bytecode of modules that no test imports.
        variables = {**TRUST, "PIP_COMPILE": "0"}
        for name in PASSED:
            for spelled in (name, name.upper()):
                if spelled in os.environ:
                    variables[spelled] = os.environ[spelled]
        self._environment = [f"{name}={value}" for name, value in variables.items()]

    def __enter__(self) -> Machine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def home(self, name: str) -> Home:
        """A new ordinary user."""
        done = self.enter("useradd", "--create-home", "--shell", "/bin/bash", name)
        assert done.returncode == 0, done.stderr
        return Home(self, name, self._root / "home" / name)

    def enter(self, *command: str, seconds: float = 240) -> subprocess.CompletedProcess[str]:
        """Runs a command as root, to its end."""
        namespaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
        inside = ["sh", "-c", ENTER, "sh", str(self._root), "env", "--ignore-environment"]
        path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        environment = [path, "LANG=C.UTF-8", *self._environment]
        return subprocess.run(
            [*namespaces, *inside, *environment, *command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
        )


class Home:
    """A user of a machine, and the user's folder."""

    def __init__(self, machine: Machine, user: str, folder: Path) -> None:
        self._machine = machine
        self._user = user
        self.folder = folder
        """Where the folder is for programs that run outside the machine."""

    def put(self, files: Iterable[Path]) -> None:
        """Copies files into the folder."""
        owner = self.folder.stat()
        for file in files:
            copy = shutil.copy(file, self.folder)
            os.chown(copy, owner.st_uid, owner.st_gid)

    def run(self, line: str, seconds: float = 240) -> subprocess.CompletedProcess[str]:
        """Runs a line of bash in the folder, as a terminal in which the user has just logged in does."""
        switch = ["setpriv", f"--reuid={self._user}", f"--regid={self._user}", "--init-groups"]
        names = [f"HOME=/home/{self._user}", f"USER={self._user}", f"LOGNAME={self._user}", "SHELL=/bin/bash"]
        command = [*switch, "env", *names, "bash", "--login", "-c", f"cd && {line}"]
        return self._machine.enter(*command, seconds=seconds)

    def do(self, line: str, seconds: float = 240) -> str:
        """Runs a line that succeeds; returns its output, or all that it said where it did not."""
        done = self.run(line, seconds)
        assert done.returncode == 0, f"$ {line}\n{done.stdout}{done.stderr}"
        return done.stdout
