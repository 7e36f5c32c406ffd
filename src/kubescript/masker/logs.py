"""Logs: a block of whole lines is scanned at once, and each line in which something was found is judged on its own.

What goes over several lines (a private key, a block of YAML, a table, a question and its answer) begins in a line in
which a probe has ended. The lines below are read one by one until it is over; all other lines are not looked at.
"""

from __future__ import annotations

import functools
from bisect import bisect_left
from collections.abc import Callable, Generator
from itertools import accumulate
from typing import Final

from kubescript.masker import below, columns, linear, masker, names, patterns, scanner, spans, unseen, values
from kubescript.masker.spans import Span
from kubescript.wire import loglines

__all__ = ["LogText"]

_OPENERS: Final = frozenset({"below", "columns", "pem"})
"""Probes that end in a line whose meaning goes on below it."""
_LONG: Final = 2_000
"""Bytes at the end of a line that are read for what goes on below it."""
_SHAPE: Final = bytes.maketrans(
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", b"0" * 10 + b"A" * 26 + b"A" * 26
)
_SHAPE_BYTES: Final = 400

_BEGINS: Final = linear.compiled(
    rb"(?i)-----BEGIN ([A-Z0-9 -]*)KEY(?: [A-Z0-9 ]+)?-----(?:(?:\\{1,3}[nr]){0,2}\\{0,3}\"[^\r\n]*)?\s*$"
)
_BEGIN, _END = b"-----BEGIN ", b"-----END "
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

_NAME: Final = linear.compiled(rb"[\"']?(?:name|key)[\"']?:[ \t]*[\"']?([A-Za-z0-9_.-]{1,100})[\"']?,?\s*$")
_VALUE: Final = linear.compiled(rb"^[ \t]*[\"']?value[\"']?:[ \t]*[\"']?")
_ASKS: Final = linear.compiled(rb"(?:334 UGFzc3dvcmQ6|form-data;[^\r\n]*\bname=\"([A-Za-z0-9_.-]{1,100})\")\s*$")
"""A mail server wants a password, or a form's field follows."""
_HEADER: Final = b"Content-"
_ANNOUNCES: Final = patterns.compiled(r'(?i)(?&credential)(?:[^a-z_:="-][^:="]*)?\z')
"""A line, without the colon at its end, that tells what stands below it."""
_LONGEST_LEAD: Final = 2_000
_BLANK_LINES: Final = 2
"""Between what announces a value and the value."""


_Below = Generator[list[Span], bytes, None]
"""What goes on below a line: it is sent each further one and gives what is secret in it, until it is over; it is over
at once when nothing goes on. A span without a kind: the line goes."""


class LogText:
    """One log on its way through."""

    def __init__(self, rules: masker.Masker, found: masker.Found) -> None:
        self._rules = rules
        self._found = found
        self._mask = functools.partial(rules.masked, found=found)
        self._openers = {number for number, probe in enumerate(rules.scanner.probes) if probe.id in _OPENERS}
        self._below: dict[str, _Below] = {}
        """What goes on over the next lines: one of each sort, for a row of a table may be a key's first line."""
        self._is_first = True

    def __call__(self, block: bytes) -> bytes:
        """The masked lines of a block of whole lines."""
        if self._is_first:
            self._is_first = False
            self._begin("key", _within_key(block[: block.find(b"\n") + 1]))
        scanned = unseen.narrow(unseen.view(block))
        hits = self._rules.candidates(scanned)
        if hits is None:
            return b"".join(self._rules.dense(block, self._judged, self._whole))
        return self._lines(block, scanned, hits)

    def _judged(self, block: bytes) -> bytes:
        scanned = unseen.narrow(unseen.view(block))
        return self._lines(block, scanned, self._rules.scanner.scan(scanned))

    def _whole(self, block: bytes) -> bytes:
        """Lines that are masked whatever is in them."""
        masked = []
        for line in block.splitlines(keepends=True):
            start, end = loglines.stamp(line), len(line.rstrip(b"\r\n"))
            mask = self._rules.masked("suspicious", line[start:end], self._found) if start < end else b""
            masked.append(line[:start] + mask + line[end:])
            if _END in line:
                self._below.pop("key", None)
            elif _BEGIN in line:
                self._open(line[start:end])
        self._open(line[start:end])
        return b"".join(masked)

    def _lines(self, block: bytes, scanned: bytes, hits: list[scanner.Hit]) -> bytes:
        """The lines, masked; `hits` is what was found in them when they were without their colours."""
        if not hits and not self._below:
            return block
        lines = block.split(b"\n")
        touched = _by_line(scanned.split(b"\n"), hits)
        count = len(lines) - (not lines[-1])  # behind the last line's end nothing stands
        masked = []
        for at, line in enumerate(lines):
            is_read = at in touched or (self._below and at < count)
            masked.append(self._line(line, touched.get(at, [])) if is_read else line)
        return b"\n".join(line for line in masked if line is not None)

    def _line(self, line: bytes, hits: list[scanner.Hit]) -> bytes | None:
        """One line, masked, with what was found in it; None when nothing of it is left."""
        start, end = loglines.stamp(line), len(line.rstrip(b"\r"))
        bare = line[start:end]
        cells = self._cells(bare) if self._below else []
        if any(not cell.kind for cell in cells):
            return b"" if start else None  # see loglines.REMOVED
        masked = spans.apply(bare, cells, self._mask) if cells else bare
        if hits:  # whatever began above, the line may hold more than that
            inside = [(probe, place - start) for probe, place in hits if place > start]
            masked = self._rules.text(masked, self._found, hits=inside if masked is bare else None)
        if any(probe in self._openers for probe, _ in hits):
            self._open(bare)
        return line if masked is bare else line[:start] + masked + line[end:]

    def _cells(self, bare: bytes) -> list[Span]:
        """What is secret in the next line of all that goes on; what is over is closed."""
        found: list[Span] = []
        for sort, lines in list(self._below.items()):
            try:
                found += lines.send(bare)
            except StopIteration:
                del self._below[sort]
        return spans.merged(found)

    def _open(self, line: bytes) -> None:
        """Begin what goes on below this line."""
        line = unseen.view(line[-_LONG:])
        any(self._begin(sort, opened(line)) for sort, sign, opened in _OPENS if sign in line)

    def _begin(self, sort: str, below: _Below) -> bool:
        """Whether there is anything to go on."""
        is_going_on = next(below, None) is not None
        if is_going_on and not (sort == "block" and sort in self._below):  # the outer block is longer
            self._below[sort] = below
        return is_going_on


