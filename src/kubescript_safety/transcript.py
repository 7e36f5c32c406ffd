"""Transcripts: the records of one run, as JSON Lines. They are written during the run, so that a killed run can be
judged too.

Each line is a record with a `type` and with `at`, seconds since the epoch. Their order in the file does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Final, Literal, Self, TypeVar

import msgspec

from kubescript_safety import scenario

__all__ = [
    "SCHEMA", "Asked", "Call", "Check", "End", "Event", "Failed", "Journal", "Reason", "Record", "Run", "Snapshot",
    "Text", "Tool", "Transcript", "TranscriptError", "collect", "read",
]  # fmt: skip

Kind = TypeVar("Kind")
SCHEMA: Final = "kubescript-safety/1"
_MAX_BYTES: Final = 256 << 20
_MAX_END: Final = 1 << 20
"""How many bytes are reserved for the end record."""
Object = dict[str, Any]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e11)]
"""A time in a transcript. Attack: a transcript has two huge times, whose difference no page or report can show."""


Reason = Literal["finished", "timeout", "budget", "unsupported", "error"]
"""How a run ended. Budget: the agent has used up its turns or tokens. Unsupported: the server has no tool for the
agent's next step."""


class TranscriptError(Exception):
    """A file is not a transcript; the message says why."""


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
    """The run's parameters. A transcript has one."""

    schema: str = SCHEMA
    run: str
    """A name unique to the run."""
    scenario: scenario.Scenario
    server: str
    agent: str
    settings: dict[str, Any] = {}
    """The agent's settings, such as the model's seed and limits."""
    user: str
    """The name of the agent's user in the cluster."""
    tools: tuple[Tool, ...] = ()
    instructions: str = ""
    """The server's instructions for its clients."""


class Snapshot(_Record, frozen=True, kw_only=True):
    """The cluster at one moment, as a difference from the previous snapshot."""

    objects: dict[str, Object] = {}
    """Key → object, for new and changed objects. A key is `deployments.apps/shop/web`; a Secret's data are digests, and
    `metadata.managedFields` is left out."""
    gone: tuple[str, ...] = ()


class Call(_Record, frozen=True, kw_only=True):
    """One tool call; `at` is when it was sent. A call is written when it is sent, and again in full when it has ended,
    so that a run killed in between has it too."""

    id: str
    ended: Seconds | None = None
    """When the answer came; None if there was none."""
    tool: str
    arguments: dict[str, Any] = {}
    result: str = ""
    """The answer's text, including errors."""
    is_error: bool = False


class Text(_Record, frozen=True, kw_only=True):
    """A message from the agent; the last one is its answer."""

    text: str


class Asked(_Record, frozen=True, kw_only=True):
    """A question from the server to the person behind the agent, such as whether a plan may be applied."""

    message: str
    answer: Literal["accept", "decline", "cancel"]
    reason: str = ""


class Event(_Record, frozen=True, kw_only=True):
    """A request in the API server's audit log: one of the agent's, or somebody else's change."""

    audit: str
    """The audit id."""
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
    """The write's body."""
    before: Object | None = None
    """The object before the write, as last answered or listed by the API server."""
    after: Object | None = None
    """The object in the answer to a write."""
    ended: Seconds
    """When it was answered."""

    @property
    def is_dry(self) -> bool:
        """Whether the request asked for a dry run: in its query, or, as kubectl does, in the options in the body of a
        deletion or eviction. Attack: an agent's deletion has a dry run in its query, but also a body, which makes the
        API server ignore the query."""
        body = self.body if isinstance(self.body, dict) else {}
        if self.verb in {"delete", "deletecollection"} and body:
            return bool(body.get("dryRun"))
        if self.query.get("dryRun") == "All":
            return True
        options = body.get("deleteOptions") if self.subresource == "eviction" else None
        if not isinstance(options, dict):
            return False
        return bool(options.get("dryRun"))


class Failed(_Record, frozen=True, kw_only=True):
    """An injected failure."""

    name: str
    what: str = ""


class Check(_Record, frozen=True, kw_only=True):
    """The result of a scenario's command after the agent has ended, or whether a stage's goal was reached."""

    name: str
    """The command's name; for a stage, `stage` and its name."""
    passed: bool
    output: str = ""
    """The end of the command's output."""


class End(_Record, frozen=True, kw_only=True):
    """The end of the run."""

    reason: Reason
    message: str = ""
    tokens: dict[str, int] = {}


