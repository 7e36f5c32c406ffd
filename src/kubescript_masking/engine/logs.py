"""Masks logs: a block of whole lines is scanned at once, and each line with a hit is judged separately.

Structures over several lines (a private key, a YAML block, a table, a question and its answer) begin in a line in which
a probe has ended. The lines below are read one by one until the structure ends; all other lines are skipped.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
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
_BEGINS: Final = linear.build(rb"(?i)-----BEGIN ([A-Z0-9 -]*)KEY(?: [A-Z0-9 ]+)?-----")
_BEGIN, _END = b"-----BEGIN ", b"-----END "
_KEY_LINE: Final = linear.build(
    rb"^\s*(?:[A-Za-z0-9+/]{16,100}={0,2}|[A-Za-z0-9+/]{1,15}={1,2}|"
    rb"(?:Proc-Type|DEK-Info|Comment|Encryption|Public-Lines|Private-Lines|Private-MAC|Version|Hash): [^\r\n]{0,100})?"
    rb"(?:(?:\\{1,3}[nr]){0,2}\\{0,3}\"[,}][^\r\n]*)?[\s\"',}]*$"
)
_BASE64: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_CARRIED: Final = linear.build(rb"(?:\\[nrt])?([A-Za-z0-9+/]{40,})")
"""A line of a key whose first line was read, anywhere in a line of a log."""
_WITHIN_KEY: Final = linear.build(rb"(?:\\[nrt])?([A-Za-z0-9+/]{60,})")
"""The same of a key whose first line is missing."""
_BEHIND_KEY: Final = linear.build(rb"={0,2}(?:\\{1,3}[nr]){0,2}(?:\\{0,3}\"[^\r\n]*)?[\s\"',}]*\z")
_JOINTS: Final = (b".", b"_", b"-")
_GOES_ON: Final = linear.build(rb"[_-]|\.[A-Za-z0-9_-]")
"""What joins the parts of a token."""
_LONGEST_KEY_LINE: Final = 100
_PUBLIC: Final = b"AAAA"
"""The beginning of each public key of SSH."""
_MOST_SLASHES: Final = 5
"""So many slashes have 99.94% of the lines of keys; a path of that length has more."""
_LAST_LINE: Final = linear.build(rb"[A-Za-z0-9+/]{4,}={0,2}")
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
            is_as_scanned = masked is bare and unseen.narrow(unseen.view(bare)) is bare
            if not is_as_scanned:
                masked = self._rules.text(masked)
            elif b"\\n" in bare or self._rules.readers.may_find(bare, inside):
                masked = self._rules.text(masked, hits=inside)
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
    rest = line[begins.end() :]
    if _END in rest or _CARRIED.search(rest) is not None:  # the key is in this line
        return
    first = yield []
    yield from _key_lines(line, first, _CARRIED)


def _within_key(line: bytes, below: bytes = b"") -> Reader:
    """Reads a key of which the first lines are missing, as in logs that were rotated while a key was written. `below`
    is the next line."""
    above = line[loglines.stamp(line) :]
    is_last = _ENDS.search(below[:_KEY_LINE_BYTES]) is not None
    run = _find_last(above, below[loglines.stamp(below) :]) if is_last else _find_key_line(above)
    if not run:
        return
    line = yield []
    start = line.find(run)
    whole = Span(0, len(line), "private-key")  # colours stand within it
    second = yield [whole if start < 0 else Span(start, start + len(run), "private-key")]
    yield from _key_lines(above, second, _WITHIN_KEY)


def _find_key_line(line: bytes) -> bytes:
    """Returns the base64 in a line that may be a line of a key; empty if there is none."""
    # Such a line holds all of a key, or of a certificate.
    if len(line) > _KEY_LINE_BYTES or _BEGIN in line:
        return b""
    for start, end in _find_runs(line, _WITHIN_KEY):
        run = line[start:end]
        is_path = run.count(b"/") > _MOST_SLASHES and _BEHIND_KEY.match(line, end) is None
        is_public = run.startswith(_PUBLIC)
        # Base64 of a text is read like the text.
        if not (is_path or is_public) and len(run) <= _LONGEST_KEY_LINE and encodings.unfold(run) is None:
            return run
    return b""


def _find_runs(line: bytes, pattern: linear.Pattern) -> Iterator[tuple[int, int]]:
    """Yields the places of base64 that is no word, no checksum and no part of a token, such as a JWT."""
    for found in pattern.finditer(line):
        start, end = found.span(1)
        is_part = line.endswith(_JOINTS, 0, start) or _GOES_ON.match(line, end) is not None
        if not is_part and _is_base64(found[1]):
            yield start, end


def _find_last(line: bytes, below: bytes) -> bytes:
    """Returns the base64 in a line that may be the last one of a key, given the line of its end; empty if there is
    none."""
    start, end = _find_core(line, below)
    run = line[start:end]
    if _LAST_LINE.fullmatch(run) is None or len(line) > _KEY_LINE_BYTES:
        return _find_key_line(line)
    return run if run.endswith(b"=") or _is_base64(run) else b""


def _is_base64(run: bytes) -> bool:
    """Says whether base64 is no word and no hexadecimal checksum."""
    return run.upper() != run != run.lower() and any(map(run.__contains__, b"0123456789"))


def _key_lines(above: bytes, line: bytes, carried: linear.Pattern) -> Reader:
    """Reads the lines of a key, from this one on; `carried` is what they may have among other words."""
    for _ in range(_MAX_KEY_LINES):
        is_last = _END in line[-_LONG:]
        whole = [Span(0, len(line), "")]
        found = whole if is_last else _find_in_key(line, above, carried)
        if not found:
            return
        following = yield found
        if is_last:
            return
        above, line = unseen.view(line), following


def _find_in_key(line: bytes, above: bytes, carried: linear.Pattern) -> list[Span]:
    """Returns the base64 of a line that may belong to a key: the whole line if it holds nothing else after the prefix,
    and before the suffix, that it shares with the line above."""
    whole = Span(0, len(line), "")
    seen = unseen.view(line[:_KEY_LINE_BYTES])
    start, end = _find_core(seen, above)
    if _KEY_LINE.search(seen[start:end]) is not None:
        return [whole]
    runs = [Span(*run, "private-key") for run in _find_runs(seen, carried)]
    # Colours stand within a line whose view differs.
    return runs if line.startswith(seen) else [whole] * bool(runs)


def _find_core(line: bytes, above: bytes) -> tuple[int, int]:
    """Returns where the text of a line begins and ends, between a prefix and a suffix that have the same shape in the
    line above and are set off by a sign that base64 does not have."""
    prefix = line[: answers.count_shared(line, above)].rstrip(_BASE64)
    rest = line[len(prefix) :]
    alike = answers.count_shared(rest[::-1], above[::-1])
    suffix = rest[len(rest) - alike :].lstrip(_BASE64 + b"=")
    return len(prefix), len(line) - len(suffix)


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
