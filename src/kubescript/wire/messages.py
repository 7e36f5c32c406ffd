"""The messages of the classic tools in the operator's language, from `messages.json`. The host uses them for arguments
that it refuses, the worker for everything that needs the cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final, Literal

__all__ = ["CATALOGUE", "LANGUAGES", "Language", "choose", "text"]

Language = Literal["en", "zh"]
LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")

# Read at import, since a worker cannot open files after the lockdown.
CATALOGUE: Final[dict[str, dict[str, str]]] = json.loads(Path(__file__).with_name("messages.json").read_bytes())
"""Message name → language → sentence with {places}. Both languages have the same English text where the contract gives
only that, such as `Forbidden character: {character}`."""

_chosen: list[Language] = ["en"]


def choose(language: str) -> None:
    """Sets the language of this process. Raises ValueError for an unknown one."""
    if language not in LANGUAGES:
        raise ValueError(f"no language {language!r}; there is: {', '.join(LANGUAGES)}")
    _chosen[0] = language


def text(message: str, /, **values: object) -> str:
    """Returns the sentence with its places filled. Raises KeyError for a message missing from the catalogue."""
    sentence = CATALOGUE[message][_chosen[0]]
    return sentence.format(**values)
