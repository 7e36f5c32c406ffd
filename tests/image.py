"""The image of the working tree, made as `make image` makes it; what changes seldom is kept in the tests' cache."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import tempfile
from pathlib import Path

from scripts import image_root
from tests import containers
from tests.controlplane import build

__all__ = ["REPOSITORY", "built"]

REPOSITORY = image_root.REPOSITORY
DECIDING = ("constraints.txt", "pyproject.toml", "scripts/debian.py", "scripts/image_root.py")
"""Files that decide what is in the image beside kubescript."""


def built(podman: containers.Podman) -> str:
    """The image's name in podman's store."""
    folder = Path(tempfile.mkdtemp(prefix="image-", dir=_base().parent))
    try:
        # Links: what is added to the copy are new files, and nothing else is changed.
        shutil.copytree(_base(), folder / "image", symlinks=True, copy_function=os.link)
        image_root.add_kubescript(folder / "image")
        return podman.build(REPOSITORY, root=folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _base() -> Path:
    parts = [(REPOSITORY / name).read_text() for name in DECIDING]
    key = hashlib.sha256("\0".join([*parts, platform.machine()]).encode()).hexdigest()[:16]
    base = build.cache() / "image" / key
    with build.locked(build.cache() / "image.lock"):
        if not base.exists():
            print(f"making the image's base (once; kept in {base})", flush=True)
            base.parent.mkdir(parents=True, exist_ok=True)
            half_done = Path(tempfile.mkdtemp(prefix="making-", dir=base.parent))
            try:
                image_root.make_base(half_done / "root")
                (half_done / "root").rename(base)
            finally:
                shutil.rmtree(half_done, ignore_errors=True)
    return base
