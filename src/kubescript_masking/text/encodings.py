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

from kubescript_masking.text import linear, placeholders

__all__ = ["Run", "Runs", "encode", "is_text", "lines", "percent", "unbase64", "unfold"]

_B64: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_BACK: Final = 65_536
"""How many bytes before a place a run of base64 may begin."""
_TO_STANDARD: Final = bytes.maketrans(b"-_", b"+/")
_RUN: Final = linear.build(rb"[A-Za-z0-9+/_-]{8,}={0,2}")
_LETTERS: Final = linear.build(rb"[A-Za-z0-9+/]*")
_WRAPPED: Final = linear.build(rb"(?:[A-Za-z0-9+/]{60,}(?:\r?\n|\\n)[ \t]*)+[A-Za-z0-9+/]+={0,2}")
_BLANKS: Final = b" \t\r\n\f\v"
_MIN_RUN: Final = 12
_MIN_TEXT: Final = 6
_MOST_FAILURES: Final = 32
"""How many failed attempts it takes until a run of base64 is skipped."""
# Helm releases are below 2 MB.
_MAX_BYTES: Final = 16 * 1024 * 1024
"""The maximum number of bytes that one gzip may unfold to; a larger value is masked as a whole."""
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
_NOT_ODD: Final = _TEXT + bytes(range(128, 256))
"""What may stand in a text: the printed characters, and all bytes of longer characters."""
_SAMPLE: Final = 4096
# The codecs are looked up here, since a locked-down masker can no longer import them.
_WIDE: Final = tuple(codecs.lookup(charset).name for charset in ("utf-16-le", "utf-16-be"))
_Unfolded = tuple[bytes | None, str]
"""A decoded text, or None when the text would be too long to judge; and its form."""


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
        """The number of failed attempts to decode a run, by its end: each place in the run is a new beginning, from
        which the run would be read again."""

    def at(self, end: int) -> Run:
        """Returns the run around a place. When it cannot be decoded, returns one without text, which says how far was
        read."""
        at = end - 3  # inside the run for every probe
        low = max(0, at - _BACK)
        before = self._text[low:at].rstrip(_B64)
        start = longest = low + len(before)
        for pattern in (_WRAPPED, _RUN):
            run = pattern.match(self._text, start)
            if run is None or len(run[0]) < _MIN_RUN:
                continue
            longest = max(longest, run.end())
            bare = run[0].replace(b"\\n", b"").translate(None, _BLANKS)
            found = unfold(bare)
            if found is not None:
                text, form = found
                return Run(run.start(), run.end(), text, form)
        read = self._skip(start, longest)
        return Run(read, read, b"")

    def _skip(self, start: int, longest: int) -> int:
        """Returns how far a run that cannot be decoded is skipped; `longest` is where it ends."""
        # Attack: an attacker sends 128 KB that look like base64 but are not. These took 8.7 s when reading began anew
        # at each hit.
        self._failures[longest] += 1
        if self._failures[longest] >= _MOST_FAILURES:
            return longest
        letters = _LETTERS.match(self._text, start)
        return letters.end() if letters is not None else start  # hits up to here begin where this one does


def percent(text: bytes, end: int) -> Run | None:
    """Returns the percent-encoded run around a place."""
    # The beginning of the run is found backwards: a pattern search would start anew at each byte.
    low = max(0, end - _QUOTED_BACK)
    before = text[low:end].rstrip(_OF_QUOTED)
    start = low + len(before)
    for broken in _NOT_QUOTED.finditer(text, start, end):
        start = broken.start() + 1
    limit = min(len(text), start + _QUOTED_BYTES)
    run = _QUOTED.match(text, start, limit)
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
    if b"\\n" not in text:
        return text
    return text.replace(b"\\n", b"\n ").replace(b'\\"', b' "')


