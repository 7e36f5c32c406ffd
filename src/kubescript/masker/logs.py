"""Logs: a block of whole lines is scanned at once, and each line in which something was found is judged on its own.

What goes over several lines (a private key, a block of YAML, a table, a question and its answer) begins in a line in
which a probe has ended. The lines below are read one by one until it is over; all other lines are not looked at.
"""

from __future__ import annotations

import functools
from bisect import bisect_left
from collections.abc import Callable
from itertools import accumulate
from typing import Final, Protocol

from kubescript.masker import columns, encodings, linear, masker, names, patterns, scanner, spans, values
from kubescript.masker.spans import Span
from kubescript.wire import loglines

__all__ = ["LogText"]

_OPENERS: Final = frozenset({"below", "columns", "pem"})
"""Probes that end in a line whose meaning goes on below it."""
_ESC: Final = b"\x1b["
_MANY: Final = 1_000
"""Candidates that a log may have anywhere."""
_SPARSE: Final = 64
"""Bytes of it for each further one."""
_PART: Final = 4_096
_LONG: Final = 2_000
"""Bytes at the end of a line that are read for what goes on below it."""
_SHAPE: Final = bytes.maketrans(
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", b"0" * 10 + b"A" * 26 + b"A" * 26
)
_SHAPE_BYTES: Final = 400

_BEGINS: Final = linear.compiled(
    rb"(?i)-----BEGIN [A-Z0-9 -]*KEY(?: [A-Z0-9 ]+)?-----(?:(?:\\{1,3}[nr]){0,2}\\{0,3}\"[^\r\n]*)?\s*$"
)
_BEGIN_BYTES: Final = 60
_PUBLIC: Final = b"PUBLIC"
_END: Final = b"-----END "
_KEY_LINE: Final = linear.compiled(
    rb"^\s*(?:[A-Za-z0-9+/]{0,100}={0,2}|[A-Za-z-]+: [^\r\n]{0,100})"
    rb"(?:(?:\\{1,3}[nr]){0,2}\\{0,3}\"[,}][^\r\n]*)?[\s\"',}]*$"
)
_CARRIED: Final = linear.compiled(
    rb"(?:[\s>\]|:]|[:,=]\s?\\{0,3}\")[A-Za-z0-9+/]{40,100}={0,2}(?:\\{1,3}[nr]){0,2}(?:\\{0,3}\"[^\r\n]*)?[\s\"',}]*$"
)
"""A key's line behind whatever a program writes before each, or in a log of JSON."""
_WITHIN_KEY: Final = linear.compiled(rb"^\s*[A-Za-z0-9+/]{60,100}\s*$")
_KEY_LINE_BYTES: Final = 1_024
_MAX_KEY_LINES: Final = 400

_BLOCK: Final = linear.compiled(rb"^([ \t]*(?:- )?)[\"']?([A-Za-z0-9_.-]{1,100})[\"']?:[ \t]*[|>][+-]?[0-9]?\s*$")
_NAME: Final = linear.compiled(rb"[\"']?(?:name|key)[\"']?:[ \t]*[\"']?([A-Za-z0-9_.-]{1,100})[\"']?,?\s*$")
_VALUE: Final = linear.compiled(rb"^[ \t]*[\"']?value[\"']?:[ \t]*[\"']?")
_FIELD: Final = linear.compiled(rb"form-data;[^\r\n]*\bname=\"([A-Za-z0-9_.-]{1,100})\"\s*$")
_SMTP: Final = linear.compiled(rb"334 UGFzc3dvcmQ6\s*$")
_HEADER: Final = b"Content-"
_ANNOUNCES: Final = patterns.compiled(r'(?i)(?&credential)(?:[^a-z_:="-][^:="]*)?\z')
"""A line, without the colon at its end, that tells what stands below it."""
_LONGEST_LEAD: Final = 2_000
_BLANK_LINES: Final = 2
"""Between what announces a value and the value."""


