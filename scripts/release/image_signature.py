"""The signature of the image and its bill, attached to it: registries hand them out with the image."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from scripts.release import image, image_bill, publication, registry, signature, tools

__all__ = ["make", "push"]


def make(published: publication.Publication, dist: Path) -> None:
    """Adds the signature and the bill, signed as well, to the layout in `dist`; the image itself does not change."""
    layout = dist / image.FOLDER
    signed = dist / "signed"
    with registry.serve() as host:
        name = push(layout, f"{host}/{image.FOLDER}:{published.version}")
        signature.sign_image(name)
        signature.attest_image(name, dist / image_bill.NAME)
        signature.save_image(name, signed)
    shutil.rmtree(layout)
    signed.rename(layout)


def push(layout: Path, tag: str) -> str:
    """Pushes the index of a layout, without its signature. Returns the image's name with its digest."""
    command = [str(tools.program("crane")), "push", str(layout), tag]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.strip()
