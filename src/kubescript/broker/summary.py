"""Counts what one script did and could not see, and makes the notes under its answer that say so.

The broker counts here. The evaluator puts the result of `missing` under the answer, even when the script swallowed the
error: an empty list must never look like a healthy cluster.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from kubescript import errors
from kubescript.broker import listings, records
from kubescript.output import notes
from kubescript_sandbox import runs

__all__ = ["IN_NAMESPACE", "Summary", "missing"]

# Most distinct texts that are remembered. Attack: a script invents endless names to fill the server's memory.
_MAX_NOTES: Final = 100
# Most records that are kept. The limit is far above a script's calls, because `capture` makes more calls than a script.
_MAX_RECORDS: Final = 10_000
_MASK: Final = re.compile("(?:\N{LEFT-POINTING DOUBLE ANGLE QUOTATION MARK}|\\\\u00ab)redacted:([a-z0-9-]{1,40}):")
_SAW_MASKS: Final = "redacted: values that the script compared or measured"
_TOOL: Final = "tool."
"""Prefix of the error codes of classic tools."""
_INCOMPLETE: Final = "the answer may be incomplete"
_CODE: Final = re.compile(r"\b(?:[a-z]{1,20}\.[a-z_]{1,40}|[45]\d\d)\b")
"""Distinguishes failures: one of our codes, or an HTTP status."""
_ELIDED: Final = "\N{HORIZONTAL ELLIPSIS}"
"""Placeholder for a name from the cluster."""
IN_NAMESPACE: Final = " in namespace "
_IN_MANY: Final = " in namespaces "
_MANY_NAMESPACES: Final = 3
"""From this number on, a note counts the namespaces instead of naming them."""
_Counted = TypeVar("_Counted")
_OTHERS: Final = notes.Note("others")
_OTHER_KINDS: Final = "other"
_LIMITS: Final = runs.Limits()
_MAX_PHRASES: Final = 8
"""Most phrases of one kind that a note names."""


@dataclass(slots=True)
class Summary:
    """A count of what one script did and could not see. Safe for use from several threads, which answer its calls."""

    calls: int = 0
    bytes: int = 0
    """Bytes of the answers from the API server, decompressed."""
    most_bytes: int = _LIMITS.response_bytes
    """Most bytes of answers that the script may fetch."""
    pages: listings.Pages = field(default_factory=listings.Pages, compare=False)
    """Lists that the script read page by page."""
    listed_namespaces: listings.Namespaces = field(default_factory=listings.Namespaces, compare=False)
    """Namespaces that the script has listed."""
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    denied: dict[notes.Note, int] = field(default_factory=dict)
    """`list secrets (policy.denied_resource)` → how often."""
    failed: dict[notes.Note, int] = field(default_factory=dict)
    """`403 list nodes`, `cluster.timeout list pods` → how often."""
    warnings: dict[notes.Note, int] = field(default_factory=dict)
    """Warnings of the API server or the snapshot → how often."""
    absent: dict[notes.Note, int] = field(default_factory=dict)
    """Listed namespaces that do not exist."""
    unknown: dict[notes.Note, int] = field(default_factory=dict)
    """Listed namespaces that had nothing to show and may not exist: looking them up is not permitted."""
    redacted: dict[str, int] = field(default_factory=dict)
    """Kind of secret → number of its masked values."""
    denials: list[tuple[str, notes.Note]] = field(default_factory=list)
    """Messages that the script got when the policy denied a call or no API server answered, each with a placeholder for
    every name in it."""
    replayed: list[notes.Note] | None = None
    """Notes of the script's first run; a replay shows these and makes none."""
    call_records: list[records.Record] = field(default_factory=list)
    """The record of every call; bounded by the calls that a script may make."""

    def add_record(self, record: records.Record) -> None:
        """Keeps the record of a call."""
        if len(self.call_records) < _MAX_RECORDS:
            self.call_records.append(record)

    def report_denial(self, code: str, message: str, ours: notes.Note) -> None:
        """Keeps a fault's message in two forms: as the script got it, masked and cut, and as kubescript made it."""
        if len(self.denials) < _MAX_NOTES:
            self.denials += [(f"{code}: {message}", ours.within(f"{code}: ")), (message, ours)]

    def own_denials(self, script: str, operators: Collection[str]) -> list[tuple[str, str]]:
        """Returns the denials as the script got them, each with the same text but without names that are neither the
        script's nor the operator's."""
        # Attack: a script requests an object whose name is taken from an annotation and reads as an instruction. Masked
        # or cut in the message, the name could not be found by a search.
        found = []
        for message, ours in self.denials:
            names = [name if name in script or name in operators else _ELIDED for name in ours.values]
            found.append((message, notes.fill(ours, names)))
        return found

    def found(self, kind: str, times: int = 1) -> None:
        """Counts masked values."""
        self._count(self.redacted, kind, times, _OTHER_KINDS)

    def note(self, noted: dict[notes.Note, int], note: notes.Note, times: int = 1) -> None:
        """Counts a note."""
        self._count(noted, note, times, _OTHERS)

    def _count(self, counts: dict[_Counted, int], one: _Counted, times: int, others: _Counted) -> None:
        """Counts new keys beyond the cap as others, so that the total stays right."""
        with self.lock:
            key = one if one in counts or len(counts) < _MAX_NOTES - 1 else others
            counts[key] = counts.get(key, 0) + times

    def count_call(self) -> None:
        """Counts a call."""
        with self.lock:
            self.calls += 1

    def take(self, size: int = 0) -> None:
        """Counts bytes of an answer. Raises LimitExceeded when the script may fetch no more."""
        with self.lock:
            self.bytes += size
            is_over = self.bytes > self.most_bytes
        if is_over:
            mib = self.most_bytes >> 20
            message = f"API answers exceed {mib} MiB; use limit=, selectors or one namespace"
            raise errors.LimitExceeded(message, code="limit.bytes")

    def refuse(self, code: str, times: int = 1) -> None:
        """Notes calls that a limit of the script prevented."""
        self.note(self.failed, notes.Note(code), times)


