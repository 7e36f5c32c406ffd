"""What ends a command line that may not go on."""

from __future__ import annotations

__all__ = ["Refused"]


class Refused(BaseException):
    """A command, an option or a request that is not allowed. Says what, why, and what to do.

    No Exception: many commands catch those, go on with their next argument and report something else.
    """
