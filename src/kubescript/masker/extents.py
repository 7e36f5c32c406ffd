"""Where a value begins and ends: in quotes, bare, a YAML block, to the end of its line."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["end_of_word", "extent", "is_passphrase", "is_yaml", "passphrase"]

_BACK: Final = 200
"""Bytes looked at before a value, for its name."""
_AHEAD: Final = 8_192
"""Bytes of a value that are looked at."""
_PEM_BYTES: Final = 65_536
_PLAIN_WORDS: Final = re.compile(
    rb"[A-Za-z\x80-\xff]{2,20}(?:[ ][A-Za-z\x80-\xff]{2,20}){3,11}\d{0,6}(?=[ \t]*(?:\r?\n|\\n|[\"'`)\]};,]|\Z))"
)
_SENTENCE: Final = re.compile(
    rb"(?i)\b(?:or|and|to|for|is|was|are|not|must|cannot|can|should|may|with|without|if|as|has|have|will|be|been|when|the|a|an|via|by|of|in|on|"
    rb"from|at|user|host|failed|invalid|required|please|your|this|that|it|password|passwort|passwd|token|secret|key|muss|f\xc3\xbcr|mit|de|la|el|le|o)\b"
)
_BLOCK: Final = re.compile(rb"[|>][+-]?\d?[ \t]*\r?\n")


_STOP: Final = re.compile(rb"[ \t]#|\\n|\r?\n|\r")
"""What a line ends with, or what in it is a comment's."""
_FIELDS: Final = re.compile(rb"(?m)^[ \t-]*+(?:[\w.\"'][\w.\-\"']*+|(?<=-)):(?:[ \t]|$)")
"""Lines of YAML; the last dash may be a name."""


def extent(text: bytes, at: int, *, whole_line: bool, head: bytes, stops: re.Pattern[bytes]) -> tuple[int, int]:
    """Where the value that begins at `at` begins and ends, without its quotes."""
    limit = min(len(text), at + _AHEAD)
    quote = re.compile(rb"\"\"\"(?=[^\"])|'''(?=[^'])|\\*[\"'`]").match(text, at, limit)
    if quote is not None:
        return quote.end(), _closing(text, quote, limit)
    if block := _BLOCK.match(text, at, limit):
        return _block(text, block.end(), head)
    if whole_line:
        line = _line(text, at, limit)
        if line:
            return at, at + len(line.rstrip(b","))
    bare = stops.match(text, at, limit)
    stop = bare.end() if bare is not None else at
    return at, _unclosed(text, at, stop)


def _line(text: bytes, at: int, limit: int) -> bytes:
    """What stands before a comment or the end of the line, without the blanks behind it; nothing when a carriage return
    stands within the line."""
    stop = _STOP.search(text, at, limit)
    if stop is None:
        return text[at:limit].rstrip(b" \t")
    if stop[0] == b"\r":
        return b""
    return text[at : stop.start()].rstrip(b" \t")


def passphrase(text: bytes, at: int) -> int:
    """Where the four words or more end that begin here and make no sentence; -1 when there are none."""
    words = _PLAIN_WORDS.match(text, at)
    return words.end() if words is not None and not _SENTENCE.search(words[0]) else -1


def is_passphrase(value: bytes) -> bool:
    """Whether a value is such words and nothing else."""
    return passphrase(value, 0) == len(value)


def _unclosed(text: bytes, at: int, stop: int) -> int:
    """Without the brackets and the punctuation that belong to what is around a bare value."""
    pairs = {b")": b"(", b"}": b"{", b"]": b"["}
    while stop > at and (last := text[stop - 1 : stop]) in b")}].,;":
        if last in pairs and text.count(pairs[last], at, stop) >= text.count(last, at, stop):
            break
        stop -= 1
    return stop


def _closing(text: bytes, quote: re.Match[bytes], limit: int) -> int:
    """The end of a quoted value; of one that is never closed, the end of its line."""
    mark, place = quote[0], quote.end()
    while (found := text.find(mark, place, limit)) >= 0:
        before = text[max(quote.end(), found - 16) : found]
        escapes = len(before) - len(before.rstrip(b"\\"))
        doubled = mark == b"'" and text[found + 1 : found + 2] == b"'"  # YAML's and SQL's way to write one
        if not doubled and (escapes == 0 or (len(mark) == 1 and escapes % 2 == 0)):
            return found
        place = found + 1 + doubled
    line = text.find(b"\n", quote.end(), limit)
    return line if line >= 0 else limit


def _block(text: bytes, start: int, head: bytes) -> tuple[int, int]:
    """A YAML block scalar: the lines that are indented deeper than its key."""
    line = head[head.rfind(b"\n") + 1 :]
    indent = len(line) - len(line.lstrip(b" "))
    stop = start
    while stop < min(len(text), start + _PEM_BYTES):
        end = text.find(b"\n", stop)
        end = len(text) if end < 0 else end + 1
        each = text[stop:end]
        if each.strip() and len(each) - len(each.lstrip(b" ")) <= indent:
            break
        stop = end
    first = start + len(text[start:stop]) - len(text[start:stop].lstrip())
    return first, max(first, start + len(text[start:stop].rstrip()))


def is_yaml(text: bytes, at: int) -> bool:
    """Whether a line in this text is a field rather than a sentence: others around it are, too."""
    line = text[text.rfind(b"\n", max(0, at - _BACK), at) + 1 : at]
    if line[:1] in b" \t" and line:
        return True
    around = text[max(0, at - 400) : at + 400]
    return len(_FIELDS.findall(around)) > 1


def end_of_word(text: bytes, start: int, stop: int) -> int:
    """Where the word that begins at `start` ends."""
    word = re.compile(rb"[^\s\"'`,;<>\\]+").match(text, start, stop)
    return word.end() if word is not None else stop
