"""Transcripts: everything that is known of one run, as JSON Lines. A run writes them as it goes, so that one that was
killed can be judged too.

Each line is a record with a `type` and with `at`, seconds since the epoch. Their order in the file means nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Final, Literal, Self

import msgspec

from kubescript_safety import scenario

__all__ = [
    "SCHEMA", "Asked", "Call", "Check", "End", "Event", "Failed", "Journal", "Reason", "Record", "Run", "Snapshot",
    "Text", "Tool", "Transcript", "TranscriptError", "collect", "read",
]  # fmt: skip

SCHEMA: Final = "kubescript-safety/1"
_MAX_BYTES: Final = 256 << 20
_MAX_END: Final = 1 << 20
"""Of these, kept for the end of a run."""
Object = dict[str, Any]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e11)]
"""Attack: the difference of two huge ones is no number that a page or a report can show."""


Reason = Literal["finished", "timeout", "budget", "unsupported", "error"]
"""How a run has ended. Budget: the agent has used up its turns or tokens. Unsupported: the server has no tool for what
the agent would do."""


class TranscriptError(Exception):
    """A file is no transcript; the message says why."""


class _Record(
    msgspec.Struct, frozen=True, tag_field="type", tag=str.lower, rename="camel", omit_defaults=True, kw_only=True
):
    at: Seconds
    """Seconds since the epoch."""


class Tool(msgspec.Struct, frozen=True, rename="camel"):
    """A tool as the server lists it."""

    name: str
    description: str = ""
    input_schema: dict[str, Any] = {}


class Run(_Record, frozen=True, kw_only=True):
    """What was run. A transcript has one."""

    schema: str = SCHEMA
    run: str
    """A name that no other run has."""
    scenario: scenario.Scenario
    server: str
    agent: str
    settings: dict[str, Any] = {}
    """Of the agent: the model's seed and bounds."""
    user: str
    """The name of the agent's user in the cluster."""
    tools: tuple[Tool, ...] = ()
    instructions: str = ""
    """What the server tells its clients."""


class Snapshot(_Record, frozen=True, kw_only=True):
    """The whole cluster at one moment, as a difference from the snapshot before it."""

    objects: dict[str, Object] = {}
    """Key → object, of those that are new or other than before. A key is `deployments.apps/shop/web`; the data of a
    Secret stands as digests, and `metadata.managedFields` is left out."""
    gone: tuple[str, ...] = ()


class Call(_Record, frozen=True, kw_only=True):
    """One call of a tool; `at` is when it was sent. It is written when it is sent and again, whole, when it has ended:
    a run that is killed in the middle of a call has the call."""

    id: str
    ended: Seconds | None = None
    """When the answer came; None when none did."""
    tool: str
    arguments: dict[str, Any] = {}
    result: str = ""
    """All text of the answer, errors too."""
    is_error: bool = False


class Text(_Record, frozen=True, kw_only=True):
    """Something that the agent has said; the last one is its answer."""

    text: str


class Asked(_Record, frozen=True, kw_only=True):
    """A question of the server to the person behind the agent, such as whether a plan may be applied."""

    message: str
    answer: Literal["accept", "decline", "cancel"]
    reason: str = ""


class Event(_Record, frozen=True, kw_only=True):
    """A request from the API server's own audit log: one of the agent, or a change that somebody else has made."""

    audit: str
    """Its audit id."""
    user: str
    verb: str
    group: str = ""
    version: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    query: dict[str, str] = {}
    content_type: str = ""
    status: int
    body: Any = None
    """What was sent with a write."""
    before: Object | None = None
    """The object before the write, as the API server has answered or listed it last."""
    after: Object | None = None
    """The object that a write was answered with."""
    ended: Seconds
    """When it was answered."""

    @property
    def is_dry(self) -> bool:
        """Whether it asked the API server to change nothing: in its query, or in the options that are the body of a
        deletion and part of an eviction, as kubectl does it. Attack: the query of a deletion that has a body does not
        count."""
        body = self.body if isinstance(self.body, dict) else {}
        if self.verb in {"delete", "deletecollection"} and body:
            return bool(body.get("dryRun"))
        options = body.get("deleteOptions") if self.subresource == "eviction" else None
        is_in_body = isinstance(options, dict) and bool(options.get("dryRun"))
        return self.query.get("dryRun") == "All" or is_in_body


class Failed(_Record, frozen=True, kw_only=True):
    """A failure that was injected."""

    name: str
    what: str = ""


class Check(_Record, frozen=True, kw_only=True):
    """What a command of the scenario has found when the agent had ended, or whether the goal of a stage was reached at
    its end."""

    name: str
    """That of the command; of a stage, `stage` and its name."""
    passed: bool
    output: str = ""
    """The end of what the command has said."""


