"""The heads that `audit verify` printed earlier, kept where who can write to the record cannot: each must still be in a
chain. Nothing else shows that a whole file was deleted, or that the end of a chain was cut off."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from kubescript import errors
from kubescript.output import sanitizing

__all__ = ["as_text", "read"]

_HEAD: Final = re.compile(r"head ([0-9A-Fa-f]{64})(?: .*)?")


def read(lines: Iterable[str]) -> dict[str, str]:
    """Returns what `verify` printed as the heads of chains: maps each hash to its line. Other lines are ignored. Raises
    ConfigError when there is none, or one that was copied badly."""
    found = {}
    for line in lines:
        text = line.strip()
        if not text.startswith("head "):
            continue
        match = _HEAD.fullmatch(text)
        if match is None:
            raise errors.ConfigError(
                f"{sanitizing.printable(text[:100])!r} has no hash of 64 hexadecimal digits",
                remedy="give what `audit verify` printed",
            )
        found[match[1].lower()] = text
    if not found:
        raise errors.ConfigError("no line is a head: `head HASH`", remedy="give what `audit verify` printed")
    return found


def as_text(wanted: dict[str, str], found: set[str]) -> str:
    """Returns what became of the heads: a line for each that is no longer there, or that all are."""
    missing = [text for head, text in wanted.items() if head not in found]
    if not missing:
        return f"earlier heads: {len(wanted)}; each is in these chains"
    why = "its file was deleted, by `keep` too, or its chain was cut off, written anew or broken before it"
    return "\n".join(f"BROKEN removed: no record is {sanitizing.printable(text)}: {why}" for text in missing)
