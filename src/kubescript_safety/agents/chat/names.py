"""Tool names that the models' APIs accept: 1 to 64 letters, digits, `_` and `-`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Final

from kubescript_safety import transcript

__all__ = ["fit", "name_tools"]

_FITS: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_STRANGE: Final = re.compile(r"[^a-zA-Z0-9_-]")


def name_tools(tools: Sequence[transcript.Tool]) -> dict[str, transcript.Tool]:
    """Returns the tools in order, by the names that the model gets. Valid names stay unchanged."""
    # Names that fit come first, so that no other tool is given one of them.
    own = {tool.name for tool in tools if _FITS.fullmatch(tool.name)}
    found: dict[str, transcript.Tool] = {}
    for place, tool in enumerate(tools, 1):
        name = tool.name
        if name not in own:
            free = (one for one in _choices(name, place) if one not in own and one not in found)
            name = next(free)
        found.setdefault(name, tool)
    return found


def fit(name: str) -> str:
    """Returns a similar name that the APIs accept."""
    return _STRANGE.sub("_", name[:64]) or "_"


def _choices(name: str, place: int) -> Iterator[str]:
    """Yields names for a tool whose own name does not fit, until one is free."""
    similar = fit(name)
    yield similar
    # 50 characters of 64 leave room for any number.
    for number in itertools.count(place):
        yield f"{similar[:50]}_{number}"
