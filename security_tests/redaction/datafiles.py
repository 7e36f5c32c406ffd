"""Reads the data files of the corpora, in `corpora/`."""

from __future__ import annotations

import functools
import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any, Final

import yaml

__all__ = ["forms", "names", "sections"]

_FOLDER: Final = Path(__file__).parent / "corpora"
_HEADING: Final = re.compile(r"^=== ", re.MULTILINE)


@functools.cache
def sections(name: str) -> dict[str, str]:
    """The texts of a .txt file by their headings; `=== name` begins one, and what stands before the first is a comment."""
    found: dict[str, str] = {}
    for part in _HEADING.split(_text(f"{name}.txt"))[1:]:
        heading, _, body = part.partition("\n")
        assert heading not in found, heading
        found[heading.strip()] = body.rstrip("\n")
    return found


def names(folder: str) -> list[str]:
    """The .txt files of a folder, without their ending, in order."""
    return sorted(file.stem for file in (_FOLDER / folder).glob("*.txt"))


@functools.cache
def forms(name: str) -> Any:
    """What a .yaml file holds: texts by the names of their cases, or a list of texts."""
    return yaml.load(_text(f"{name}.yaml"), _Reader)  # a safe reader too


class _Reader(yaml.CSafeLoader):
    """A safe reader that refuses a name that stands twice, of which YAML would keep the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """The mapping, after a look at its names."""
        names = [key.value for key, _ in node.value]
        assert len(names) == len(set(names)), names
        return super().construct_mapping(node, deep)


def _text(file: str) -> str:
    """Decodes the bytes, so that no line ending is changed."""
    return (_FOLDER / file).read_bytes().decode()
