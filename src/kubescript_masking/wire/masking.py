"""The conversation between the host and one masker: bytes of the cluster in, masked bytes out.

    host                                masker
                                   ◀──  READY    active layers
      TEXT     a whole text       ──▶
                                   ◀──  MASKED, or SAME when there was nothing to mask

      OPEN     what body it is     ──▶
      CHUNK    bytes of it         ──▶
                                   ◀──  MASKED   what this chunk completed; may be empty
      ...
      END                          ──▶
                                   ◀──  PART*, MASKED   the rest

There is one answer to each TEXT, CHUNK and END, in order, so the host always knows how many frames may still come. It
may send more chunks before it reads an answer. In front of the answer to a CHUNK or END the masker may send PARTs of a
long one, each of at least `MIN_PART` bytes. Instead of any answer the masker may send FAILED, with a one-word reason,
and exit.

A frame of the host is a little-endian u32 length, a byte of type, and the payload. A frame of the masker is a byte of
type, the u32 length of its notes, the u32 length of its bytes, and both. The notes of an answer are a `Notes` as JSON;
those of the answer to END contain the `Trailer` of a whole body. A masker reads hostile bytes, so
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
    "MIN_PART",
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
"""The maximum size of a CHUNK in bytes."""
MAX_GZIP_CHUNK: Final = 16 * protocol.KIB
"""The maximum size in bytes of a CHUNK of a compressed body, which unfolds to about a thousand times as much at
most."""
MAX_NOTES: Final = 256 * protocol.KIB
# A cluster's body arrives in pieces of 256 KiB, so only the answers of sources have parts.
MIN_PART: Final = 512 * protocol.KIB
"""The minimum size of a PART in bytes; it bounds their number."""
NOTHING: Final = protocol.NULL
"""Stands for no settings for a second program, or no question to it."""
_Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]
OPENING: Final = "«redacted:".encode()
"""How every placeholder begins."""

Form = Literal["text", "log", "json", "object", "list", "table", "watch", "series", "streams", "spans", "count"]
"""Forms of a body: any text, the lines of a log, one JSON document, one JSON object, a list of objects, a Table or such
a list, events, one per line; series of a source, or JSON of another shape; log lines of a source, or such series; a
trace, whose attributes become objects; the answer of a source to `count(…)`, of which only the trailer passes."""


class Trailer(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Facts about a whole body that a masker has read to its end. Reports of what a script has not seen rely on it
    alone; a body that is not what it must be has no trailer."""

    items: _Count = 0
    """The number of a list's items, of a Table's rows, of a watch's events about objects, of an answer's series
    label sets, label values, traces or log lines; or the value of a count."""
    is_partial: bool = False
    """Whether a source says that a part of its answer is missing."""
    next: Annotated[str, msgspec.Meta(pattern=r"^([0-9a-f]{64})?\Z")] = ""
    """SHA-256 of the token that requests the next page; empty on the last page."""
    remaining: _Count = 0
    """How many items are on later pages, if the API server reports the number."""


class Notes(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A masker's report that accompanies the masked bytes of one answer."""

    kinds: dict[Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9-]{1,80}\Z")], _Count] = {}
    """How often each kind was masked."""
    read: _Count = 0
    """How many bytes were read since the previous answer, counted after decompression."""
    error: Annotated[int, msgspec.Meta(ge=0, le=599)] = 0
    """The status of an event that ends a watch with an error."""
    trailer: Trailer | None = None
    """The body's trailer, in the answer to END."""


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
    PART = 133


class Rule(msgspec.Struct, frozen=True):
    """A rule for tokens."""

    id: str
    regex: str
    probe: str | None = None
    entropy: float = 0.0
    example: str = ""
    bounded: bool = False
    """Whether a token with a letter or digit right before it is part of something else."""


class Settings(msgspec.Struct, frozen=True):
    """The settings of one server's maskers, sent when their fork server starts: the operator's rules, and the random
    key of the placeholders."""

    key: bytes
    disable: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    allow: tuple[str, ...] = ()
    allow_names: tuple[str, ...] = ()
    directory: str = ""
    """Where the compiled rules are saved; empty: nowhere."""
    program: msgspec.Raw = NOTHING
    """The settings of the process's second program, as JSON."""


class Body(msgspec.Struct, frozen=True):
    """The facts about a body that masking needs."""

    form: Form = "text"
    masked: bool = True
    """Whether values are masked, which the operator may have switched off; a body is checked in any case."""
    live: bool = False
    """Whether the body's next bytes may come much later."""
    secrets: bool = False
    """Whether the body's objects are Secrets, even if they do not say so."""
    named: str = ""
    """The name of the values in the body's lists, which they do not have themselves: the values of a label."""
    gzip: bool = False
    """Whether the body's chunks are compressed, each with at most `MAX_GZIP_CHUNK` bytes."""
    echo: bool = False
    """Whether the body may repeat words of the script, which must not get the mask that the same value has in the
    cluster."""
    program: msgspec.Raw = NOTHING
    """The question about the body for the process's second program, as JSON; `null`: none."""
    owner: str = ""
    """The body's owner, where a server has several callers: the same value has a different mask for each."""


def alignments(text: bytes) -> tuple[bytes, ...]:
    """Returns the parts of `text` that base64 shows, for each alignment in a longer text."""
    pieces = []
    for before in range(3):
        whole = base64.b64encode(bytes(before) + text)
        # A letter of base64 holds 6 bits. The first and the last letters also hold bits of what is around the text.
        first = (before * 8 + 5) // 6
        last = (before + len(text)) * 8 // 6
        pieces.append(whole[first:last])
    return tuple(pieces)
