"""Decodes base64, percent signs, gzip and UTF-16 within bounds, so that the same rules can look inside."""

from __future__ import annotations

import base64
import binascii
import codecs
import urllib.parse
import zlib
from collections import Counter
from dataclasses import dataclass
from typing import Final

from kubescript_masking.text import linear, spans

__all__ = ["Run", "Runs", "encode", "is_text", "lines", "percent", "unbase64", "unfold"]

_B64: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_BACK: Final = 65_536
"""Bytes before a place in which a run of base64 may begin."""
_RUN: Final = linear.build(rb"[A-Za-z0-9+/_-]{8,}={0,2}")
_LETTERS: Final = linear.build(rb"[A-Za-z0-9+/]*")
_WRAPPED: Final = linear.build(rb"(?:[A-Za-z0-9+/]{60,}(?:\r?\n|\\n)[ \t]*)+[A-Za-z0-9+/]+={0,2}")
_BLANKS: Final = b" \t\r\n\f\v"
_MIN_RUN: Final = 12
_MIN_TEXT: Final = 6
_MOST_FAILURES: Final = 32
"""Failed attempts after which a run of base64 is skipped."""
_MAX_BYTES: Final = 16 * 1024 * 1024
"""Bytes one gzip may unfold to. Helm releases are below 2 MB; a larger value is masked as a whole."""
_PACKED: Final = {"gzip": 31, "zlib": 15}
"""zlib's `wbits` for each format."""
_PERCENT: Final = linear.build(rb"%[0-9A-Fa-f]{2}")
_QUOTED: Final = linear.build(rb"(?:[^\s\"'`<>&;\\%]|%[0-9A-Fa-f]{2})+")
_NOT_QUOTED: Final = linear.build(rb"%(?:[^0-9A-Fa-f]|[0-9A-Fa-f][^0-9A-Fa-f])")
_OF_QUOTED: Final = bytes(set(range(256)) - set(b" \t\n\r\f\v\"'`<>&;\\"))
"""The bytes of a percent-encoded run."""
_QUOTED_BACK, _QUOTED_BYTES = 4_096, 16_384
_QUOTED_TWICE: Final = 4
_TEXT: Final = bytes(range(32, 127)) + b"\t\r\n\x1b"
_SAMPLE: Final = 4096
_WIDE: Final = tuple(codecs.lookup(charset).name for charset in ("utf-16-le", "utf-16-be"))
"""Looked up here, since a locked-down masker can no longer import codecs."""


@dataclass(frozen=True, slots=True)
class Run:
    """An encoded part of a text."""

    start: int
    end: int
    text: bytes | None
    """The decoded text; None when it would be too long to judge."""
    form: str = ""
    """The format inside or instead of base64: gzip, zlib, UTF-16, percent signs; empty: none."""


