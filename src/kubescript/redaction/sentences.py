"""`password is hunter2`, `IDENTIFIED BY 'hunter2'`: what sentences and statements tell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kubescript.redaction import names, values
from kubescript.redaction.spans import Span

__all__ = ["is_odd", "said"]

_SAID: Final = re.compile(
    rb"(?i)(password|passwd|passphrase|pwd|token|secret|api key|"
    rb"identified (?:with \w{1,40} )?by|(?<=_password )by)[ \t]{1,2}"
    rb"(is|was|to|set to|changed to|with|of)?[ \t]{0,2}([\"'`]?)([^\s]{4,200})"
)


def said(text: bytes, end: int) -> Iterator[Span]:
    """`password is hunter2`, `IDENTIFIED BY 'hunter2'`."""
    begin = max(0, end - 50)
    for match in _SAID.finditer(text, begin, min(len(text), end + 200)):
        kind = names.kind(match[1].decode()) or "password"
        quoted = bool(match[3])
        value = match[4].split(match[3])[0] if quoted else match[4].rstrip(b".,;:!?)")
        random = values.is_random(value) and re.search(rb"[A-Z]", value) is not None
        spoken = random or bool(match[2]) or (quoted and match[1].lower() in {b"identified by", b"password", b"by"})
        if match.end(3) < end + 4 and spoken and values.is_secret_in_prose(value, kind) and is_odd(value):
            yield Span(match.start(4), match.start(4) + len(value), kind)


def is_odd(value: bytes) -> bool:
    """Whether it has what words of a sentence do not have."""
    return re.search(rb"[0-9!@#$%^&*+=]", value) is not None
