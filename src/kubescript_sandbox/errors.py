"""The root of the error tree, and the sandbox's own errors.

Each error carries a stable `code` for programs, a `message` for the model (what happened and what to write instead)
and, where an operator has to act, a `remedy`. Neither ever contains a stack trace or a secret. A script that fails is
not an exception but an `Outcome` (see runs.py).
"""

from __future__ import annotations

from typing import ClassVar

__all__ = ["CodedError", "LimitExceeded", "WithheldError", "WorkerError"]

# The maximum number of characters in a message. It is capped where the error is made, because a message may quote a
# hostile script or a broken API server.
_MAX_MESSAGE = 2_000


class CodedError(Exception):
    """The root of the tree: a failure with a stable code and a helpful message."""

    default_code: ClassVar[str] = "internal"

    def __init__(self, message: str, *, code: str | None = None, remedy: str = "") -> None:
        capped = message[:_MAX_MESSAGE]
        super().__init__(capped)
        self.code = code or self.default_code
        self.message = capped
        self.remedy = remedy

    @property
    def explained(self) -> str:
        """What happened and, where there is a remedy, what to do: one line for a person."""
        return "; ".join(filter(None, (self.message, self.remedy)))

    @property
    def log_fields(self) -> dict[str, str]:
        """The code and the remedy, for `extra` of a record in the server's log."""
        return {"code": self.code, "remedy": self.remedy}


class LimitExceeded(CodedError):
    """A budget is used up. Codes: `limit.time`, `.memory`, `.depth`, `.output`, `.calls`, `.bytes`; `cancelled`."""

    default_code = "limit.time"


class WithheldError(CodedError):
    """A piece of text must not be passed on, so it is withheld."""


class WorkerError(CodedError):
    """The sandboxed process died or misbehaved. Codes: `worker.died`, `worker.protocol`, `worker.spawn`,
    `worker.lockdown`."""

    default_code = "worker.died"
