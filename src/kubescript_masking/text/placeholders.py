"""The placeholders that are written in place of secrets.

A placeholder is `«redacted:KIND:8 hex»`, with `:24B` before the end where the size is shown. The digits are a keyed
hash of the value: equal values have equal masks within a server, so a script can compare and group them. Masks of
different servers cannot be compared.
"""

from __future__ import annotations

import hashlib
import os
from typing import Final

from kubescript_masking.text import linear
from kubescript_masking.wire.masking import OPENING

__all__ = ["PLACEHOLDER", "Masks", "is_masked"]

PLACEHOLDER: Final = linear.build(rb"\xc2\xabredacted:[a-z0-9-]{1,60}:[0-9a-f]{8}(?::[0-9]{1,12}B)?\xc2\xbb")
# A value has the same mask in a variable and in a log.
_WHERE: Final = ("env-", "flag-", "url-")
"""Where a value stands, which is reported but is no part of its mask."""
_KINDS: Final = ("password", "token", "key", "secret", "credential", "dsn")
_DIGITS: Final = 4
"""Bytes of the hash in a mask."""


class Masks:
    """Makes one server's placeholders; without a key, each is random."""

    def __init__(self, key: bytes = b"") -> None:
        self._key = b""
        if key:
            self._key = hashlib.blake2b(key, digest_size=32).digest()

    def __call__(self, kind: str, value: bytes, *, sized: bool = False) -> bytes:
        """Returns a value's placeholder."""
        _, _, bare = kind.partition("-")
        if kind.startswith(_WHERE) and bare.startswith(_KINDS):
            kind = bare
        digits = self._digits(value).hex()
        size = f":{len(value)}B" if sized else ""
        placeholder = f"«redacted:{kind}:{digits}{size}»"
        return placeholder.encode()

    def _digits(self, value: bytes) -> bytes:
        """Returns the digits of a value's mask."""
        # Without a key they are drawn anew, so that a script cannot confirm a guess by comparing masks.
        if not self._key:
            return os.urandom(_DIGITS)
        return hashlib.blake2b(value, key=self._key, digest_size=_DIGITS).digest()


def is_masked(value: bytes) -> bool:
    """Says whether a value consists of placeholders only, so that nothing is left to mask."""
    if not value.startswith(OPENING):
        return False
    rest = PLACEHOLDER.sub(b"", value)
    return not rest.strip(b" \t\r\n,;:/")