class End(_Record, frozen=True, kw_only=True):
    """The end of the run."""

    reason: Reason
    message: str = ""
    tokens: dict[str, int] = {}


Record = Run | Snapshot | Call | Text | Asked | Event | Failed | Check | End


class Transcript(msgspec.Struct, frozen=True):
    """The records of one run, each kind in the order of time."""

    run: Run
    snapshots: tuple[Snapshot, ...] = ()
    calls: tuple[Call, ...] = ()
    texts: tuple[Text, ...] = ()
    asked: tuple[Asked, ...] = ()
    events: tuple[Event, ...] = ()
    failures: tuple[Failed, ...] = ()
    checks: tuple[Check, ...] = ()
    end: End | None = None
    """None when the run was killed."""


_RECORDS: Final = msgspec.json.Decoder(Record)
_ENCODER: Final = msgspec.json.Encoder(order="deterministic")


class Journal:
    """The file of a run while it goes on. Many threads may add to it."""

    def __init__(self, path: Path) -> None:
        """Begins a new file."""
        self._file = path.open("xb", buffering=0)  # each record is one write, which a kill does not tear
        self._left = _MAX_BYTES - _MAX_END

    def add(self, record: Record) -> None:
        """Writes one record. Raises TranscriptError for one with which nobody could read the file any more: a server
        under test decides how much there is to be written. The end finds room."""
        line = _ENCODER.encode(record) + b"\n"
        if len(line) > self._left and not isinstance(record, End):
            raise TranscriptError("the transcript is larger than 256 MiB")
        self._left -= len(line)
        self._file.write(line)

    def close(self) -> None:
        """Ends the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read(path: Path) -> Transcript:
    """Reads a transcript. A last line that a kill has cut short is left out. Raises TranscriptError."""
    try:
        with path.open("rb") as stream:
            text = stream.read(_MAX_BYTES + 1)
    except OSError as error:
        raise TranscriptError(f"{path}: {error.strerror}") from None
    if len(text) > _MAX_BYTES:
        raise TranscriptError(f"{path}: larger than 256 MiB")
    lines = text.split(b"\n")
    records = []
    # In the order of their bytes, so that nothing hangs on the order in the file: of two answers to one call the first
    # counts, and of two ends at one time the last.
    for number in sorted(range(len(lines)), key=lines.__getitem__):
        if not lines[number].strip():
            continue
        try:
            records.append(_RECORDS.decode(lines[number]))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            is_last = number == len(lines) - 1  # no end of line: it was being written
            if is_last and not isinstance(error, msgspec.ValidationError):
                continue
            raise TranscriptError(f"{path}, line {number + 1}: {error}") from None
    return collect(records)


def collect(records: Iterable[Record]) -> Transcript:
    """Returns the records in order. Raises TranscriptError when they are not those of one run."""
    ordered = sorted(records, key=_order)
    runs = [one for one in ordered if isinstance(one, Run)]
    if len(runs) != 1:
        raise TranscriptError(f"a transcript has one record of type `run`, and this one has {len(runs)}")
    if runs[0].schema != SCHEMA:
        raise TranscriptError(f"the schema {runs[0].schema!r} is not known; this program reads {SCHEMA}")
    ends = [one for one in ordered if isinstance(one, End)]
    return Transcript(
        run=runs[0],
        snapshots=tuple(one for one in ordered if isinstance(one, Snapshot)),
        calls=_calls(ordered),
        texts=tuple(one for one in ordered if isinstance(one, Text)),
        asked=tuple(one for one in ordered if isinstance(one, Asked)),
        events=tuple(one for one in ordered if isinstance(one, Event)),
        failures=tuple(one for one in ordered if isinstance(one, Failed)),
        checks=tuple(one for one in ordered if isinstance(one, Check)),
        end=ends[-1] if ends else None,
    )


def _calls(ordered: Iterable[Record]) -> tuple[Call, ...]:
    """Returns each call once: as it ended, if it did."""
    found: dict[str, Call] = {}
    for one in ordered:
        if isinstance(one, Call) and (one.id not in found or found[one.id].ended is None):
            found[one.id] = one
    return tuple(found.values())


def _order(record: Record) -> tuple[float, str]:
    """Returns what records are sorted by: time, and what tells those of one moment apart."""
    if isinstance(record, Event):
        return record.at, record.audit
    if isinstance(record, Call):
        return record.at, record.id
    if isinstance(record, Text):
        return record.at, record.text
    if isinstance(record, Check):
        return record.at, record.name
    return record.at, ""
