"""Errors of tools: a stable code, and a sentence from the message catalogue."""

from __future__ import annotations

from typing import Final

import msgspec

from kubescript.guest.sdk.values import exceptions
from kubescript.wire import messages

__all__ = ["SHAPE", "GateError", "ToolError", "of_api", "of_shape"]

# Attack: a script gives a resource's name of ten million characters.
_MAX_TEXT: Final = 16 * 1024
"""The maximum length of an error in characters."""
_MAX_DETAILS: Final = 200
"""How many characters of Python's message about a malformed object are shown."""
# Attack: a saved cluster has a list where Kubernetes has a string.
SHAPE: Final = (
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    RecursionError,
    msgspec.MsgspecError,
)
"""Exceptions that reading a malformed object raises."""


class ToolError(Exception):
    """A tool cannot answer. `code` is `tool.` and the name of the message; `type` begins the answer."""

    type = "Error"

    def __init__(self, message: str, /, **values: object) -> None:
        # Attack: a script creates one by `type(error)`, with an instance of a str subclass that becomes the code.
        if type(message) is not str:
            raise TypeError("a ToolError takes the name of a message")
        text = messages.text(message, **values)[:_MAX_TEXT]
        # A lone surrogate is half a character, and has no UTF-8 encoding.
        super().__init__(text.encode("utf-8", "replace").decode())
        self.code = f"tool.{message}"


class GateError(ToolError):
    """A refusal by the toolset gateway, or the failure of one of its calls."""

    def __init__(self, message: str, /, kind: str = "BLOCKED", **values: object) -> None:
        # Attack: a script creates one by type(error), with a kind that is not a string.
        if type(kind) is not str:
            raise TypeError("the kind of a GateError is a text")
        super().__init__(message, **values)
        self.type = kind


def of_api(error: exceptions.ApiException) -> ToolError:
    """Returns a tool's error for a failed call."""
    details = error.message or error.reason or ""
    # Data missing from a snapshot is not a connection error.
    if error.code.startswith("cluster.") and error.code != "cluster.not_captured":
        return ToolError("prerequisite_cluster", details=details)
    if error.status == 401:
        return ToolError("prerequisite_credentials")
    if error.status == 404:
        parts = filter(None, (details, error.hint))
        return ToolError("not_found", details="; ".join(parts))
    return ToolError("call_failed", details=str(error))


def of_shape(name: str, error: Exception) -> ToolError:
    """Returns the error of a tool that could not read its arguments or the cluster's answer."""
    details = f"{type(error).__name__}: {error}"[:_MAX_DETAILS]
    return ToolError("unexpected_shape", name=name, details=details)
