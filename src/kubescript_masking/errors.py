"""The errors of masking; they belong to the class hierarchy of kubescript_sandbox/errors.py."""

from __future__ import annotations

from kubescript_sandbox.errors import CodedError, WithheldError

__all__ = ["BodyBrokenError", "RedactionError"]


class RedactionError(WithheldError):
    """A text cannot be masked, or the masker has failed; the text is withheld. Code: `redaction.failed`."""

    default_code = "redaction.failed"


class BodyBrokenError(CodedError):
    """A body is damaged, cut off, or not of the expected form; `reason` is the masker's word for it."""

    default_code = "masking.broken"

    def __init__(self, reason: str) -> None:
        super().__init__(f"the body is not whole: {reason}")
        self.reason = reason
