"""Secrets that a file format marks in a way of its own: XML, .netrc, .pgpass, cloud-init, JWK, encoded URLs, calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from kubescript.masker import extents, names, spans, values
from kubescript.masker.spans import Span

__all__ = ["READERS", "jwk"]

_BACK: Final = 300
_AHEAD: Final = 8_300
_ELEMENT: Final = re.compile(rb"<(?:[\w-]{1,40}:)?([A-Za-z0-9_.\-]{1,100})(?: [^<>]{0,200})?>\Z")
_CALLED: Final = re.compile(rb"(?:name|key|id)=[\"']([A-Za-z0-9_.:\-]{1,100})[\"'](?: [^<>]{0,200})?>\Z")
_WRAPPED: Final = re.compile(rb"<(?:[\w-]{1,40}:)?([A-Za-z0-9_.\-]{1,100})>\s{0,80}<[Vv]alue>\Z")
_NESTED: Final = re.compile(
    rb"(?:<(?:key|name)>|(?:name|key)=[\"'])([A-Za-z0-9_.\-]{1,100})(?:</(?:key|name)>|[\"'] ?/?>)"
    rb"\s{0,80}<(?:string|value)>\Z"
)
"""A property list's and a bean's: the name in an element of its own."""
_ATTRIBUTE: Final = re.compile(
    rb"(?:name|key|id)=[\"']([A-Za-z0-9_.:\-]{1,100})[\"']\s{1,10}value=[\"']\Z", re.IGNORECASE
)
_NETRC: Final = re.compile(rb"(?:login|machine)[ \t]+\S{1,200}\s{1,20}password[ \t]+\Z")
_PGPASS: Final = re.compile(
    rb"(?m)^[^:\s#]{1,200}:(?:\d{2,5}|\*):[^:\s]{1,100}:[^:\s]{1,100}:(\S{4096}|\S{1,4095}(?=[ \t]*$))"
)
_CHPASSWD: Final = re.compile(rb"(?m)^[ \t]+(?:- )?[\"']?[a-z_][\w-]{0,40}:(?![ \t])([^\s\"']{3,200})")
_PIPED: Final = re.compile(rb"[\"' ][a-z_][\w-]{0,40}:([^\s\"':]{3,4096})[\"']?\s*\|\s*(?:sudo )?\Z")
_PIPE: Final = re.compile(rb"[\"']?\s{0,20}\|\s{0,20}(?:sudo )?\Z")
_ENCODED_URL: Final = re.compile(rb"%3A%2F%2F[^%\s&\"']{0,100}%3A((?:[^\s&\"'%]|%(?!40)..){1,300})%40", re.IGNORECASE)
_CALL: Final = re.compile(rb"\(\s{0,4}[\"']([A-Za-z0-9_.\-]{1,100})[\"']\s{0,4},\s{0,40}[\"']\Z")
_SETTER: Final = re.compile(rb"([A-Za-z0-9_.]{1,100})\([\"']\Z")
_DIRECTIVE: Final = re.compile(
    rb"[ \t]([A-Za-z0-9]{1,40}[-_][A-Za-z0-9_-]{1,60}|password|passwd|pwd|pass|secret(?=[ \t]+\Z))[ \t]{1,20}\Z"
)
"""A name that is one wherever it stands in a line."""
_MULTIPART: Final = re.compile(rb"name=\"([A-Za-z0-9_.\-]{1,100})\"\s{1,8}\Z")
_SPACED: Final = re.compile(
    rb"(?:^|\n)[ \t]{0,40}(?:(?:ENV|ARG|export|set|SetEnv|env|aws configure set)[ \t]+)?"
    rb"([A-Za-z0-9_.\-]{1,100})[ \t]{1,20}\Z"
)
_WORD: Final = re.compile(rb"[\"']?([^\s\"']{4,8192})[\"']?[ \t]*(?=\r?\n|\Z)")
_JWK: Final = re.compile(rb'"(?:d|p|q|dp|dq|qi|k)\\*+"\s{0,4}:\s{0,4}\\*+"([A-Za-z0-9_-]{16,2048})')


def element(text: bytes, end: int) -> Iterator[Span]:
    """`<password>…</password>`."""
    at = end - 1
    if (cdata := text.rfind(b"<![CDATA[", max(0, at - 12), at)) >= 0:
        yield from _named(_ELEMENT, text, cdata, rb"<!\[CDATA\[[^\r\n]{1,65536}?(?=\]\]>)", skip=9)
        return
    yield from _named(_ELEMENT, text, at, rb"[^<\r\n]{65536}|[^<\r\n]{1,65535}(?=</)")
    for around in (_NESTED, _CALLED, _WRAPPED):
        yield from _named(around, text, at, rb"[^<\r\n]{65536}|[^<\r\n]{1,65535}(?=</)")


def attribute(text: bytes, end: int) -> Iterator[Span]:
    """`<add key="Password" value="…"/>`."""
    yield from _named(_ATTRIBUTE, text, end, rb"[^\"'<>]{1,65536}")


def called(text: bytes, end: int) -> Iterator[Span]:
    """`define('DB_PASSWORD', '…')` and `setPassword("…")`."""
    yield from _named(_CALL, text, end, rb"[^\"'\r\n]{1,65536}")
    yield from _named(_SETTER, text, end, rb"[^\"'\r\n]{1,65536}")


def spaced(text: bytes, end: int) -> Iterator[Span]:
    """A line of a name and a value, and nothing between them: `ENV PASSWORD hunter2`."""
    at = end - 1
    match = _SPACED.search(text[max(0, at - _BACK) : at])
    kind = names.kind(match[1].decode()) if match is not None else ""
    if kind and (end := extents.passphrase(text, at)) >= 0:
        yield Span(at, end, kind)
        return
    word = _WORD.match(text, at, at + _AHEAD) if kind else None
    if word is not None and b"://" not in word[1] and _is_spaced(word[1], kind):
        yield Span(word.start(1), word.end(1), kind)
        return
    match = _DIRECTIVE.search(text[max(0, at - _BACK) : at])
    kind = names.kind(match[1].decode()) if match is not None else ""
    if kind and (cisco := re.compile(rb"\d[ \t]+").match(text, at)) is not None:  # how it is written: `password 7 …`
        at = cisco.end()
    word = _WORD.match(text, at, at + _AHEAD) if kind else None
    if word is not None and b"://" not in word[1] and _is_mixed(word[1]) and values.is_secret_in_prose(word[1], kind):
        yield Span(word.start(1), word.end(1), kind)


def _is_mixed(word: bytes) -> bool:
    return len(word) >= 8 and re.search(rb"[0-9]", word) is not None and re.search(rb"[A-Za-z]", word) is not None


def multipart(text: bytes, end: int) -> Iterator[Span]:
    """A form's field: `name="password"`, an empty line, the value."""
    yield from _named(_MULTIPART, text, end - 1, rb"[^\r\n]{1,65536}")


