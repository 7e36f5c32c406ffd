"""Where a version is published: packaging/publication.toml, and the version itself."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import kubescript

__all__ = ["PACKAGING", "REPOSITORY", "Publication", "read"]

REPOSITORY: Final = Path(__file__).resolve().parent.parent.parent
PACKAGING: Final = REPOSITORY / "packaging"


@dataclass(frozen=True, slots=True)
class Publication:
    """The names that a release carries."""

    version: str
    repository: str
    """URL of the code host's page."""
    image: str
    """Name of the image, with its registry and without a tag."""
    mcp_name: str
    """Name of the server in the MCP registry."""
    pypi: bool
    """Whether the Python package index has kubescript, under our account."""

    @property
    def downloads(self) -> str:
        """URL under which the files of this release are."""
        return f"{self.repository}/releases/download/v{self.version}"

    @property
    def placeholders(self) -> list[str]:
        """Which of the places above are still examples."""
        places = {"repository": self.repository, "image": self.image}
        return [name for name, place in places.items() if _is_example(place)]


def read() -> Publication:
    """Reads packaging/publication.toml; a variable KUBESCRIPT_<NAME> of the environment wins."""
    text = (PACKAGING / "publication.toml").read_text()
    names = tomllib.loads(text)
    for key in ("repository", "image", "mcp_name"):
        given = os.environ.get(f"KUBESCRIPT_{key.upper()}")
        if given:
            names[key] = given
    return Publication(version=kubescript.__version__, **names)


def _is_example(place: str) -> bool:
    """Whether a URL or the name of an image has a host of example.com, which is reserved for documents."""
    host = place.removeprefix("https://").partition("/")[0]
    return host == "example.com" or host.endswith(".example.com")
