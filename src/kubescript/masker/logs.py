"""Log lines: each is judged on its own and passed on at once; what goes over several lines is remembered."""

from __future__ import annotations

import bisect
import re
from typing import Final

from kubescript.masker import announced, columns, encodings, masker, names, values

__all__ = ["LogText"]

_LINES: Final = re.compile(rb"[^\n]*\n|[^\n]+\Z")
_BEGINS: Final = re.compile(
    rb"(?i)-----BEGIN (?![A-Z0-9 -]{0,40}PUBLIC)[A-Z0-9 -]{0,40}KEY(?: [A-Z0-9 ]{1,20})?-----"
    rb"(?:(?:\\{1,3}[nr]){0,2}\\{0,3}\"[^\r\n]{0,400})?\Z"
)
"""At the end of a line without the blanks there."""
_ESC: Final = b"\x1b["
_BLANK_LINES: Final = 2
"""Between what announces a value and the value."""
_TAIL: Final = 2_000
_ENDS: Final = b"-----END "
_STAMP: Final = re.compile(
    rb"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)[ \t]|"
    rb"\[?[A-Za-z0-9 :.,/_-]{0,200}\][ \t]*|[a-z0-9_.-]{1,60}[ \t]*\|[ \t]?|std(?:out|err)[ ][FP][ ]|"
    rb"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[\d.,]*Z?[ \t]|(?:[CS]|client|server)?[:>][ ]|[<>-]{1,3}[ ]"
)
_CARRIED: Final = re.compile(
    rb"[^\r\n]{0,400}?(?:[\s>\]|:]|[:,=]\s?\\{0,3}\")[A-Za-z0-9+/]{40,100}={0,2}(?:\\{1,3}[nr]){0,2}(?:\\{0,3}\"[^\r\n]{0,400})?[\s\"',}]?\Z"
)
"""A key's line in a log of JSON, or behind whatever a program writes before each; its end was cut by `_cut_behind`."""
_AROUND: Final = b" \t\n\r\f\v\"',}"
"""What may stand at the end of such a line, as often as it likes."""
_CARRIED_BYTES: Final = 1_024
"""Bytes of the longest one."""
_JSON_BYTES: Final = 420
_TAIL_OF_JSON: Final = re.compile(rb"(?:\\{1,3}[nr]){0,2}\\{0,3}\"[,}][^\r\n]{0,400}\Z")
_HEADER: Final = re.compile(rb"Content-[\w-]{1,40}: ")
_DIGIT: Final = re.compile(rb"[0-9]")
_FIELD_ABOVE: Final = re.compile(
    rb"form-data;[^\r\n]{0,200}\bname=\"([A-Za-z0-9_.-]{1,100})\"\s*\Z|334 UGFzc3dvcmQ6\s*\Z"
)
"""A form's field, and SMTP's question for a password: the value is on a line below."""
_KEY_LINE: Final = re.compile(rb"(?:[A-Za-z0-9+/]{1,100}={0,2}|[A-Za-z-]++: [^\r\n]{0,100}|)[\s\"',]?\Z")
_WITHIN_KEY: Final = re.compile(rb"\s*[A-Za-z0-9+/]{60,100}={0,2}\s*")
_MANY: Final = 1_000
_DENSE: Final = 64
"""Bytes per candidate: when there are more, looking for them once is enough."""
_MAX_KEY_LINES: Final = 400
_WORD: Final = bytes(set(range(256)) - set(b" \t\n\r\f\v\"'\xab\xbb"))
"""What a word is made of; of one that was cut the last has at least so many."""
_LAST_WORD: Final = 8
_NAME: Final = re.compile(rb"[\"']?(?:name|key)[\"']?:[ \t]*[\"']?([A-Za-z0-9_.-]{1,100})[\"']?,?\s*\Z")
_VALUE: Final = re.compile(rb"[ \t]*+[\"']?value[\"']?:[ \t]*+[\"']?+")
_OPENS_BLOCK: Final = re.compile(rb"([ \t]*(?:- )?)[\"']?([A-Za-z0-9_.-]{1,100})[\"']?:[ \t]*[|>][+-]?\d?\s*")


