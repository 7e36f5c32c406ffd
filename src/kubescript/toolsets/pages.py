"""The pages of `sdk_docs`, as MCP resources of code mode."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Final

import mcp_types

from kubescript.toolsets import base

__all__ = ["pages"]

_PREFIX: Final = "kubescript://sdk/"
_MARKDOWN: Final = "text/markdown"
_PACKAGE_FOLDER: Final = Path(__file__).parent.parent
_PAGE_FOLDERS: Final = (_PACKAGE_FOLDER / "sdk_docs", _PACKAGE_FOLDER.parent.parent / "sdk_docs")
"""The folder in an installed package, and that in a checkout."""
_FIRST_PAGES: Final = (
    "index",
    "differences",
    "objects",
    "lists",
    "errors",
    "dynamic",
    "writes",
    "helpers",
    "contexts",
    "sources",
    "runbooks",
)
"""Pages about topics, which precede those of the clients."""
_PAGE_LINK: Final = re.compile(r"\]\((\w+)\.md\)")
"""A link from one page to another, in the form used in the repository."""


@functools.cache  # shared by all callers: uncached, they took 47 of the 57 ms and 109 of the 123 KiB of each caller
def pages() -> tuple[base.Page, ...]:
    """Returns every page, the introduction first; none if the files are missing."""
    for folder in _PAGE_FOLDERS:
        if folder.is_dir():
            files = sorted(folder.glob("*.md"), key=_page_order)
            return tuple(map(_page, files))
    return ()


def _page_order(path: Path) -> tuple[int, str]:
    """Returns the key for sorting pages: topics first, in their order, then the others by name."""
    name = path.stem
    if name in _FIRST_PAGES:
        return _FIRST_PAGES.index(name), name
    return len(_FIRST_PAGES), name


def _page(path: Path) -> base.Page:
    definition = mcp_types.Resource(
        name=path.stem,
        title=_page_title(path),
        uri=_PREFIX + path.stem,
        mime_type=_MARKDOWN,
    )
    return base.Page(definition, lambda: _read_page(path))


def _read_page(path: Path) -> str:
    """Returns the page for a client: without its first comment, which is for people who browse the repository, and
    with links that the client can read as resources.
    """
    text = path.read_text("utf-8")
    if text.startswith("<!--"):
        text = text.partition("\n")[2]
    return _PAGE_LINK.sub(rf"]({_PREFIX}\1)", text)


def _page_title(path: Path) -> str:
    """Returns the first heading."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("# "):
                return line[2:].strip()
    return path.stem
