"""What of Keycloak is made once per machine, so that a start takes seconds: the distribution, fetched and built, and
a template of a server's data, with the realm in it and with the classes that a start loads, as Java maps them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kubescript_safety.controlplane import build
from tests.kit.keycloak import java, realm, server

VERSION: Final = "26.7.3"
ARTIFACT: Final = f"org.keycloak:keycloak-quarkus-dist:{VERSION}:tar.gz"
SHA256: Final = "77657f30b7e90d70f727712ce1c967f430fd6a5e9f458d32d8c6df0635345f47"
BUILD: Final = ("build", "--db=dev-file")
CLASSES: Final = "classes.jsa"
ADMINISTRATOR: Final = ("administrator", "administrator-secret")
"""The client of the master realm that may do everything; the port is the loopback's."""


class FetchError(RuntimeError):
    """What was fetched is not what this file names."""


@dataclass(frozen=True)
class Prepared:
    """What a new server is made from."""

    runtime: java.Java
    distribution: Path
    template: Path
    """`data` to copy, and `classes.jsa`."""

    def new(self, home: Path) -> server.Server:
        """A server with a copy of the template's data, not started."""
        shutil.copytree(self.template / "data", home / "data")
        return server.Server(
            self.runtime, self.distribution, home, (f"-XX:SharedArchiveFile={self.template / CLASSES}",)
        )


def prepare() -> Prepared:
    """All that is needed; the first call on a machine takes two minutes. Raises debian.Missing, java.MavenError and
    FetchError.
    """
    runtime = java.find()
    with build.lock(build.cache() / "keycloak.lock"):
        distribution = build.cache() / "keycloak" / _key(ARTIFACT, SHA256, *BUILD)
        if not distribution.exists():
            print(f"building Keycloak {VERSION} (once; kept in {distribution})", flush=True)
            with _half_done(distribution) as folder:
                _build(runtime, folder)
        template = distribution.parent / _key(
            distribution.name, json.dumps(realm.document()), *server.JVM, *ADMINISTRATOR
        )
        if not template.exists():
            with _half_done(template) as folder:
                _fill(runtime, distribution, folder)
    return Prepared(runtime, distribution, template)


def _build(runtime: java.Java, folder: Path) -> None:
    """The distribution, built with our options."""
    with tempfile.TemporaryDirectory(prefix="fetching-", dir=folder.parent) as name:
        archive = runtime.fetch(ARTIFACT, Path(name))
        with archive.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != SHA256:
            raise FetchError(f"{ARTIFACT} has the SHA-256 {found}")
        with tarfile.open(archive) as packed:
            packed.extractall(name, filter="data")
        for path in (Path(name) / f"keycloak-{VERSION}").iterdir():
            path.rename(folder / path.name)
    environment = {**os.environ, **runtime.environment, "JAVA": str(runtime.program), "JAVA_OPTS": "-Xmx512m"}
    subprocess.run([folder / "bin" / "kc.sh", *BUILD], env=environment, check=True, stdout=subprocess.DEVNULL)


def _fill(runtime: java.Java, distribution: Path, folder: Path) -> None:
    """The template: one server reads the realm, and leaves its data and its classes behind."""
    imported = folder / "data" / "import"
    imported.mkdir(parents=True)
    (imported / "realm.json").write_text(json.dumps(realm.document()))
    identifier, secret = ADMINISTRATOR
    first = java.Java(runtime.program, runtime.maven, {
        **runtime.environment, "KC_BOOTSTRAP_ADMIN_CLIENT_ID": identifier, "KC_BOOTSTRAP_ADMIN_CLIENT_SECRET": secret,
    })  # fmt: skip
    flags = (f"-XX:ArchiveClassesAtExit={folder / CLASSES}",)
    made = server.Server(first, distribution, folder, flags, ("--import-realm",))
    try:
        made.start()
        made.stop()
    finally:
        made.close()
    shutil.rmtree(imported)
    (folder / "lib").unlink()


@contextlib.contextmanager
def _half_done(target: Path) -> Iterator[Path]:
    """A folder that gets its final name when it is complete."""
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="building-", dir=target.parent))
    try:
        yield folder
        folder.rename(target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
