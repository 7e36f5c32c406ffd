"""Placeholders: `«redacted:KIND:8 hex»`, with `:24B` before the end where the size is told.

The digits are a keyed hash of the value: equal values have equal masks within a server, so a script can still compare
and group; another server's masks tell nothing.
"""

from __future__ import annotations

import hashlib
from typing import Final

from kubescript.masker import linear
from kubescript.wire.masking import OPENING

__all__ = ["PLACEHOLDER", "Masks", "is_masked"]

PLACEHOLDER: Final = linear.compiled(rb"\xc2\xabredacted:[a-z0-9-]{1,60}:[0-9a-f]{8}(?::[0-9]{1,12}B)?\xc2\xbb")
_WHERE: Final = ("env-", "flag-", "url-")
"""Where a value stands is reported, and is not part of its mask: it is the same value in a variable and in a log."""
_KINDS: Final = ("password", "token", "key", "secret", "credential", "dsn")


class Masks:
    """Makes the placeholders of one server."""

    def __init__(self, key: bytes) -> None:
        self._key = hashlib.blake2b(key, digest_size=32).digest()

    def __call__(self, kind: str, value: bytes, *, sized: bool = False) -> bytes:
        """The placeholder of a value."""
        if kind.startswith(_WHERE) and (bare := kind.partition("-")[2]).startswith(_KINDS):
            kind = bare
        digits = hashlib.blake2b(value, key=self._key, digest_size=4).hexdigest()
        size = f":{len(value)}B" if sized else ""
        return f"«redacted:{kind}:{digits}{size}»".encode()


def is_masked(value: bytes) -> bool:
    """Whether there is nothing left to mask: placeholders and nothing else."""
    return value.startswith(OPENING) and not PLACEHOLDER.sub(b"", value).strip(b" \t\r\n,;:/")
