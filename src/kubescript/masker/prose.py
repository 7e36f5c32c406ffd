"""What sentences tell: `password is hunter2`, `log in with admin / hunter2`, in several languages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kubescript.masker import extents, names, values
from kubescript.masker.spans import Span

__all__ = ["foreign", "is_odd", "login", "said"]

_SAID: Final = re.compile(
    rb"(?i)(password|passwd|passphrase|passwort|kennwort|contrase\xc3\xb1a|senha|parola|pwd|\bpw|mot de passe|wachtwoord|has\xc5\x82o|heslo|"
    rb"l\xc3\xb6senord|passord|salasana|token|secret|api key|(?<=_password )by)"
    rb"[ \t]{1,2}(?:(?:for|of|f\xc3\xbcr|de)[ ](?:user[ ]|role[ ])?(?:the[ ])?(?:[\w@.\"'-]{1,60}[ ]){1,4}?)?"
    rb"((?:(?:has|have)[ ]been[ ]|will[ ]be[ ])?"
    rb"(?:is|was|to|set to|changed to|reset to|with|of|lautet|ist|war|es|est|\xc3\xa8|\xc3\xa9|jest|\xc3\xa4r|er|on|:=))?[ \t]{0,2}(\xc2\xab[ ]?|[\"'`]?)((?<=[\"'`])[^\"'`\n]{4,200}|[^\s]{4,200})"
)
_MADE: Final = re.compile(
    rb"(?i)(?:generated|created|temporary|initial|default|new|one-time|random|bootstrap|using|with)"
    rb"(?:[ ][a-z]{1,12}){0,2}[ ](password|passphrase|passwort|pw|token|secret|key|pin|code)[ ]([\"'`]?)([^\s\"'`]{6,200})"
)
_FOR: Final = re.compile(
    rb"(?i)\b(?:password|passwd|passwort|passphrase|pw|token|secret|key)[ ](?:for|of|f\xc3\xbcr|von)[ ][^\n:=\"'`]{1,60}?(?:[ ](?:is|was|ist|to)|:)"
    rb"[ ][\"'`]?([^\s\"'`]{6,200})"
)
_CHANGED: Final = re.compile(
    rb"(?i)(?:password|passwd|passphrase|token|secret|key)[ ](?:was[ ]|has been[ ])?(?:changed|rotated|updated|reset|renamed)?"
    rb"[ ]?from[ ][\"'`]?([^\s\"'`]{6,200})[\"'`]?[ ]to[ ][\"'`]?([^\s\"'`]{6,200})"
)
_WORDS_ABROAD: Final = frozenset(
    "passwort|kennwort|contraseña|senha|wachtwoord|hasło|heslo|lösenord|passord|salasana|mot de passe".encode().split(
        b"|"
    )
)
_TYPED: Final = re.compile(rb"(?=\S*\d)(?=\S*[A-Za-z])[^\s:/=]{6,60}")
"""A value as people type it, behind a word that no sentence goes on from with a number."""
_LOGIN: Final = re.compile(
    rb"(?i)(?:credentials?|log[ -]?in|sign[ -]?in|admin access)[^\n/]{0,40}?[ :`\"'][\w.@-]{1,40}[`\"']?[ ]?/[ ]?[`\"']?"
    rb"((?=[^\s`\"'/]*\d)(?=[^\s`\"'/]*[A-Za-z])[^\s`\"'/]{8,100})[`\"']?(?=[\s.,;)]|\Z)"
)
_FOREIGN: Final = re.compile(
    rb"(?i)(?:\xe5\xaf\x86\xe7\xa0\x81|\xe5\x8f\xa3\xe4\xbb\xa4|\xe3\x83\x91\xe3\x82\xb9\xe3\x83\xaf\xe3\x83\xbc\xe3\x83\x89|"
    rb"\xeb\xb9\x84\xeb\xb0\x80\xeb\xb2\x88\xed\x98\xb8|\xd0\xbf\xd0\xb0\xd1\x80\xd0\xbe\xd0\xbb\xd1\x8c|\xd0\x9f\xd0\xb0\xd1\x80\xd0\xbe\xd0\xbb\xd1\x8c|"
    rb"\xc5\x9fifre|jelsz\xc3\xb3|contrase\xc3\xb1a|has\xc5\x82o|l\xc3\xb6senord|mot de passe|m\xe1\xba\xadt kh\xe1\xba\xa9u)"
    rb"[\"'`]?[ \t]{0,4}(?:[:=]|\xef\xbc\x9a|\xe3\x81\xaf)[ \t]{0,4}[\"'`]?([^\s\"'`,;]{5,300})"
)


def said(text: bytes, end: int) -> Iterator[Span]:
    """`password is hunter2`, `password for jane has been set to hunter2`."""
    begin, stop = max(0, end - 110), min(len(text), end + 200)
    for match in _SAID.finditer(text, begin, stop):
        kind = names.kind(match[1].decode()) or "password"
        quoted = bool(match[3]) and match[3] != b"\xc2\xab "
        value = match[4].split(match[3])[0] if quoted else match[4].rstrip(b".,;:!?)")
        random = values.is_random(value) and re.search(rb"[A-Z]", value) is not None
        spoken = (
            random or bool(match[2]) or (bool(match[3]) and match[1].lower() in {b"password", b"by", b"mot de passe"})
        )
        foreign_word = match[1].lower() in _WORDS_ABROAD and _TYPED.fullmatch(value) is not None
        phrase = quoted and spoken and extents.is_passphrase(value)
        if phrase or ((spoken or foreign_word) and values.is_secret_in_prose(value, kind) and is_odd(value)):
            yield Span(match.start(4), match.start(4) + len(value), kind)
    for match in _MADE.finditer(text, begin, stop):
        value = match[3].rstrip(b".,;:!?)")
        if values.is_mixed(value) and values.is_secret_in_prose(value, match[1].decode().lower()):
            yield Span(match.start(3), match.start(3) + len(value), "password")
    for match in _FOR.finditer(text, begin, stop):
        value = match[1].rstrip(b".,;:!?)")
        if values.is_mixed(value) and values.is_secret_in_prose(value, "password"):
            yield Span(match.start(1), match.start(1) + len(value), "password")
    for match in _CHANGED.finditer(text, begin, stop):
        for group in (1, 2):
            if values.is_mixed(match[group]) and values.is_secret_in_prose(match[group], "password"):
                yield Span(*match.span(group), "password")


def login(text: bytes, end: int) -> Iterator[Span]:
    """`log in with admin / hunter2`."""
    for match in _LOGIN.finditer(text, max(0, end - 100), min(len(text), end + 200)):
        if values.is_secret(match[1], "password"):
            yield Span(*match.span(1), "password")


def foreign(text: bytes, end: int) -> Iterator[Span]:
    """A password's word in another language, and a sign."""
    for match in _FOREIGN.finditer(text, max(0, end - 60), min(len(text), end + 300)):
        if is_odd(match[1]) and values.is_secret(match[1], "password"):
            yield Span(*match.span(1), "password")


def is_odd(value: bytes) -> bool:
    """Whether it has what words of a sentence do not have."""
    return re.search(rb"[0-9!@#$%^&*+=]", value) is not None
