"""The errors of masking, in the tree that begins in kubescript_sandbox/errors.py."""

from __future__ import annotations

from kubescript_sandbox.errors import CodedError, WithheldError

__all__ = ["BodyBrokenError", "RedactionError"]


class RedactionError(WithheldError):
    """A text cannot be masked, or what masks has failed; the text is withheld. Code: `redaction.failed`."""

    default_code = "redaction.failed"


class BodyBrokenError(CodedError):
    """A body is not what it must be: damaged, cut, or of another form; `reason` is the masker's word for it."""

    default_code = "masking.broken"

    def __init__(self, reason: str) -> None:
        super().__init__(f"the body is not whole: {reason}")
        self.reason = reason