def _unstamped(line: bytes) -> int:
    """Where a line begins behind what a runtime writes before it."""
    at = 0
    while (stamp := _STAMP.match(line, at)) is not None and stamp.end() > at:
        at = stamp.end()
    return at


def _cut_behind(line: bytes, signs: bytes) -> bytes:
    """The line without the signs at its end but for the first of them, which may belong to what is before."""
    return line[: len(line.rstrip(signs)) + 1]


def _unquoted(value: bytes) -> bytes:
    """The value without the comma, and the quote before that, at its end."""
    bare = value.removesuffix(b",")
    return bare[:-1] if bare[-1:] in {b'"', b"'"} else bare


def _indent(line: bytes) -> int:
    return len(line) - len(line.lstrip())


class LogText:
    """One log on its way through."""

    def __init__(self, rules: masker.Masker, found: masker.Found, *, cut: bool = False, headless: bool = False) -> None:
        self._rules = rules
        self._found = found
        self._cut = cut
        """The asker chose the byte it ends at, which may lie in a token that then looks like none."""
        self._headless = headless
        """The asker chose the line it begins at, which may lie in a key, and no other line has come yet."""
        self._in_key = 0
        self._lead = b""
        """What stands before the first line of a key, with its digits as noughts."""
        self._block = 0
        """The least indentation of the lines of a block that is masked."""
        self._before = b""
        """The line before."""
        self._announcing = b""
        """The line that ends with a colon before this one, and how many blank ones came since."""
        self._blank = 0
        self._asked = ""
        """The kind of the value on the next line that has one."""
        self._columns: columns.Columns | None = None
        """The head of the table that is being printed."""

    def __call__(self, block: bytes) -> bytes:
        """The masked lines of a block of whole lines."""
        most = len(block) // _DENSE + _MANY
        scanned = encodings.colourless(block) if _ESC in block else block
        hits = [end for _, end in self._rules.scanner.scan(scanned, most)]
        everything = len(hits) > most
        whole = not self._cut or block.endswith(b"\n")
        waits = self._is_waiting() or self._headless
        if not hits and not waits and b"value" not in block and whole:
            self._before = block[block.rfind(b"\n", 0, -1) + 1 :]
            for line in block[-_TAIL:].splitlines()[-_BLANK_LINES - 2 :]:
                self._note(line)
            return block
        parts, done, at = [], 0, 0
        for line in _LINES.findall(block):
            start, size = at, len(line) if scanned is block else len(encodings.colourless(line))
            at = bisect.bisect_right(hits, done + size, at)
            parts.append(self._line(line, touched=everything or at > start))
            done += size
            self._before = line
            self._note(line)
        if not whole and parts:
            parts[-1] = self._ended(parts[-1])
        return b"".join(parts)

    def _is_waiting(self) -> bool:
        """Whether something over several lines is going on."""
        return bool(self._asked or self._in_key or self._block or self._columns or self._announcing)

    def _note(self, line: bytes) -> None:
        if not line.strip():
            self._blank += 1
            self._announcing = self._announcing if self._blank <= _BLANK_LINES else b""
            return
        bare = encodings.colourless(line[-_TAIL:]).rstrip()
        said = bare[:-1] if bare.endswith(b":") else b""
        self._announcing, self._blank = (said if said and announced.kind(said, next_line=True) else b""), 0
        if (above := _FIELD_ABOVE.search(bare)) is not None and names.kind((above[1] or b"password").decode()):
            self._asked = names.kind((above[1] or b"password").decode())
        elif not _HEADER.match(bare):
            self._asked = ""

    def _ended(self, line: bytes) -> bytes:
        """The last line of a log that was cut, without its last word."""
        start = len(line.rstrip(_WORD))
        return self._masked(line, start, len(line), "cut") if len(line) - start >= _LAST_WORD else line

    def _line(self, line: bytes, *, touched: bool) -> bytes:
        if self._in_key:
            return self._key_line(line)
        bare = line.rstrip(b"\r\n")
        if self._headless and bare.strip():
            self._headless = False
            if _WITHIN_KEY.fullmatch(bare, start := _unstamped(bare)):
                self._in_key = 1
                return self._masked(line, start, len(bare), "cut")
        if self._block and bare.strip():
            if _indent(bare) >= self._block:
                return self._masked(line, _indent(bare), len(bare.rstrip()), "secret")
            self._block = 0
        if (masked := self._below(line, bare)) is not None:
            return masked
        if (variable := self._variable(bare)) is not None:
            return self._masked(line, *variable)
        return self._judged(line, bare) if touched else line

    def _judged(self, line: bytes, bare: bytes) -> bytes:
        if (begins := _BEGINS.search(bare.rstrip())) is not None:
            self._in_key, self._lead = 1, _DIGIT.sub(b"0", bare[: begins.start()])
        if (opened := _OPENS_BLOCK.fullmatch(bare)) is not None and names.kind(opened[2].decode()):
            self._block = len(opened[1]) + 1
        if (head := columns.header(bare)) is not None:
            self._columns = head
        masked = self._rules.text(bare, self._found)
        return line if masked is bare else masked + line[len(bare) :]

    def _below(self, line: bytes, bare: bytes) -> bytes | None:
        """A line whose meaning a line above it has told; None when none has, or this is no such line."""
        if self._asked and bare.strip() and not _HEADER.match(bare):
            start = _unstamped(bare)
            start += len(bare[start:]) - len(bare[start:].lstrip())
            value = bare[start:].rstrip()
            return (
                self._masked(line, start, start + len(value), self._asked)
                if values.is_secret(value, self._asked)
                else None
            )
        cells = self._columns.cells(bare) if self._columns is not None else None
        if cells is None:
            self._columns = None
            start = _unstamped(bare) if self._announcing else 0
            kind = announced.kind(self._announcing, next_line=True) if self._announcing else ""
            start += len(bare[start:]) - len(bare[start:].lstrip())
            cells = list(announced.lone(bare, start, kind))
        for cell in reversed(cells):
            line = self._masked(line, cell.start, cell.end, cell.kind)
        return line if cells else None

    def _variable(self, bare: bytes) -> tuple[int, int, str] | None:
        """`value: …` after a line with a credential's name: where the value is, and its kind."""
        lead = _VALUE.match(bare) if b"value" in bare[:200] else None
        name = _NAME.search(self._before.rstrip()) if lead is not None else None
        kind = names.kind(name[1].decode()) if name is not None else ""
        if lead is None or not kind:
            return None
        value = _unquoted(bare[lead.end() :].rstrip())
        if b"\r" in value or b"\n" in value or not values.is_secret(value, kind):
            return None
        return lead.end(), lead.end() + len(value), f"env-{kind}"

    def _masked(self, line: bytes, start: int, end: int, kind: str) -> bytes:
        return line[:start] + self._rules.masked(kind, line[start:end], self._found) + line[end:]

    def _key_line(self, line: bytes) -> bytes:
        """A line within a private key goes; the first that cannot be one ends it."""
        bare = line[len(self._lead) :] if _DIGIT.sub(b"0", line[: len(self._lead)]) == self._lead else line
        bare = bare.strip()
        bare = bare[:-_JSON_BYTES] + _TAIL_OF_JSON.sub(b"", bare[-_JSON_BYTES:])
        bare = bare[_unstamped(bare) :]
        self._in_key += 1
        if _ENDS in bare:
            self._in_key = 0
            return b""
        carried = _cut_behind(line, _AROUND)
        is_carried = len(carried) <= _CARRIED_BYTES and _CARRIED.match(carried) is not None
        if (_KEY_LINE.match(_cut_behind(bare, _AROUND[:-1])) or is_carried) and self._in_key < _MAX_KEY_LINES:
            return b""
        self._in_key = 0
        return self._line(line, touched=True)
