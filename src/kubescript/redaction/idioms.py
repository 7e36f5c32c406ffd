"""What protocols, tools and files have for a password beside which no name stands: SMTP's AUTH, Redis' users."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from kubescript.redaction import names, values
from kubescript.redaction.spans import Span

__all__ = ["PROBES", "READERS"]

_BACK: Final = 600
_AHEAD: Final = 8_192
_LISTED: Final = re.compile(
    rb"([A-Za-z0-9_.\-]{1,100})\\{0,7}[\"'`]?\s{0,4}(?:=>|[:=])\s{0,4}\[\s{0,40}(\\{0,7}[\"'])\Z"
)
_COMPARED: Final = re.compile(rb"([A-Za-z0-9_.\-]{1,100})[\"'\])]{0,3}[ \t]{0,4}[!=]={1,2}[ \t]{0,4}[\"']\Z")
_MIXED: Final = re.compile(rb"(?=[^\s\"']*[0-9])(?=[^\s\"']*[A-Za-z])[^\s:\"'\\]{8,}")
_LOGIN_MODULE: Final = 2_000
_OF_USER: Final = (
    rb"(?i:user(?:name)?)[\"']?(?:[ \t]*[=:]|[ \t])[ \t]*[\"']?(?!system:)[A-Za-z][\w.-]{0,60}:"
    rb"((?=[^\s\"'/]*[0-9])(?=[^\s\"'/]*[A-Za-z])[^\s:\"'/,;)}\]]{8,300})(?![:/])"
)
_IDIOMS: Final = tuple(
    re.compile(each, re.MULTILINE)
    for each in (
        rb"(?:[->]|C:)[ ]?PASS[ ]([^\s]{4,200})",
        rb"AUTH[ ](?:PLAIN|LOGIN)[ ]([A-Za-z0-9+/]{8,400}={0,2})",
        rb"AUTH[ ]LOGIN\s+(?:[^\n]{0,40}\n)[<> -]{0,6}([A-Za-z0-9+/]{8,400}={0,2})",
        rb"\"(?i:auth)\"[ ](?:\"[^\"\s]{1,100}\"[ ](?!\"(?i:setname)\"))?\"([^\"\s]{4,300})\"",
        rb"^[ \t]*user[ ]\S{1,100}[ ](?:[^\n>]{0,200}[ ])?>(\S{4,300})",
        rb"^[ \t]*\\*\"\w{1,60}\\*\"[ ]\\*\"((?=[^\"\s]*[0-9])[^\"\s\\]{8,300})\\*\"[ \t]*$",
        rb"htpasswd[ ]-[A-Za-z]*b[A-Za-z]*(?:[ ]-\S+)*[ ]\S{1,200}[ ]\S{1,100}[ ]([^\s\"']{4,300})",
        rb"mc[ ](?:alias|config host)[ ](?:set|add)[ ]\S{1,100}[ ]\S{1,200}[ ]\S{1,100}[ ]([^\s\"']{4,300})",
        rb"(?:echo|printf)[ ](?:-n[ ]|'?%s'?[ ])?([\"']?)([^\s\"'|$]{4,300})\1[ ]{0,4}\|[^|\n]{1,300}--password-stdin",
        rb"stats[ ]auth[ ][^\s:]{1,100}:(\S{4,300})",
        _OF_USER,
    )
)


def listed(text: bytes, end: int) -> Iterator[Span]:
    """`'password': ['…']`: a list of one."""
    match = _LISTED.search(text[max(0, end - 200) : end])
    kind = names.kind(match[1].decode()) if match is not None else ""
    if match is None or not kind or match[1].lower().endswith(b"s"):
        return
    stop = text.find(match[2], end, end + _AHEAD)
    if stop > end and values.is_secret(text[end:stop], kind):
        yield Span(end, stop, kind)


def compared(text: bytes, end: int) -> Iterator[Span]:
    """`if ($http_x_api_key != "…")`."""
    match = _COMPARED.search(text[max(0, end - 200) : end])
    value = re.compile(rb"[^\s\"']{12,8192}").match(text, end)
    name = match[1].decode() if match is not None else ""
    kind = names.kind(name) or ("key" if name and names.weak(name) else "")
    if kind and value is not None and values.is_random(value[0]):
        yield Span(value.start(), value.end(), kind)


def login_module(text: bytes, end: int) -> Iterator[Span]:
    """`user_admin="…"`, of Java's login modules."""
    value = _MIXED.match(text, end)
    if value is not None and b"LoginModule" in text[max(0, end - _LOGIN_MODULE) : end]:
        yield Span(value.start(), value.end(), "password")


def idiom(text: bytes, end: int) -> Iterator[Span]:
    """Everything else, each by the words around it."""
    begin = text.rfind(b"\n", max(0, end - _BACK), max(0, end - 1)) + 1
    begin = max(begin, end - _BACK, 0)
    for pattern in _IDIOMS:
        for match in pattern.finditer(text, begin, min(len(text), end + _BACK)):
            group = pattern.groups
            if match.start() <= end and values.is_secret(match[group], "password"):
                yield Span(match.start(group), match.end(group), "password")


READERS: Final[dict[str, Callable[[bytes, int], Iterator[Span]]]] = {
    "listed": listed,
    "compared": compared,
    "login-module": login_module,
    "idiom": idiom,
}
"""By the probe that calls for them."""

_QUOTE: Final = r"""(?:\\*["'`])"""
_NAME: Final = rf"(?i:{names.PATTERN})[A-Za-z0-9_.-]*"
_SPACE: Final = r"(?:[ \t\r\n]|\\+[nrt])*"
PROBES: Final = (
    ("listed", rf"{_NAME}{_QUOTE}?{_SPACE}(?:=>|[:=]){_SPACE}\[{_SPACE}\\*[\"']"),
    ("compared", rf"{_NAME}[\"'\])]*[ \t]*[!=]==?[ \t]*\\*[\"']"),
    ("compared", r"(?i)key[ \t]*[!=]==?[ \t]*\\*[\"']"),
    ("login-module", r"user_[A-Za-z0-9_.-]+=\\*\""),
    ("idiom", r"(?:[->]|C:) ?PASS [^ \t\r\n]"),
    ("idiom", r"AUTH (?:PLAIN|LOGIN)[ \\\r\n]"),
    ("idiom", r"\\*\"(?i:auth)\\*\" \\*\"[^\" ]"),
    ("idiom", r"user [^ \t\r\n]+ (?:[^\r\n>]* )?(?:>|\\+u003e)[^ ]"),
    ("idiom", r"(?:^|\n|\\n)\\*\"[A-Za-z0-9_]+\\*\" \\*\"[A-Za-z0-9]"),
    ("idiom", r"htpasswd -[A-Za-z]*b|mc (?:alias set|config host add) |--password-stdin|stats auth "),
    (
        "idiom",
        r"(?i)user(?:name)?\\*[\"']?(?:[ \t]*[=:]|[ \t])[ \t]*\\*[\"']?[A-Za-z][A-Za-z0-9_.-]*:[^ \t\r\n:/\"']{8}",
    ),
)
"""Where to look: an id, and hyperscan's pattern, which ends at one place per candidate."""