class Runs:
    """The base64 in one text."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._failures: Counter[int] = Counter()
        """Failed attempts to decode a run, by its end: each place in it is a new beginning, and would read it again."""

    def at(self, end: int) -> Run:
        """Returns the run around a place; one without text, which tells how far was read, when it cannot be decoded."""
        at = end - 3  # inside the run for every probe
        low = max(0, at - _BACK)
        start = longest = low + len(self._text[low:at].rstrip(_B64))
        for pattern in (_WRAPPED, _RUN):
            run = pattern.match(self._text, start)
            if run is None or len(run[0]) < _MIN_RUN:
                continue
            longest = max(longest, run.end())
            bare = run[0].replace(b"\\n", b"").translate(None, _BLANKS)
            found = unfold(bare)
            if found is not None:
                return Run(run.start(), run.end(), *found)
        # Attack: an attacker sends 128 KB that look like base64 but are not. They took 8.7 s when each hit began anew.
        self._failures[longest] += 1
        letters = _LETTERS.match(self._text, start)
        same = letters.end() if letters is not None else start  # hits up to here begin where this one does
        read = longest if self._failures[longest] >= _MOST_FAILURES else same
        return Run(read, read, b"")


def percent(text: bytes, end: int) -> Run | None:
    """Returns the percent-encoded run around a place. Its beginning is found backwards: a pattern search would start
    anew at each byte."""
    low = max(0, end - _QUOTED_BACK)
    start = low + len(text[low:end].rstrip(_OF_QUOTED))
    for broken in _NOT_QUOTED.finditer(text, start, end):
        start = broken.start() + 1
    run = _QUOTED.match(text, start, min(len(text), start + _QUOTED_BYTES))
    if run is None:
        return None
    plain = run[0]
    for _ in range(_QUOTED_TWICE):
        if _PERCENT.search(plain) is None:
            break
        plain = urllib.parse.unquote_to_bytes(plain)
    return Run(run.start(), run.end(), plain, "percent")


def lines(text: bytes) -> bytes:
    r"""Returns the text with a line break in place of each `\n`; every byte stays where it is."""
    return text.replace(b"\\n", b"\n ").replace(b'\\"', b' "') if b"\\n" in text else text


def encode(text: bytes, form: str) -> bytes:
    """Returns `text` encoded in this form."""
    if form == "percent":
        return _quote(text)
    if form in _PACKED:
        packer = zlib.compressobj(9, zlib.DEFLATED, _PACKED[form])
        return base64.b64encode(packer.compress(text) + packer.flush())
    return base64.b64encode(text.decode("utf-8", "replace").encode(form or "utf-8"))


def unbase64(run: bytes) -> bytes | None:
    """Decodes the standard or the URL alphabet, padded or not; None when it is not base64."""
    bare = run.rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
    if len(bare) % 4 == 1:
        return None
    try:
        return base64.b64decode(bare + b"=" * (-len(bare) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def is_text(data: bytes) -> bool:
    """Says whether data is UTF-8 with hardly a control character, judged by its beginning."""
    sample = data[:_SAMPLE]
    is_whole = len(data) <= _SAMPLE
    try:
        sample.decode("utf-8", "strict" if is_whole else "ignore")
    except UnicodeDecodeError:
        return False
    odd = len(sample.translate(None, _TEXT + bytes(range(128, 256))))
    letters = len(sample) - len(sample.translate(None, _TEXT))
    return odd * 50 <= len(sample) and letters * 2 >= len(sample)


def unfold(run: bytes) -> tuple[bytes | None, str] | None:
    """Returns the text in a run of base64, and its form; None when it holds no text."""
    data = unbase64(run)
    if data is None or len(data) < _MIN_TEXT:
        return None
    if data.startswith(b"\x1f\x8b"):
        return _unpack(data, "gzip")
    may_be_zlib = data.startswith(b"x") and int.from_bytes(data[:2]) % 31 == 0
    if may_be_zlib and (unpacked := _unpack(data, "zlib")):  # a plain text may begin like this too
        return unpacked
    if charset := _find_utf16(data):
        return data.decode(charset).encode(), charset
    return (data, "") if is_text(data) else None


def _unpack(data: bytes, form: str) -> tuple[bytes | None, str] | None:
    unpacker = zlib.decompressobj(_PACKED[form])
    try:
        text = unpacker.decompress(data, _MAX_BYTES)
    except (zlib.error, MemoryError):
        return None
    is_cut = not unpacker.eof and len(text) >= _MAX_BYTES
    if unpacker.unconsumed_tail or is_cut:
        return None, form
    return (text, form) if is_text(text) else None


def _find_utf16(data: bytes) -> str:
    """Returns which UTF-16 the data is in, judged by where its zeros are; empty when it is not UTF-16."""
    if len(data) % 2 or len(data) < 12:
        return ""
    half = len(data) // 2
    for charset, zeros in zip(_WIDE, (data[1::2], data[0::2]), strict=True):
        if zeros.count(0) * 10 >= half * 9:
            try:
                data.decode(charset)
            except UnicodeDecodeError:
                return ""
            return charset
    return ""


def _quote(text: bytes) -> bytes:
    """Percent-encodes a text, except for its masks."""
    parts, done = [], 0
    for match in spans.PLACEHOLDER.finditer(text):
        before = urllib.parse.quote_from_bytes(text[done : match.start()])
        parts += [before.encode(), match[0]]
        done = match.end()
    rest = urllib.parse.quote_from_bytes(text[done:])
    return b"".join([*parts, rest.encode()])
