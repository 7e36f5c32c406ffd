"""Templates of manifests: a text in packaging/ with `@{name}` where a name of the publication goes."""

from __future__ import annotations

import dataclasses
import hashlib
import string
from pathlib import Path

from scripts.release import publication

__all__ = ["fill", "sha256"]


class _Template(string.Template):
    # `$` and `{{` belong to the formats that are written.
    delimiter = "@"


def fill(published: publication.Publication, source: Path, target: Path, **values: str) -> None:
    """Writes a template as `target`, with the names of the publication and these values.

    Raises KeyError for a name that neither has.
    """
    names = dataclasses.asdict(published) | {"downloads": published.downloads} | values
    text = _Template(source.read_text()).substitute(names)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def sha256(file: Path) -> str:
    """Returns the hash of a file in hexadecimal digits."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
