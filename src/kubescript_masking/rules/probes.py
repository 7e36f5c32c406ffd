"""What a rule asks the scanner to look for."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Probe", "RuleError"]


class RuleError(ValueError):
    """A rule or another of the operator's settings is wrong; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A pattern to look for, in the forms it takes in JSON, in JSON within JSON, and in base64.

    The pattern is in hyperscan's syntax, ends at one place per candidate, and may match too much, but never too little.
    """

    id: str
    pattern: str
    once: bool = False
    """Whether one hit in a text is enough."""
    wide: str = ""
    """A pattern that begins with `stem` and ends wherever `pattern` does, and elsewhere."""
    stem: str = ""
    """The beginning of `wide`, or else of `pattern`; all probes with a stem share the same one."""
