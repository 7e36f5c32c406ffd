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
from kubescript.wire import inspection
from kubescript_sandbox import runs

__all__ = ["IN_NAMESPACE", "Summary", "missing"]

# How many distinct texts are remembered. Attack: a script invents endless names to fill the server's memory.
_MAX_NOTES: Final = 100
# How many records are kept. The limit is far above the number of a script's calls, because `capture` makes more calls
# than a script.
_MAX_RECORDS: Final = 10_000
_MASK: Final = re.compile("(?:\N{LEFT-POINTING DOUBLE ANGLE QUOTATION MARK}|\\\\u00ab)redacted:([a-z0-9-]{1,40}):")
_SAW_MASKS: Final = (
    "redacted: the script read masked secrets, so trust no comparison, search or length of them, "
    "only whether they are set"
)
_TOOL: Final = "tool."
"""Prefix of the error codes of classic tools."""
_INCOMPLETE: Final = "the answer may be incomplete"
_CODE: Final = re.compile(r"\b(?:[a-z]{1,20}\.[a-z_]{1,40}|[45]\d\d)\b")
"""What distinguishes failures: one of our codes, or an HTTP status."""
_ELIDED: Final = "\N{HORIZONTAL ELLIPSIS}"
"""Placeholder for a name from the cluster."""
IN_NAMESPACE: Final = " in namespace "
_IN_MANY: Final = " in namespaces "
_MANY_NAMESPACES: Final = 3
"""From this number on, a note counts the namespaces instead of naming them."""
_MANY_CLUSTERS: Final = 2
"""From this number on, clusters that fail alike are named in one phrase."""
_MAX_CLUSTERS: Final = 20
"""How many clusters one phrase names."""
_Counted = TypeVar("_Counted")
_OTHERS: Final = notes.Note("others")
_OTHER_KINDS: Final = "other"
_LIMITS: Final = runs.Limits()
_MAX_PHRASES: Final = 8
"""How many phrases of one kind a note names."""


@dataclass(slots=True)
class Summary:
    """A count of what one script did and could not see. Safe for use from several threads, which answer its calls."""

    calls: int = 0
    bytes: int = 0
    """Bytes of the answers from the API server, decompressed."""
    most_bytes: int = _LIMITS.response_bytes
    """How many bytes of answers the script may fetch."""
    payer: Summary | None = field(default=None, compare=False)
    """The script's summary, for a call that kubescript makes for it: its calls and bytes are counted there."""
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
    parts: dict[notes.Note, int] = field(default_factory=dict)
    """Answers of sources that are only a part → how often."""
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
        if len(self.denials) >= _MAX_NOTES:
            return
        with_code = ours.within(f"{code}: ")
        self.denials.append((f"{code}: {message}", with_code))
        self.denials.append((message, ours))

    def own_denials(self, script: str, operators: Collection[str]) -> list[tuple[str, str]]:
        """Returns the denials as the script got them, each with the same text but without names that are neither the
        script's nor the operator's."""
        # Attack: a script requests an object whose name is taken from an annotation and reads as an instruction. Masked
        # or cut in the message, the name could not be found by a search.
        found = []
        for message, ours in self.denials:
            names = []
            for name in ours.values:
                is_known = name in script or name in operators
                names.append(name if is_known else _ELIDED)
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
            has_room = len(counts) < _MAX_NOTES - 1
            key = one if one in counts or has_room else others
            counts[key] = counts.get(key, 0) + times

    def count_call(self) -> None:
        """Counts a call."""
        if self.payer is not None:
            self.payer.count_call()
        with self.lock:
            self.calls += 1

    def take(self, size: int = 0) -> None:
        """Counts bytes of an answer. Raises LimitExceeded when the script may fetch no more."""
        if self.payer is not None:
            self.payer.take(size)
        with self.lock:
            self.bytes += size
            is_over = self.bytes > self.most_bytes
        if is_over:
            mib = self.most_bytes >> 20
            message = f"API answers exceed {mib} MiB; use limit=, selectors or one namespace"
            raise errors.LimitExceeded(message, code="limit.bytes")

    @property
    def bytes_left(self) -> int:
        """How many bytes of answers the script may still fetch."""
        own = self if self.payer is None else self.payer
        return max(0, own.most_bytes - own.bytes)

    def refuse(self, code: str, times: int = 1) -> None:
        """Notes calls that a limit of the script prevented."""
        self.note(self.failed, notes.Note(code), times)