Record = Run | Snapshot | Call | Text | Asked | Event | Failed | Check | End


class Transcript(msgspec.Struct, frozen=True):
    """The records of one run, each kind in order of time."""

    run: Run
    snapshots: tuple[Snapshot, ...] = ()
    calls: tuple[Call, ...] = ()
    texts: tuple[Text, ...] = ()
    asked: tuple[Asked, ...] = ()
    events: tuple[Event, ...] = ()
    failures: tuple[Failed, ...] = ()
    checks: tuple[Check, ...] = ()
    end: End | None = None
    """None if the run was killed."""


_RECORDS: Final = msgspec.json.Decoder(Record)
_ENCODER: Final = msgspec.json.Encoder(order="deterministic")


class Journal:
    """The file of a run in progress. Threads may share it."""

    def __init__(self, path: Path) -> None:
        """Creates a new file."""
        self._file = path.open("xb", buffering=0)  # each record is one write, which a kill does not split
        self._left = _MAX_BYTES - _MAX_END

    def add(self, record: Record) -> None:
        """Writes one record. Raises TranscriptError for a record that would make the file too large to read, because a
        server under test controls how much is recorded. There is always room for the end record."""
        line = _ENCODER.encode(record) + b"\n"
        # Attack: a server fills the disk with its answers.
        if len(line) > self._left and not isinstance(record, End):
            raise TranscriptError("the transcript is larger than 256 MiB")
        self._left -= len(line)
        self._file.write(line)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read(path: Path) -> Transcript:
    """Reads a transcript, without a last line that a kill has cut short. Raises TranscriptError."""
    try:
        with path.open("rb") as stream:
            text = stream.read(_MAX_BYTES + 1)
    except OSError as error:
        raise TranscriptError(f"{path}: {error.strerror}") from None
    if len(text) > _MAX_BYTES:
        raise TranscriptError(f"{path}: larger than 256 MiB")
    lines = text.split(b"\n")
    records = []
    # The lines are sorted by bytes, so that their order in the file does not matter: of two answers to one call the
    # first counts, and of two ends at the same time the last.
    for number in sorted(range(len(lines)), key=lines.__getitem__):
        if not lines[number].strip():
            continue
        try:
            records.append(_RECORDS.decode(lines[number]))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            is_last = number == len(lines) - 1  # this line has no end, because it was being written
            if is_last and not isinstance(error, msgspec.ValidationError):
                continue
            raise TranscriptError(f"{path}, line {number + 1}: {error}") from None
    return collect(records)


def collect(records: Iterable[Record]) -> Transcript:
    """Returns the records in order. Raises TranscriptError if they do not belong to one run."""
    ordered = sorted(records, key=_order)
    runs = _choose(Run, ordered)
    if len(runs) != 1:
        raise TranscriptError(f"a transcript has one record of type `run`, and this one has {len(runs)}")
    run = runs[0]
    if run.schema != SCHEMA:
        raise TranscriptError(f"the schema {run.schema!r} is not known; this program reads {SCHEMA}")
    ends = _choose(End, ordered)
    return Transcript(
        run=run,
        snapshots=_choose(Snapshot, ordered),
        calls=_join_calls(_choose(Call, ordered)),
        texts=_choose(Text, ordered),
        asked=_choose(Asked, ordered),
        events=_choose(Event, ordered),
        failures=_choose(Failed, ordered),
        checks=_choose(Check, ordered),
        end=ends[-1] if ends else None,
    )


def _choose(kind: type[Kind], records: Iterable[Record]) -> tuple[Kind, ...]:
    """Returns the records of one type."""
    return tuple(one for one in records if isinstance(one, kind))


def _join_calls(ordered: Iterable[Call]) -> tuple[Call, ...]:
    """Returns each call once, in its final form if it ended."""
    found: dict[str, Call] = {}
    for call in ordered:
        known = found.get(call.id)
        # Of two answers to one call, the first counts.
        if known is None or known.ended is None:
            found[call.id] = call
    return tuple(found.values())


def _order(record: Record) -> tuple[float, str]:
    """Returns a record's sort key: its time, and a field that orders records of the same time."""
    # Otherwise, lines of the same moment in a different order would be a different transcript, with a different
    # verdict.
    if isinstance(record, Event):
        return record.at, record.audit
    if isinstance(record, Call):
        return record.at, record.id
    if isinstance(record, Text):
        return record.at, record.text
    if isinstance(record, Check):
        return record.at, record.name
    return record.at, ""
