"""The conversation between the host and one masker: bytes of the cluster in, masked bytes out.

    host                                masker
                                   ◀──  READY    layers that hold
      TEXT     a whole text       ──▶
                                   ◀──  MASKED, or SAME when there was nothing to mask

      OPEN     what body it is     ──▶
      CHUNK    bytes of it         ──▶
                                   ◀──  MASKED   what this chunk made complete; may be empty
      ...
      END                          ──▶
                                   ◀──  MASKED   the rest

There is one answer to each TEXT, CHUNK and END, in their order, so the host always knows how many frames may still
come. It may send further chunks before it reads an answer. In place of any answer the masker may send FAILED, with a
reason (a word), and end.

A frame of the host is a little-endian u32 length, a byte of type, and the payload. A frame of the masker is a byte of
type, the u32 length of its notes, the u32 length of its bytes, and both. The notes of an answer are a `Notes` as JSON;
those of the answer to END have the `Trailer`, which says whether the body is whole. A masker reads hostile bytes, so
the host treats its frames as hostile too.
"""

from __future__ import annotations

import base64
import enum
import struct
from typing import Annotated, Final, Literal

import msgspec

from kubescript_sandbox.wire import protocol

__all__ = [
    "ANSWER",
    "HEADER",
    "MAX_CHUNK",
    "MAX_GZIP_CHUNK",
    "MAX_NOTES",
    "NOTHING",
    "OPENING",
    "Answer",
    "Body",
    "Form",
    "Notes",
    "Order",
    "Rule",
    "Settings",
    "Trailer",
    "alignments",
]  # fmt: skip

HEADER: Final = struct.Struct("<IB")
ANSWER: Final = struct.Struct("<BII")
MAX_CHUNK: Final = protocol.MIB
"""Bytes of a CHUNK at most."""
MAX_GZIP_CHUNK: Final = 16 * protocol.KIB
"""Bytes of a CHUNK of a compressed body, which unfolds to a thousand times as much at most."""
MAX_NOTES: Final = 256 * protocol.KIB
NOTHING: Final = protocol.NULL
"""For a second program: that it is told, or asked, nothing."""
_Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]
OPENING: Final = "«redacted:".encode()
"""How every placeholder begins."""

Form = Literal["text", "log", "json", "object", "list", "table", "watch"]
"""What a body must be, to be whole: any text, the lines of a log, one JSON document, one JSON object, a list of
objects, a Table or such a list, or events that are a line each."""


class Trailer(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a whole body was, which a masker has read to its end. What says what a script has not seen goes by it
    alone; of a body that is not what it must be there is none."""

    items: _Count = 0
    """Items of a list, rows of a Table, or events of a watch about objects."""
    next: Annotated[str, msgspec.Meta(pattern=r"^([0-9a-f]{64})?\Z")] = ""
    """SHA-256 of the token by which the next page is asked for; empty when there is no further page."""
    remaining: _Count = 0
    """Items of further pages, where the API server tells."""


class Notes(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a masker says beside the masked bytes of one answer."""

    kinds: dict[Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9-]{1,80}\Z")], _Count] = {}
    """How often each kind was masked."""
    read: _Count = 0
    """Bytes that it has read since the answer before, decompressed."""
    error: Annotated[int, msgspec.Meta(ge=0, le=599)] = 0
    """The status of an event that ends a watch with an error."""
    trailer: Trailer | None = None
    """In the answer to END: what the body was."""


class Order(enum.IntEnum):
    """Types of the host's frames."""

    TEXT = 1
    OPEN = 2
    CHUNK = 3
    END = 4


class Answer(enum.IntEnum):
    """Types of the masker's frames."""

    READY = 129
    MASKED = 130
    SAME = 131
    FAILED = 132


class Rule(msgspec.Struct, frozen=True):
    """A rule for tokens."""

    id: str
    regex: str
    probe: str | None = None
    entropy: float = 0.0
    example: str = ""
    bounded: bool = False
    """Whether a letter or digit before it makes it part of something else."""


class Settings(msgspec.Struct, frozen=True):
    """What the maskers of one server are told when their fork server starts: the operator's rules, and the key of the
    placeholders, which the host has drawn."""

    key: bytes
    disable: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    allow: tuple[str, ...] = ()
    allow_names: tuple[str, ...] = ()
    directory: str = ""
    """Where the compiled rules are saved; empty: nowhere."""
    program: msgspec.Raw = NOTHING
    """What the second program of the process is told, as JSON."""


class Body(msgspec.Struct, frozen=True):
    """What has to be known of a body to mask it."""

    form: Form = "text"
    masked: bool = True
    """Whether values are masked. The operator may have decided otherwise; a body is checked all the same."""
    live: bool = False
    """Its next bytes may come much later."""
    secrets: bool = False
    """Its objects are Secrets, whether they say so or not."""
    gzip: bool = False
    """Its chunks are compressed, each of at most `MAX_GZIP_CHUNK` bytes."""
    echo: bool = False
    """It may repeat words of the script, which must not get the mask that the same value has in the cluster."""
    program: msgspec.Raw = NOTHING
    """What the second program of the process is asked about it, as JSON; `null`: nothing."""
    owner: str = ""
    """Whose it is, where a server has several callers: the same value has another mask for another one."""


def alignments(text: bytes) -> tuple[bytes, ...]:
    """What of `text` shows in base64, wherever in a longer text it stands."""
    pieces = []
    for before in range(3):
        whole = base64.b64encode(bytes(before) + text)
        pieces.append(whole[(before * 8 + 5) // 6 : (before + len(text)) * 8 // 6])
    return tuple(pieces)
