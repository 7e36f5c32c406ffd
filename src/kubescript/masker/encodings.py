"""What base64, gzip and UTF-16 hide: decoded within bounds, so that the same rules can look inside."""

from __future__ import annotations

import base64
import binascii
import bz2
import codecs
import lzma
import urllib.parse
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kubescript.masker import linear

__all__ = [
    "RUN",
    "Decoded",
    "colourless",
    "decode",
    "encode",
    "is_text",
    "quoted",
    "unbase64",
    "unquoted",
]

RUN: Final = linear.compiled(rb"[A-Za-z0-9+/_-]{8,}={0,2}")
MAX_BYTES: Final = 16 * 1024 * 1024
"""Bytes one gzip may unfold to. Helm releases are below 2 MB; beyond, the whole value is masked."""
_XZ_MEMORY: Final = 64 * 1024 * 1024
_COLOURS: Final = linear.compiled(rb"\x1b\[[0-9;:?]{0,40}[A-Za-z]")
_PERCENT: Final = linear.compiled(rb"%[0-9A-Fa-f]{2}")
_QUOTED_TWICE: Final = 4
_TEXT: Final = bytes(range(32, 127)) + b"\t\r\n\x1b"
_SAMPLE: Final = 4096
_WIDE: Final = tuple(codecs.lookup(charset).name for charset in ("utf-16-le", "utf-16-be"))
"""Looked up here, for a masker that is locked down can import no codec any more."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text, and the way back."""

    text: bytes
    packed: str = ""
    """How it was compressed: gzip, zlib, bz2, xz; empty when it was not."""
    charset: str = ""
    bomb: bool = False


def decode(run: bytes) -> Decoded | None:
    """The text in a base64 run; None when it holds none."""
    data = unbase64(run)
    if data is None or len(data) < 6:
        return None
    for name, (head, unpack, _) in _PACKERS.items():
        if data.startswith(head) and (name != "zlib" or int.from_bytes(data[:2]) % 31 == 0):
            unpacked = _unpacked(name, unpack(), data)
            if unpacked is not None or name != "zlib":  # a text may begin as zlib does
                return unpacked
    if charset := _utf16(data):
        return Decoded(data.decode(charset).encode(), charset=charset)
    return Decoded(data) if is_text(data) else None


def encode(decoded: Decoded, text: bytes) -> bytes:
    """`text` in the form that `decoded` had."""
    data = text.decode("utf-8", "replace").encode(decoded.charset) if decoded.charset else text
    if decoded.packed:
        data = _PACKERS[decoded.packed][2](data)
    return base64.b64encode(data)


def unbase64(run: bytes) -> bytes | None:
    """Standard or URL alphabet, padded or not."""
    bare = run.rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
    if len(bare) % 4 == 1:
        return None
    try:
        return base64.b64decode(bare + b"=" * (-len(bare) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def is_text(data: bytes) -> bool:
    """UTF-8 with hardly a control character, judged by its beginning."""
    sample = data[:_SAMPLE]
    try:
        sample.decode("utf-8", "strict" if len(data) <= _SAMPLE else "ignore")
    except UnicodeDecodeError:
        return False
    odd = len(sample.translate(None, _TEXT + bytes(range(128, 256))))
    letters = len(sample) - len(sample.translate(None, _TEXT))
    return odd * 50 <= len(sample) and letters * 2 >= len(sample)


def _utf16(data: bytes) -> str:
    """Which UTF-16 the data is, by where its zeros are."""
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


def colourless(text: bytes) -> bytes:
    """Without the sequences by which a terminal is told colours: they stand between a name and its value."""
    return _COLOURS.sub(b"", text) if b"\x1b[" in text else text


def unquoted(run: bytes) -> bytes:
    """Percent-encoding undone, as often as it was done within reason."""
    for _ in range(_QUOTED_TWICE):
        if _PERCENT.search(run) is None:
            break
        run = urllib.parse.unquote_to_bytes(run)
    return run


def quoted(text: bytes, mask: linear.Pattern) -> bytes:
    """Percent-encoding done again, around masks."""
    parts, done = [], 0
    for match in mask.finditer(text):
        parts += [urllib.parse.quote_from_bytes(text[done : match.start()]).encode(), match[0]]
        done = match.end()
    return b"".join([*parts, urllib.parse.quote_from_bytes(text[done:]).encode()])


def _unpacked(name: str, unpacker: Any, data: bytes) -> Decoded | None:
    try:
        text = unpacker.decompress(data, MAX_BYTES)
    except (zlib.error, OSError, lzma.LZMAError, MemoryError):
        return None
    left = getattr(unpacker, "unconsumed_tail", b"") or (not unpacker.eof and len(text) >= MAX_BYTES)
    if left:
        return Decoded(b"", packed=name, bomb=True)
    return Decoded(text, packed=name) if is_text(text) else None


def _deflated(bits: int) -> Callable[[bytes], bytes]:
    def pack(data: bytes) -> bytes:
        packer = zlib.compressobj(9, zlib.DEFLATED, bits)
        return packer.compress(data) + packer.flush()

    return pack


_PACKERS: Final[dict[str, tuple[bytes, Callable[[], Any], Callable[[bytes], bytes]]]] = {
    "gzip": (b"\x1f\x8b", lambda: zlib.decompressobj(31), _deflated(31)),
    "zlib": (b"\x78", lambda: zlib.decompressobj(15), _deflated(15)),
    "bz2": (b"BZh", bz2.BZ2Decompressor, bz2.compress),
    "xz": (b"\xfd7zXZ\x00", lambda: lzma.LZMADecompressor(memlimit=_XZ_MEMORY), lzma.compress),
}
"""How what is compressed begins, how it is unpacked, and packed again."""
