"""Tool names that the models' APIs accept: 1 to 64 letters, digits, `_` and `-`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Final

from kubescript_safety import transcript

__all__ = ["fit", "name_tools"]

_FITS: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_STRANGE: Final = re.compile(r"[^a-zA-Z0-9_-]")


def name_tools(tools: Sequence[transcript.Tool]) -> dict[str, transcript.Tool]:
    """Returns the tools in order, by the names that the model gets. Valid names stay unchanged."""
    own = {tool.name for tool in tools if _FITS.fullmatch(tool.name)}
    found: dict[str, transcript.Tool] = {}
    for place, tool in enumerate(tools, 1):
        name = tool.name
        if name not in own:
            name = next(name for name in _choices(tool.name, place) if name not in own and name not in found)
        found.setdefault(name, tool)
    return found


def fit(name: str) -> str:
    """Returns a similar name that the APIs accept."""
    return _STRANGE.sub("_", name[:64]) or "_"


def _choices(name: str, place: int) -> itertools.chain[str]:
    return itertools.chain([fit(name)], (f"{fit(name)[:50]}_{number}" for number in itertools.count(place)))
