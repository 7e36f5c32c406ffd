"""Installs the services, once per machine, into an environment of their own, and prepares their data.

    build.environment()   the folder of the environment: 300 MB, a minute
    build.template()      the folder with databases, keys and images that each run of tests copies: half a minute

Both are kept under a key made of everything that decides what is in them. Nothing is installed outside of the cache.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from kubescript_safety.controlplane import build
from tests.kit.openstack import configuration

__all__ = ["PASSWORD", "TEMPLATE_PORTS", "environment", "python", "template"]

HERE: Final = Path(__file__).parent
PACKAGES: Final = (HERE / "requirements.txt", HERE / "constraints.txt")
RECIPE: Final = (*PACKAGES, *(HERE / name for name in ("build.py", "configuration.py", "seed.py", "serve.py")))
PASSWORD: Final = "admin-password-of-the-tests"
TEMPLATE_PORTS: Final = dict.fromkeys(configuration.NAMES, 1)
"""No service listens there: each run has its own ports, and rewrites the endpoints."""


def environment() -> Path:
    """The folder of the environment; installs it unless it is there."""
    return _kept(f"environment-{_key(PACKAGES)}", _install)


def python() -> str:
    """Its interpreter."""
    return str(environment() / "bin" / "python")


def template() -> Path:
    """The folder with the data of the services; makes it unless it is there."""
    environment()
    return _kept(f"template-{_key(RECIPE)}", _prepare)


def _key(files: Iterable[Path]) -> str:
    parts = [path.read_text("utf-8") for path in files]
    made = "\0".join([*parts, platform.python_version(), platform.machine(), sys.base_prefix])
    return hashlib.sha256(made.encode()).hexdigest()[:16]


def _kept(name: str, make: Callable[[Path], None]) -> Path:
    parent = build.cache() / "openstack"
    folder = parent / name
    if not folder.exists():
        with build.lock(build.cache() / "openstack.lock"):
            # Another run may have made it while this one waited for the lock.
            if not folder.exists():
                print(f"making {folder} (once)", flush=True)
                _make(folder, make)
    return folder


def _make(folder: Path, make: Callable[[Path], None]) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    half_done = Path(tempfile.mkdtemp(prefix="making-", dir=folder.parent))
    try:
        make(half_done)
        # A folder with its final name is complete.
        half_done.rename(folder)
    finally:
        shutil.rmtree(half_done, ignore_errors=True)


def _install(folder: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "--quiet"]
    requirements, constraints = PACKAGES
    subprocess.run([*pip, "--requirement", str(requirements), "--constraint", str(constraints)], check=True)


def _prepare(folder: Path) -> None:
    configuration.write(folder, TEMPLATE_PORTS, PASSWORD, environment())
    user = f"--keystone-user={os.geteuid()}", f"--keystone-group={os.getegid()}"
    for name in ("fernet", "credential"):
        (folder / name).mkdir(mode=0o700)
    _manage(folder, "keystone", "db_sync")
    _manage(folder, "keystone", "fernet_setup", *user)
    _manage(folder, "keystone", "credential_setup", *user)
    url = "http://127.0.0.1:1/v3"
    addresses = [f"--bootstrap-{interface}-url={url}" for interface in ("admin", "internal", "public")]
    passwords = f"--bootstrap-password={PASSWORD}", "--bootstrap-region-id=RegionOne"
    _manage(folder, "keystone", "bootstrap", *passwords, *addresses)
    _manage(folder, "glance", "db_sync")
    _manage(folder, "placement", "db", "sync")
    from tests.kit.openstack import seed, services  # both use what this module makes

    with services.Services(folder) as running:
        seed.plant(running)


def _manage(folder: Path, service: str, *words: str) -> None:
    file = folder / ("glance-api.conf" if service == "glance" else f"{service}.conf")
    program = f"from {service}.cmd.manage import main; main()"
    command = [python(), "-c", program, f"--config-file={file}", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
