"""The image of the working tree, made as `make image` makes it; what changes seldom is kept in the tests' cache."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from kubescript_safety.controlplane import build
from scripts import image_root
from tests.kit import containers

__all__ = ["REPOSITORY", "base", "built"]

REPOSITORY = image_root.REPOSITORY
DECIDING: Final = ("constraints.txt", "scripts/debian.py", "scripts/image_root.py")
"""Files that decide what is in the image beside kubescript."""
BASE: Final = "localhost/kubescript-base"
_KEPT: Final = 14 * 24 * 3600
"""Seconds for which a folder stays."""


@contextlib.contextmanager
def built() -> Iterator[tuple[containers.Podman, str]]:
    """A podman, and the image's name in its store. Raises debian.Missing."""
    store = _keep("store", image_root.OWN, _store_base)
    folder = Path(tempfile.mkdtemp(prefix="kubescript-image-"))
    try:
        wheel = image_root.build_wheel(folder)
        image_root.make_layers(wheel, base(image_root.OWN), folder / "image")
        contexts = (f"--build-context=base=container-image://{BASE}", f"--build-context=root={folder}")
        with containers.Podman(None, store) as podman:
            yield podman, podman.build(REPOSITORY, *contexts)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def base(architecture: str) -> Path:
    """The layer `base` of an architecture, with Debian's packages of this week. Raises debian.Missing."""
    return _keep("base", architecture, lambda folder: _make_base(folder, architecture)) / "image/base"


def _make_base(folder: Path, architecture: str) -> None:
    tools = None if architecture == image_root.OWN else base(image_root.OWN)
    image_root.make_base(folder / "image/base", architecture, tools)


def _store_base(store: Path) -> None:
    """Makes a store of images that has the layer `base`."""
    context = base(image_root.OWN).parent.parent
    with containers.Podman(store) as podman:
        podman.build(REPOSITORY, "--target=base", f"--tag={BASE}", f"--build-context=root={context}")


def _keep(kind: str, architecture: str, make: Callable[[Path], None]) -> Path:
    """Returns the folder that `make` filled this week from the same files, in this process or in another one."""
    week = datetime.datetime.now(datetime.UTC).strftime("%G-%V")
    parts = [(REPOSITORY / name).read_text() for name in DECIDING]
    key = hashlib.sha256("\0".join([*parts, *image_root.requirements(), week]).encode()).hexdigest()[:16]
    folder = build.cache() / "image" / f"{architecture}-{kind}-{key}"
    with build.lock(build.cache() / f"image-{architecture}-{kind}.lock"):
        if not folder.exists():
            print(f"making the image's {kind} for {architecture} (once a week; kept in {folder})", flush=True)
            folder.parent.mkdir(parents=True, exist_ok=True)
            half_done = Path(tempfile.mkdtemp(prefix="making-", dir=folder.parent))
            try:
                make(half_done / "all")
                # A folder with its final name is complete.
                (half_done / "all").rename(folder)
            finally:
                shutil.rmtree(half_done, ignore_errors=True)
            _remove_old(folder.parent)
    return folder


def _remove_old(kept: Path) -> None:
    for folder in kept.iterdir():
        if time.time() - folder.stat().st_mtime > _KEPT:
            shutil.rmtree(folder, ignore_errors=True)
