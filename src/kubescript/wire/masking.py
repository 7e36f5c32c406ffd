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
reason, and end.

A frame of the host is a little-endian u32 length, a byte of type, and the payload. A frame of the masker is a byte of
type, the u32 length of its notes, the u32 length of its bytes, and both. The notes of an answer are the kinds of what
was masked, as `token=2,password=1`. A masker reads hostile bytes, so the host treats its frames as hostile too.
"""

from __future__ import annotations

import base64
import enum
import struct
from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from kubescript.wire import protocol

__all__ = [
    "ANSWER", "HEADER", "MAX_CHUNK", "MAX_GZIP_CHUNK", "MAX_KIND", "MAX_NOTES", "OPENING", "Answer", "Body",
    "Metadata", "Order",
    "Reason", "Rule", "Settings", "alignments", "read_kinds", "write_kinds",
]  # fmt: skip

HEADER: Final = struct.Struct("<IB")
ANSWER: Final = struct.Struct("<BII")
MAX_CHUNK: Final = protocol.MIB
"""Bytes of a CHUNK at most."""
MAX_GZIP_CHUNK: Final = 16 * protocol.KIB
"""Bytes of a CHUNK of a compressed body, which unfolds to a thousand times as much at most."""
MAX_NOTES: Final = 32 * protocol.KIB
MAX_KIND: Final = 80
_MAX_DIGITS: Final = 7
_KIND: Final = b"abcdefghijklmnopqrstuvwxyz0123456789-"
OPENING: Final = "«redacted:".encode()
"""How every placeholder begins."""

Reason = Literal["part", "line", "shape", "memory", "release", "gzip-bad", "gzip-cut", "gzip-more", "bug"]
"""Why a masker gave up: a part of a document or a line longer than it can hold, a body that is not the metadata that
was asked for, no release as Helm keeps it, its memory, a compressed body that is damaged, cut short or followed by
more, or a fault of its own."""


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


class Metadata(msgspec.Struct, frozen=True):
    """What has to be known of objects of which only the metadata may pass."""

    kind: str = ""
    """Empty when it is not known."""
    api_version: str = ""
    listing: bool = False


class Body(msgspec.Struct, frozen=True):
    """What has to be known of a body to mask it."""

    log: bool = False
    table: bool = False
    watch: bool = False
    live: bool = False
    """Its next bytes may come much later."""
    secrets: bool = False
    """Its objects are Secrets, whether they say so or not."""
    gzip: bool = False
    """Its chunks are compressed, each of at most `MAX_GZIP_CHUNK` bytes."""
    echo: bool = False
    """It may repeat words of the script, which must not get the mask that the same value has in the cluster."""
    metadata: Metadata | None = None
    """Set when only the metadata of its objects may pass; with `echo` it is the body of an error."""
    release: Literal["", "brief", "whole"] = ""
    """Set when it holds one revision of a Helm release, of which `metadata` is not all that may pass: how much is."""


def alignments(text: bytes) -> tuple[bytes, ...]:
    """What of `text` shows in base64, wherever in a longer text it stands."""
    pieces = []
    for before in range(3):
        whole = base64.b64encode(bytes(before) + text)
        pieces.append(whole[(before * 8 + 5) // 6 : (before + len(text)) * 8 // 6])
    return tuple(pieces)


def write_kinds(counts: Mapping[str, int]) -> bytes:
    """Write how often each kind was masked. Kinds that do not fit into the notes of one frame are left out."""
    notes = b""
    most = 10**_MAX_DIGITS - 1
    for kind, count in counts.items():
        note = f"{kind}={min(count, most)}".encode()
        if len(notes) + len(note) < MAX_NOTES:
            notes += b"," + note if notes else note
    return notes


def read_kinds(notes: bytes) -> dict[str, int]:
    """Read them. Raises ProtocolError for anything that `write_kinds` does not write."""
    counts: dict[str, int] = {}
    for note in notes.split(b",") if notes else ():
        kind, _, digits = note.partition(b"=")
        if not kind or len(kind) > MAX_KIND or kind.strip(_KIND):
            raise protocol.ProtocolError("a kind of secret has no proper name")
        if not digits.isdigit() or len(digits) > _MAX_DIGITS:
            raise protocol.ProtocolError("a kind of secret has no proper count")
        counts[kind.decode()] = int(digits)
    return counts
