"""Java and Maven as this machine has them, or else Debian's packages, unpacked into the tests' cache."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import ssl
import subprocess
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

from tests.kit import debian

LEAST: Final = 17
PACKAGES: Final = ("default-jre-headless", "maven")
GET: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:get"
PASSWORD: Final = "changeit"
"""Java reads no store of certificates without one."""


class MavenError(RuntimeError):
    """Maven could not fetch something; the message has what it said."""


@dataclass(frozen=True)
class Java:
    """Where the runtime and Maven are."""

    program: Path
    maven: Path
    environment: dict[str, str]
    """What the programs need beside the machine's own variables."""

    def command(self, *words: str) -> list[str]:
        """The command line that runs Java with these words."""
        return ["env", *(f"{name}={value}" for name, value in self.environment.items()), str(self.program), *words]

    def fetch(self, artifact: str, folder: Path) -> Path:
        """The file of a Maven artifact, which is named `group:name:version:extension`, fetched into `folder`.

        Maven knows by itself (or by the settings of whoever runs the tests) from where. Raises MavenError.
        """
        group, name, version, extension = artifact.split(":")
        options = ["--batch-mode", "--quiet", f"-Dmaven.repo.local={folder}", f"-Dartifact={artifact}"]
        command = [str(self.maven), *options, "-Dtransitive=false", GET]
        environment = {"JAVA_HOME": str(self.program.parent.parent), **os.environ, **self.environment}
        environment["MAVEN_OPTS"] = f"{os.environ.get('MAVEN_OPTS', '')} {trusting(folder / 'trusted')}"
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise MavenError(f"{artifact} cannot be had: {done.stdout}{done.stderr}")
        return folder.joinpath(*group.split("."), name, version, f"{name}-{version}.{extension}")


def find() -> Java:
    """Java and Maven; the first call on a machine that has not both may download 60 MB. Raises debian.Missing."""
    java, maven = shutil.which("java"), shutil.which("mvn")
    if java and maven and _version(java) >= LEAST:
        return Java(Path(java).resolve(), Path(maven).resolve(), {})
    root = debian.unpacked("java", *PACKAGES)
    found = sorted(root.glob("usr/lib/jvm/*/bin/java"))
    program = found[-1].resolve() if found else Path(java or "java").resolve()
    unpacked = root / "usr/share/maven/bin/mvn"
    environment = {"LD_LIBRARY_PATH": debian.libraries(root)}
    return Java(program, unpacked if unpacked.exists() else Path(maven or "mvn"), environment)


def trusting(store: Path) -> str:
    """Java's flags to trust whom Python trusts; writes the certificates to `store`."""
    entries = []
    for each in ssl.create_default_context().get_ca_certs(binary_form=True):
        # An old authority's serial number may be one that is forbidden today.
        with warnings.catch_warnings(action="ignore"), contextlib.suppress(ValueError):
            entries.append(pkcs12.PKCS12Certificate(x509.load_der_x509_certificate(each), None))
    store.write_bytes(pkcs12.serialize_java_truststore(entries, BestAvailableEncryption(PASSWORD.encode())))
    return f"-Djavax.net.ssl.trustStore={store} -Djavax.net.ssl.trustStorePassword={PASSWORD}"


def _version(java: str) -> int:
    """The major version; 0 if it does not say."""
    said = subprocess.run([java, "-version"], capture_output=True, text=True).stderr
    found = re.search(r'version "(\d+)', said)
    return int(found[1]) if found else 0