def _by_line(lines: list[bytes], hits: list[scanner.Hit]) -> dict[int, list[scanner.Hit]]:
    """The numbers of the lines in which a probe ended, and what was found there, from the line's beginning on."""
    ends = list(accumulate(len(line) + 1 for line in lines))
    touched: dict[int, list[scanner.Hit]] = {}
    for probe, end in hits:
        at = bisect_left(ends, end)
        start = ends[at] - len(lines[at]) - 1
        touched.setdefault(at, []).append((probe, end - start))
    return touched


def _key(line: bytes) -> _Below:
    """A private key: its lines go, and the first that cannot be one ends it."""
    begins = _BEGINS.search(line)
    if begins is not None and b"PUBLIC" not in begins[1].upper():
        yield from _key_lines(line)


def _within_key(line: bytes) -> _Below:
    """The key within which a log begins, as logs do that were rotated while a key was written."""
    bare = line[loglines.stamp(line) :]
    is_mixed = bare.upper() != bare != bare.lower() and not bare.isalpha()  # and no checksum in hexadecimal digits
    if len(bare) <= _KEY_LINE_BYTES and is_mixed and _WITHIN_KEY.search(bare) is not None:
        yield from _key_lines(b"")


def _key_lines(first: bytes) -> _Below:
    line = yield []
    for _ in range(_MAX_KEY_LINES):
        short = line[:_KEY_LINE_BYTES]
        is_last = _END in line[-_LONG:]
        if not (is_last or _KEY_LINE.search(short[_content(short, first) :]) or _CARRIED.search(short)):
            return
        whole = [Span(0, len(line), "")]
        if is_last:
            yield whole
            return
        line = yield whole


def _variable(line: bytes) -> _Below:
    """`value: …` on the line below a credential's name."""
    name = _NAME.search(line)
    kind = names.kind(name[1].decode()) if name is not None else ""
    if not kind:
        return
    line = yield []
    lead = _VALUE.search(line[:_LONG])
    if lead is None:
        return
    value = line[lead.end() :].rstrip().removesuffix(b",")
    value = value[:-1] if value.endswith((b'"', b"'")) else value
    if values.is_secret(value, kind):
        yield [Span(lead.end(), lead.end() + len(value), f"env-{kind}")]


def _asked(above: bytes) -> _Below:
    """The answer to a question for a password, or what a form's field holds."""
    asks = _ASKS.search(above)
    kind = "" if asks is None else names.kind(asks[1].decode()) if asks[1] else "password"
    if not kind:
        return
    line, start = yield from _filled(above)
    value = line[start:].rstrip()
    if values.is_secret(value, kind):
        yield [Span(start, start + len(value), kind)]


def _announced(above: bytes) -> _Below:
    """What stands alone below a line that says what it is."""
    lead = above.rstrip()[-_LONGEST_LEAD:]
    if not lead.endswith(b":") or _ANNOUNCES.search(lead[:-1]) is None:
        return
    line, start = yield from _filled(above)
    both = lead + b"\n" + line[start:]
    found, _ = patterns.ROWS["announced"].spans(both, len(both), 0)
    shift = len(line) - len(both)
    yield [Span(one.start + shift, one.end + shift, one.kind) for one in found if one.start > len(lead)]


def _filled(above: bytes) -> Generator[list[Span], bytes, tuple[bytes, int]]:
    """The next line that is not blank, nor another header of a form's field, and where it begins to say something."""
    line = yield []
    for _ in range(_BLANK_LINES):
        if line.strip() and not line.startswith(_HEADER):
            break
        line = yield []
    start = _content(line, above)
    return line, start + len(line[start:]) - len(line[start:].lstrip())


def _content(line: bytes, above: bytes) -> int:
    """Where a line begins behind what the program writes before each: the same signs, up to a blank, as above."""
    above, shape = above[:_SHAPE_BYTES].translate(_SHAPE), line[:_SHAPE_BYTES].translate(_SHAPE)
    same, different = 0, min(len(above), len(shape)) + 1
    while different - same > 1:
        middle = (same + different) // 2
        same, different = (middle, different) if above[:middle] == shape[:middle] else (same, middle)
    return line.rfind(b" ", 0, same) + 1


def _table(line: bytes) -> _Below:
    """The rows below a head with a credential's name."""
    head = columns.header(line)
    if head is None:
        return
    line = yield []
    while (cells := head.cells(line)) is not None:
        line = yield cells


_OPENS: Final[tuple[tuple[str, bytes, Callable[[bytes], _Below]], ...]] = (
    ("key", _BEGIN, _key),
    ("block", b"", below.lines),
    ("variable", b":", _variable),
    ("answer", b"", _asked),
    ("answer", b":", _announced),
    ("table", b"", _table),
)
"""Of what sort it is, what a line has in it, and what goes on below it."""
