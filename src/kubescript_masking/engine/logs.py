"""Masks logs: a block of whole lines is scanned at once, and each line with a hit is judged separately.

Structures over several lines (a private key, a YAML block, a table, a question and its answer) begin in a line in which
a probe has ended. The lines below are read one by one until the structure ends; all other lines are skipped.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import Final

from kubescript_masking.engine import answers, blocks, columns, masker, scanner
from kubescript_masking.engine.answers import Reader
from kubescript_masking.text import encodings, linear, spans, unseen
from kubescript_masking.text.spans import Span
from kubescript_masking.wire import loglines

__all__ = ["LogText"]

_OPENERS: Final = frozenset({"below", "columns", "pem"})
"""Probes that end in a line whose structure continues below it."""
_LONG: Final = 2_000
"""How many bytes at the end of a line are searched for a structure that continues below the line."""
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
    rb"(?:^|[\s>\]|:,=\"])[A-Za-z0-9+/]{40,100}={0,2}(?:\\{1,3}[nr]){0,2}(?:\\{0,3}\"[^\r\n]*)?[\s\"',}]*$"
)
"""A line of a key that follows a program's prefix, or is in a JSON log."""
_WITHIN_KEY: Final = linear.build(rb"(?:^|[\s>\]|:,=\"])([A-Za-z0-9+/]{60,101})")
"""A line of a key alone, at the beginning of a line or where a program's prefix or a field of JSON ends."""
_BEHIND_KEY: Final = linear.build(rb"={0,2}(?:\\{1,3}[nr]){0,2}(?:\\{0,3}\"[^\r\n]*)?[\s\"',}]*\z")
_LONGEST_KEY_LINE: Final = 100
_LAST_LINE: Final = linear.build(rb"(?:^|[\s>\]|:,=\"])([A-Za-z0-9+/]{4,})")
"""The last line of a key, which may be short."""
_ENDS: Final = linear.build(rb"-----END (?:[A-Z0-9]+ )*PRIVATE KEY-----")
_KEY_LINE_BYTES: Final = 1_024
_MAX_KEY_LINES: Final = 400


class LogText:
    """One log while it is masked."""

    def __init__(self, rules: masker.Masker, *, filtered: bool = False) -> None:
        """`filtered` says that lines may be missing, among them the first of a key. Each line then keeps its place; a
        removed one becomes an empty line."""
        self._rules = rules
        self._is_filtered = filtered
        ids = enumerate(rules.scanner.ids)
        self._openers = {number for number, name in ids if name in _OPENERS}
        """The openers' numbers among the scanner's probes."""
        # There is at most one of each sort: a row of a table may be a key's first line.
        self._below: dict[str, Reader] = {}
        """Structures that continue on the next lines."""
        self._is_first = True

    def __call__(self, block: bytes) -> bytes:
        """Returns the masked lines of a block of whole lines."""
        if self._is_first:
            # A log that was rotated while a key was written begins within it.
            self._is_first = False
            first_line = block[: block.find(b"\n") + 1]
            self._begin("key", _within_key(first_line))
        scanned = _view(block)
        hits = self._rules.candidates(scanned)
        if hits is not None:
            return self._lines(block, scanned, hits)
        masked = self._rules.dense(block, self._judge, self._whole)
        return b"".join(masked)

    def _judge(self, block: bytes) -> bytes:
        """Masks the sparse blocks of a dense text."""
        scanned = _view(block)
        hits = self._rules.scanner.scan(scanned)
        return self._lines(block, scanned, hits)

    def _whole(self, block: bytes) -> bytes:
        """Masks lines as a whole, whatever their content."""
        masked = []
        content = b""
        for line in block.splitlines(keepends=True):
            start = loglines.stamp(line)
            end = len(line.rstrip(b"\r\n"))
            content = line[start:end]
            mask = self._rules.replace_value("suspicious", content) if content else b""
            masked += [line[:start], mask, line[end:]]
            if _END in line:
                self._below.pop("key", None)
            elif _BEGIN in line:
                self._open(content)
        self._open(content)
        return b"".join(masked)

    def _lines(self, block: bytes, scanned: bytes, hits: list[scanner.Hit]) -> bytes:
        """Returns the masked lines; `hits` are the scanner's, in the lines' view without colours."""
        may_be_within = self._is_filtered and (_END in scanned or _WITHIN_KEY.search(scanned) is not None)
        if not hits and not self._below and not may_be_within:
            return block
        lines = block.split(b"\n")
        seen = scanned.split(b"\n")
        touched = _by_line(seen, hits)
        count = len(lines) - (not lines[-1])  # nothing follows the last line's end
        masked = []
        for at, line in enumerate(lines):
            if may_be_within and "key" not in self._below:
                below = seen[at + 1] if at + 1 < count else b""
                self._begin("key", _within_key(seen[at], below))
            is_read = at in touched or (self._below and at < count)
            new = self._line(line, touched.get(at, [])) if is_read else line
            if new is not None:
                masked.append(new)
        return b"\n".join(masked)

    def _line(self, line: bytes, hits: list[scanner.Hit]) -> bytes | None:
        """Returns one line, masked, given its hits; None when nothing of it is left."""
        start = loglines.stamp(line)
        end = len(line.rstrip(b"\r"))
        bare = line[start:end]
        cells = self._cells(bare) if self._below else []
        is_key_line = any(not cell.kind for cell in cells)
        if is_key_line:
            self._rules.found("private-key-line")
            return b"" if start or self._is_filtered else None  # see loglines.REMOVED
        masked = spans.apply(bare, cells, self._rules.replace_value) if cells else bare
        if hits:  # the line may also contain secrets of its own
            inside = [(probe, place - start) for probe, place in hits if place > start]
            # Attack: an attacker writes a full-width sign, which is shorter in the scanned view and so shifts the hits
            # after it.
            is_as_scanned = masked is bare and unseen.narrow(bare) is bare
            masked = self._rules.text(masked, hits=inside if is_as_scanned else None)
        if any(probe in self._openers for probe, _ in hits):
            self._open(bare)
        if masked is bare:
            return line
        return line[:start] + masked + line[end:]

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

    def _begin(self, sort: str, below: Reader) -> bool:
        """Opens a structure and says whether it continues."""
        is_going_on = next(below, None) is not None
        # The outer block is longer, and reads the inner one too.
        is_inner_block = sort == "block" and sort in self._below
        if is_going_on and not is_inner_block:
            self._below[sort] = below
        return is_going_on


