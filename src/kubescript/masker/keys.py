"""What is a credential by its own form, beside whatever it stands: JWTs, private keys, schemes, hashes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kubescript.masker import encodings, placeholders, values
from kubescript.masker.spans import Span

__all__ = ["Endings", "is_basic", "jwt", "password_hash", "pem", "scheme"]

_PEM_BYTES: Final = 65_536
_END_BYTES: Final = 100
"""Bytes of the longest end of a key."""
_PUTTY_HEAD: Final = b"PuTTY-User-Key-File-"
_PUBLIC_KEY: Final = re.compile(rb"(?i)-----BEGIN [A-Z0-9 -]{0,40}PUBLIC KEY")
_KEY_END: Final = re.compile(rb"(?i)-----END [A-Z0-9 -]{0,40}KEY(?: [A-Z0-9 ]{1,20})?-----|Private-MAC: [0-9a-f]+")
_CARRIED: Final = re.compile(
    rb"[^\r\n]{0,200}(?:\r?\n[^\r\n]{0,200}?[\s>\]|\"][A-Za-z0-9+/]{40,100}={0,2}"
    rb"(?:[ \t\"',]{0,4}|\\{1,3}n\\{0,3}\"[^\r\n]{0,200}|\"[,}][^\r\n]{0,200})(?=\r?\n|\Z))*"
)
"""Lines of a key behind what a runtime, or a program, writes before each."""
_PUTTY: Final = re.compile(
    rb"(?:[^\r\n]{0,200}\r?\n){1,400}?Private-Lines: \d{1,4}\r?\n"
    rb"((?:[A-Za-z0-9+/=]{1,100}\r?\n){0,399}[A-Za-z0-9+/=]{1,100}|\xc2\xab[^\r\n]{1,120})\r?\nPrivate-MAC"
)
"""Of a PuTTY file, what is private."""
_PUTTY_MASKED: Final = re.compile(rb"(?:[^\r\n]{0,200}\r?\n){1,400}?Private-Lines: \d{1,4}\r?\n\xc2\xabredacted:")
_JWT: Final = re.compile(rb"eyJ[A-Za-z0-9_-]{8,8192}+\.[A-Za-z0-9_-]{8,65536}+(?:\.[A-Za-z0-9_-]{0,8192}+){0,16}+")
"""What is longer is followed as far as it goes (`spans.whole`)."""
_TOKEN68: Final = re.compile(rb"[A-Za-z0-9._~+/-]{8,4096}=*")
_HASH: Final = re.compile(
    rb"\$(?:2[abxy]?\$\d\d\$[./A-Za-z0-9]{53}|(?:apr1|1|5|6)\$(?:rounds=\d+\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{22,90}"
    rb"|y\$[./A-Za-z0-9]+\$[./A-Za-z0-9]+\$[./A-Za-z0-9]{43}|(?:argon2(?:id?|d)|scrypt|pbkdf2[a-z0-9-]*)\$[^\s\"'<>]{20,300})"
)


def jwt(text: bytes, end: int) -> Iterator[Span]:
    """Three parts in base64url, the first of which begins with `{"`."""
    match = _JWT.match(text, end - 13)
    if match is not None:
        yield Span(match.start(), match.end(), "jwt")


class Endings:
    """Where private keys end in a text, for places in their order: no byte is searched twice."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._next: re.Match[bytes] | None = None
        self._searched = 0

    def after(self, place: int, limit: int) -> re.Match[bytes] | None:
        """The first end of a key between the two."""
        if self._next is None or self._next.start() < place:
            start = max(place, self._searched - _END_BYTES)
            self._next = _KEY_END.search(self._text, start, limit)
            self._searched = limit if self._next is None else self._next.end()
        return self._next if self._next is not None and self._next.end() <= limit else None


def pem(text: bytes, end: int, endings: Endings) -> Iterator[Span]:
    """A private key from its first line to its last, or as far as it goes."""
    limit = min(len(text), end + _PEM_BYTES)
    if text.endswith(_PUTTY_HEAD, 0, end) and text.find(b"Private-Lines: ", end, limit) >= 0:
        if (lines := _PUTTY.match(text, end, limit)) is not None:
            if not placeholders.is_masked(lines[1]):
                yield Span(lines.start(1), lines.end(1), "private-key")
            return
        if _PUTTY_MASKED.match(text, end, limit):
            return
    start = max(text.rfind(b"-----BEGIN", max(0, end - 80), end), text.rfind(b"PuTTY", max(0, end - 30), end))
    if start < 0 or _PUBLIC_KEY.match(text, start):
        return
    close = endings.after(end, limit)
    if close is not None:
        yield Span(start, close.end(), "private-key")
        return
    body = re.compile(rb"(?:[A-Za-z0-9+/=:,\-\s]|\\[nr\\])*").match(text, end, limit)
    carried = _CARRIED.match(text, end, limit)
    if body is not None and carried is not None and carried.end() > body.end():
        body = carried
    yield Span(start, body.end() if body is not None else end, "private-key")


def scheme(text: bytes, end: int) -> Iterator[Span]:
    """`Bearer …`, `Basic …`: what follows, when it looks like one."""
    start = end - 8
    match = _TOKEN68.match(text, start)
    if match is None:
        return
    word = text[max(0, start - 14) : start].strip().lower()
    if word.endswith(b"basic"):
        if is_basic(match[0]):
            yield Span(start, match.end(), "basic-auth")
    elif re.search(rb"[0-9]", match[0]) and len(match[0]) >= 12 and not re.fullmatch(rb"[\d.:/-]+", match[0]):
        if word.endswith(b"token") and not values.is_random(match[0]):
            return
        yield Span(start, match.end(), "bearer-token")


def is_basic(value: bytes) -> bool:
    """Whether this is `user:password` in base64."""
    data = encodings.unbase64(value)
    return data is not None and b":" in data and encodings.is_text(data)


def password_hash(text: bytes, end: int) -> Iterator[Span]:
    """crypt(3), bcrypt, argon2: they can be tried out offline."""
    start = text.rfind(b"$", max(0, end - 24), end - 2)
    while start >= 0:
        match = _HASH.match(text, start, min(len(text), start + 400))
        if match is not None:
            yield Span(start, match.end(), "password-hash")
            return
        start = text.rfind(b"$", max(0, end - 24), start)
