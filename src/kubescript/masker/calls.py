"""Calls that take a user and a password, or a key, by their places: `HTTPBasicAuth("ci", "…")`, `Fernet(b"…")`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from kubescript.masker import prose, values
from kubescript.masker.spans import Span

__all__ = ["PROBES", "READERS"]

_BACK: Final = 250
_STRING: Final = rb"(?:\"[^\"\n]*+\"|'[^'\n]*+')"
_LOGIN: Final = (
    "basic_?auth|auth_basic|credentials?|getconnection|pdo|__construct|mysqli?_connect|mysqli|pg_connect|login|auth|"
    "userpassword|ldap_bind|ftp_login|imap_open|mysql|postgresql|remotesecure|connect|passwordauthentication|usernamepasswordcredentials|sp_addlogin|sp_password|signin|smtpauth"
)
_LAST: Final = re.compile(
    rb"(?i)(?:" + _LOGIN.encode() + rb")[\"']?[ ]{0,2}(?:=[ ]?)?[( ]((?:[^()\n\"']++|" + _STRING + rb")++)([\"'])\Z"
)
"""Without a choice to make: what is within quotes is one step, and what is without another."""
_BEFORE: Final = re.compile(rb"[\"'][^\"']{0,40},[ ]{0,4}[bNL]?\Z")
_END: Final = re.compile(rb"[ ]{0,4}(?:[);\n]|\Z|,[ ]{0,2}(?:\[|[\w.]+\)|\{))")
_ALONE: Final = re.compile(
    rb"(?i)(?:fernet|serializer|secretkeyspec|securestring|signer|client\.login|\.sign\([^()\n\"']{1,60},|"
    rb"hmac\.new|createhmac\([\"']\w{1,20}[\"'],)[( ][ ]?[b]?([\"'])\Z"
)


def last(text: bytes, end: int) -> Iterator[Span]:
    """The last string of a call that logs in, behind the user's."""
    at = end - 1
    head = _LAST.search(text[max(0, at - _BACK) : at].replace(b"\\", b""))
    if head is None or not _BEFORE.search(head[1]):
        return
    stop = text.find(head[2], at, at + 300)
    closing = stop - 1 if text[stop - 1 : stop] == b"\\" else stop
    if stop > at and _END.match(text, stop + 1) and _is_password(text[at:closing]):
        yield Span(at, closing, "password")


def alone(text: bytes, end: int) -> Iterator[Span]:
    """The key that a signer, or a cipher, is made with."""
    at = end - 1
    head = _ALONE.search(text[max(0, at - _BACK) : at])
    stop = text.find(head[1], at, at + 300) if head is not None else -1
    if stop - at >= 8 and values.is_secret_in_prose(text[at:stop], "password") and b" " not in text[at:stop]:
        yield Span(at, stop, "key")


def _is_password(value: bytes) -> bool:
    plain = b" " not in value and b"://" not in value and re.fullmatch(rb"[a-z]+|[\w.-]+@[\w.]+", value) is None
    return plain and prose.is_odd(value) and values.is_secret_in_prose(value, "password")


READERS: Final[dict[str, Callable[[bytes, int], Iterator[Span]]]] = {"login": last, "signer": alone}
"""By the probe that calls for them."""
PROBES: Final = (
    ("login", rf"(?i:{_LOGIN})[\"']? ?=? ?[( ][^()\r\n]*,[ ]*[bNL]?\\*[\"'][^\"' ]"),
    (
        "signer",
        r"(?i)(?:fernet|serializer|secretkeyspec|securestring|signer|client\.login|hmac\.new)[( ] ?b?[\"'][^\"' ]",
    ),
    ("signer", r"(?i)\.sign\([^()\r\n\"']*, ?[\"'][^\"' ]"),
)
