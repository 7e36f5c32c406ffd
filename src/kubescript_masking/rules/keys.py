"""Credentials recognised by their format in any context: JWTs, private keys, Basic's base64."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubescript_masking.text import encodings, linear
from kubescript_masking.text.spans import Span

__all__ = ["Endings", "is_basic", "is_open", "jwt", "pem"]

_PEM_BYTES: Final = 65_536
_END_BYTES: Final = 100
"""The longest last line of a key, in bytes."""
_PUBLIC_KEY: Final = linear.build(rb"(?i)-----BEGIN [A-Z0-9 -]{0,40}PUBLIC KEY")
_KEY_END: Final = linear.build(rb"(?i)-----END [A-Z0-9 -]{0,40}KEY(?: [A-Z0-9 ]{1,20})?-----")
_TEXT: Final = linear.build(rb"(?:-|\\[nr]|\s|\A)[A-Za-z0-9+/=]{10}")
_BODY: Final = linear.build(rb"(?:[A-Za-z0-9+/=:,\-\s]|\\[nr]|\\)*")
_CARRIED: Final = linear.build(
    rb"[^\n]*\n(?:[^\r\n]*?[\s>\]|\"][A-Za-z0-9+/]{40,}={0,2}(?:[ \t\"',]*|(?:\\+n|\"[,}])[^\r\n]*)\r?(?:\n|\z))+"
)
"""Lines of a key, each after a prefix that a runtime or a program writes."""
_JWT: Final = linear.build(rb"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,16}")
_JWT_BYTES: Final = 65_536
"""How many bytes of a JWT are matched; `spans.whole` extends a longer one to its end."""


def jwt(text: bytes, end: int) -> Iterator[Span]:
    """Yields the JWT around a place: parts in base64url, the first of which begins with `{"`."""
    limit = min(len(text), end + _JWT_BYTES)
    # The probe has read the first 13 bytes.
    match = _JWT.match(text, end - 13, limit)
    if match is not None:
        first, last = match.span()
        yield Span(first, last, "jwt")


class Endings:
    """The ends of private keys in a text, found for places in order, so that no byte is searched twice."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._next: linear.Match | None = None
        self._searched = 0

    def after(self, place: int, limit: int) -> linear.Match | None:
        """Returns the first end of a key between the two places."""
        found = self._next
        if found is None or found.start() < place:
            start = max(place, self._searched - _END_BYTES)
            found = _KEY_END.search(self._text, start, limit)
            self._next = found
            self._searched = limit if found is None else found.end()
        if found is None or found.end() > limit:
            return None
        return found


def pem(text: bytes, end: int, endings: Endings) -> Iterator[Span]:
    """Yields a private key from its first line to its last, or as far as it goes."""
    limit = min(len(text), end + _PEM_BYTES)
    start = text.rfind(b"-----BEGIN", max(0, end - 80), end)
    if start < 0 or _PUBLIC_KEY.match(text, start):
        return
    # Attack: an attacker writes first lines of keys that never end, for each of which 64 KiB would be searched for a
    # last line.
    close = endings.after(end, limit)
    if close is None:
        lines = [pattern.match(text, end, limit) for pattern in (_BODY, _CARRIED)]
        stop = max(match.end() for match in lines if match is not None)
        yield Span(start, stop, "private-key")
    elif _TEXT.search(text, end, close.start()) is not None:  # a scanner may have cut the key out
        yield Span(start, close.end(), "private-key")


def is_open(text: bytes, *, is_open: bool) -> bool:
    """Says whether a key continues after this text; `is_open` says whether one continues at its beginning."""
    begun = text.rfind(b"-----BEGIN")
    ended = text.rfind(b"-----END")
    if begun > ended:
        return True
    return is_open and ended < 0


def is_basic(value: bytes) -> bool:
    """Says whether a value is `user:password` in base64."""
    data = encodings.unbase64(value)
    if data is None or b":" not in data:
        return False
    return encodings.is_text(data)
