"""The wire between the host and one worker: length-prefixed frames in strict turns.

    worker                             host
      READY   layers that hold    ──▶
                                  ◀──  START   script, limits
      PRINT*, PROGRESS*, CALL     ──▶
                                  ◀──  REPLY, BODY*, END        (exactly one reply to each call)
      ...
      DONE                        ──▶  exactly one, then the host kills what is left

A frame is a little-endian u32 length of the payload, one byte of type, and the payload. Lengths are checked before
anything is allocated. The host treats every frame as hostile: wrong type, wrong turn, wrong shape or wrong size ends
the worker. Both sides import this module, so it imports nothing of ours.
"""

from __future__ import annotations

import enum
import socket
import struct
import time
from typing import Final, Literal, TypeVar

import msgspec

__all__ = [
    "CAPS",
    "NULL",
    "Accept",
    "Call",
    "Done",
    "End",
    "Frame",
    "FrameSocket",
    "Kind",
    "Layer",
    "Progress",
    "ProtocolError",
    "Ready",
    "Reply",
    "ScriptFault",
    "Start",
    "StreamClosed",
    "decode",
]

VERSION: Final = 1

Accept = Literal["json", "table", "metadata", "text"]
"""The representations a script may ask for; the host maps each to a fixed Accept header."""


NULL: Final = msgspec.Raw(b"null")
"""No JSON text."""


class Kind(enum.IntEnum):
    """Frame types. The low half is sent by the worker, the high half by the host."""

    READY = 1
    PRINT = 2
    PROGRESS = 3
    CALL = 4
    DONE = 5
    START = 129
    REPLY = 130
    BODY = 131
    END = 132


KIB: Final = 1024
MIB: Final = 1024 * KIB

CAPS: Final[dict[Kind, int]] = {
    Kind.READY: 16 * KIB,
    Kind.PRINT: 64 * KIB,
    Kind.PROGRESS: 4 * KIB,
    Kind.CALL: 4 * MIB,  # the API server itself refuses bodies beyond 3 MiB
    Kind.DONE: 4 * MIB,  # far beyond any answer's limit; empty lists take 30 times their text in the host's memory
    Kind.START: 4 * MIB,
    Kind.REPLY: 64 * KIB,
    Kind.BODY: 4 * MIB,
    Kind.END: 16 * KIB,
}
"""Bytes of payload each kind may have. A sender that would exceed its cap must say so in words instead."""


class Layer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One step of the lockdown and whether it holds in this worker."""

    name: str
    active: bool
    detail: str = ""


class Ready(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The worker is locked down and waits for its script."""

    version: int
    layers: tuple[Layer, ...]


class Start(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The one script of this worker."""

    script: str
    namespace: str
    context: str
    timeout_ms: int
    memory_bytes: int
    depth: int
    output_bytes: int
    api_calls: int


class Progress(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far the script says it is."""

    done: float
    total: float | None = None
    text: str = ""


class Call(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One Kubernetes API request, in parts. The host builds the URL; no header can be named here."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: tuple[str, ...]
    """Unquoted segments: ("api", "v1", "namespaces", "default", "pods")."""
    query: tuple[tuple[str, str], ...] = ()
    body: msgspec.Raw = NULL
    """JSON text; NULL for no body. (msgspec decodes Raw in no union, so there is no None.)"""
    content_type: Literal["json", "json-patch", "merge-patch", "strategic-merge-patch", "apply-patch"] = "json"
    accept: Accept = "json"


class ScriptFault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why a call or a script failed: a stable code and a message for the model."""

    code: str
    message: str
    type: str = ""


class Reply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The head of an answer. With a `fault` there is no body worth reading; BODY frames and END follow either way."""

    status: int
    """HTTP status; 0 when no API server answered (see `fault`)."""
    reason: str = ""
    content_type: str = ""
    headers: dict[str, str] = {}
    fault: ScriptFault | None = None


class End(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body is complete, or broke off with a fault."""

    fault: ScriptFault | None = None


class Done(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The script's end. At most one of `result` and `fault` is set; with neither, `hint` says how to return
    something."""

    result: msgspec.Raw = NULL
    hint: str = ""
    fault: ScriptFault | None = None
    dropped_bytes: int = 0
    """Printed beyond the output limit."""


Frame = tuple[Kind, bytes]


class ProtocolError(Exception):
    """The peer broke the protocol: size, type, shape or turn."""


class StreamClosed(ProtocolError):
    """The peer is gone."""


T = TypeVar("T", bound=msgspec.Struct)


def decode(payload: bytes, shape: type[T]) -> T:
    """The message in a frame from a hostile peer. Raises ProtocolError, whatever is wrong with the bytes."""
    try:
        str(payload, "utf-8")  # msgspec does not look into the text of a Raw
        return msgspec.json.decode(payload, type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolError(f"malformed {shape.__name__}: {str(error)[:200]}") from None


_HEAD: Final = struct.Struct("<IB")


class FrameSocket:
    """Frames over one stream socket. Not thread-safe: turns make a second reader meaningless.

    `deadline` (time.monotonic() seconds) bounds every operation as a whole, so that a peer who sends a byte a second
    gains nothing; past it TimeoutError is raised. The worker sets none: its time belongs to the host.
    """

    def __init__(self, sock: socket.socket, deadline: float | None = None) -> None:
        self._sock = sock
        self.deadline = deadline

    def send(self, kind: Kind, payload: bytes | memoryview) -> None:
        """Send one frame. Raises ProtocolError when it exceeds its cap: nothing is sent then, the stream stays in
        step."""
        if len(payload) > CAPS[kind]:
            raise ProtocolError(f"{kind.name} frame of {len(payload)} bytes exceeds its cap of {CAPS[kind]}")
        self._sendall(_HEAD.pack(len(payload), kind), payload)

    def send_message(self, kind: Kind, message: msgspec.Struct) -> None:
        """Send one structured frame."""
        self.send(kind, msgspec.json.encode(message))

    def receive(self, allowed: frozenset[Kind]) -> Frame:
        """The next frame. Raises ProtocolError for a type out of turn, an oversized length, or an early end of the
        stream."""
        length, number = _HEAD.unpack(self._exactly(_HEAD.size))
        try:
            kind = Kind(number)
        except ValueError:
            raise ProtocolError(f"unknown frame type {number}") from None
        if kind not in allowed:
            raise ProtocolError(f"{kind.name} frame out of turn")
        if length > CAPS[kind]:
            raise ProtocolError(f"{kind.name} frame of {length} bytes exceeds its cap of {CAPS[kind]}")
        return kind, bytes(self._exactly(length))

    def _sendall(self, head: bytes, payload: bytes | memoryview) -> None:
        self._arm()
        sent = self._sock.sendmsg((head, payload))
        view = memoryview(payload)[max(0, sent - len(head)) :]
        if sent < len(head):  # never seen on a local socket, but the kernel may
            self._sock.sendall(head[sent:])
        while view:
            self._arm()
            view = view[self._sock.send(view) :]

    def _arm(self) -> None:
        if self.deadline is None:
            return
        remaining = self.deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError
        self._sock.settimeout(remaining)

    def _exactly(self, size: int) -> bytearray:
        buffer = bytearray(size)
        view = memoryview(buffer)
        got = 0
        while got < size:
            self._arm()
            count = self._sock.recv_into(view[got:])
            if count == 0:
                raise StreamClosed("the peer closed the connection in the middle of a turn")
            got += count
        return buffer
