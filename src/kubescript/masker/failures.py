"""What can go wrong in a masker, for its own process: the host has errors of its own."""

from __future__ import annotations

from kubescript.wire import masking

__all__ = ["RuleError", "TooLargeError"]


class RuleError(ValueError):
    """A rule or another setting of the operator's is wrong; the text says which and why."""


class TooLargeError(ValueError):
    """A part of a body is longer than can be held."""

    def __init__(self, reason: masking.Reason) -> None:
        super().__init__(reason)
        self.reason = reason