def missing(summary: Summary, outcome: runs.Outcome) -> list[notes.Note]:
    """Returns one note for each kind of information missing from the answer."""
    if summary.replayed is not None:
        return summary.replayed
    said = _describe_missed_calls(summary, outcome)
    kinds = (
        ("partial: ", summary.pages.list_unfinished()),
        ("no such namespace: ", summary.absent),
        ("empty, or no such namespace: ", summary.unknown),
        (notes.WARNING, summary.warnings),
    )
    said += [_count_alike(found).within(kind) for kind, found in kinds if found]
    if masks := _masks(outcome, summary.redacted):
        said.append(notes.Note(masks))
    return said


def _describe_missed_calls(summary: Summary, outcome: runs.Outcome) -> list[notes.Note]:
    """Returns phrases about the calls that were denied or failed, unless the script's error reports the only one."""
    missed = {**summary.denied, **summary.failed}
    if not missed or _is_told(missed, outcome):
        return []
    said = []
    for verb, found in (("denied", summary.denied), ("failed", summary.failed)):
        if found:
            count = sum(found.values())
            said.append(_count_alike(found).within(f"{count} call{'s' if count > 1 else ''} {verb}: "))
    if outcome.fault is None:
        said.append(notes.Note(_INCOMPLETE))
    return said


def _is_told(missed: Mapping[notes.Note, int], outcome: runs.Outcome) -> bool:
    """Says whether only one call was missed, and the script ended with its error."""
    if outcome.fault is None or sum(missed.values()) != 1:
        return False
    if outcome.fault.code.startswith(_TOOL):  # a tool reports in its own words what it has missed
        return True
    code = _CODE.search(next(iter(missed)).sentence)
    return code is not None and code[0] in outcome.fault.message


def _masks(outcome: runs.Outcome, redacted: Mapping[str, int]) -> str:
    """Returns the number of masks in the answer by kind, or else that the script saw a mask; empty if neither."""
    # Attack: a log line contains a forged mask whose kind reads as an instruction, to get it into a note outside of the
    # marks. The mask of an `env-password` says `password`.
    known = redacted.keys() | {kind.partition("-")[2] for kind in redacted}
    fault = outcome.fault.message if outcome.fault is not None else ""
    result = (outcome.result or b"").decode("utf-8", "replace")
    found = Counter(kind for text in (outcome.printed, fault, result) for kind in _MASK.findall(text) if kind in known)
    if found:
        return "redacted: " + ", ".join(f"{count} {kind}" for kind, count in sorted(found.items()))
    return _SAW_MASKS if outcome.report is not None and outcome.report.saw_masks else ""


def _count_alike(found: Mapping[notes.Note, int]) -> notes.Note:
    """Merges all notes of one kind. Those that differ only in the namespace become one phrase; of many phrases, only
    the first are named."""
    groups: dict[notes.Note, dict[notes.Note, int]] = {}
    for note, count in dict(found).items():
        groups.setdefault(_without_namespace(note), {})[note] = count
    phrases = []
    for alike, group in groups.items():
        phrases += _phrases(alike, group)
    named = phrases[:_MAX_PHRASES]
    if len(phrases) > len(named):
        named.append(notes.Note(f"and {len(phrases) - len(named)} more"))
    sentence = ", ".join(phrase.sentence for phrase in named)
    return notes.Note(sentence, tuple(value for phrase in named for value in phrase.values))


def _without_namespace(note: notes.Note) -> notes.Note:
    """Returns the note with the namespace, which is the last of a call's values, replaced by a common placeholder."""
    before, is_in, after = note.sentence.partition(IN_NAMESPACE + notes.PLACE)
    return notes.Note(f"{before}{_IN_MANY}{after}", note.values[:-1]) if is_in else note


def _phrases(alike: notes.Note, group: Mapping[notes.Note, int]) -> list[notes.Note]:
    if len(group) < _MANY_NAMESPACES:
        return [note if count == 1 else note.within("", f" x{count}") for note, count in group.items()]
    return [alike._replace(sentence=alike.sentence.replace(_IN_MANY, f" in {len(group)} namespaces"))]
