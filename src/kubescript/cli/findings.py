"""A finding of `kubescript doctor` about a server, beyond its sandbox and its clusters."""

from __future__ import annotations

from typing import Literal, NamedTuple

from kubescript.output import sanitizing

__all__ = ["Finding", "Mark"]

Mark = Literal["ok", "WARNING", "FAILED"]
"""FAILED: the server does not start, or refuses callers, their plans or their questions to a source."""


class Finding(NamedTuple):
    """One finding."""

    mark: Mark
    topic: str
    text: str

    def as_text(self) -> str:
        """Returns the line of the finding."""
        return f"{self.mark:<7} {self.topic:<13} {sanitizing.printable(self.text)}"
