"""The pages of `sdk_docs` as MCP resources, for people who browse and models that want more than `help()` says."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Final

import mcp_types

from kubescript.toolsets import base

__all__ = ["PREFIX", "pages"]

PREFIX: Final = "kubescript://sdk/"
_MARKDOWN: Final = "text/markdown"
_PACKAGE: Final = Path(__file__).parent.parent
_FOLDERS: Final = (_PACKAGE / "sdk_docs", _PACKAGE.parent.parent / "sdk_docs")
"""In an installed package; in a checkout."""
_FIRST: Final = ("index", "differences", "objects", "lists", "errors", "dynamic")
"""Topics stand before the pages of each client."""


def pages() -> tuple[base.Page, ...]:
    """Every page, the introduction first; none when the files are not there."""
    folder = next((folder for folder in _FOLDERS if folder.is_dir()), None)
    files = folder.glob("*.md") if folder is not None else ()
    return tuple(_page(path) for path in sorted(files, key=_place))


def _place(path: Path) -> tuple[int, str]:
    return (_FIRST.index(path.stem) if path.stem in _FIRST else len(_FIRST), path.stem)


def _page(path: Path) -> base.Page:
    definition = mcp_types.Resource(
        name=path.stem,
        title=_title(path),
        uri=PREFIX + path.stem,
        mime_type=_MARKDOWN,
    )
    return base.Page(definition, functools.partial(_read, path))


def _read(path: Path) -> str:
    """The page without the comment that tells people of the repository where it comes from."""
    text = path.read_text("utf-8")
    return text.partition("\n")[2] if text.startswith("<!--") else text


def _title(path: Path) -> str:
    """The first heading."""
    with path.open(encoding="utf-8") as lines:
        return next((line[2:].strip() for line in lines if line.startswith("# ")), path.stem)
