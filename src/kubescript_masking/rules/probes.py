"""What a rule tells the scanner to look for."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Probe", "RuleError"]


class RuleError(ValueError):
    """A rule or another setting of the operator's is wrong; the text says which and why."""


@dataclass(frozen=True, slots=True)
class Probe:
    """What to look for, as it shows in JSON, in JSON within JSON, and in base64.

    Its pattern is hyperscan's, ends at one place per candidate, may match too much, and never too little.
    """

    id: str
    pattern: str
    once: bool = False
    """Whether one place in a text says enough."""
    wide: str = ""
    """A pattern that begins with `stem` and ends wherever `pattern` does, and elsewhere."""
    stem: str = ""
    """With what `wide`, or else `pattern`, begins as others do; all that have a stem have the same."""
