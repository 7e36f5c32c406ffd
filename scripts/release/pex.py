"""One file for each processor with kubescript and all that it depends on, for every supported Python: `pex --venv`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from packaging import tags
from scripts.release import publication

__all__ = ["PROCESSORS", "file", "make"]

PROCESSORS: Final = ("x86_64", "aarch64")
_EXTRAS: Final = "gke,otel"
"""What is small. The extra `cel` takes 67 MB for four versions of Python, `postgres` 18 MB."""
_PYTHONS: Final = (11, 12, 13, 14)
_GLIBC: Final = range(28, 4, -1)
"""Versions of glibc whose wheels are taken: 2.28, which Debian 10 and RHEL 8 have, and before."""
_PIP: Final = "26.2.1"
"""The pip that resolves; the one that pex brings knows no wheel for a glibc after 2.17."""


def make(published: publication.Publication, dist: Path) -> None:
    """Builds the file of each processor into `dist`, from the wheel that is there."""
    for processor in PROCESSORS:
        _build(published, dist, processor)


def file(published: publication.Publication, dist: Path, processor: str) -> Path:
    """Returns the path of the file for a processor."""
    return dist / f"kubescript-{published.version}-linux-{processor}.pex"


def _build(published: publication.Publication, dist: Path, processor: str) -> None:
    # A path relative to the folder: an absolute one would stand in the file, and differ from machine to machine.
    wheel = f"./kubescript-{published.version}-py3-none-any.whl[{_EXTRAS}]"
    command = [sys.executable, "-m", "pex", wheel, "--constraints", str(publication.REPOSITORY / "constraints.txt")]
    # /bin/sh looks for a Python, and for what an earlier start has unpacked: 0.06 s instead of 0.4 s.
    command += ["--script", "kubescript", "--venv", "--sh-boot", "--no-build", "--pip-version", _PIP]
    for minor in _PYTHONS:
        command += ["--complete-platform", json.dumps(_platform(processor, minor))]
    command += ["--output-file", str(file(published, dist, processor))]
    subprocess.run(command, cwd=dist, env={**os.environ, "PEX_IGNORE_RCFILES": "1"}, check=True)


def _platform(processor: str, minor: int) -> dict[str, Any]:
    """Returns what pex has to know of Python 3.`minor` on a processor: its markers, and the tags of its wheels."""
    version = (3, minor)
    platforms = [*(f"manylinux_2_{glibc}_{processor}" for glibc in _GLIBC), f"manylinux2014_{processor}"]
    compatible = [
        *tags.cpython_tags(version, [f"cp3{minor}"], platforms),
        *tags.compatible_tags(version, f"cp3{minor}", platforms),
    ]
    markers = {
        "implementation_name": "cpython",
        "implementation_version": f"3.{minor}.0",
        "os_name": "posix",
        "platform_machine": processor,
        "platform_python_implementation": "CPython",
        "platform_system": "Linux",
        "python_full_version": f"3.{minor}.0",
        "python_version": f"3.{minor}",
        "sys_platform": "linux",
    }
    return {"marker_environment": markers, "compatible_tags": [str(tag) for tag in compatible]}
