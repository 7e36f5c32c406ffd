"""Logs: a block of whole lines is scanned at once, and each line with a hit is judged separately.

Structures over several lines (a private key, a YAML block, a table, a question and its answer) begin in a line in which
a probe has ended. The lines below are read one by one until the structure ends; all other lines are skipped.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import Final

from kubescript_masking.engine import blocks, columns, masker, scanner
from kubescript_masking.text import linear, spans, unseen
from kubescript_masking.text.spans import Span
from kubescript_masking.wire import loglines

__all__ = ["LogText"]

_OPENERS: Final = frozenset({"below", "columns", "pem"})
"""Probes that end in a line whose structure continues below it."""
_LONG: Final = 2_000
"""Bytes at the end of a line that are read for a structure that continues below it."""
_BEGINS: Final = linear.build(
    rb"(?i)-----BEGIN ([A-Z0-9 -]*)KEY(?: [A-Z0-9 ]+)?-----(?:(?:\\{1,3}[nr]){0,2}\\{0,3}\"[^\r\n]*)?\s*$"
)
_BEGIN, _END = b"-----BEGIN ", b"-----END "
_KEY_LINE: Final = linear.build(
    rb"^\s*(?:[A-Za-z0-9+/]{16,100}={0,2}|[A-Za-z0-9+/]{1,15}={1,2}|"
    rb"(?:Proc-Type|DEK-Info|Comment|Encryption|Public-Lines|Private-Lines|Private-MAC|Version|Hash): [^\r\n]{0,100})?"
    rb"(?:(?:\\{1,3}[nr]){0,2}\\{0,3}\"[,}][^\r\n]*)?[\s\"',}]*$"
)
_CARRIED: Final = linear.build(
    rb"(?:[\s>\]|:]|[:,=]\s?\\{0,3}\")[A-Za-z0-9+/]{40,100}={0,2}(?:\\{1,3}[nr]){0,2}(?:\\{0,3}\"[^\r\n]*)?[\s\"',}]*$"
)
"""A key's line behind a program's prefix, or in a JSON log."""
_WITHIN_KEY: Final = linear.build(rb"^\s*[A-Za-z0-9+/]{60,100}\s*$")
_KEY_LINE_BYTES: Final = 1_024
_MAX_KEY_LINES: Final = 400


class LogText:
    """One log while it is masked."""

    def __init__(self, rules: masker.Masker) -> None:
        self._rules = rules
        self._openers = {number for number, name in enumerate(rules.scanner.ids) if name in _OPENERS}
        self._below: dict[str, blocks.Reader] = {}
        """Structures that continue on the next lines, one of each sort: a row of a table may be a key's first line."""
        self._is_first = True

    def __call__(self, block: bytes) -> bytes:
        """Returns the masked lines of a block of whole lines."""
        if self._is_first:
            self._is_first = False
            self._begin("key", _within_key(block[: block.find(b"\n") + 1]))
        scanned = _view(block)
        hits = self._rules.candidates(scanned)
        if hits is None:
            return b"".join(self._rules.dense(block, self._judge, self._whole))
        return self._lines(block, scanned, hits)

    def _judge(self, block: bytes) -> bytes:
        scanned = _view(block)
        return self._lines(block, scanned, self._rules.scanner.scan(scanned))

    def _whole(self, block: bytes) -> bytes:
        """Masks lines as a whole, whatever their content."""
        masked = []
        for line in block.splitlines(keepends=True):
            start = loglines.stamp(line)
            end = len(line.rstrip(b"\r\n"))
            mask = self._rules.replace_value("suspicious", line[start:end]) if start < end else b""
            masked.append(line[:start] + mask + line[end:])
            if _END in line:
                self._below.pop("key", None)
            elif _BEGIN in line:
                self._open(line[start:end])
        self._open(line[start:end])
        return b"".join(masked)

    def _lines(self, block: bytes, scanned: bytes, hits: list[scanner.Hit]) -> bytes:
        """Returns the masked lines; `hits`: the scanner's, in their view without colours."""
        if not hits and not self._below:
            return block
        lines = block.split(b"\n")
        touched = _by_line(scanned.split(b"\n"), hits)
        count = len(lines) - (not lines[-1])  # nothing stands behind the last line's end
        masked = []
        for at, line in enumerate(lines):
            is_read = at in touched or (self._below and at < count)
            masked.append(self._line(line, touched.get(at, [])) if is_read else line)
        return b"\n".join(line for line in masked if line is not None)

    def _line(self, line: bytes, hits: list[scanner.Hit]) -> bytes | None:
        """Returns one line, masked, given its hits; None when nothing of it is left."""
        start = loglines.stamp(line)
        end = len(line.rstrip(b"\r"))
        bare = line[start:end]
        cells = self._cells(bare) if self._below else []
        if any(not cell.kind for cell in cells):
            self._rules.found("private-key-line")
            return b"" if start else None  # see loglines.REMOVED
        masked = spans.apply(bare, cells, self._rules.replace_value) if cells else bare
        if hits:  # the line may also contain secrets of its own
            inside = [(probe, place - start) for probe, place in hits if place > start]
            # Attack: an attacker writes a full-width sign, which is shorter in the scanned view and so shifts the hits
            # behind it.
            is_as_scanned = masked is bare and unseen.narrow(bare) is bare
            masked = self._rules.text(masked, hits=inside if is_as_scanned else None)
        if any(probe in self._openers for probe, _ in hits):
            self._open(bare)
        return line if masked is bare else line[:start] + masked + line[end:]

    def _cells(self, bare: bytes) -> list[Span]:
        """Returns the secrets that open structures find in the next line; finished ones are closed."""
        found: list[Span] = []
        for sort, lines in list(self._below.items()):
            try:
                found += lines.send(bare)
            except StopIteration:
                del self._below[sort]
        return spans.merge(found)

    def _open(self, line: bytes) -> None:
        """Opens the structure that continues below this line."""
        line = unseen.view(line[-_LONG:])
        for sort, opened in _OPENS:
            if self._begin(sort, opened(line)):
                return

    def _begin(self, sort: str, below: blocks.Reader) -> bool:
        """Opens a structure and says whether it continues."""
        is_going_on = next(below, None) is not None
        if is_going_on and not (sort == "block" and sort in self._below):  # the outer block is longer
            self._below[sort] = below
        return is_going_on


