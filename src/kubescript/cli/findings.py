"""A finding of `kubescript doctor` about a server, beyond its sandbox and its clusters."""

from __future__ import annotations

from typing import Literal, NamedTuple

from kubescript.output import sanitizing

__all__ = ["Finding"]


class Finding(NamedTuple):
    """One finding."""

    mark: Literal["ok", "WARNING", "FAILED"]
    """FAILED: the server does not start, or refuses callers or their plans."""
    topic: str
    text: str

    def as_text(self) -> str:
        """Returns the line of the finding."""
        return f"{self.mark:<7} {self.topic:<13} {sanitizing.printable(self.text)}"
