"""What is a credential by its own form, beside whatever it stands: JWTs, private keys, schemes, hashes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubescript.masker import encodings, linear, spans, values
from kubescript.masker.spans import Span

__all__ = ["Endings", "is_basic", "jwt", "password_hash", "pem", "scheme"]

_PEM_BYTES: Final = 65_536
_END_BYTES: Final = 100
"""Bytes of the longest end of a key."""
_PUTTY_HEAD: Final = b"PuTTY-User-Key-File-"
_PUTTY_BYTES: Final = 8_192
"""Bytes of such a file before what is private: its public key."""
_PUBLIC_KEY: Final = linear.compiled(rb"(?i)-----BEGIN [A-Z0-9 -]{0,40}PUBLIC KEY")
_KEY_END: Final = linear.compiled(rb"(?i)-----END [A-Z0-9 -]{0,40}KEY(?: [A-Z0-9 ]{1,20})?-----|Private-MAC: [0-9a-f]+")
_BODY: Final = linear.compiled(rb"(?:[A-Za-z0-9+/=:,\-\s]|\\[nr]|\\)*")
_CARRIED: Final = linear.compiled(
    rb"[^\r\n]{0,200}?[\s>\]|\"][A-Za-z0-9+/]{40,100}={0,2}"
    rb"(?:[ \t\"',]{0,4}|\\{1,3}n\\{0,3}\"[^\r\n]{0,200}|\"[,}][^\r\n]{0,200})\r?\n?"
)
"""A line of a key behind what a runtime, or a program, writes before each."""
_CARRIED_BYTES: Final = 512
_JWT: Final = linear.compiled(rb"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,16}")
_JWT_BYTES: Final = 65_536
"""What is longer is followed as far as it goes (`spans.whole`)."""
_TOKEN68: Final = linear.compiled(rb"[A-Za-z0-9._~+/-]{8,}=*")
_LEAD_BYTES: Final = 64
_TOKEN_BYTES: Final = 4_096
_HASH: Final = linear.compiled(
    rb"\$(?:2[abxy]?\$\d\d\$[./A-Za-z0-9]{53}|(?:apr1|1|5|6)\$(?:rounds=\d+\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{22,90}"
    rb"|y\$[./A-Za-z0-9]+\$[./A-Za-z0-9]+\$[./A-Za-z0-9]{43}|(?:argon2(?:id?|d)|scrypt|pbkdf2[a-z0-9-]*)\$[^\s\"'<>]{20,300})"
)
_NUMBERS: Final = b"0123456789.:/-"


def jwt(text: bytes, end: int) -> Iterator[Span]:
    """Three parts in base64url, the first of which begins with `{"`."""
    match = _JWT.match(text, end - 13, min(len(text), end + _JWT_BYTES))
    if match is not None:
        yield Span(match.start(), match.end(), "jwt")


class Endings:
    """Where private keys end in a text, for places in their order: no byte is searched twice."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._next: linear.Match | None = None
        self._searched = 0

    def after(self, place: int, limit: int) -> linear.Match | None:
        """The first end of a key between the two."""
        if self._next is None or self._next.start() < place:
            start = max(place, self._searched - _END_BYTES)
            self._next = _KEY_END.search(self._text, start, limit)
            self._searched = limit if self._next is None else self._next.end()
        return self._next if self._next is not None and self._next.end() <= limit else None


def pem(text: bytes, end: int, endings: Endings) -> Iterator[Span]:
    """A private key from its first line to its last, or as far as it goes."""
    limit = min(len(text), end + _PEM_BYTES)
    if text.endswith(_PUTTY_HEAD, 0, end) and (lines := _putty(text, end)):
        if not spans.is_masked(text[slice(*lines)]):
            yield Span(*lines, "private-key")
        return
    start = max(text.rfind(b"-----BEGIN", max(0, end - 80), end), text.rfind(b"PuTTY", max(0, end - 30), end))
    if start < 0 or _PUBLIC_KEY.match(text, start):
        return
    close = endings.after(end, limit)
    if close is not None:
        yield Span(start, close.end(), "private-key")
        return
    body = _BODY.match(text, end, limit)
    stop = max(body.end() if body is not None else end, _carried(text, end, limit))
    yield Span(start, stop, "private-key")


def _putty(text: bytes, end: int) -> tuple[int, int] | None:
    """Of a PuTTY file, where what is private begins and ends."""
    at = text.find(b"Private-Lines: ", end, end + _PUTTY_BYTES)
    start = text.find(b"\n", at, at + 24) + 1
    stop = text.find(b"\nPrivate-MAC", start, start + _PEM_BYTES)
    return (start, stop - text.endswith(b"\r", start, stop)) if at > 0 and start > 0 and stop > 0 else None


def _carried(text: bytes, end: int, limit: int) -> int:
    """Where the lines of a key end that have something else before each."""
    at = text.find(b"\n", end, min(limit, end + _CARRIED_BYTES)) + 1
    last = end
    while 0 < at < limit and (line := _CARRIED.fullmatch(text, at, _line_end(text, at, limit))) is not None:
        last = at = line.end()
    return last


def _line_end(text: bytes, at: int, limit: int) -> int:
    stop = text.find(b"\n", at, min(limit, at + _CARRIED_BYTES))
    return stop + 1 if stop >= 0 else min(limit, at + _CARRIED_BYTES)


def scheme(text: bytes, end: int) -> Iterator[Span]:
    """`Bearer …`, `Basic …`: what follows, when it looks like one."""
    head = text[max(0, end - _LEAD_BYTES) : end]
    start = end - len(head) + max(head.rfind(b" "), head.rfind(b"\t")) + 1
    match = _TOKEN68.match(text, start, min(len(text), start + _TOKEN_BYTES))
    if match is None:
        return
    word = text[max(0, start - 14) : start].strip().lower()
    if word.endswith(b"basic"):
        if is_basic(match[0]):
            yield Span(start, match.end(), "basic-auth")
    elif len(match[0]) >= 12 and values.has_digit(match[0]) and match[0].translate(None, _NUMBERS):
        if word.endswith(b"token") and not values.is_random(match[0]):
            return
        yield Span(start, match.end(), "bearer-token")


def is_basic(value: bytes) -> bool:
    """Whether this is `user:password` in base64."""
    data = encodings.unbase64(value)
    return data is not None and b":" in data and encodings.is_text(data)


def password_hash(text: bytes, end: int) -> Iterator[Span]:
    """crypt(3), bcrypt, argon2: they can be tried out offline."""
    match = _HASH.search(text, max(0, end - 24), min(len(text), end + 400))
    if match is not None and match.start() < end:
        yield Span(match.start(), match.end(), "password-hash")