def encode(text: bytes, form: str) -> bytes:
    """Returns `text` encoded in this form."""
    if form == "percent":
        return _quote(text)
    if form in _PACKED:
        packer = zlib.compressobj(9, zlib.DEFLATED, _PACKED[form])
        packed = packer.compress(text) + packer.flush()
        return base64.b64encode(packed)
    charset = form or "utf-8"
    written = text.decode("utf-8", "replace").encode(charset)
    return base64.b64encode(written)


def unbase64(run: bytes) -> bytes | None:
    """Decodes the standard or the URL alphabet, padded or not; None when it is not base64."""
    bare = run.rstrip(b"=").translate(_TO_STANDARD)
    if len(bare) % 4 == 1:
        return None
    padding = b"=" * (-len(bare) % 4)
    try:
        return base64.b64decode(bare + padding, validate=True)
    except (binascii.Error, ValueError):
        return None


def is_text(data: bytes) -> bool:
    """Says whether data is UTF-8 with hardly a control character, judged by its beginning."""
    sample = data[:_SAMPLE]
    # A sample may end within a character.
    is_whole = len(data) <= _SAMPLE
    try:
        sample.decode("utf-8", "strict" if is_whole else "ignore")
    except UnicodeDecodeError:
        return False
    odd = sample.translate(None, _NOT_ODD)
    if len(odd) * 50 > len(sample):
        return False
    unprinted = sample.translate(None, _TEXT)
    printed = len(sample) - len(unprinted)
    return printed * 2 >= len(sample)


def unfold(run: bytes) -> _Unfolded | None:
    """Returns the text in a run of base64, and its form; None when the run contains no text."""
    data = unbase64(run)
    if data is None or len(data) < _MIN_TEXT:
        return None
    if data.startswith(b"\x1f\x8b"):
        return _unpack(data, "gzip")
    if _may_be_zlib(data):
        unpacked = _unpack(data, "zlib")
        if unpacked is not None:  # a plain text may begin like zlib too
            return unpacked
    charset = _find_utf16(data)
    if charset:
        return data.decode(charset).encode(), charset
    return (data, "") if is_text(data) else None


def _may_be_zlib(data: bytes) -> bool:
    """Says whether data begins with zlib's header, which is a multiple of 31."""
    header = data[:2]
    number = int.from_bytes(header)
    return header.startswith(b"x") and number % 31 == 0


def _unpack(data: bytes, form: str) -> _Unfolded | None:
    """Returns the unpacked text, and its form; None when it holds no text."""
    # Attack: an attacker packs a gigabyte of zeros into a megabyte. At most `_MAX_BYTES` are unpacked; a value with
    # more is masked as a whole.
    unpacker = zlib.decompressobj(_PACKED[form])
    try:
        text = unpacker.decompress(data, _MAX_BYTES)
    except (zlib.error, MemoryError):
        return None
    is_cut = not unpacker.eof and len(text) >= _MAX_BYTES
    if unpacker.unconsumed_tail or is_cut:
        return None, form
    if not is_text(text):
        return None
    return text, form


def _find_utf16(data: bytes) -> str:
    """Returns which UTF-16 the data is in, judged by where its zeros are; empty when it is not UTF-16."""
    if len(data) % 2 or len(data) < 12:
        return ""
    half = len(data) // 2
    high_bytes = (data[1::2], data[0::2])
    for charset, zeros in zip(_WIDE, high_bytes, strict=True):
        if zeros.count(0) * 10 < half * 9:
            continue
        try:
            data.decode(charset)
        except UnicodeDecodeError:
            return ""
        return charset
    return ""


def _quote(text: bytes) -> bytes:
    """Percent-encodes a text, except for its masks."""
    parts, done = [], 0
    for mask in placeholders.PLACEHOLDER.finditer(text):
        before = text[done : mask.start()]
        parts += [_quote_plain(before), mask[0]]
        done = mask.end()
    return b"".join([*parts, _quote_plain(text[done:])])


def _quote_plain(text: bytes) -> bytes:
    """Percent-encodes a part without masks."""
    return urllib.parse.quote_from_bytes(text).encode()
