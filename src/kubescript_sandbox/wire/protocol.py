"""The protocol between the host and one worker: length-prefixed frames in strict turns.

    worker                             host
      READY   active layers       ──▶
                                  ◀──  START   script, limits
      CALL                        ──▶
                                  ◀──  REPLY, BODY*, END        (exactly one answer to each call)
      BATCH   several calls       ──▶
                                  ◀──  REPLY, BODY*, END        for each, in order
      CALL    as a stream         ──▶
                                  ◀──  REPLY, and END when there is no body
      MORE    of that stream      ──▶
                                  ◀──  BODY, or END
      ...
      DONE                        ──▶  exactly one, then the host kills the worker

CALL, BATCH, MORE and DONE are the worker's turns: the host reads the next one when it has sent the answer to the last.
PRINT, PROGRESS and STOP get no answer and may come at any time, even while an answer is being sent. STOP declines the
rest of an answer: an answer that is being sent gets its END early, and a stream is closed without another frame.
Answers carry no number; both sides count calls from 1.

A frame is a little-endian u32 length of the payload, one byte of type, and the payload. Lengths are checked before
anything is allocated. The host treats every frame as hostile: a wrong type, turn, shape or size ends the worker. Both
sides import this module, so it imports nothing from this package; wire/framing.py puts frames on a socket.
"""

from __future__ import annotations

import enum
import typing
from typing import Annotated, Final, Generic, TypeVar

import msgspec

__all__ = [
    "CAPS", "MAX_BATCH", "NULL", "UNANSWERED", "Batch", "Call", "Done", "End", "FrameType",
    "Layer", "More", "Progress", "ProtocolError", "Ready", "Reply", "ScriptFault", "Start", "Stop", "StreamClosed",
    "decode",
]  # fmt: skip

VERSION: Final = 2

NULL: Final = msgspec.Raw(b"null")
"""An absent body."""


class FrameType(enum.IntEnum):
    """Frame types. The worker sends those below 128, the host those above."""

    READY = 1
    PRINT = 2
    PROGRESS = 3
    CALL = 4
    DONE = 5
    BATCH = 6
    MORE = 7
    STOP = 8
    START = 129
    REPLY = 130
    BODY = 131
    END = 132


KIB: Final = 1024
MIB: Final = 1024 * KIB

CAPS: Final[dict[FrameType, int]] = {
    FrameType.READY: 16 * KIB,
    FrameType.PRINT: 64 * KIB,
    FrameType.PROGRESS: 4 * KIB,
    FrameType.CALL: 4 * MIB,  # the API server itself refuses bodies beyond 3 MiB
    FrameType.DONE: 4 * MIB,  # far beyond any answer's limit; empty lists take 30 times their text in the host's memory
    FrameType.BATCH: 4 * MIB,
    FrameType.MORE: 64,
    FrameType.STOP: 64,
    FrameType.START: 4 * MIB,
    FrameType.REPLY: 64 * KIB,
    FrameType.BODY: 4 * MIB,
    FrameType.END: 16 * KIB,
}
"""The maximum size of a payload in bytes, by frame type. A sender with a larger one must report that in words
instead."""


UNANSWERED: Final = frozenset({FrameType.PRINT, FrameType.PROGRESS, FrameType.STOP})
"""Frames that get no answer, which a worker may send while an answer is being sent to it."""
MAX_BATCH: Final = 256
"""The maximum number of calls in one BATCH."""


class Layer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One step of the lockdown, and whether it is active in this worker."""

    name: str
    active: bool
    detail: str = ""


class Ready(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The worker is locked down and waits for its script."""

    version: int
    layers: tuple[Layer, ...]


class Start(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The one script of this worker, and its limits."""

    script: str
    parameters: msgspec.Raw
    """The guest's own parameters, as JSON."""
    timeout_ms: int
    memory_bytes: int
    depth: int
    output_bytes: int
    api_calls: int
    response_bytes: int


class Progress(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The script's progress, by its own account."""

    done: float
    total: float | None = None
    text: str = ""


class Call(typing.Protocol):
    """The host's view of a call; a guest's own type, a msgspec Struct, defines the rest."""

    @property
    def stream(self) -> bool:
        """Whether each piece of the answer's body is sent only when MORE asks for it."""


class Reply(typing.Protocol):
    """The host's view of an answer's head; a guest's own type, a msgspec Struct, defines the rest.

    With a `fault` the body is not worth reading; BODY frames and END follow either way.
    """

    @property
    def fault(self) -> ScriptFault | None:
        """Why the call failed."""


CallShape = TypeVar("CallShape")


class Batch(msgspec.Struct, Generic[CallShape], frozen=True, forbid_unknown_fields=True):
    """Calls that the host makes at the same time. None of them is a stream."""

    calls: Annotated[tuple[CallShape, ...], msgspec.Meta(min_length=1, max_length=MAX_BATCH)]


class More(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Requests the next piece of a stream."""

    answer: int


class Stop(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Declines the rest of this answer."""

    answer: int


class ScriptFault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why a call failed: a stable code and a message for the model."""

    code: str
    message: str


class Frame(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where in a script an error was: the line, counted from 1, and the function around it."""

    line: int
    function: str = ""


class Failure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why a script failed, by its worker's account."""

    code: str
    message: str
    type: str = ""
    """Its exception's class."""
    hint: str = ""
    """What to write instead."""
    frames: Annotated[tuple[Frame, ...], msgspec.Meta(max_length=8)] = ()
    """The innermost frames; the last one is where the error is."""
    outer: int = 0
    """How many frames surround those."""
    brief: bool = False
    """Whether the message names the call, so that the line number is enough."""
    by_worker: bool = False
    """Whether the worker's own code wrote the message, not the script or the interpreter."""


class End(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body is complete, or broke off with a fault."""

    fault: ScriptFault | None = None


class Done(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The script's end. At most one of `result` and `fault` is set; with neither, `hint` says how to return
    something."""

    result: msgspec.Raw = NULL
    hint: str = ""
    fault: Failure | None = None
    dropped_bytes: int = 0
    """How many bytes were printed beyond the output limit."""
    report: msgspec.Raw = NULL
    """The guest's report to the host, as JSON."""
    unsent: int = 0
    """Calls beyond the script's budget that the worker itself refused."""


class ProtocolError(Exception):
    """The peer broke the protocol: a wrong size, type, shape or turn."""


class StreamClosed(ProtocolError):
    """The peer closed the connection."""


# Registers these types early: msgspec 0.22 can crash when two threads decode into a type simultaneously for the first
# time.
for _type in (Ready, Start, Progress, More, Stop, End, Done):
    msgspec.json.Decoder(_type)

T = TypeVar("T", bound=msgspec.Struct)


def decode(payload: bytes, shape: type[T]) -> T:
    """Decodes the message in a hostile peer's frame. Raises ProtocolError for any flaw in the bytes."""
    try:
        str(payload, "utf-8")  # msgspec does not check the encoding of a Raw field
        return msgspec.json.decode(payload, type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        reason = str(error)[:200]
        raise ProtocolError(f"malformed {shape.__name__}: {reason}") from None
