"""What a guest says of its scripts' mistakes. It comes before what the language says (refusals.py, failures.py)."""

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
    """Of syntax that is refused, by the class of its node."""
    names: Mapping[str, str] = field(default_factory=_nothing)
    """Of builtins that are not available, and of names that scripts use without defining them."""
    modules: Mapping[str, str] = field(default_factory=_nothing)
    """Of modules that are not available."""
    definitions: Mapping[str, str] = field(default_factory=_nothing)
    """Name that scripts often use without defining it ▶ the expression that defines it."""
    values: Mapping[str, str] = field(default_factory=_nothing)
    """Message of a ValueError or IndexError ▶ its hint."""
    type_errors: Rows = ()
    times: str = ""
    """Of a text that is used as a datetime."""
    command: str = ""
    """Of a line that is a command of a shell, as it follows the message."""
    commands: tuple[str, ...] = ()
    """How such a line begins."""
    homes: Mapping[str, str] = field(default_factory=_nothing)
    """Name that is available without an import ▶ its module."""
    packages: tuple[str, ...] = ()
    """Modules whose members are offered as an import line."""


_in_use: Final = [Advice()]


def use(advice: Advice) -> None:
    """Sets what the guest of this process says."""
    _in_use[0] = advice


def guest() -> Advice:
    """Returns what the guest of this process says."""
    return _in_use[0]
