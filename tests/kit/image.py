"""The image of the working tree, made as `make image` makes it; what changes seldom is kept in the tests' cache."""

from __future__ import annotations

import contextlib
import hashlib
import platform
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kubescript_safety.controlplane import build
from scripts import image_root
from tests.kit import containers

__all__ = ["REPOSITORY", "built"]

REPOSITORY = image_root.REPOSITORY
DECIDING: Final = ("Containerfile", "constraints.txt", "scripts/debian.py", "scripts/image_root.py")
"""Files that decide what is in the image beside kubescript."""
BASE: Final = "localhost/kubescript-base"


@contextlib.contextmanager
def built() -> Iterator[tuple[containers.Podman, str]]:
    """A podman, and the image's name in its store. Raises debian.Missing."""
    base = _base()
    folder = Path(tempfile.mkdtemp(prefix="kubescript-image-"))
    try:
        image_root.make_layers(base / "image/base", folder / "image")
        contexts = (f"--build-context=base=container-image://{BASE}", f"--build-context=root={folder}")
        with containers.Podman(None, base / "store") as podman:
            yield podman, podman.build(REPOSITORY, *contexts)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _base() -> Path:
    """The folder with the layer `base` and with a store of images that has it."""
    parts = [(REPOSITORY / name).read_text() for name in DECIDING]
    parts += [*image_root.requirements(), platform.machine()]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    folder = build.cache() / "image" / key
    with build.lock(build.cache() / "image.lock"):
        if not folder.exists():
            print(f"making the image's base (once; kept in {folder})", flush=True)
            folder.parent.mkdir(parents=True, exist_ok=True)
            half_done = Path(tempfile.mkdtemp(prefix="making-", dir=folder.parent))
            try:
                _make_base(half_done / "all")
                # A folder with its final name is complete.
                (half_done / "all").rename(folder)
            finally:
                shutil.rmtree(half_done, ignore_errors=True)
    return folder


def _make_base(folder: Path) -> None:
    image_root.make_base(folder / "image/base")
    with containers.Podman(folder / "store") as podman:
        podman.build(REPOSITORY, "--target=base", f"--tag={BASE}", f"--build-context=root={folder}")
