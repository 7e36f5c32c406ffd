"""The sentences of the classic tools in the operator's language, from `messages.json`. The host uses them for arguments
that it refuses, the worker for everything that a cluster has to be asked for.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final, Literal

__all__ = ["CATALOGUE", "LANGUAGES", "Language", "choose", "text"]

Language = Literal["en", "zh"]
LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")

# Read when the module is imported: after the lockdown a worker can open no file.
CATALOGUE: Final[dict[str, dict[str, str]]] = json.loads(Path(__file__).with_name("messages.json").read_bytes())
"""Name of a message → language → sentence with {places}. Both languages have the same English text where
the contract gives only that, such as `Forbidden character: {character}`."""

_chosen: list[Language] = ["en"]


def choose(language: str) -> None:
    """Sets the language of this process. Raises ValueError for one that there is not."""
    if language not in LANGUAGES:
        raise ValueError(f"no language {language!r}; there is: {', '.join(LANGUAGES)}")
    _chosen[0] = language


def text(message: str, /, **values: object) -> str:
    """Returns the sentence with its places filled. Raises KeyError for a message that is not in the catalogue."""
    return CATALOGUE[message][_chosen[0]].format(**values)
