"""What a model is told of a script's failure where it has read nothing: the message, the hint and the script's lines."""

from __future__ import annotations

from kubescript_sandbox.host import script_lines
from kubescript_sandbox.language import compiler
from kubescript_sandbox.wire import protocol

__all__ = ["tell"]


def tell(error: BaseException, script: str) -> tuple[str, str]:
    """Returns the type of the exception and the text behind it."""
    told = compiler.describe_failure(error)
    frames = tuple(protocol.Frame(line, function) for line, function in told.frames)
    failure = protocol.Failure("", "", frames=frames, outer=told.outer, brief=told.brief, by_worker=told.by_worker)
    return told.type, told.message + told.hint + script_lines.quote(failure, script)
