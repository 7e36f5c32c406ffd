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
    "MAX_CHANGES",
    "MAX_CHUNK",
    "MAX_GZIP_CHUNK",
    "MAX_NOTES",
    "MAX_ROWS",
    "MAX_UNDO",
    "OPENING",
    "RISKS",
    "Answer",
    "Body",
    "Changes",
    "Comparison",
    "Expression",
    "Facts",
    "Form",
    "Metadata",
    "Notes",
    "Objection",
    "Order",
    "Reason",
    "Row",
    "Rule",
    "Settings",
    "State",
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
MAX_ROWS: Final = 20_000
"""Fields that one write may change."""
MAX_CHANGES: Final = 8 * protocol.MIB
"""Bytes of a `Changes` as JSON."""
MAX_UNDO: Final = 256 * protocol.KIB
"""Characters of the patch in it that would take the write back."""
_Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]
OPENING: Final = "«redacted:".encode()
"""How every placeholder begins."""

Reason = Literal[
    "part",
    "line",
    "shape",
    "memory",
    "release",
    "gzip-bad",
    "gzip-cut",
    "gzip-more",
    "json",
    "list",
    "kind",
    "depth",
    "event",
    "object",
    "values",
    "rows",
    "bug",
]
"""Why a masker gave up: a part of a document or a line longer than it can hold, a body that is not the metadata that
was asked for, no release as Helm keeps it, its memory, a compressed body that is damaged, cut short or followed by
more, one that is no JSON or ends in the middle of it, no list with one array of items, an object without a kind or the
Status of a failure, one that is nested too deep to be read, a line of a watch that is no event, documents to compare
that are no objects or too large, more changes than it may answer, or a fault of its own."""


Form = Literal["text", "log", "json", "object", "list", "table", "watch"]
"""What a body must be, to be whole: any text, the lines of a log, one JSON document, one JSON object, a list of
objects, a Table or such a list, or events that are a line each."""


class Trailer(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a whole body was, which a masker has read to its end. Whoever says what a script has not seen goes by it
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


class Expression(msgspec.Struct, frozen=True):
    """A rule of the operator's about changes, in CEL: true means that the change may be made."""

    id: str
    expression: str
    """Over `object`, `oldObject` and `request`, as in a ValidatingAdmissionPolicy."""
    message: str = ""


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
    expressions: tuple[Expression, ...] = ()
    """The operator's own rules about changes."""


class Metadata(msgspec.Struct, frozen=True):
    """What has to be known of objects of which only the metadata may pass."""

    kind: str = ""
    """Empty when it is not known."""
    api_version: str = ""


class UserInfo(msgspec.Struct, frozen=True):
    """A user, as an AdmissionReview names one."""

    username: str
    groups: tuple[str, ...] = ()


class Comparison(msgspec.Struct, frozen=True):
    """What has to be known of three documents that come as one body: an object as it is, as the API server's dry run
    would leave it, and the body of the request. The first two may be empty."""

    before: int
    """Bytes of the first document."""
    after: int
    """Bytes of the second document."""
    verb: str
    """create, update, patch or delete; an eviction is a delete."""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    apply: bool = False
    """Whether the request is a server-side apply, which also takes away what it no longer names."""
    masked: bool = True
    """Whether values are masked. The operator may have decided otherwise."""
    user: UserInfo | None = None
    """Who makes the change, where that is proven."""


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
    metadata: Metadata | None = None
    """Set when only the metadata of its objects may pass; with `echo` it is the body of an error."""
    release: Literal["", "brief", "whole"] = ""
    """Set when it holds one revision of a Helm release, of which `metadata` is not all that may pass: how much is."""
    comparison: Comparison | None = None
    """Set when the answer is not the masked body, but a `Changes` as JSON."""
    owner: str = ""
    """Whose it is, where a server has several callers: the same value has another mask for another one."""


class Row(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One field that a change adds, changes or removes. Values are JSON text, masked."""

    path: str
    """`spec.template.spec.containers[web].image`: items of a list by their name, or as `[containerPort=80]`, where each
    has one of its own, and by their place elsewhere. What is not plain ASCII stands in quotes, with JSON's escapes. The
    row of a list itself tells the order of its items."""
    old: str | None = None
    """None: the field was not there."""
    new: str | None = None
    """None: the field goes away."""
    by_server: bool = False
    """Whether the request does not name it: a default, or the work of an admission plugin."""
    masked: bool = False
    """Whether a mask stands for a part of a value."""


class State(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What an object does, so far as rules about its removal need it. None: nobody can say, or it is no such kind."""

    running: bool | None = None
    """Whether it does something that ends with it: a pod that runs, a workload of which replicas are ready, a Job that
    is not finished, a claim that is bound."""
    healthy: bool | None = None
    """Whether it is as it should be."""
    terminating: bool = False
    """Whether it is being deleted already."""
    owner: str = ""
    """Its controller: `ReplicaSet/web-7d4b9c6f5`."""


class Facts(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What an object is, so far as preconditions and rules need it."""

    uid: str = ""
    resource_version: str = ""
    digest: str = ""
    """SHA-256 of its content: without status, managedFields, resourceVersion and generation, in canonical JSON."""
    labels: dict[str, str] = {}
    replicas: int | None = None
    images: tuple[str, ...] = ()
    """Of all its containers and volumes, sorted, each once."""
    state: State | None = None


class Objection(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A rule of the operator's that does not hold for a change."""

    rule: str
    message: str


class Changes(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a request would change."""

    before: Facts | None = None
    """None: there is no object yet."""
    after: Facts | None = None
    """None: there is none any more."""
    rows: tuple[Row, ...] = ()
    digest: str = ""
    """SHA-256 of the object's uid and of all that changes, from what to what, unmasked, but for addresses and ports
    that the API server allots; of a deletion: of the uid and the object's content. The same again means that the
    request still does what was shown."""
    requested: str = ""
    """Likewise of that alone which the request names: an object that it has made is known by it."""
    undo: str = ""
    """A JSON patch that takes back what changes; empty where there is none, or where it would tell what is masked."""
    risks: tuple[str, ...] = ()
    """What of `RISKS` it newly has, sorted."""
    objections: tuple[Objection, ...] = ()


RISKS: Final = (
    "finalizers", "hostIPC", "hostNetwork", "hostPID", "hostPath", "ownerReferences", "privileged", "serviceAccount",
)  # fmt: skip
"""Changes that rules name: finalizers that are removed, owners or a service account that change, and what a pod newly
asks of its node."""


def alignments(text: bytes) -> tuple[bytes, ...]:
    """What of `text` shows in base64, wherever in a longer text it stands."""
    pieces = []
    for before in range(3):
        whole = base64.b64encode(bytes(before) + text)
        pieces.append(whole[(before * 8 + 5) // 6 : (before + len(text)) * 8 // 6])
    return tuple(pieces)
