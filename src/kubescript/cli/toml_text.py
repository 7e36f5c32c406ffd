"""Values and comments as TOML."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Final

__all__ = ["comment", "key", "quoted", "value"]

_WIDTH: Final = 110
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


def quoted(text: str) -> str:
    """Returns the text as a string of one line. What cannot be shown is escaped."""
    # Attack: a line break in a key or value would end a comment, and the rest would count as a setting.
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    number = ord(character)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def key(name: str) -> str:
    """Returns the name of a setting, in quotes where TOML needs them."""
    return name if _BARE.fullmatch(name) else quoted(name)


def value(given: object) -> str:
    """Returns a text, a number, a truth value, or a list or table of them. Raises TypeError for anything else."""
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, int):
        return str(given)
    if isinstance(given, str):
        return quoted(given)
    if isinstance(given, list | tuple):
        return "[" + ", ".join(map(value, given)) + "]"
    if isinstance(given, Mapping):
        return "{ " + ", ".join(f"{key(name)} = {value(member)}" for name, member in given.items()) + " }"
    raise TypeError(f"no TOML for {type(given).__name__}")


def comment(text: str) -> Iterator[str]:
    """Yields the text as lines of a comment."""
    return iter(textwrap.wrap(text, _WIDTH, initial_indent="# ", subsequent_indent="#   ", break_on_hyphens=False))
