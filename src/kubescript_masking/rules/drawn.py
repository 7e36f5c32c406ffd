"""Tokens that are drawn by lot, whatever they are called: small letters, capitals and digits mixed as in no word.

Only within a text: the field of an object is judged by its name. What a name or a word right in front calls an id, a
checksum or a public key stays; so do paths, the lines of a certificate, and base64 that says something.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubescript_masking.rules import names, values
from kubescript_masking.text import encodings, linear
from kubescript_masking.text.spans import Span

__all__ = ["is_token", "token"]

_LEAST, _MOST = 16, 128
"""Bytes of a token."""
_CHANGES: Final = 0.34
_LETTERS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+/~-"
_ENDS: Final = bytes(set(range(256)) - set(_LETTERS) - set(b"="))
_BEHIND: Final = 3
"""Bytes that the probe reads behind a token, or a quote with its backslash."""
_FRONT: Final = 80
"""Bytes in front of a token in which something says what it is."""
_NAMED: Final = linear.build(rb"([\w.-]{1,60})\\*[\"'`]?\]?[ \t]*(?:=>|[:=])[ \t]*\\*[\"'`(\[<]?\z")
_PUBLIC: Final = linear.build(rb"(?i:sha\d+|nonce)-|[a-z]{2,12}_")
"""A checksum, or an id with the name of what it is of; secrets with such a beginning have rules of their own."""
_WORD: Final = linear.build(rb"[A-Za-z]+")
_WORDS: Final = 6
"""In front of a token, that may say what it is."""


def token(text: bytes, end: int) -> Iterator[Span]:
    """The token that ends right before a place."""
    low = max(0, end - _BEHIND)
    stop = low + len(text[low:end].rstrip(_ENDS))
    low = max(0, stop - _MOST - 4)
    before = text[low:stop].rstrip(b"=").rstrip(_LETTERS)
    start = low + len(before)
    near = text[max(0, start - _FRONT) : start]
    front = near.rpartition(b"\n")[2]
    # A line of a log ends before its carriage return, which the probe has read.
    is_first = start == 0 and end <= len(text)
    if not is_first and is_token(text[start:stop]) and not _is_told(front):
        yield Span(start, stop, "token")


def is_token(value: bytes) -> bool:
    """Whether this is a token by its letters alone."""
    bare = value.rstrip(b"=")
    if not _LEAST <= len(bare) <= _MOST or not values.is_drawn(bare.replace(b"/", b"+"), _CHANGES):
        return False
    if not values.is_random(bare) or _PUBLIC.match(bare) is not None:
        return False
    is_base64 = len(value) % 4 == 0 and bare.translate(None, b"-_~") == bare
    if b"/" in bare and not is_base64:  # a path
        return False
    return encodings.unfold(value) is None and values.is_secret(value, "key")


def _is_told(front: bytes) -> bool:
    """Whether what stands in front says that this is no secret."""
    if front.endswith((b"/", b".", b"|", b"\t", b"![")) or b"ENC[" in front.rpartition(b"]")[2]:
        return True
    named = _NAMED.search(front)
    if named is not None:
        is_open = len(named[1]) > 1 and names.is_open_to_chance(named[1].decode())
        if not is_open:
            return True
    said = [word[0].decode() for word in _WORD.finditer(front)]
    return any(not names.CHANCE.isdisjoint(names.split(word)) for word in said[-_WORDS:])
