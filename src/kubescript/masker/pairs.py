"""A name, a sign and a value: `name=value`, `"name": "value"`, `name: value`, however quoted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kubescript.masker import extents, names, values
from kubescript.masker.spans import Span

__all__ = ["pair", "values_at"]

_BACK: Final = 200
"""Bytes looked at before a value, for its name."""
_NAME: Final = re.compile(
    rb"((?:[A-Za-z]{1,20} )?[A-Za-z0-9_.\-]{1,120})(\\{0,7}[\"'`])?\]?([ \t]{0,20})"
    rb"([?:]{0,2}=|=>|<-|=|::?|\\{1,8}u003[adAD]|\||\xe2\x94\x82|\xe2\x86\x92|->)([ \t\r\n]{0,24})\Z"
)
_LINE_START: Final = re.compile(rb"(?:^|[\n\r]|\\n)[ \t]{0,200}(?:- )?[\"']?\Z")
_BARE: Final = re.compile(rb"(?:[^\s\"'`&;,<>\\]|\\(?![\"'nrt])|[&;,](?![\w.\-%]*[=:]|\s|\Z|[\"'}\]]))+")
_FORM: Final = re.compile(rb"(?:[^\s\"'`&;,<>\\]|\\(?![\"'nrt])|[&;,](?![\w.\-%]*=|\s|\Z|[\"'}\]]))+")
"""The same behind `=`: a colon behind an ampersand is part of the value."""
_FIELD: Final = re.compile(rb"[\w.\-\"']{1,100}(?::(?:\s|\Z)|=(?![=\s]|\Z))")
_LEAD: Final = re.compile(
    rb"&?[A-Za-z_][\w.<>?\[\]]{0,30}(?:[ ]\|[ ]\w{1,20})?[ \t]{0,4}=[ \t]{1,4}(?:[A-Z]\w{0,30}\()?(?=[\"'`])|"
    rb"(?:!!?[\w/.-]{0,40}|&[\w-]{1,40})[ \t]{1,4}(?=\S)|-[ \t]{1,4}(?=\S)|"
    rb"(?:[A-Z][a-z]+ value|(?:the )?(?:given|provided|current|new|old) value|got|was)[:=]?[ \t]{1,4}(?=\\*[\"'`])|"
    rb"(?:new )?(?:(?!Get|Read|Load|Env|Lookup|Fetch|From)[A-Z]\w{0,30}|string|str|bytes|\[\]byte|"
    rb"(?:non)?sensitive|base64encode|some|just)"
    rb"(?:\(\d{0,9}\)?[ ]?|\([A-Z]\w{0,20}\()(?=\\*[\"'`])|[burfRLNE@$]{1,2}(?=[\"'])|"
    rb"(?:[A-Za-z_]{1,20}\.)?(?:from_?[hH]ex|b64decode|from_?base64|fromBase64)\((?=[\"'])|"
    rb"process\.env\.[A-Z0-9_]{1,60}[ ]?(?:\|\||\?\?)[ ]?(?=[\"'`])|"
    rb"ENV(?:\[[\"']\w{1,60}[\"']\][ ]?\|\||\.fetch\([\"']\w{1,60}[\"'],)[ ]?(?=[\"'])|"
    rb"std::string\((?=[\"'])|os\.(?:environ\.get|getenv)\([\"'][A-Z0-9_]{1,60}[\"'],[ ]?(?=[\"'])|<<(?=[\"'])|"
    rb"\{?[ \t\r\n]{0,40}\\*[\"']?(?:value|plain|plaintext|literal|cleartext|inline|raw|default|val)"
    rb"\\*[\"']?[ \t]{0,4}[:=][ \t]{1,4}(?=\S)"
)
"""What may stand between a name and its value: `Invalid value: "…"`, `Some("…")`, `string(12) "…"`, `{plain: …`."""
_ABOUT: Final = re.compile(rb"(?i)(?:checksum|sha\d{0,3}|hash|digest)/\Z|://\Z")
"""Before a name: what follows is that thing's checksum, or the name is a user's in an address."""
_QUOTE_INSIDE: Final = re.compile(
    rb"[^\s\"'`\\,;{}\[\]<>()]{1,200}[\"'`][^\s\"'`\\,;:{}\[\]<>()=][^\s\"'`\\,;]{0,200}(?=[ \t]*(?:\r?\n|\Z))"
)
_SENTENCE: Final = re.compile(rb"[A-Z\x80-\xff][^\r\n=\"]{8,80}(?=\r?\n|\Z)")
_URN: Final = re.compile(rb"(?:arn|urn):[^\s\"']{0,150}\Z")
_RULED: Final = frozenset({b"|", b"\xe2\x94\x82", b"->", b"\xe2\x86\x92"})
_SHELL_COMMAND: Final = re.compile(rb"`[a-z][\w./-]* [^`\r\n]*`")
_SCHEME: Final = re.compile(
    rb"(?:(?i:bearer|basic|token|digest|apikey|negotiate|ssws)|"
    rb"[A-Z][A-Za-z-]{2,20}(?=[ ](?:[A-Za-z0-9._~+/=-]{20}|\xc2\xabredacted:)))[ \t]+"
)


def pair(text: bytes, end: int) -> Iterator[Span]:
    """`name=value`, `"name": "value"`, `name: value`, however quoted."""
    at = end - 1
    head = text[max(0, at - _BACK) : at]
    match = _NAME.search(head)
    name = match[1].decode("ascii", "replace") if match is not None else ""
    kind = names.kind(name)
    if match is not None and name and not kind and names.weak(name):
        yield from _weak(text, at, name)
        return
    if match is None or not kind or _is_no_pair(text, at, head, match):
        return
    if _in_expansion(head, match):
        at += text[at : at + 1] in b"-="
    if (lead := _LEAD.match(text, at, at + _BACK)) is not None:
        at = lead.end()
    if b"\n" in match[5] and _FIELD.match(text, at):  # what is below the name has a name of its own
        return
    starts_line = _LINE_START.search(head[: match.start()]) is not None
    if starts_line and match[4] in b":=" and not match[2] and (long := _unquoted(text, at)) is not None:
        if values.is_secret(text[at:long], kind):
            yield Span(at, long, kind)
        return
    whole_line = starts_line and match[4] == b":" and lead is None
    stops = _FORM if match[4] == b"=" else _BARE
    in_prose = _in_prose(text, at, match, starts_line=starts_line)
    for span in values_at(text, at, kind, in_prose=in_prose, whole_line=whole_line, head=head, stops=stops):
        if not (names.collection(name) and values.is_status(text[span.start : span.end])):
            yield span


def _weak(text: bytes, at: int, name: str) -> Iterator[Span]:
    """A random value of a name that says `key` in another language, or a vendor's name."""
    start, stop = extents.extent(text, at, whole_line=False, head=b"", stops=_FORM)
    if values.is_weak_secret(text[start:stop], name):
        yield Span(start, stop, "key")


