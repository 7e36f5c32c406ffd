"""Reads the data files of the corpora, in `corpora/`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

__all__ = ["sections"]

_FOLDER: Final = Path(__file__).parent / "corpora"
_HEADING: Final = re.compile(r"^=== ", re.MULTILINE)


def sections(name: str) -> dict[str, str]:
    """The texts of a .txt file by their headings; `=== name` begins one, and what stands before the first is a comment."""
    found: dict[str, str] = {}
    for part in _HEADING.split(_text(f"{name}.txt"))[1:]:
        heading, _, body = part.partition("\n")
        assert heading not in found, heading
        found[heading.strip()] = body.rstrip("\n")
    return found


def _text(file: str) -> str:
    """Decodes the bytes, so that no line ending is changed."""
    return (_FOLDER / file).read_bytes().decode()
