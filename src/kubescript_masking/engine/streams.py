"""Masks the log lines of a source: the lines of each stream are one log, oldest first, and their labels are JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Final, Literal

import msgspec

from kubescript_masking.engine import line_words, logs, masker, pieces, results, series
from kubescript_masking.engine.results import Answer
from kubescript_masking.text import placeholders
from kubescript_masking.wire.lists import FlawError

__all__ = ["Streams", "read"]

_TIME_DIGITS: Final = 20
"""The longest time in nanoseconds."""


_Metadata = dict[str, dict[str, str]]
"""The labels of one line: those that were stored with it, and those that a parser made."""


class Entry(msgspec.Struct, array_like=True, gc=False):
    """One line, which may contain line feeds, and its time in nanoseconds."""

    time: str
    line: str
    metadata: _Metadata | None = None


class Stream(msgspec.Struct):
    """Lines with the same labels. One container may have several, such as its standard output and its errors."""

    stream: dict[str, str]
    values: list[Entry]


class _Labels(msgspec.Struct):
    """The labels of a stream, and those of each of its lines."""

    stream: dict[str, str]
    lines: list[_Metadata | None]


class _Kind(msgspec.Struct, rename="camel"):
    result_type: Literal["streams"]


class _Kinds(msgspec.Struct):
    data: _Kind


_KIND: Final = msgspec.json.Decoder(_Kinds)
_READER: Final = msgspec.json.Decoder(Answer[Stream])
_LABELS: Final = msgspec.json.Decoder(list[_Labels])


class Streams:
    """The answer to a query of log lines."""

    def __init__(self, answer: Answer[Stream]) -> None:
        """Raises FlawError for a time that is none."""
        self._answer = answer
        self.count = 0
        self.is_partial = answer.is_partial
        for stream in answer.data.result:
            self.count += len(stream.values)
            _check_times(stream.values)

    def mask(self, rules: masker.Masker) -> Iterator[bytes]:
        """Yields the masked answer in pieces."""
        streams = self._answer.data.result
        before = [[entry.line for entry in one.values] for one in streams]
        for entries in _find_logs(streams):
            _mask_lines(rules, entries)
        pairs = list(zip(streams, before, strict=True))
        masked = (_write(rules, some) for some in results.groups(pairs))
        return results.write(rules, self._answer, masked)


def read(document: bytes | bytearray) -> Streams | series.Matrix | None:
    """Returns the answer that a document holds; None for JSON that is neither log lines nor series. Raises FlawError,
    also for log lines of another shape: masked as JSON, a key over several of them would pass."""
    if results.decode(_KIND, document) is None:
        return series.read(document)
    # Each text has two quotation marks, of which a backslash at its end hides one.
    texts = (document.count(b'"') - document.count(rb"\"")) // 2
    results.check_size(texts + document.count(rb"\n"))  # line feeds, at which lines are split
    answer = results.decode(_READER, document)
    if answer is None:
        raise FlawError("streams")
    return Streams(answer)


def _check_times(entries: Iterable[Entry]) -> None:
    """Raises FlawError for a time that is not a number."""
    for entry in entries:
        is_number = entry.time.isascii() and entry.time.isdigit()
        if not is_number or len(entry.time) > _TIME_DIGITS:
            raise FlawError("streams")


def _find_logs(streams: Sequence[Stream]) -> Iterator[Sequence[Entry]]:
    """Yields the lines that follow each other in a log."""
    # Where each line has labels of its own, such as the id of a trace, Loki answers with a stream for each: a key would
    # be cut into its lines.
    alone = [one.values[0] for one in streams if len(one.values) == 1]
    if alone:
        yield alone
    for one in streams:
        if len(one.values) > 1:
            yield one.values


def _mask_lines(rules: masker.Masker, entries: Sequence[Entry]) -> None:
    """Masks the lines of one log."""
    lines = [entry.line.encode() for entry in entries]
    found: dict[int, set[bytes]] = {}
    for order in _orders([int(entry.time) for entry in entries]):
        masked = _mask_log(rules, [lines[at] for at in order])
        for at, line in zip(order, masked, strict=True):
            if line != lines[at]:
                found.setdefault(at, set()).add(line)
    for at, masked_lines in found.items():
        entries[at].line = _choose(rules, lines[at], masked_lines).decode("utf-8", "replace")


def _choose(rules: masker.Masker, line: bytes, masked: set[bytes]) -> bytes:
    """Returns a line, masked; `masked` are what the orders made of it, without the line itself."""
    # Masks of equal values may differ, as they are drawn anew.
    if len({placeholders.PLACEHOLDER.sub(b"", each) for each in masked}) == 1:
        return masked.pop()
    return rules.replace_value("suspicious", line)  # each order has found another secret in it


def _orders(times: list[int]) -> list[list[int]]:
    """Returns the orders in which lines with these times are read: oldest first, however they came. Those that begin
    and end at the same time may have come in either order, so they are read in both."""
    places = list(range(len(times)))
    forwards = sorted(places, key=times.__getitem__)
    places.reverse()
    backwards = sorted(places, key=times.__getitem__)
    if not times or times[0] < times[-1]:
        return [forwards]
    return [backwards] if times[0] > times[-1] else [forwards, backwards]


def _mask_log(rules: masker.Masker, lines: list[bytes]) -> Iterator[bytes]:
    """Yields each line, masked; a removed one is empty. Raises FlawError."""
    log = logs.LogText(rules, filtered=True)
    masked: list[bytes] = []
    for block in pieces.blocks(iter((b"\n".join(lines),))):
        rules.budget.credit(len(block))
        masked.append(log(block))
    rows = b"".join(masked).split(b"\n")
    sizes = [line.count(b"\n") + 1 for line in lines]
    # With one row more or less, each line below would get the time and the labels of another.
    if sum(sizes) != len(rows):
        raise FlawError("streams")
    rest = iter(rows)
    for size in sizes:
        yield b"\n".join(islice(rest, size))


def _write(rules: masker.Masker, group: Sequence[tuple[Stream, list[str]]]) -> bytes:
    """Returns streams, whose lines are masked, as a JSON list with masked labels. Each comes with its lines as they
    were."""
    labels = [_Labels(one.stream, [entry.metadata for entry in one.values]) for one, _ in group]
    text = msgspec.json.encode(labels)
    masked = results.mask_document(rules, text)
    if masked is not text:
        labels = _LABELS.decode(masked)
    joined = []
    for (one, before), own in zip(group, labels, strict=True):
        after = [entry.line for entry in one.values]
        _hide(rules, zip(before, after, strict=True), own)
        joined.append(_join(one, own))
    return msgspec.json.encode(joined)


def _hide(rules: masker.Masker, lines: Iterable[tuple[str, str]], labels: _Labels) -> None:
    """Masks labels that tell what was masked in the lines, given each as it was and as it is."""
    own_labels = (own for metadata in filter(None, labels.lines) for own in metadata.values())
    words = line_words.Words(lines, chain([labels.stream], own_labels))
    if not words:
        return
    labels.stream = words.mask(rules, labels.stream)
    for metadata in filter(None, labels.lines):
        for sort, own in metadata.items():
            metadata[sort] = words.mask(rules, own)


def _join(stream: Stream, labels: _Labels) -> dict[str, Any]:
    """Returns a stream with these labels."""
    values: list[list[Any]] = []
    for entry, metadata in zip(stream.values, labels.lines, strict=True):
        own = [] if metadata is None else [metadata]
        values.append([entry.time, entry.line, *own])
    return {"stream": labels.stream, "values": values}
