"""The exception that ends a refused command line."""

from __future__ import annotations

__all__ = ["Refused"]


class Refused(BaseException):
    """A command, an option or a request that is not allowed. The message says what, why, and what to do.

    This is not an Exception: many commands catch exceptions, go on with their next argument and report something else.
    """
