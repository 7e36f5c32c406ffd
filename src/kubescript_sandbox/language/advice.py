"""A guest's advice on its scripts' mistakes. It precedes the language's own (refusals.py, failures.py)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

__all__ = ["Advice", "Rows", "guest", "use"]

Rows = tuple[tuple[tuple[str, ...], str], ...]
"""Parts of an error's message, each with what to write. The first row whose parts all occur counts."""


def _nothing() -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class Advice:
    """Sentences on what to write instead."""

    syntax: Mapping[str, str] = field(default_factory=_nothing)
    """Advice on refused syntax, by its node's class."""
    names: Mapping[str, str] = field(default_factory=_nothing)
    """Advice on unavailable builtins, and on names that scripts use without defining them."""
    modules: Mapping[str, str] = field(default_factory=_nothing)
    """Advice on unavailable modules."""
    definitions: Mapping[str, str] = field(default_factory=_nothing)
    """Name that scripts often use without defining it ▶ the expression that defines it."""
    values: Mapping[str, str] = field(default_factory=_nothing)
    """Message of a ValueError or IndexError ▶ its hint."""
    type_errors: Rows = ()
    times: str = ""
    """Advice on a string that is used as a datetime."""
    command: str = ""
    """Advice on a line that is a shell command; it follows the message."""
    commands: tuple[str, ...] = ()
    """The beginnings of lines that are shell commands."""
    homes: Mapping[str, str] = field(default_factory=_nothing)
    """Name that is available without an import ▶ its module."""
    packages: tuple[str, ...] = ()
    """Modules whose members are offered as an import line."""


_in_use: Final = [Advice()]


def use(advice: Advice) -> None:
    """Sets the advice of this process's guest."""
    _in_use[0] = advice


def guest() -> Advice:
    """Returns the advice of this process's guest."""
    return _in_use[0]