def _view(block: bytes) -> bytes:
    """Returns a reader's view of a block, line by line."""
    seen = unseen.narrow(unseen.view(block))
    if seen is block:
        return block
    # Attack: an attacker writes `\n\b\n`; a view of the whole block would join these lines, so that hits in one line
    # would be taken for hits in the line above.
    lines = [unseen.view(line) for line in block.split(b"\n")]
    return b"\n".join(map(unseen.narrow, lines))


def _by_line(lines: list[bytes], hits: list[scanner.Hit]) -> dict[int, list[scanner.Hit]]:
    """Returns the hits by line number, their places counted from the line's beginning."""
    sizes = [len(line) + 1 for line in lines]
    ends = list(accumulate(sizes))
    touched: dict[int, list[scanner.Hit]] = {}
    for probe, end in hits:
        at = bisect_left(ends, end)
        start = ends[at] - sizes[at]
        hit = probe, end - start
        touched.setdefault(at, []).append(hit)
    return touched


def _key(line: bytes) -> Reader:
    """Reads a private key, whose lines are removed up to the first that cannot belong to a key."""
    begins = _BEGINS.search(line)
    if begins is None or b"PUBLIC" in begins[1].upper():
        return
    first = yield []
    yield from _key_lines(line, first)


def _within_key(line: bytes, below: bytes = b"") -> Reader:
    """Reads a key of which the first lines are missing, as in logs that were rotated while a key was written. `below`
    is the next line."""
    above = line[loglines.stamp(line) :]
    is_last = _ENDS.search(below[:_KEY_LINE_BYTES]) is not None
    run = _find_key_line(above, _LAST_LINE if is_last else _WITHIN_KEY)
    if not run:
        return
    line = yield []
    start = line.find(run)
    whole = Span(0, len(line), "private-key")  # colours stand within it
    second = yield [whole if start < 0 else Span(start, start + len(run), "private-key")]
    yield from _key_lines(above, second)


def _find_key_line(line: bytes, pattern: linear.Pattern) -> bytes:
    """Returns the base64 at the end of a line, or of its field, that may be a line of a key; empty if there is none."""
    if len(line) > _KEY_LINE_BYTES:
        return b""
    for found in pattern.finditer(line):
        run: bytes = found[1]
        has_both_cases = run.upper() != run != run.lower()
        is_mixed = has_both_cases and any(map(run.__contains__, b"0123456789"))  # and not a hexadecimal checksum
        is_base64 = is_mixed or line[found.end() : found.end() + 1] == b"="
        is_at_end = _BEHIND_KEY.match(line, found.end()) is not None
        # Base64 of a text is read like the text.
        if is_base64 and is_at_end and len(run) <= _LONGEST_KEY_LINE and encodings.unfold(run) is None:
            return run
    return b""


def _key_lines(above: bytes, line: bytes) -> Reader:
    """Reads the lines of a key, from this one on."""
    for _ in range(_MAX_KEY_LINES):
        is_last = _END in line[-_LONG:]
        if not is_last and not _is_key_line(line[:_KEY_LINE_BYTES], above):
            return
        whole = [Span(0, len(line), "")]
        if is_last:
            yield whole
            return
        line = yield whole


def _is_key_line(line: bytes, above: bytes) -> bool:
    """Says whether a line, after the prefix that it shares with the line above, may belong to a key."""
    line = unseen.view(line)
    content = line[answers.find_content(line, above) :]
    return _KEY_LINE.search(content) is not None or _CARRIED.search(line) is not None


def _table(line: bytes) -> Reader:
    """Reads the rows below a header with a credential's name."""
    head = columns.header(line)
    if head is None:
        return
    line = yield []
    while True:
        cells = head.cells(line)
        if cells is None:
            return
        line = yield cells


_OPENS: Final = (("key", _key), *blocks.OPENS, ("table", _table))
"""The sorts of structures, each with its opener."""
