"""What is known of a field, and its text: type, meaning and parts in at most 25 lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from kubescript.worker.sdk import builtin_kinds

__all__ = ["Place", "text"]

MAX_LINES: Final = 25
MAX_WORDS: Final = 300
"""Characters of the field's own description."""
MAX_NOTE: Final = 90
"""Characters of a child's."""
WIDTH: Final = 110

_LINKS: Final = re.compile(r" ?(?:More info|For more info\w*|See|Read more|Learn more):? https?://\S+")
_CAPITAL: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


class Place(NamedTuple):
    """A field, or the whole object."""

    type: str
    words: str
    children: Mapping[str, tuple[str, str]]
    """Name ▶ type and words."""
    required: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    """What an enumeration may be."""


def text(kind: builtin_kinds.Kind, steps: list[str], place: Place, *, bundled: bool) -> str:
    """What `k8s.explain` gives. `bundled`: it is not from the cluster."""
    title = ".".join([kind.kind, *steps])
    head = [f"{title} <{place.type}>, {kind.api_version}" + (" (types only: no OpenAPI here)" if bundled else "")]
    if place.words:
        head.append(_short(place.words, MAX_WORDS))
    if place.values:
        head.append(f"one of: {', '.join(place.values)}"[:MAX_WORDS])
    return "\n".join([*head, *_listed(place, MAX_LINES - len(head))])


def _listed(place: Place, room: int) -> list[str]:
    """One child on a line, with its meaning; several on one where there are too many."""
    if len(place.children) <= room:
        return [_child(name, place) for name in place.children]
    lines = [""]
    for name, (kind, _) in place.children.items():
        word = f"{name} <{kind}>{'*' if name in place.required else ''}"
        if len(lines[-1]) + len(word) > WIDTH:
            lines.append("")
        lines[-1] += f"{', ' if lines[-1] else '  '}{word}"
    return lines[:room]


def _child(name: str, place: Place) -> str:
    kind, words = place.children[name]
    required = " required" if name in place.required else ""
    note = _short(words, MAX_NOTE)
    return f"  {name} <{kind}>{required}{f': {note}' if note else ''}"


def _short(words: str, size: int) -> str:
    """The first sentences that fit."""
    flat = _LINKS.sub("", " ".join(words.split()))
    if len(flat) <= size:
        return flat
    kept = ""
    for sentence in _CAPITAL.split(flat):
        if len(kept) + len(sentence) > size:
            break
        kept = f"{kept} {sentence}".strip()
    return kept or flat[: size - 1].rstrip() + "…"