def _view(block: bytes) -> bytes:
    r"""Returns a reader's view of a block, line by line. Attack: an attacker writes `\n\b\n`; a view of the whole block
    would join these lines, so that hits in one line would be taken for hits in the line above."""
    seen = unseen.narrow(unseen.view(block))
    if seen is block:
        return block
    return b"\n".join(unseen.narrow(unseen.view(line)) for line in block.split(b"\n"))


def _by_line(lines: list[bytes], hits: list[scanner.Hit]) -> dict[int, list[scanner.Hit]]:
    """Returns the hits by line number, their places counted from the line's beginning."""
    ends = list(accumulate(len(line) + 1 for line in lines))
    touched: dict[int, list[scanner.Hit]] = {}
    for probe, end in hits:
        at = bisect_left(ends, end)
        start = ends[at] - len(lines[at]) - 1
        touched.setdefault(at, []).append((probe, end - start))
    return touched


def _key(line: bytes) -> blocks.Reader:
    """Reads a private key: its lines are removed, up to the first that cannot belong to a key."""
    begins = _BEGINS.search(line)
    if begins is not None and b"PUBLIC" not in begins[1].upper():
        yield from _key_lines(line, (yield []))


def _within_key(line: bytes) -> blocks.Reader:
    """Reads a key that began before the log, as in logs that were rotated while a key was written."""
    bare = line[loglines.stamp(line) :]
    is_mixed = bare.upper() != bare != bare.lower() and not bare.isalpha()  # and not a hexadecimal checksum
    if len(bare) <= _KEY_LINE_BYTES and is_mixed and _WITHIN_KEY.search(bare) is not None:
        line = yield []
        yield from _key_lines(b"", (yield [Span(0, len(line), "private-key")]))


def _key_lines(first: bytes, line: bytes) -> blocks.Reader:
    for _ in range(_MAX_KEY_LINES):
        short = line[:_KEY_LINE_BYTES]
        is_last = _END in line[-_LONG:]
        if not (is_last or _KEY_LINE.search(short[blocks.content(short, first) :]) or _CARRIED.search(short)):
            return
        whole = [Span(0, len(line), "")]
        if is_last:
            yield whole
            return
        line = yield whole


def _table(line: bytes) -> blocks.Reader:
    """Reads the rows below a header with a credential's name."""
    head = columns.header(line)
    if head is None:
        return
    line = yield []
    while (cells := head.cells(line)) is not None:
        line = yield cells


_OPENS: Final = (("key", _key), *blocks.OPENS, ("table", _table))
"""The sorts of structures, each with its opener."""