def missing(summary: Summary, outcome: runs.Outcome, permitted: str = "") -> list[notes.Note]:
    """Returns one note for each kind of information missing from the answer; `permitted` are the only namespaces that
    the script may see, if it is limited."""
    if summary.replayed is not None:
        return summary.replayed
    said = _describe_missed_calls(summary, outcome)
    kinds = (
        ("partial: ", summary.pages.list_unfinished() | summary.parts),
        ("no such namespace: ", summary.absent),
        ("empty, or no such namespace: ", summary.unknown),
        (notes.WARNING, summary.warnings),
    )
    for kind, found in kinds:
        if found:
            said.append(_count_alike(found).within(kind))
    if permitted and outcome.report is not None and outcome.report.joined_lists:
        said.append(notes.Note(f"lists over all namespaces: only {permitted}, to which you are limited"))
    masks = _describe_masks(outcome, summary.redacted)
    if masks:
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
            calls = "calls" if count > 1 else "call"
            said.append(_count_alike(found).within(f"{count} {calls} {verb}: "))
    if outcome.fault is None:
        said.append(notes.Note(_INCOMPLETE))
    return said


def _is_told(missed: Mapping[notes.Note, int], outcome: runs.Outcome) -> bool:
    """Says whether exactly one call was missed, and the script ended with its error."""
    fault = outcome.fault
    if fault is None or sum(missed.values()) != 1:
        return False
    if fault.code.startswith(_TOOL):  # a tool reports in its own words what it has missed
        return True
    only = next(iter(missed))
    code = _CODE.search(only.sentence)
    return code is not None and code[0] in fault.message


def _describe_masks(outcome: runs.Outcome, redacted: Mapping[str, int]) -> str:
    """Returns the number of masks in the answer by kind, or else that the script saw a mask; empty if neither."""
    # Attack: a log line contains a forged mask whose kind reads as an instruction, to get it into a note outside of the
    # marks. The mask of an `env-password` says `password`.
    known = redacted.keys() | {kind.partition("-")[2] for kind in redacted} | {inspection.NOT_SERVED}
    result = outcome.result or b""
    texts = [outcome.printed, result.decode("utf-8", "replace")]
    if outcome.fault is not None:
        texts.append(outcome.fault.message)
    found: Counter[str] = Counter()
    for text in texts:
        found.update(kind for kind in _MASK.findall(text) if kind in known)
    if found:
        counts = [f"{count} {kind}" for kind, count in sorted(found.items())]
        return "redacted: " + ", ".join(counts)
    saw_masks = outcome.report is not None and outcome.report.saw_masks
    return _SAW_MASKS if saw_masks else ""


def _count_alike(found: Mapping[notes.Note, int]) -> notes.Note:
    """Merges all notes of one kind. Those that differ only in the cluster or the namespace become one phrase; of many
    phrases, only the first are named."""
    groups: dict[notes.Note, dict[notes.Note, int]] = {}
    for note, count in _merge_clusters(dict(found)).items():
        alike = _without_namespace(note)
        groups.setdefault(alike, {})[note] = count
    phrases = []
    for alike, group in groups.items():
        phrases += _merge(alike, group)
    named = phrases[:_MAX_PHRASES]
    unnamed = len(phrases) - len(named)
    if unnamed:
        named.append(notes.Note(f"and {unnamed} more"))
    sentence = ", ".join(phrase.sentence for phrase in named)
    values = [value for phrase in named for value in phrase.values]
    return notes.Note(sentence, tuple(values))


def _merge_clusters(found: Mapping[notes.Note, int]) -> dict[notes.Note, int]:
    """Returns the notes, one for all that are alike but for the cluster, where these are many."""
    groups: dict[notes.Note, dict[notes.Note, int]] = {}
    for note, count in found.items():
        alike = note._replace(sentence=note.sentence.removeprefix(f"{note.cluster}: "), cluster="")
        groups.setdefault(alike, {})[note] = count
    merged: dict[notes.Note, int] = {}
    for alike, group in groups.items():
        clusters = [note.cluster for note in group if note.cluster]
        if len(clusters) < _MANY_CLUSTERS:
            merged |= group
            continue
        names = ", ".join(clusters[:_MAX_CLUSTERS])
        if len(clusters) > _MAX_CLUSTERS:
            names += f" and {len(clusters) - _MAX_CLUSTERS} more"
        merged[alike.within("", f" in clusters {names}")] = 1
    return merged


def _without_namespace(note: notes.Note) -> notes.Note:
    """Returns the note with the namespace, which is the last of a call's values, replaced by a common placeholder."""
    before, place, after = note.sentence.partition(IN_NAMESPACE + notes.PLACE)
    if not place:
        return note
    sentence = f"{before}{_IN_MANY}{after}"
    return notes.Note(sentence, note.values[:-1])


def _merge(alike: notes.Note, group: Mapping[notes.Note, int]) -> list[notes.Note]:
    """Returns one phrase for a note in many namespaces, or one for each of a few."""
    if len(group) >= _MANY_NAMESPACES:
        sentence = alike.sentence.replace(_IN_MANY, f" in {len(group)} namespaces")
        return [alike._replace(sentence=sentence)]
    phrases = []
    for note, count in group.items():
        times = f" x{count}" if count > 1 else ""
        phrases.append(note.within("", times))
    return phrases
