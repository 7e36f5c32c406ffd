"""Sentences that announce a credential and end with a colon: what stands behind it, or alone on the next line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kubescript.masker import names, values
from kubescript.masker.spans import Span

__all__ = ["WORDS", "announced", "kind", "lone"]

WORDS: Final = (
    r"pass(?:word|wort|phrase|code|wd)|kennwort|wachtwoord|contrase\xc3\xb1a|senha|mot de passe|has\xc5\x82o|"
    r"(?:\xd0\xbf|\xd0\x9f)\xd0\xb0\xd1\x80\xd0\xbe\xd0\xbb\xd1\x8c|\xe5\xaf\x86\xe7\xa0\x81|\xe5\x8f\xa3\xe4\xbb\xa4|"
    r"\xe3\x83\x91\xe3\x82\xb9\xe3\x83\xaf\xe3\x83\xbc\xe3\x83\x89|\xeb\xb9\x84\xeb\xb0\x80\xeb\xb2\x88\xed\x98\xb8|"
    r"l\xc3\xb6senord|token|secret|credentials?|"
    r"(?:api|access|secret|unseal|recovery|private|encryption|signing|master|license|shared|account|root)"
    r"[ _-]?key"
)
"""What a sentence calls a credential; bytes of UTF-8 as escapes."""
_BACK: Final = 300
_PHRASE: Final = re.compile(rb"([^\r\n:=\"]{3,250}):[ \t]*((?:\r?\n[ \t]*){0,3})\Z")
_WORD: Final = re.compile(rb"[\"'`]?([^\s\"'`<>]{8,8192})[\"'`]?[.]?[ \t]*(?=\r?\n|\Z)")
_SAYS: Final = re.compile(rb"(?i)(?<![a-z0-9])(?:" + WORDS.encode() + rb")(?![a-z])")
_NO_VALUE: Final = re.compile(
    rb"[a-z][a-z0-9+.-]*://.*|[~.]{0,2}/.*|sha\d+:.*|[\d.:,TZ+/-]+|[\w.+-]+@[\w.-]+|"
    rb"[a-z]+(?:[-_/][a-z]+)*|[a-z0-9-]+(?:[.:/][a-z0-9-]+)+|[A-Za-z]+[.,;:!?]?|.*\(.*\)|.*=.*[^=]",
    re.DOTALL,
)  # fmt: skip
_UUID: Final = re.compile(rb"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")


def announced(text: bytes, end: int) -> Iterator[Span]:
    """`Password for the elastic user:⏎ x`, `Unseal Key 1: x`."""
    at = end - 1
    match = _PHRASE.search(text[max(0, at - _BACK) : at])
    found = kind(match[1], next_line=bool(match[2])) if match is not None else ""
    yield from lone(text, at, found)


def kind(phrase: bytes, *, next_line: bool) -> str:
    """What a phrase announces; a name alone does so only when its value is on the next line."""
    said = list(_SAYS.finditer(phrase[-_BACK:]))
    if not said or not (next_line or b" " in phrase.strip() or not phrase.isascii()):
        return ""
    if phrase.endswith(b" h1"):  # Go's checksums of modules
        return ""
    if b"}}" in phrase or re.match(rb"[-_][a-z]", phrase[-_BACK:][said[-1].end() :]):
        return ""
    return names.kind(said[-1][0].decode("utf-8", "replace").replace(" ", "_")) or "password"


def lone(text: bytes, at: int, found: str) -> Iterator[Span]:
    """The one word of which the rest of a line consists, when it looks like what was announced."""
    word = _WORD.match(text, at) if found else None
    if word is None or _NO_VALUE.fullmatch(word[1]) or not re.search(rb"[A-Za-z]", word[1]):
        return
    is_drawn = found == "password" or (values.is_random(word[1]) and not _UUID.fullmatch(word[1]))
    if is_drawn and values.is_secret(word[1], found):
        yield Span(word.start(1), word.end(1), found)