class _Below(Protocol):
    """What goes on over several lines."""

    def cells(self, line: bytes) -> list[Span] | None:
        """What is secret in the next line; None when it is over. A span without a kind: the line goes."""


class LogText:
    """One log on its way through."""

    def __init__(self, rules: masker.Masker, found: masker.Found) -> None:
        self._rules = rules
        self._found = found
        self._mask = functools.partial(rules.masked, found=found)
        self._openers = {number for number, probe in enumerate(rules.scanner.probes) if probe.id in _OPENERS}
        self._below: dict[type, _Below] = {}
        """What goes on over the next lines: one of each sort, for a row of a table may be a key's first line."""
        self._is_first = True
        self._left = _MANY
        """Candidates that the log may still have."""

    def __call__(self, block: bytes) -> bytes:
        """The masked lines of a block of whole lines."""
        if self._is_first:
            self._is_first = False
            self._open(_within_key(block[: block.find(b"\n") + 1]))
        most = self._left + len(block) // _SPARSE
        scanned = encodings.colourless(block) if _ESC in block else block
        hits = self._rules.scanner.scan(scanned, most)
        self._left = max(0, min(_MANY, most - len(hits)))
        if not hits and not self._below:
            return block
        lines = block.split(b"\n")
        masked = self._dense(lines) if len(hits) > most else self._masked_lines(lines, scanned.split(b"\n"), hits)
        return b"\n".join(line for line in masked if line is not None)

    def _dense(self, lines: list[bytes]) -> list[bytes | None]:
        """Lines with more candidates than text can have, for they were written to keep us busy: some four kilobytes of
        them are judged, or masked as a whole, at a time."""
        masked: list[bytes | None] = []
        at = 0
        while at < len(lines):
            start, size = at, 0
            while at < len(lines) and size < _PART:
                size += len(lines[at]) + 1
                at += 1
            part = lines[start:at]
            scanned = encodings.colourless(b"\n".join(part))
            hits = self._rules.scanner.scan(scanned, size // _SPARSE)
            is_sparse = len(hits) <= size // _SPARSE
            if is_sparse or len(part) == 1:
                masked += self._masked_lines(part, scanned.split(b"\n"), hits if is_sparse else None)
            else:
                masked += self._as_one(part)
        return masked

    def _as_one(self, lines: list[bytes]) -> list[bytes | None]:
        """Lines that are masked as a whole: the mask stands in the first, and nothing is left of the others."""
        stamps = [line[: loglines.stamp(line)] for line in lines]
        text = b"\n".join(line[len(stamp) :] for line, stamp in zip(lines, stamps, strict=True))
        self._open(_opened(lines[-1] or lines[-2]))
        rest: list[bytes | None] = [
            b"" if stamp or not line else None for line, stamp in zip(lines, stamps, strict=True)
        ]
        return [stamps[0] + self._rules.masked("suspicious", text, self._found), *rest[1:]]

    def _masked_lines(
        self, lines: list[bytes], scanned: list[bytes], hits: list[scanner.Hit] | None
    ) -> list[bytes | None]:
        """The lines, masked; `scanned` are they without colours, and `hits` all that was found in those, if known."""
        is_known = hits is not None and len(scanned) == len(lines)
        touched = _by_line(scanned, hits or []) if is_known else dict.fromkeys(range(len(lines)))
        masked: list[bytes | None] = list(lines)
        order, at = sorted(touched), 0
        count = len(lines) - (not lines[-1])  # behind the last line's end nothing stands
        while at < count:
            if not self._below:
                next_hit = bisect_left(order, at)
                if next_hit == len(order):
                    break
                at = order[next_hit]
            masked[at] = self._line(lines[at], touched[at]) if at in touched else self._line(lines[at], [])
            at += 1
        return masked

    def _line(self, line: bytes, hits: list[scanner.Hit] | None) -> bytes | None:
        """One line, masked, with what was found in it, where that is known; None when nothing of it is left."""
        start, end = loglines.stamp(line), len(line.rstrip(b"\r"))
        bare = line[start:end]
        cells = self._cells(bare) if self._below else []
        if any(not cell.kind for cell in cells):
            return b"" if start else None  # see loglines.REMOVED
        masked = spans.apply(bare, cells, self._mask) if cells else bare
        if hits is None or hits:  # whatever began above, the line may hold more than that
            inside = [(probe, place - start) for probe, place in hits or () if place > start]
            masked = self._rules.text(masked, self._found, hits=inside if hits and masked is bare else None)
        if hits is None or any(probe in self._openers for probe, _ in hits):
            self._open(_opened(bare))
        return line if masked is bare else line[:start] + masked + line[end:]

    def _cells(self, bare: bytes) -> list[Span]:
        """What is secret in the next line of all that goes on; what is over is closed."""
        read = {sort: below.cells(bare) for sort, below in self._below.items()}
        self._below = {sort: self._below[sort] for sort, cells in read.items() if cells is not None}
        return spans.merged(cell for cells in read.values() for cell in cells or ())

    def _open(self, below: _Below | None) -> None:
        if below is not None and not (isinstance(below, _Block) and _Block in self._below):  # the outer block is longer
            self._below[type(below)] = below


def _by_line(lines: list[bytes], hits: list[scanner.Hit]) -> dict[int, list[scanner.Hit]]:
    """The numbers of the lines in which a probe ended, and what was found there, from the line's beginning on."""
    ends = list(accumulate(len(line) + 1 for line in lines))
    touched: dict[int, list[scanner.Hit]] = {}
    for probe, end in hits:
        at = bisect_left(ends, end)
        start = ends[at] - len(lines[at]) - 1
        touched.setdefault(at, []).append((probe, end - start))
    return touched


def _opened(line: bytes) -> _Below | None:
    """What goes on below this line."""
    line = encodings.colourless(line[-_LONG:]) if _ESC in line else line[-_LONG:]
    found = (opens(line) for sign, opens in _OPENS if sign in line)
    return next((below for below in found if below is not None), None)


def _key(line: bytes) -> _Below | None:
    begins = _BEGINS.search(line)
    is_public = begins is not None and _PUBLIC in line[begins.start() : begins.start() + _BEGIN_BYTES].upper()
    return None if begins is None or is_public else _Key(line)


def _block(line: bytes) -> _Below | None:
    block = _BLOCK.search(line) if b"|" in line or b">" in line else None
    return _Block(len(block[1]) + 1) if block is not None and names.kind(block[2].decode()) else None


def _variable(line: bytes) -> _Below | None:
    name = _NAME.search(line) if b"name" in line or b"key" in line else None
    kind = names.kind(name[1].decode()) if name is not None else ""
    return _Variable(kind) if kind else None


def _smtp(line: bytes) -> _Below | None:
    return _Answer(line, "password", is_announced=False) if _SMTP.search(line) is not None else None


def _field(line: bytes) -> _Below | None:
    field = _FIELD.search(line)
    kind = names.kind(field[1].decode()) if field is not None else ""
    return _Answer(line, kind, is_announced=False) if kind else None


def _announced(line: bytes) -> _Below | None:
    said = line.rstrip()
    is_announced = said.endswith(b":") and _ANNOUNCES.search(said[-_LONGEST_LEAD:-1]) is not None
    return _Answer(line, "password", is_announced=True) if is_announced else None


_OPENS: Final[tuple[tuple[bytes, Callable[[bytes], _Below | None]], ...]] = (
    (b"-----BEGIN ", _key),
    (b":", _block),
    (b":", _variable),
    (b"334 ", _smtp),
    (b"form-data", _field),
    (b":", _announced),
    (b"", columns.header),
)
"""What a line has in it, and the reader of what goes on below it."""


def _within_key(line: bytes) -> _Below | None:
    """The key within which a log begins, as logs do that were rotated while a key was written."""
    bare = line[loglines.stamp(line) :]
    if len(bare) > _KEY_LINE_BYTES or _WITHIN_KEY.search(bare) is None:
        return None
    is_mixed = bare.upper() != bare != bare.lower() and not bare.isalpha()  # and no checksum in hexadecimal digits
    return _Key(b"") if is_mixed else None


def _content(line: bytes, above: bytes) -> int:
    """Where a line begins behind what the program writes before each: the same signs, up to a blank, as above."""
    above, shape = above[:_SHAPE_BYTES].translate(_SHAPE), line[:_SHAPE_BYTES].translate(_SHAPE)
    same, different = 0, min(len(above), len(shape)) + 1
    while different - same > 1:
        middle = (same + different) // 2
        same, different = (middle, different) if above[:middle] == shape[:middle] else (same, middle)
    return line.rfind(b" ", 0, same) + 1


class _Key:
    """A private key: its lines go, and the first that cannot be one ends it."""

    def __init__(self, first: bytes) -> None:
        self._first = first
        self._left = _MAX_KEY_LINES

    def cells(self, line: bytes) -> list[Span] | None:
        whole = [Span(0, len(line), "")]
        if not self._left:
            return None
        if _END in line[-_LONG:]:
            self._left = 0
            return whole
        self._left -= 1
        short = line[:_KEY_LINE_BYTES]
        is_key = _KEY_LINE.search(short[_content(short, self._first) :]) or _CARRIED.search(short)
        return whole if is_key is not None else None


class _Block:
    """A block of YAML under a credential's name."""

    def __init__(self, indent: int) -> None:
        self._indent = indent
        """The least indentation of its lines."""

    def cells(self, line: bytes) -> list[Span] | None:
        if not line.strip():
            return []
        start = len(line) - len(line.lstrip())
        return [Span(start, len(line.rstrip()), "secret")] if start >= self._indent else None


class _Variable:
    """`value: …` on the line below a credential's name."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def cells(self, line: bytes) -> list[Span] | None:
        kind, self._kind = self._kind, ""
        lead = _VALUE.search(line[:_LONG]) if kind else None
        if lead is None:
            return None
        value = line[lead.end() :].rstrip().removesuffix(b",")
        if value[-1:] in {b'"', b"'"}:
            value = value[:-1]
        is_secret = values.is_secret(value, kind)
        return [Span(lead.end(), lead.end() + len(value), f"env-{kind}")] if is_secret else None


def _answered(above: bytes, line: bytes, start: int) -> list[Span]:
    """What the line above has announced, when it is all that this one says."""
    lead = above[-_LONGEST_LEAD:].rstrip() + b"\n"
    both = lead + line[start:]
    found, _ = patterns.ROWS["announced"].spans(both, len(both), 0)
    shift = start - len(lead)
    return [Span(one.start + shift, one.end + shift, one.kind) for one in found if one.start >= len(lead)]


class _Answer:
    """The next line that is not blank, below a question for a password, a form's field or an announcement."""

    def __init__(self, above: bytes, kind: str, *, is_announced: bool) -> None:
        self._above = above
        self._kind = kind
        self._is_announced = is_announced
        self._blank = _BLANK_LINES

    def cells(self, line: bytes) -> list[Span] | None:
        if not self._kind:
            return None
        if not line.strip() or (line.startswith(_HEADER) and not self._is_announced):
            self._blank -= 1
            return [] if self._blank >= 0 else None
        kind, self._kind = self._kind, ""
        start = _content(line, self._above)
        start += len(line[start:]) - len(line[start:].lstrip())
        if self._is_announced:
            return _answered(self._above, line, start) or None
        value = line[start:].rstrip()
        return [Span(start, start + len(value), kind)] if values.is_secret(value, kind) else None
