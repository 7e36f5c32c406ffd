"""The results of rules on a transcript."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from kubescript.changes.rules.conduct import configuration

__all__ = ["Finding", "Gap", "Remarks", "Report", "Unknown", "Violation", "shorten"]

_MAX_LISTED: Final = 5


@dataclass(frozen=True, slots=True)
class Violation:
    """A change that breaks the rule."""

    change: int
    """The change's index in the transcript."""
    message: str
    """A message for a person: what was done, and the evidence for it."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A change that the rule cannot judge."""

    change: int
    missing: str
    """The missing information, such as `whether it was running`."""


Remarks = Iterator[Violation | Unknown]
"""The results of one rule on a transcript."""


class Finding(msgspec.Struct, frozen=True):
    """A violation, with its rule's id and severity."""

    rule: str
    severity: configuration.Severity
    message: str
    change: int


class Gap(msgspec.Struct, frozen=True):
    """Changes that one rule could not judge, all for the same reason."""

    rule: str
    missing: str
    changes: tuple[int, ...]


class Report(msgspec.Struct, frozen=True):
    """The results of all rules, in the order of the changes."""

    findings: tuple[Finding, ...] = ()
    gaps: tuple[Gap, ...] = ()


def shorten(texts: Collection[str]) -> str:
    """Returns the first five strings, and the number of the others."""
    ordered = sorted(texts)
    shown = ", ".join(ordered[:_MAX_LISTED])
    more = len(ordered) - _MAX_LISTED
    if more <= 0:
        return shown
    return f"{shown} and {more} more"
