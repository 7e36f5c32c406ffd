"""How kubescript was installed here, and so which command adds packages to it.

The packages are named as the metadata of the installed kubescript has them. No command asks an index for kubescript
itself, because that name may be somebody else's there.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Final

__all__ = ["image", "suggest", "suggest_extra", "uvx"]

_CLOSED: Final = (
    "nothing can be added to a container image or a .pex file: install the wheel by pipx, uv or in a venv, as "
    "docs/install.md says"
)


def image() -> str:
    """Returns the name of the container image that this runs in, which the image itself has set; else nothing."""
    return os.environ.get("IMAGE_OF_KUBESCRIPT", "")


def uvx(*options: str) -> tuple[str, ...]:
    """Returns the words with which uvx starts this kubescript, if uvx has started it; else nothing. The environment
    that it runs in is in uv's cache, which may be emptied at any time."""
    if not (Path(sys.prefix).parent.parent / "CACHEDIR.TAG").exists():
        return ()
    return ("uvx", *options, "--from", _source(), "kubescript")


def suggest_extra(extra: str) -> str:
    """Returns what a person does to have the packages of an extra of kubescript here: a command, or a sentence."""
    return suggest(*_requirements(extra))


def suggest(*requirements: str) -> str:
    """Returns what a person does to have packages here, which are named in pip's words: a command, or a sentence."""
    prefix = Path(sys.prefix)
    if (prefix / "PEX-INFO").exists():
        return _CLOSED
    packages = shlex.join(requirements)
    if (prefix / "pipx_metadata.json").exists():
        return f"pipx inject {shlex.quote(prefix.name)} {packages}"
    options = [word for requirement in requirements for word in ("--with", requirement)]
    words = uvx(*options)
    if words:
        return shlex.join(words)
    if importlib.util.find_spec("pip") is not None:
        return f"{shlex.quote(sys.executable)} -m pip install {packages}"
    if sys.prefix != sys.base_prefix:  # uv makes venvs without pip
        return f"uv pip install --python {shlex.quote(sys.prefix)} {packages}"
    return _CLOSED


def _requirements(extra: str) -> list[str]:
    """Returns what an extra of the installed kubescript requires, without the marker that names the extra."""
    from importlib import metadata  # 10 ms, which no start of kubescript waits for

    found = metadata.requires("kubescript") or []
    marker = re.compile(rf";\s*extra == (['\"]){re.escape(extra)}\1$")
    return [marker.sub("", requirement).strip() for requirement in found if marker.search(requirement)]


def _source() -> str:
    """Returns the file from which this kubescript was installed."""
    import json
    from importlib import metadata
    from urllib import parse, request

    text = metadata.distribution("kubescript").read_text("direct_url.json")
    url = json.loads(text)["url"] if text else ""
    return request.url2pathname(parse.urlsplit(url).path) or "kubescript"