def _unquoted(text: bytes, at: int) -> int | None:
    """The end of a value to the end of its line that has several words, or a quote inside; None when it has neither."""
    if (end := extents.passphrase(text, at)) >= 0 and text[end : end + 1] in b"\r\n":
        return end
    inner = _QUOTE_INSIDE.match(text, at)
    if inner is not None:
        return inner.end()
    sentence = _SENTENCE.match(text, at)
    return at if sentence is not None and values.is_label(sentence[0]) else None


def _in_prose(text: bytes, at: int, match: re.Match[bytes], *, starts_line: bool) -> bool:
    """Whether the colon behind a name may be a sentence's, or a scope's: `password:reset`."""
    if match[4] != b":":
        return match[4] in _RULED
    if match[2]:  # volume "db-password" : references …
        return bool(match[3]) and text[at : at + 1] not in b"\"'`\\"
    return not starts_line or b" " in match[1] or not match[5]


def _is_no_pair(text: bytes, at: int, head: bytes, match: re.Match[bytes]) -> bool:
    """Whether what looks like a name and a value is something else."""
    if match[1] == b"PASS" and match[4] == b":":  # what a test run says
        return True
    before = head[: match.start(1)]
    if _ABOUT.search(before) or (match[4] == b":" and not match[2] and not match[5] and before.endswith(b"/")):
        return True  # registry.example.com/token-service:1.2.3
    if _URN.search(head, 0, match.start(1)) or (match[4] in _RULED and not _in_row(text, at, head)):
        return True
    first = text[at : at + 1]
    if first == b"`" and _SHELL_COMMAND.match(text, at) and extents.passphrase(text, at + 1) < 0:
        return True
    if _in_expansion(head, match) and (first in b"?+" or match[1].lower().endswith(b"s")):
        return True
    return not match[2] and bool(match[5]) and first in b"\"'" and head[: match.start(1)].endswith(first)  # a prompt


def _in_expansion(head: bytes, match: re.Match[bytes]) -> bool:
    """`${NAME:-…}`, `${secrets:…}`."""
    return match[4] == b":" and head[: match.start(1)].endswith(b"${")


def _in_row(text: bytes, at: int, head: bytes) -> bool:
    """Whether a rule between a name and a value is a table's, and no pipe; an arrow is one by itself."""
    line = head[head.rfind(b"\n") + 1 :].lstrip()
    return line.startswith((b"|", b"\xe2\x94\x82")) or line.rstrip().endswith((b" ->", b"\xe2\x86\x92"))


def values_at(
    text: bytes,
    at: int,
    kind: str,
    *,
    in_prose: bool,
    whole_line: bool,
    head: bytes,
    stops: re.Pattern[bytes] | None = None,
) -> Iterator[Span]:
    """The value at a place whose name is of this kind, when it is a credential."""
    start, stop = extents.extent(text, at, whole_line=whole_line, head=head, stops=stops or _BARE)
    if kind == "authorization" and (scheme := _SCHEME.match(text, start, stop)):
        start = scheme.end()
        stop = extents.end_of_word(text, start, stop)
    elif _has_words(text, at, start, stop) and (kind not in {"password", "cookie"} or not extents.is_yaml(text, at)):
        stop, in_prose = extents.end_of_word(text, start, stop), True
    judge = values.is_secret_in_prose if in_prose else values.is_secret
    if judge(text[start:stop], kind):
        yield Span(start, stop, kind)


def _has_words(text: bytes, at: int, start: int, stop: int) -> bool:
    return b" " in text[start:stop] and text[at : at + 1] not in b"\"'`\\|>"
