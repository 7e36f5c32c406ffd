"""The disk space that the first build of the control plane needs: how much, in which folders, and is it free."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from kubescript_safety.controlplane import build

__all__ = ["Part", "SpaceError", "check", "parts"]

_MB: Final = 1_000_000


class SpaceError(Exception):
    """A disk has too little free space; the message says where, how much, and which variable moves the folder."""


class Part(NamedTuple):
    """Something that a build keeps."""

    what: str
    size: int
    """Bytes, measured on linux/amd64 and rounded up."""
    folder: Path
    variable: str
    """The variable that chooses another folder."""


def parts() -> list[Part]:
    """Returns what the first build will keep on this machine; empty when all programs are built."""
    recipes = (build.SERVER, build.CONTROLLERS, build.KWOK)
    if all(build.is_built(recipe) for recipe in recipes):
        return []
    home = Path.home()
    modules = Path(os.environ.get("GOMODCACHE") or Path(os.environ.get("GOPATH") or home / "go") / "pkg" / "mod")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    objects = Path(os.environ.get("GOCACHE") or cache / "go-build")
    found = [
        Part("compiled packages", 3_200 * _MB, objects, "GOCACHE"),
        Part("the programs, and the Go toolchain", 650 * _MB, build.cache(), "KUBESCRIPT_TEST_CACHE"),
    ]
    if not (modules / f"k8s.io/kubernetes@{build.version()}").exists():
        found.insert(0, Part("sources", 850 * _MB, modules, "GOMODCACHE"))
    return found


def check(needed: Sequence[Part]) -> None:
    """Raises SpaceError if the parts do not fit on their disks."""
    by_disk: dict[int, list[Part]] = {}
    for part in needed:
        disk = _existing(part.folder).stat().st_dev
        by_disk.setdefault(disk, []).append(part)
    for together in by_disk.values():
        free = shutil.disk_usage(_existing(together[0].folder)).free
        size = sum(part.size for part in together)
        if free < size:
            raise SpaceError(_explain(together, size, free))


def _existing(folder: Path) -> Path:
    """Returns the folder, or the nearest above it that exists."""
    absolute = folder.absolute()
    return next(each for each in (absolute, *absolute.parents) if each.exists())


def _explain(together: Sequence[Part], size: int, free: int) -> str:
    lines = [f"building the control plane needs {_gigabytes(size)} on this disk, and {_gigabytes(free)} are free:"]
    lines += [
        f"  {_gigabytes(part.size)} of {part.what} in {part.folder}; {part.variable} names another folder"
        for part in together
    ]
    return "\n".join(lines)


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB"
