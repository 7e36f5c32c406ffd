"""Names as people and models spell them: snake_case, camelCase, any case; and the nearest right one."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Final

__all__ = ["camel", "codegen", "fold", "nearest", "snake", "spelled", "suggestion"]

_NAME: Final = re.compile(r"[\w.$/:@-]{1,200}")
"""No blank in it, so it can be no sentence."""


def fold(name: str) -> str:
    """The spelling that all case and underscore variants of a name share."""
    return name.replace("_", "").replace("-", "").lower()


def camel(name: str) -> str:
    """The JSON name a snake_case attribute most often has; the generator uses the same rule."""
    return re.sub(r"_+([a-z0-9])", lambda match: match[1].upper(), name.strip("_"))


def snake(name: str) -> str:
    """A snake_case spelling of a camelCase name, as the official client makes it."""
    split = re.sub(r"([a-z0-9])([A-Z]+)", r"\1_\2", name)
    return re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", split).lower()


def codegen(name: str) -> str:
    """The attribute older official clients make of a JSON name: clusterIPs is cluster_i_ps."""
    split = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", split).lower()


def spelled(name: str, keys: Iterable[str]) -> str | None:
    """The key that is `name` but for case and underscores. A key such as "app-name" has one spelling only."""
    if not name.isidentifier():
        return None
    wanted = fold(name)
    return next((key for key in keys if isinstance(key, str) and key.isidentifier() and fold(key) == wanted), None)


def nearest(name: str, options: Iterable[str], count: int = 1) -> list[str]:
    """Up to `count` options that look most like `name`, best first."""
    folded: dict[str, str] = {}
    for option in options:
        folded.setdefault(fold(option), option)
    return [folded[each] for each in difflib.get_close_matches(fold(name), folded, count, 0.6)]


def suggestion(name: str, options: Iterable[str], listed: int = 12) -> str:
    """A sentence for an error: the nearest option, else what there is. The options may be keys that a workload chose,
    and this sentence reads as ours: what is no name is not quoted."""
    every = set(options)
    known = sorted(each for each in every if isinstance(each, str) and _NAME.fullmatch(each))
    if near := nearest(name, known):
        return f"did you mean {near[0]!r}?"
    if not known:
        return "none that there is is a plain name." if every else "there is none."
    more = f", … ({len(every)} in all)" if len(every) > min(listed, len(known)) else ""
    return "there are: " + ", ".join(known[:listed]) + more
