"""What a tool says when it cannot answer: a stable code, and a sentence from the catalogue of messages."""

from __future__ import annotations

from typing import Final

import msgspec

from kubescript.guest.sdk.values import exceptions
from kubescript.wire import messages

__all__ = ["SHAPE", "GateError", "ToolError", "of_api", "of_shape"]


_MAX_TEXT: Final = 16 * 1024
"""Characters of an error. Attack: the name of a resource that has ten million."""
_MAX_DETAILS: Final = 200
"""Characters of Python's words about an object of another shape."""
SHAPE: Final = (
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    RecursionError,
    msgspec.MsgspecError,
)
"""How reading an object ends that is not of the shape of its kind. Attack: a saved cluster in which a stranger has
written a list where Kubernetes has a text."""


class ToolError(Exception):
    """A tool cannot answer. `code` is `tool.` and the name of the message; `type` is what an answer begins with."""

    type = "Error"

    def __init__(self, message: str, /, **values: object) -> None:
        # Attack: a script makes one by `type(error)`, with a str of its own kind that becomes the code.
        if type(message) is not str:
            raise TypeError("a ToolError takes the name of a message")
        text = messages.text(message, **values)[:_MAX_TEXT]
        # A lone surrogate is half a character, and has no UTF-8 bytes.
        super().__init__(text.encode("utf-8", "replace").decode())
        self.code = f"tool.{message}"


class GateError(ToolError):
    """What the toolset gateway refuses, or how a call of it has failed."""

    def __init__(self, message: str, /, kind: str = "BLOCKED", **values: object) -> None:
        # Attack: a script makes one by type(error), with a kind that is no text.
        if type(kind) is not str:
            raise TypeError("the kind of a GateError is a text")
        super().__init__(message, **values)
        self.type = kind


def of_api(error: exceptions.ApiException) -> ToolError:
    """Returns what a tool says of a call that failed."""
    details = error.message or error.reason or ""
    # What a snapshot does not hold is no fault of a connection.
    if error.code.startswith("cluster.") and error.code != "cluster.not_captured":
        return ToolError("prerequisite_cluster", details=details)
    if error.status == 401:
        return ToolError("prerequisite_credentials")
    if error.status == 404:
        return ToolError("not_found", details="; ".join(filter(None, (details, error.hint))))
    return ToolError("call_failed", details=str(error))


def of_shape(name: str, error: Exception) -> ToolError:
    """Returns what a tool says that could not read its arguments or what the cluster answered."""
    details = f"{type(error).__name__}: {error}"[:_MAX_DETAILS]
    return ToolError("unexpected_shape", name=name, details=details)
