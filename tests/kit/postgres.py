"""A real PostgreSQL on this machine, for tests of what several replicas share.

    with Postgres() as server:
        store.Store(server.database())

It listens on a socket in a temporary folder only, and asks for a password. Its programs are those of the machine, or
else Debian's packages, unpacked into the tests' cache: nothing is installed, and nobody has to be root.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psycopg

from kubescript_safety.controlplane import child, startable
from tests.kit import debian, pids

__all__ = ["Postgres"]

DAEMON: Final = 1
"""Debian's user `daemon`. Not 65534, the user of command lines: security_tests know by it what one of them has made."""
START_SECONDS: Final = 180
UNUSED: Final = re.compile("libllvm")
"""It compiles long queries; a hundred megabytes."""


class Postgres(startable.Startable):
    """One server with its own data; it can be killed and started again."""

    def __init__(self) -> None:
        # Short: the path of a unix socket has at most 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="kubescript-pg-"))
        self.password = "p%/" + secrets.token_hex(8)
        self._numbers = itertools.count(1)
        try:
            programs, libraries = self._programs()
            self._initialize(programs, libraries)
        except BaseException:
            self.close()
            raise
        settings = {"unix_socket_directories": str(self.folder), "listen_addresses": "", "fsync": "off", "jit": "off"}
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        command = [str(programs / "postgres"), "-D", str(self.folder / "data"), *words]
        self._child = child.Child(_as_daemon(command, libraries), self.folder / "postgres.log")

    def start(self) -> None:
        """Starts it, again after `kill`: same socket and data."""
        self._child.start()
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                self.connect().close()
            except psycopg.OperationalError:
                if self._child.pid is None or time.monotonic() > deadline:
                    raise RuntimeError(self._child.tail()) from None
                time.sleep(0.05)
            else:
                return

    def kill(self) -> None:
        """Kills it as a crash would."""
        self._child.kill()

    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        """Inside the block it has crashed."""
        self.kill()
        try:
            yield
        finally:
            self.start()

    @contextlib.contextmanager
    def hanging(self) -> Iterator[None]:
        """Inside the block it accepts connections and does not answer, as on a machine that is paused."""
        server = self._child.pid
        assert server is not None
        os.kill(server, signal.SIGSTOP)  # first: it starts no other process from now on
        ids = [server, *pids.children(server)]
        try:
            for each in ids[1:]:
                os.kill(each, signal.SIGSTOP)
            yield
        finally:
            for each in ids:
                os.kill(each, signal.SIGCONT)

    def close(self) -> None:
        """Ends it for good and removes its data."""
        if hasattr(self, "_child"):
            self._child.stop()
            self._child.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def connect(self) -> psycopg.Connection[tuple[object, ...]]:
        """A connection of the administrator."""
        return psycopg.connect(self.url.replace("+psycopg", ""), autocommit=True)

    def database(self) -> str:
        """The URL of a new, empty schema, which is made in a tenth of the time of a database."""
        name = f"test_{next(self._numbers)}"
        with self.connect() as connection:
            connection.execute(f"CREATE SCHEMA {name}".encode())
        return f"{self.url}&options=-csearch_path%3D{name}"

    def variables(self) -> dict[str, str]:
        """By these its own programs, such as psql, connect as an administrator like that of a managed database: not the
        superuser, but one who makes roles and databases."""
        with self.connect() as connection:
            if connection.execute("SELECT FROM pg_roles WHERE rolname = 'manager'").rowcount == 0:
                connection.execute("CREATE ROLE manager LOGIN CREATEROLE CREATEDB PASSWORD 'manager'")
        return {"PGHOST": str(self.folder), "PGUSER": "manager", "PGPASSWORD": "manager", "PGDATABASE": "postgres"}

    @property
    def url(self) -> str:
        """The URL of the server, with the password."""
        password = urllib.parse.quote(self.password, safe="")
        return f"postgresql+psycopg://postgres:{password}@/postgres?host={self.folder}"

    def _programs(self) -> tuple[Path, Path | None]:
        """The folder of the programs and, unless they are the machine's own, the root of their libraries."""
        for folder in _installed():
            if (folder / "initdb").exists() and (folder / "postgres").exists():
                return folder, None
        unpacked = debian.unpacked("postgresql", "postgresql", without=UNUSED)
        if os.geteuid() == 0:  # others may not look into root's cache
            unpacked = Path(shutil.copytree(unpacked, self.folder / "root", symlinks=True))
        programs = sorted(unpacked.glob("usr/lib/postgresql/*/bin"))
        return programs[-1], unpacked

    def _initialize(self, programs: Path, libraries: Path | None) -> None:
        secret = self.folder / "password"
        secret.write_text(self.password)
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            for path in (self.folder, secret):
                os.chown(path, DAEMON, DAEMON)
        command = [str(programs / "initdb"), "--pgdata", str(self.folder / "data"), "--username=postgres"]
        options = ["--auth=scram-sha-256", f"--pwfile={secret}", "--encoding=UTF8", "--locale=C", "--no-sync"]
        subprocess.run(
            _as_daemon([*command, *options], libraries), cwd=self.folder, check=True, stdout=subprocess.DEVNULL
        )


def _as_daemon(command: list[str], libraries: Path | None) -> list[str]:
    """The command as it is run by somebody who is not root."""
    if libraries is not None:
        command = ["env", f"LD_LIBRARY_PATH={debian.libraries(libraries)}", *command]
    if os.geteuid() != 0:
        return command
    # Changing the user clears the signal by which a child dies with its parent.
    return ["setpriv", f"--reuid={DAEMON}", f"--regid={DAEMON}", "--clear-groups", "--pdeathsig=KILL", *command]


def _installed() -> Iterator[Path]:
    """Folders where the machine may have the programs, newest version first."""
    on_path = shutil.which("postgres")
    if on_path:
        yield Path(on_path).resolve().parent
    versions = Path("/usr/lib/postgresql").glob("*/bin")
    yield from sorted(versions, key=lambda folder: int(folder.parent.name), reverse=True)
