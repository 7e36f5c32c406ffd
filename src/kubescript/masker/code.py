"""Statements of query languages: what stands where a password does, in all the ways in which they write it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from kubescript.masker import names, prose, values
from kubescript.masker.spans import Span

__all__ = ["PROBES", "READERS"]

_BACK: Final = 300
_AHEAD: Final = 500
_TEXT: Final = rb"[NE]?(?:'((?:[^'\n]|''){1,300})|\"((?:[^\"\\\n]|\\.){1,300}))"
"""Not to its end: a longer one is followed as far as it goes (`spans.whole`)."""
_STATEMENTS: Final = tuple(
    re.compile(each, re.IGNORECASE | re.MULTILINE)
    for each in (
        rb"password[ ]from[ ]" + _TEXT,
        rb"password[ ]from[ ](?:'[^'\n]{0,300}'|\"[^\"\n]{0,300}\")[ ]to[ ]" + _TEXT,
        rb"identified[ ][^;\n]{1,200}[ ]replace[ ]" + _TEXT,
        rb"identified[ ](?:with[ ]\w{1,40}[ ])?by[ ](?:password[ ])?" + _TEXT,
        rb"identified[ ]by[ ](?!values\b|password\b)(?:values[ ])?((?=\S*\d)[^\s\"';]{4,100})",
        rb"set[ ]password[ ](?:for[ ][^;\n=]{1,100})?=[ ]?(?:password\()?" + _TEXT,
        rb"set[ ]\"?[\w.]{0,80}(?:secret|password|key|token)\"?[ ](?:to|=)[ ]" + _TEXT,
        rb"pragma[ ](?:hex|re)?key[ ]?=[ ]?" + _TEXT,
        rb"attach[ ][^;\n]{1,200}[ ]key[ ]" + _TEXT,
        rb"\bsecret[ ]{1,4}=?[ ]{0,4}'([^'\n]{4,300})'[ ]{0,4}[,);]",
        rb"^[ \t]*conn(?:ect)?[ ][\w$#]{1,40}/([^\s@;\"'/]{4,100})(?:@\S{1,100})?;?[ \t]*$",
    )
)
_SETTING: Final = re.compile(
    rb"(?:value|val|v|\w{0,30}_value|setting)[ ]?=[ ]?'((?:[^'\n]|''){1,300})'[ ]where[ ][`\"]?\w{1,40}[`\"]?[ ]?=[ ]?'([\w.-]{1,100})'",
    re.IGNORECASE,
)
_ASSIGNED: Final = re.compile(
    rb"[ (]\w{1,40}[ ]?=[ ]?'([\w.-]{1,100})',[ ]?\w{1,40}[ ]?=[ ]?'((?:[^'\n]|''){1,300})'", re.IGNORECASE
)


def statement(text: bytes, end: int) -> Iterator[Span]:
    """The passwords of the line around a place."""
    start, stop = max(0, end - _BACK), min(len(text), end + _AHEAD)
    start = max(start, text.rfind(b"\n", start, end) + 1)
    for pattern in _STATEMENTS:
        for match in pattern.finditer(text, start, stop):
            group = match.lastindex
            if group is not None and values.is_secret(match[group], "password") and _is_said(match[0], match[group]):
                yield Span(match.start(group), match.end(group), "password")
    for pattern, value, name in ((_SETTING, 1, 2), (_ASSIGNED, 2, 1)):
        for match in pattern.finditer(text, start, stop):
            kind = names.kind(match[name].decode())
            if kind and values.is_secret(match[value], kind):
                yield Span(match.start(value), match.end(value), kind)


def _is_said(statement: bytes, value: bytes) -> bool:
    """Whether this is no sentence about what is identified by something."""
    return statement[:1].isupper() or prose.is_odd(value)


READERS: Final[dict[str, Callable[[bytes, int], Iterator[Span]]]] = {"statement": statement}
"""By the probe that calls for them."""
PROBES: Final = (
    ("statement", r"(?i)(?:password from|identified by|identified with [a-z0-9_]+ by) "),
    ("statement", r"(?i)set password (?:for |=)"),
    ("statement", r"(?i)set \\*\"?[a-z_.]*(?:secret|password|key|token)\\*\"? (?:to|=) "),
    ("statement", r"(?i)(?:pragma (?:hex|re)?key|attach [^;\r\n]+ key|create (?:or replace )?(?:persistent )?secret) "),
    ("statement", r"(?i)(?:^|\n|\\n)[ \t]*conn(?:ect)? [a-z0-9_$#]+/[^ \t\r\n]"),
    ("statement", r"(?i)where [`\"]?[a-z_]+[`\"]? ?= ?'[a-z0-9_.-]*(?:pass|secret|token|key|pwd)"),
    ("statement", r"(?i)[ (][a-z_]+ ?= ?'[a-z0-9_.-]*(?:pass|secret|token|key|pwd)[a-z0-9_.-]*', ?[a-z_]+ ?= ?'"),
)
