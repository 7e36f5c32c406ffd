"""Finds random tokens under any name: small letters, capitals and digits mixed as in no word.

This is done only within a text: an object's field is judged by its name. A value stays if a name or a word right before
it calls it an id, a checksum or a public key. So do paths, the lines of a certificate, and base64 that decodes to text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubescript_masking.rules import names, randomness, values
from kubescript_masking.text import encodings, linear
from kubescript_masking.text.spans import Span

__all__ = ["is_token", "token"]

_LEAST, _MOST = 16, 128
"""The fewest and the most bytes of a token."""
_CHANGES: Final = 0.34
_LETTERS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+/~-"
_ENDS: Final = bytes(set(range(256)) - set(_LETTERS) - set(b"="))
_BEHIND: Final = 3
"""How many bytes the probe may read after a token, such as a quote with its backslash."""
_FRONT: Final = 80
"""How many bytes in front of a token may say what it is."""
_IN_FRONT: Final = (b"/", b".", b"|", b"\t", b"![")
"""The characters in front of parts of paths, fields of rows, and images, which are not secret."""
_NAMED: Final = linear.build(rb"([\w.-]{1,60})\\*[\"'`]?\]?[ \t]*(?:=>|[:=])[ \t]*\\*[\"'`(\[<]?\z")
# Secrets with such prefixes have their own rules.
_PUBLIC: Final = linear.build(rb"(?i:sha\d+|nonce)-|[a-z]{2,12}_")
"""A checksum, or an id with a prefix for its type."""
_WORD: Final = linear.build(rb"[A-Za-z]+")
_WORDS: Final = 6
"""How many words in front of a token may say what it is."""


def token(text: bytes, end: int) -> Iterator[Span]:
    """Yields the token that ends right before a place."""
    low = max(0, end - _BEHIND)
    read = text[low:end].rstrip(_ENDS)
    stop = low + len(read)
    low = max(0, stop - _MOST - 4)
    before = text[low:stop].rstrip(b"=").rstrip(_LETTERS)
    start = low + len(before)
    # At the end of a log line, the probe has read the carriage return.
    is_first = start == 0 and end <= len(text)
    if is_first or not is_token(text[start:stop]):
        return
    near = text[max(0, start - _FRONT) : start]
    front = near.rpartition(b"\n")[2]
    if not _is_told(front):
        yield Span(start, stop, "token")


def is_token(value: bytes) -> bool:
    """Says whether a value is a token, judged by its characters alone."""
    bare = value.rstrip(b"=")
    if not _LEAST <= len(bare) <= _MOST:
        return False
    if not randomness.is_drawn(bare.replace(b"/", b"+"), _CHANGES) or not randomness.is_random(bare):
        return False
    if _PUBLIC.match(bare) is not None:
        return False
    is_base64 = len(value) % 4 == 0 and bare.translate(None, b"-_~") == bare
    is_path = b"/" in bare and not is_base64
    if is_path or encodings.unfold(value) is not None:
        return False
    return values.is_secret(value, "key")


def _is_told(front: bytes) -> bool:
    """Says whether the text in front shows that a token is not secret."""
    is_sealed = b"ENC[" in front.rpartition(b"]")[2]
    if is_sealed or front.endswith(_IN_FRONT):
        return True
    named = _NAMED.search(front)
    if named is not None:
        name = named[1].decode()
        is_open = len(name) > 1 and names.is_open_to_chance(name)
        if not is_open:
            return True
    said = [word[0].decode() for word in _WORD.finditer(front)]
    return any(not names.CHANCE.isdisjoint(names.split(word)) for word in said[-_WORDS:])