def _is_spaced(word: bytes, kind: str) -> bool:
    return values.is_secret_in_prose(word, kind) and re.search(rb"[0-9A-Z]", word) is not None


def netrc(text: bytes, end: int) -> Iterator[Span]:
    """`machine … login … password …`."""
    at = end - 1
    if _NETRC.search(text[max(0, at - 500) : at]) and (word := re.compile(rb"\S+").match(text, at)) is not None:
        yield Span(word.start(), word.end(), "password")


def pgpass(text: bytes, end: int) -> Iterator[Span]:
    """`host:port:database:user:password`."""
    start = text.rfind(b"\n", max(0, end - 600), end) + 1
    match = _PGPASS.match(text, start)
    if match is not None and b":/" not in match[1] and values.is_secret(match[1], "password"):
        yield Span(match.start(1), match.end(1), "password")


def chpasswd(text: bytes, end: int) -> Iterator[Span]:
    """What `chpasswd` and cloud-init read: `user:password` lines."""
    before = text[max(0, end - _AHEAD // 2) : end - len(b"chpasswd")]
    if (piped := _PIPED.search(before)) is not None:
        begin = max(0, end - _AHEAD // 2)
        yield Span(begin + piped.start(1), begin + piped.end(1), "password")
    elif (pipe := _PIPE.search(before)) is not None:
        long = spans.filled(text, max(0, end - _AHEAD // 2) + pipe.start(), "password")
        yield from [long] if long is not None else []
    if text[end : end + 1] == b":":
        block = re.compile(rb":[ \t]*\r?\n(?:[ \t]+[^\n]*(?:\n|\Z)){0,40}").match(text, end, end + _AHEAD)
        for match in _CHPASSWD.finditer(text, end, block.end() if block is not None else end):
            if values.is_secret(match[1], "password"):
                yield Span(match.start(1), match.end(1), "password")


def encoded_url(text: bytes, end: int) -> Iterator[Span]:
    """A URL with a password, encoded within another URL."""
    for match in _ENCODED_URL.finditer(text, max(0, end - 600), end):
        yield Span(match.start(1), match.end(1), "url-password")


def jwk(text: bytes, end: int) -> Iterator[Span]:
    """The private members of a JSON Web Key."""
    start = max(0, text.rfind(b"{", max(0, end - 8_192), end))
    stop = text.find(b"}", end, end + 8_192)
    for match in _JWK.finditer(text, start, stop if stop >= 0 else min(len(text), end + 8_192)):
        yield Span(match.start(1), match.end(1), "private-key")


def _named(pattern: re.Pattern[bytes], text: bytes, at: int, value: bytes, skip: int = 0) -> Iterator[Span]:
    """The value at a place, when what stands before it names a credential."""
    head = pattern.search(text[max(0, at - _BACK) : at])
    kind = names.kind(head[1].decode()) if head is not None else ""
    found = re.compile(value).match(text, at) if kind or (head and names.weak(head[1].decode())) else None
    if found is not None and not kind:
        if values.is_random(found[0]):
            yield Span(found.start(), found.end(), "key")
    elif found is not None and values.is_secret(found[0][skip:], kind):
        yield Span(found.start() + skip, found.end(), kind)


READERS: Final[dict[str, Callable[[bytes, int], Iterator[Span]]]] = {
    "element": element,
    "attribute": attribute,
    "call": called,
    "spaced": spaced,
    "netrc": netrc,
    "pgpass": pgpass,
    "chpasswd": chpasswd,
    "encoded-url": encoded_url,
    "jwk": jwk,
    "multipart": multipart,
}
"""By the probe that calls for them."""
