"""Programs of the Go modules beside tests: each is built once, and kept under a key of all that decides its bytes."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from pathlib import Path

from kubescript_safety.controlplane import build, gotool

__all__ = ["program", "sources", "version"]


def program(module: Path, package: str = ".", linker_flags: str = "-s -w", tags: str = "") -> Path:
    """The program of a module, with the name of its folder; the first call on a machine builds it. `tags` are Go's build
    tags, which leave parts out."""
    sources = [*sorted(module.glob("*.go")), module / "go.mod", module / "go.sum"]
    parts = [source.read_text() for source in sources]
    key = hashlib.sha256("\0".join([*parts, repr(build.ENVIRONMENT), linker_flags + tags]).encode()).hexdigest()[:16]
    target = build.cache() / module.name / key / module.name
    with build.lock(build.cache() / f"{module.name}.lock"):  # several processes of tests want it at the same time
        if not target.exists():
            _build(target, module, package, linker_flags, tags)
    return target


def sources(module: Path, path: str) -> Path:
    """The folder with the sources of a Go module that `module` pins."""
    go = gotool.find(build.go_version(), build.cache())
    command = [str(go), "mod", "download", "-json", path]
    done = subprocess.run(command, cwd=module, capture_output=True, text=True, check=True)
    return Path(json.loads(done.stdout)["Dir"])


def version(module: Path, path: str) -> str:
    """The version of a Go module that `module` pins, without its v."""
    found = re.search(rf"^\s*(?:require )?{re.escape(path)} v(\S+)", (module / "go.mod").read_text(), re.MULTILINE)
    assert found, f"{module} pins no {path}"
    return found[1]


def _build(target: Path, module: Path, package: str, linker_flags: str, tags: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    go = gotool.find(build.go_version(), build.cache())
    unfinished = target.with_suffix(f".{os.getpid()}")
    build.compile_program(go, package, unfinished, module, linker_flags, tags)
    unfinished.rename(target)
