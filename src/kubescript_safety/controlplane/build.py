"""Builds the programs of the control plane, once per machine, from the modules pinned here: `go.mod` beside this file,
and `kwok/go.mod`.

`server.py` calls `programs()` for the API server's folder, and `live.py` for the programs that carry out rollouts. A
build is kept under a key made of everything that affects its bytes, so a changed pin causes a new build and an old one
stays usable. No binary is ever downloaded: go.sum contains the hash of every source that is compiled.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kubescript_safety.controlplane import gotool

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Recipe:
    """Programs that are built together, when the first of them is needed."""

    packages: Mapping[str, str]
    """Program name -> package to build. Each needs a `tool` line in go.mod."""
    module: Path = HERE
    """The folder with go.mod and go.sum."""


SERVER: Final = Recipe({"etcd": "go.etcd.io/etcd/server/v3", "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver"})
CONTROLLERS: Final = Recipe(
    {
        "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
        "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    }
)
KWOK: Final = Recipe({"kwok": "sigs.k8s.io/kwok/cmd/kwok"}, HERE / "kwok")

ENVIRONMENT: Final = {
    # Modules are read-only, so a build never changes a pin. Debug data is not even generated, as the linker would strip
    # it.
    "GOFLAGS": "-mod=readonly -buildvcs=false -gcflags=all=-dwarf=false",
    # Nothing from outside (a workspace, another toolchain) may affect the build.
    "GOWORK": "off",
    "CGO_ENABLED": "0",
    "GOTOOLCHAIN": "local",
    # Otherwise garbage collection takes a fifth of the compiler's time; with this it takes 0.6 GB at most.
    "GOGC": "400",
}
"""Settings for Go builds; without debug data and with less garbage collection, they take 0.7 of the time."""


def cache() -> Path:
    """Returns the folder where builds are kept: KUBESCRIPT_TEST_CACHE, or ~/.cache/kubescript."""
    chosen = os.environ.get("KUBESCRIPT_TEST_CACHE")
    default = Path.home() / ".cache" / "kubescript"
    return Path(chosen or default)


def version() -> str:
    """Returns the Kubernetes version that go.mod pins, such as v1.36.3."""
    found = re.search(r"^\s*k8s\.io/kubernetes (v\S+)", _module_file(), re.MULTILINE)
    assert found, "go.mod pins no k8s.io/kubernetes"
    return found[1]


def go_version() -> tuple[int, ...]:
    """Returns the lowest Go version that go.mod accepts."""
    pattern = r"^go (\d+)\.(\d+)(?:\.(\d+))?"
    found = re.search(pattern, _module_file(), re.MULTILINE)
    assert found, "go.mod names no go version"
    # `go 1.26` means 1.26.0.
    return tuple(int(part or 0) for part in found.groups())


def linker_flags() -> str:
    """Returns linker flags that strip symbols and set the programs' version, which is v0.0.0 otherwise."""
    major, minor, _ = version().lstrip("v").split(".", 2)
    values = {"gitVersion": version(), "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    stamps = [
        f"-X {package}/version.{name}={value}"
        for package in ("k8s.io/component-base", "k8s.io/client-go/pkg")
        for name, value in values.items()
    ]
    return " ".join(["-s", "-w", *stamps])


def key(recipe: Recipe = SERVER) -> str:
    """Returns a name for the build: equal if and only if sources, recipe and platform are equal."""
    made = [dict(recipe.packages), ENVIRONMENT, linker_flags(), platform.system(), platform.machine()]
    pins = (recipe.module / "go.mod").read_text()
    sums = (recipe.module / "go.sum").read_text()
    text = "\0".join((pins, sums, repr(made)))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def programs(recipe: Recipe = SERVER) -> Path:
    """Returns the folder with the built programs; the first call on a machine builds them, which takes minutes."""
    folder = _folder(recipe)
    if not folder.exists():
        with lock(cache() / "controlplane.lock"):
            # Another run may have built the programs while this one waited for the lock.
            if not folder.exists():
                _build_into(folder, recipe)
    return folder


def is_built(recipe: Recipe) -> bool:
    """Says whether the programs of a recipe are built."""
    return _folder(recipe).exists()


def _folder(recipe: Recipe) -> Path:
    return cache() / "controlplane" / key(recipe)


def _build_into(folder: Path, recipe: Recipe) -> None:
    """Builds programs into a new folder."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    go = gotool.find(go_version(), cache())
    flags = linker_flags()
    # The new folder is beside the final one, because a folder can be renamed only within one file system.
    half_done = Path(tempfile.mkdtemp(prefix="building-", dir=folder.parent))
    try:
        for name, package in recipe.packages.items():
            print(f"building {name} (once; kept in {folder})", flush=True)
            begun = time.monotonic()
            compile_program(go, package, half_done / name, recipe.module, flags)
            size = (half_done / name).stat().st_size
            print(f"built {name}: {size / 1e6:.0f} MB in {time.monotonic() - begun:.0f} s", flush=True)
        # A folder with its final name is complete: a killed build leaves only a `building-` folder.
        half_done.rename(folder)
    finally:
        shutil.rmtree(half_done, ignore_errors=True)


def compile_program(go: Path, package: str, target: Path, module: Path, linker_flags: str, tags: str = "") -> None:
    """Compiles one package of the module in a folder into the file `target`, with Go's build tags."""
    # The paths of this machine are left out, so that the same sources give the same bytes everywhere.
    command = [str(go), "build", "-trimpath", "-ldflags", linker_flags, "-tags", tags, "-o", str(target), package]
    environment = {**os.environ, **ENVIRONMENT}
    subprocess.run(command, cwd=module, env=environment, check=True)


@contextlib.contextmanager
def lock(path: Path) -> Iterator[None]:
    """Holds a lock that other processes wait for."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        # The lock is released when the file is closed, which the end of the process does too.
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _module_file() -> str:
    return (HERE / "go.mod").read_text()
