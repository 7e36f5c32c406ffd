"""The image as an OCI layout, for each architecture: what the Containerfile makes, from the wheel of the release."""

from __future__ import annotations

import datetime
import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

from scripts import image_root
from scripts.release import oci, publication
from tests.kit import image

__all__ = ["FOLDER", "make", "read_config"]

FOLDER: Final = "image"
"""The layout in `dist`."""


def make(published: publication.Publication, dist: Path) -> None:
    """Writes the layout. Raises debian.Missing where the packages of an architecture cannot be had."""
    os.umask(0o022)  # the image's user is not the one who makes it
    shutil.rmtree(dist / FOLDER, ignore_errors=True)
    revision, time = _read_commit()
    created = f"{datetime.datetime.fromtimestamp(time, datetime.UTC):%Y-%m-%dT%H:%M:%SZ}"
    labels = {
        "org.opencontainers.image.created": created,
        "org.opencontainers.image.revision": revision,
        "org.opencontainers.image.source": published.repository,
        "org.opencontainers.image.version": published.version,
        "io.modelcontextprotocol.server.name": published.mcp_name,
    }
    name = f"IMAGE_OF_KUBESCRIPT={published.image}:{published.version}"
    config = read_config((publication.REPOSITORY / "Containerfile").read_text())
    config["Labels"] |= labels
    config["Env"] = [variable.replace("IMAGE_OF_KUBESCRIPT=kubescript", name) for variable in config["Env"]]
    layout = oci.Layout(dist / FOLDER, time)
    wheel = dist / f"kubescript-{published.version}-py3-none-any.whl"
    images: list[dict[str, Any]] = []
    for architecture in image_root.ARCHITECTURES:
        layers = _add_layers(layout, wheel, architecture)
        images.append(layout.add_image(architecture, layers, config, created))
    digest = layout.finish(images, labels)
    print(f"image {published.image}@{digest}")


def _add_layers(layout: oci.Layout, wheel: Path, architecture: str) -> list[oci.Layer]:
    """Adds the layers of an architecture, in the order of the Containerfile."""
    base = image.base(architecture)
    tools = image.base(image_root.OWN)
    made = layout.folder / "making"
    try:
        image_root.make_layers(wheel, tools, made, architecture)
        sources = [
            oci.Source(base),
            oci.Source(made / "kubescript"),
            oci.Source(made / "home", image_root.USER, image_root.HOME),
        ]
        return [layout.add_layer(source) for source in sources]
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _read_commit() -> tuple[str, int]:
    """The commit that is built, and its time in seconds since 1970: the same in each build of it."""
    command = ["git", "-C", str(publication.REPOSITORY), "log", "-1", "--format=%H %ct"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    revision, _, time = done.stdout.strip().partition(" ")
    return revision, int(time)


def read_config(text: str) -> dict[str, Any]:
    """What a container starts with, as the last stage of a Containerfile says it."""
    config: dict[str, Any] = {"Env": [], "Labels": {}}
    stage = text[text.rindex("\nFROM ") :].replace("\\\n", " ")
    for line in stage.splitlines():
        word, _, rest = line.partition(" ")
        match word:
            case "ENV":
                config["Env"] += shlex.split(rest)
            case "LABEL":
                config["Labels"] |= dict(label.split("=", 1) for label in shlex.split(rest))
            case "USER":
                config["User"] = rest
            case "WORKDIR":
                config["WorkingDir"] = rest
            case "ENTRYPOINT":
                config["Entrypoint"] = json.loads(rest)
    return config
