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
_HEAD: Final = linear.build(rb"(?i)(?: [A-Z0-9 ]{1,20})?-----")
"""The end of a key's first line."""
_BETWEEN: Final = rb"(?:\s|\\+[nrt]|[\"',])"
"""What separates the lines of a key: escapes stand for line breaks in a text of one line."""
_HEADER: Final = rb"[A-Za-z-]{1,40}: [A-Za-z0-9 ,.:/+=@<>_-]*(?:\r?\n|\\+[nr])"
"""A header as in RFC 1421. Attack: `X: $(curl …)` would run."""
_LINE: Final = rb"[A-Za-z0-9+/=]"
_LINES: Final = b"%(between)b*(?:%(header)b|%(between)b)*(?:%(line)b{16,}%(between)b+)*%(line)b{16,}" % {
    b"between": _BETWEEN,
    b"header": _HEADER,
    b"line": _LINE,
}
_BODY: Final = linear.build(_LINES)
"""The lines of a key, as far as they go."""
# Short lines may only end the key: its last line, and the checksum of PGP. Attack: `sudo reboot now`.
_WHOLE: Final = linear.build(b"%b(?:%b+%b{1,15}){0,2}%b*" % (_LINES, _BETWEEN, _LINE, _BETWEEN))
"""The content of a key that is base64 and nothing else."""
_RUN: Final = linear.build(rb"[A-Za-z0-9+/]{16,}={0,2}")
_BASE64: Final = linear.build(rb"[A-Za-z0-9+/]+={0,2}")
_BEGIN: Final = b"-----BEGIN"
# Attack: first lines of keys stand in one line of a megabyte, for each of which its beginning would be searched.
_PREFIX: Final = 512
"""The longest prefix of a key's lines, in bytes."""
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
    """Yields a private key from its first line to its last, or as far as it goes. Of a text between such lines that is
    no key, only the base64 is one."""
    limit = min(len(text), end + _PEM_BYTES)
    start = text.rfind(_BEGIN, max(0, end - 80), end)
    if start < 0 or _PUBLIC_KEY.match(text, start):
        return
    # Attack: an attacker writes first lines of keys that never end, for each of which 64 KiB would be searched for a
    # last line.
    close = endings.after(end, limit)
    if close is not None:
        limit = close.start()
    head = _HEAD.match(text, end, limit)
    first = end if head is None else head.end()
    another = text.find(_BEGIN, first, limit)
    if close is None or another >= 0:
        yield from _find_open(text, start, first, limit if another < 0 else another)
    elif _WHOLE.fullmatch(text, first, limit) is not None:
        yield Span(start, close.end(), "private-key")
    else:
        # Attack: shell code stands between the lines, so that a reader sees a key's mask in its place.
        yield from _find_base64(text, start, first, limit)
        # Up to here the text is read; a span without a kind masks nothing.
        yield Span(limit, limit, "")


def _find_open(text: bytes, start: int, first: int, limit: int) -> Iterator[Span]:
    """Yields a key without a last line, whose first one begins at `start` and ends at `first`."""
    found = [pattern.match(text, first, limit) for pattern in (_BODY, _CARRIED)]
    ends = [match.end() for match in found if match is not None]
    # A first line alone is masked too, so that a log's reader does not look for the lines of this key again.
    yield Span(start, max([first, *ends]), "private-key")


def _find_base64(text: bytes, start: int, first: int, stop: int) -> Iterator[Span]:
    """Yields the base64 behind the first line of a key, which begins at `start` and ends at `first`: long runs, and
    lines that a runtime or a program has put between the same prefix and suffix as that line."""
    for run in _RUN.finditer(text, first, stop):
        begin, end = run.span()
        yield Span(begin, end, "private-key")
    begin_of_line = text.rfind(b"\n", max(0, start - _PREFIX), start) + 1
    place = text.find(b"\n", first, stop) + 1
    if place == 0 or start - begin_of_line > _PREFIX:
        return
    column = start - begin_of_line
    behind = place - 1 - first
    while place < stop:
        line_end = text.find(b"\n", place, stop)
        line_end = stop if line_end < 0 else line_end
        begin, end = place + column, line_end - behind
        if begin < end and _BASE64.fullmatch(text, begin, end) is not None:
            yield Span(begin, end, "private-key")
        place = line_end + 1


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
