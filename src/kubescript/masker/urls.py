"""Passwords and signatures in addresses: URLs, the DSNs of drivers, queries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kubescript.masker import spans, values
from kubescript.masker.spans import Span

__all__ = ["dsn", "oracle", "path", "query", "url"]

_AHEAD: Final = 8_192
"""Bytes of a value that are looked at."""
_PEM_BYTES: Final = 65_536
_URL_PASSWORD: Final = re.compile(rb"://([^\s:/?#\"'<>@]{0,200}):([^\s\"'<>]{1,65536})\Z")
_URL_TOKEN: Final = re.compile(rb"://([A-Za-z0-9_.~%+=-]{16,65536})\Z")
_URL_REST: Final = re.compile(rb"[^\s/?#\"'<>@:]{1,300}@(?=[\w.-])")
"""Of a password with an at sign, what follows that."""
_DSN: Final = re.compile(rb":([^ \t\r\n:@/\"']{1,4096})@(?:tcp|udp|unix)\(\Z")
_ORACLE: Final = re.compile(rb"jdbc:oracle:[a-z]{1,8}:[^/\s\"]{1,60}/([^@\s\"]{1,4096})@\Z")
_PATH: Final = re.compile(rb"[A-Za-z0-9_=-]{16,300}")
_UUID: Final = re.compile(rb"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_QUERY: Final = re.compile(rb"([A-Za-z0-9%+/_.=-]{12,2048})")


def url(text: bytes, end: int) -> Iterator[Span]:
    """The password in `scheme://user:password@host`; a lone token there, too."""
    begin = max(0, text.rfind(b"://", max(0, end - _PEM_BYTES), end - 1))
    while (rest := _URL_REST.match(text, end)) is not None:
        end = rest.end()
    head = text[begin : end - 1]
    after = text[end : end + 1]
    match = _URL_PASSWORD.match(head)
    if match is not None and not re.match(rb"\d{2,5}(?:/|\Z)", match[2]) and after not in {b"", b" ", b"/", b'"'}:
        if values.is_secret(match[2], "password"):
            yield Span(begin + match.start(2), begin + match.end(2), "url-password")
        return
    if begin == 0 and (long := spans.filled(text, end - 1, "url-password")) is not None:
        yield long
        return
    token = _URL_TOKEN.match(head)
    if token is not None and values.is_random(token[1]):
        yield Span(begin + token.start(1), begin + token.end(1), "url-token")


def dsn(text: bytes, end: int) -> Iterator[Span]:
    """`user:password@tcp(host:3306)/db`."""
    yield from _first(_DSN, text, end, "url-password")


def oracle(text: bytes, end: int) -> Iterator[Span]:
    """`jdbc:oracle:thin:user/password@host`."""
    yield from _first(_ORACLE, text, end, "url-password")


def _first(pattern: re.Pattern[bytes], text: bytes, end: int, kind: str) -> Iterator[Span]:
    begin = max(0, end - _AHEAD // 2)
    match = pattern.search(text[begin:end])
    if match is None:
        long = spans.filled(text, text.rfind(b"@", begin, end), kind)
        yield from [long] if long is not None else []
    elif values.is_secret(match[1], "password"):
        yield Span(begin + match.start(1), begin + match.end(1), kind)


def path(text: bytes, end: int) -> Iterator[Span]:
    """What lets anybody call a webhook, or accept an invitation: a part of its address."""
    part = _PATH.match(text, end - 16)
    if part is not None and (values.is_random(part[0]) or _UUID.fullmatch(part[0])):
        yield Span(part.start(), part.end(), "url-token")


def query(text: bytes, end: int) -> Iterator[Span]:
    """A signature in a URL's query: what a pre-signed URL's power is in."""
    start = end - 12
    match = _QUERY.match(text, start)
    if match is not None and re.search(rb"(?i)sig|security-token", text[max(0, start - 24) : start]):
        yield Span(start, match.end(), "url-signature")
    elif match is not None and values.is_random(match[1]):
        yield Span(start, match.end(), "url-token")
