"""Converts the spelling of names: snake_case, camelCase, any case, and the nearest name that exists."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Final

__all__ = ["camel", "codegen", "find_spelling", "fold", "nearest", "snake", "suggestion"]

# Without spaces and with at most 200 characters, a string is hardly a sentence.
_NAME: Final = re.compile(r"[\w.$/:@-]{1,200}")


def fold(name: str) -> str:
    """Returns the common spelling of a name's variants in case, hyphens and underscores."""
    return name.replace("_", "").replace("-", "").lower()


def camel(name: str) -> str:
    """Returns the usual JSON name of a snake_case attribute."""
    # The generator of schemas.json uses the same rule and stores only the names that differ from it.
    return re.sub(r"_+([a-z0-9])", lambda match: match[1].upper(), name.strip("_"))


def snake(name: str) -> str:
    """Returns a snake_case spelling of a camelCase name, as the official client makes it."""
    split = re.sub(r"([a-z0-9])([A-Z]+)", r"\1_\2", name)
    return re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", split).lower()


def codegen(name: str) -> str:
    """Returns the attribute for a JSON name in older official clients: cluster_i_ps for clusterIPs."""
    split = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", split).lower()


def find_spelling(name: str, keys: Iterable[str]) -> str | None:
    """Returns the key that equals `name` except for case and underscores. A key such as "app-name" has only one
    spelling."""
    if not name.isidentifier():
        return None
    wanted = fold(name)
    for key in keys:
        if isinstance(key, str) and key.isidentifier() and fold(key) == wanted:
            return key
    return None


def nearest(name: str, options: Iterable[str], count: int = 1) -> list[str]:
    """Returns up to `count` options that look most like `name`, best first."""
    folded: dict[str, str] = {}
    for option in options:
        folded.setdefault(fold(option), option)
    matches = difflib.get_close_matches(fold(name), folded, count, 0.6)
    return [folded[each] for each in matches]


def suggestion(name: str, options: Iterable[str], listed: int = 12) -> str:
    """Returns a sentence for an error: the nearest option, or all options."""
    every = set(options)
    # Attack: a workload chooses keys that read as instructions, and this sentence reads as kubescript's own. Options
    # that are not plain names are therefore not quoted.
    known = sorted(each for each in every if isinstance(each, str) and _NAME.fullmatch(each))
    near = nearest(name, known)
    if near:
        return f"did you mean {near[0]!r}?"
    if not known:
        return "none of the names is plain." if every else "there is none."
    shown = known[:listed]
    more = f", … ({len(every)} in all)" if len(every) > len(shown) else ""
    return f"there are: {', '.join(shown)}{more}"
